import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { agentOf, calls, entered, HandClock, scripted, settle, tool } from '../../test/scene.js';
import { asTool } from '../define/as-tool.js';
import { defineGuardrail } from '../define/guardrail.js';
import { defineTool } from '../define/tool.js';
import type { Agent } from '../define/types.js';
import { ask } from '../define/verdict.js';
import type { JsonValue } from '../model/types.js';
import type { Approval, HandoffApproval } from '../state/events.js';
import { readAnswers, readDecisions } from './decisions.js';
import { RunHandle } from './handle.js';
import { loop } from './loop.js';
import { openApprovals } from './open-approvals.js';
import { signApprovals } from './sign-approvals.js';

const input = z.object({ cents: z.number() });
const pay = tool('pay', () => 'Paid.', { approval: true, input });
const caller = defineTool({ name: 'by_hand', description: 'You.', input: { type: 'object' } });

/** A run that waits for people, as one that is resumed with decisions sees it. */
async function waiting(agent: Agent<unknown>, options: object = {}) {
  const clock = new HandClock();
  const handle = await entered(agent, { clock, ...options });
  await loop(handle);
  const given = { edits: new Map(), results: new Map(), deciders: new Map() };
  const asked = new RunHandle({ ...handle.root, given }, handle.state, { agents: handle.agents });
  const approvals = openApprovals(asked.state);
  return {
    clock,
    handle: asked,
    given,
    approvals,
    approval: approvals[0] as Approval,
    read: async (decisions: unknown) =>
      (await readAnswers(asked, readDecisions(decisions))).map(({ run, draft }) => ({ run: run.id, draft })),
  };
}
const asking = (more: object = {}, options: object = {}) =>
  waiting(agentOf({ model: scripted([calls('pay', { cents: 5 })]), tools: [pay], ...more }), options);
const refusal = (message: unknown, code = 'RESUME_MISMATCH') => expect.objectContaining({ code, message });
const id = 'r1/p1';

describe('the option of decisions', () => {
  it('may be left out, and is an object by approval', () => {
    expect(readDecisions(undefined)).toEqual(new Map());
    expect(readDecisions({ p: 'approve', q: { reject: '' } })).toEqual(
      new Map<string, unknown>([
        ['p', 'approve'],
        ['q', { reject: '' }],
      ]),
    );
  });

  it.each([[null], [['approve']], ['approve'], [7]])('is not %j', (given) => {
    expect(() => readDecisions(given)).toThrow(refusal(expect.stringContaining('The option `decisions` is no object.'), 'CONFIG_INVALID'));
  });
});

describe('a decision', () => {
  it.each([
    ['approves', 'approve', { decision: 'approve' }],
    ['rejects', { reject: 'not today' }, { decision: 'reject', reason: 'not today' }],
    ['rejects without a word', { reject: '' }, { decision: 'reject' }],
    [
      'says nothing more than it decides',
      { reject: 'no', edit: undefined, approve: undefined, result: undefined },
      { decision: 'reject', reason: 'no' },
    ],
    ['tells who decided', { decision: 'approve', by: 'Ada' }, { decision: 'approve', decidedBy: 'Ada' }],
    ['need not tell who decided', { decision: { reject: 'no' }, by: undefined }, { decision: 'reject', reason: 'no' }],
  ])('%s', async (_what, decision, draft) => {
    const { read, approval, given } = await asking();
    const { subject, revision, digest } = approval;
    expect(await read({ [id]: decision })).toStrictEqual([
      { run: 'r1', draft: { type: 'approval.resolve', id, subject, revision, digest, ...draft } },
    ]);
    expect(given.deciders.size).toBe(0);
  });

  it('that edits is kept in memory, frozen, as it was given', async () => {
    const { read, given } = await asking();
    expect(await read({ [id]: { decision: { edit: { cents: 4 } }, by: 'Ada' } })).toEqual([]);
    expect(given.edits).toEqual(new Map([[id, { cents: 4 }]]));
    expect(Object.isFrozen(given.edits.get(id))).toBe(true);
    expect(given.deciders).toEqual(new Map([[id, 'Ada']]));
    expect(given.results.size).toBe(0);
  });

  it.each([[{ seen: true }], [0], [null], [undefined]])('that gives the result %j is kept in memory', async (result) => {
    const { read, given } = await asking();
    expect(await read({ [id]: { result } })).toEqual([]);
    expect(given.results).toEqual(new Map([[id, result]]));
    expect(given.deciders.size).toBe(0);
  });

  it('belongs to the run that asked', async () => {
    const helper = asTool(agentOf({ name: 'helper', model: scripted([calls('pay', { cents: 5 })]), tools: [pay] }), {
      name: 'helper',
      description: 'Helps.',
    });
    const { read } = await waiting(agentOf({ model: scripted([calls('helper', { input: 'x' })]), tools: [helper] }));
    expect(await read({ 'r1/1.0/p1': 'approve' })).toMatchObject([{ run: 'r1/1.0', draft: { decision: 'approve' } }]);
  });

  it('is for an approval of a run that the log holds', async () => {
    const { handle, read, approval } = await asking();
    const call = handle.state.calls.get('1.0');
    if (call) call.approval = { ...approval, run: 'other' };
    await expect(read({ [id]: 'approve' })).rejects.toEqual(refusal('The approval r1/p1 belongs to no run of the log.'));
  });

  it('is for an approval that is open', async () => {
    const { read } = await asking({ model: scripted([calls('pay', { cents: 5 }), calls('pay', { cents: 6 })]) });
    const message = (open: string) => `There is no open approval other: it does not exist, or was decided before. Open are: ${open}.`;
    await expect(read({ other: 'approve' })).rejects.toEqual(refusal(message('r1/p1, r1/p2')));
    const none = await waiting(agentOf());
    await expect(none.read({ other: 'approve' })).rejects.toEqual(refusal(message('none')));
  });

  const hostile = {
    get approve(): unknown {
      throw new Error('no');
    },
  };
  it.each([
    ['approved'],
    [null],
    [['approve']],
    [{}],
    [{ approve: true }],
    [{ reject: 7 }],
    [{ reject: 'no', edit: { cents: 4 } }],
    [{ reject: 'no', result: 1 }],
    [{ approve: 'standing', result: 1 }],
    [{ edit: { cents: 4 }, result: 1 }],
    [{ reject: 'no', when: {} }],
    [{ reject: 'no', forMs: 5 }],
    [{ reject: 'no', expiresAt: 5 }],
    [{ when: {} }],
    [{ reject: 'no', because: 'x' }],
    [hostile],
    [
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error('no');
          },
        },
      ),
    ],
  ])('does not fit in another form than those (%#)', async (decision) => {
    const { read } = await asking();
    await expect(read({ [id]: decision })).rejects.toEqual(
      refusal(
        expect.stringMatching(
          /^The decision for r1\/p1 does not fit\. Give 'approve', .* one of them alone; an answer or a handoff can be approved or rejected\.$/,
        ),
      ),
    );
  });

  it.each([[''], [7], [null], ['x'.repeat(201)], ['\ud800']])('does not say who decided by %j', async (by) => {
    const { read } = await asking();
    await expect(read({ [id]: { decision: 'approve', by } })).rejects.toEqual(refusal(expect.stringContaining('does not say who decided')));
  });

  it('says who decided in 200 characters', async () => {
    const { read } = await asking();
    expect(await read({ [id]: { decision: 'approve', by: 'x'.repeat(200) } })).toMatchObject([{ draft: { decidedBy: 'x'.repeat(200) } }]);
  });

  it('cannot approve what the caller runs, but reject it or give its result', async () => {
    const agent = agentOf({ model: scripted([calls('by_hand')]), tools: [caller] });
    const message = 'The approval r1/p1 is of by_hand, which you run yourself. Answer with { result: value }, or { reject: reason }.';
    for (const decision of ['approve', { approve: 'standing' }]) {
      const { read } = await waiting(agent);
      await expect(read({ [id]: decision })).rejects.toEqual(refusal(message));
    }
    const { read, given } = await waiting(agent);
    await expect(read({ [id]: { edit: {} } })).rejects.toEqual(
      refusal(expect.stringContaining('you run this tool yourself; answer with { result: value }.')),
    );
    expect(await read({ [id]: { reject: 'no' } })).toMatchObject([{ draft: { decision: 'reject' } }]);
    await read({ [id]: { result: 1 } });
    expect(given.results.get(id)).toBe(1);
  });
});

describe('a decision about a handoff', () => {
  const asks = defineGuardrail({ name: 'asks', on: ['handoff'], check: () => ask('look') });
  const handing = () =>
    waiting(agentOf({ model: scripted([calls('transfer_to_billing')]), handoffs: [agentOf({ name: 'billing' })], guardrails: [asks] }));

  it('approves or rejects it, and can do nothing else', async () => {
    const { read, approval } = await handing();
    const { subject, revision, digest } = approval as HandoffApproval;
    const base = { type: 'approval.resolve', id, subject, revision, digest };
    expect(await read({ [id]: 'approve' })).toStrictEqual([{ run: 'r1', draft: { ...base, decision: 'approve' } }]);
    expect(await read({ [id]: { reject: 'no' } })).toMatchObject([{ draft: { decision: 'reject' } }]);
    await expect(read({ [id]: { result: 1 } })).rejects.toEqual(refusal(expect.stringContaining('does not fit')));
    await expect(read({ [id]: { edit: {} } })).rejects.toEqual(
      refusal(expect.stringMatching(/only the input of a call can be edited\. Give 'approve' or \{ reject: reason \}/)),
    );
    await expect(read({ [id]: { approve: 'standing' } })).rejects.toEqual(
      refusal(expect.stringContaining('only calls can be approved in advance.')),
    );
  });
});

describe('an edit', () => {
  it.each([
    ['no object', 7, 'it is no object.'],
    ['no object, but nothing', null, 'it is no object.'],
    ['no object, but a list', [], 'it is no object.'],
    ['not plain JSON', { cents: 5n }, 'it is not plain JSON.'],
    ['not what its tool takes', { cents: 'x' }, 'it does not fit the schema of the tool.'],
  ])('is not to be %s', async (_what, edit, why) => {
    const { read, given } = await asking();
    const message = `The edit for r1/p1 cannot be used: ${why} Give { edit: input } with an input that fits the tool.`;
    await expect(read({ [id]: { edit } })).rejects.toEqual(refusal(message));
    expect(given.edits.size).toBe(0);
  });

  it('is looked at by a schema that takes its time', async () => {
    const slow = (fits: boolean) =>
      asking({
        tools: [
          tool('pay', () => 1, { approval: true, input: z.object({ cents: z.number() }).refine(async ({ cents }) => cents === 5 || fits) }),
        ],
      });
    const { read, given } = await slow(true);
    await read({ [id]: { edit: { cents: 4 } } });
    expect(given.edits.get(id)).toEqual({ cents: 4 });
    await expect((await slow(false)).read({ [id]: { edit: { cents: 4 } } })).rejects.toEqual(
      refusal(expect.stringContaining('does not fit the schema')),
    );
  });

  it('is kept nowhere where nothing is to be kept', async () => {
    const { handle } = await asking();
    const bare = new RunHandle({ ...handle.root, given: undefined }, handle.state, { agents: handle.agents });
    for (const decision of [{ edit: { cents: 4 } }, { result: 1 }])
      expect(await readAnswers(bare, new Map([[id, { decision, by: 'Ada' }]]))).toEqual([]);
  });

  it('needs its tool', async () => {
    const { handle } = await asking();
    const bare = agentOf();
    const spec = (await entered(bare)).agents;
    const nobody = new RunHandle(handle.root, handle.state, { agents: new Map() });
    await expect(readAnswers(nobody, new Map([[id, { edit: { cents: 4 } }]]))).rejects.toEqual(
      refusal(expect.stringContaining('the tool pay is not there. Resume with an agent that has it')),
    );
    const without = new RunHandle(handle.root, handle.state, { agents: spec });
    await expect(readAnswers(without, new Map([[id, { edit: { cents: 4 } }]]))).rejects.toEqual(
      refusal(expect.stringContaining('the tool pay of agent desk is not there. Resume with an agent that has it')),
    );
  });

  it.each([
    ['edit', { edit: { cents: 4 } }],
    ['result', { result: 'paid' }],
  ])('is told that its tool is disabled, where it is one of these: %s', async (what, decision) => {
    const { handle, given } = await asking();
    const off = (await entered(agentOf({ tools: [tool('pay', () => 'Paid.', { approval: true, input, enabled: false })] }))).agents;
    const disabled = new RunHandle(handle.root, handle.state, { agents: off });
    await expect(readAnswers(disabled, new Map([[id, decision]]))).rejects.toEqual(
      refusal(
        `The ${what} for ${id} cannot be used: the tool pay of agent desk is disabled (\`enabled: false\`). Enable it, or give { reject: reason }. Nothing was changed.`,
      ),
    );
    expect(given.edits.size + given.results.size).toBe(0);
    await expect(readAnswers(disabled, new Map([[id, { reject: 'no' }]]))).resolves.toMatchObject([{ draft: { decision: 'reject' } }]);
  });
});

describe('a standing decision', () => {
  const standing = { agentPath: ['desk'], tool: 'pay' };

  it.each([
    ['this very input', {}, { when: { cents: 5 }, exact: true }],
    ['inputs that fit', { when: { cents: 5 } }, { when: { cents: 5 } }],
    ['every input', { when: {} }, { when: {} }],
    ['a while', { forMs: 500 }, { when: { cents: 5 }, exact: true, expiresAt: 1_500 }],
    ['until then', { when: {}, expiresAt: 1_001 }, { when: {}, expiresAt: 1_001 }],
  ])('holds for %s', async (_what, more, expected) => {
    const { read } = await asking();
    const [answer] = await read({ [id]: { approve: 'standing', ...more } });
    expect(answer?.draft).toMatchObject({ type: 'approval.resolve', decision: 'approve' });
    expect(answer?.draft.standing).toStrictEqual({ ...standing, ...expected });
    expect(Object.isFrozen(answer?.draft.standing)).toBe(true);
  });

  it.each([
    ['no object', { when: 7 }, 'its `when` is no object of plain JSON.'],
    ['no object, but a list', { when: [] }, 'its `when` is no object of plain JSON.'],
    ['no object, but nothing', { when: null }, 'its `when` is no object of plain JSON.'],
    ['not plain JSON', { when: { cents: undefined } }, 'its `when` is no object of plain JSON.'],
    ['not for the call', { when: { cents: 6 } }, 'the call that it is given for does not fit its `when`.'],
    ['for a time that is over', { expiresAt: 1_000 }, 'its `forMs` or `expiresAt` is no time'],
    ['for no time', { forMs: 0 }, 'its `forMs` or `expiresAt` is no time'],
    ['for a time that is none', { forMs: '5' }, 'its `forMs` or `expiresAt` is no time'],
    ['until a time that is none', { expiresAt: '5000' }, 'its `forMs` or `expiresAt` is no time'],
    ['for ever by a number', { forMs: Number.POSITIVE_INFINITY }, 'its `forMs` or `expiresAt` is no time'],
    ['for two times', { forMs: 5, expiresAt: 5_000 }, 'its `forMs` or `expiresAt` is no time'],
  ])('is not to be %s', async (_what, more, why) => {
    const { read } = await asking();
    await expect(read({ [id]: { approve: 'standing', ...more } })).rejects.toEqual(
      refusal(
        expect.stringMatching(new RegExp(`^The standing decision for r1/p1 cannot be used: ${why.replace('.', '\\.')}.* or neither\\.$`)),
      ),
    );
  });
});

describe('where approvals are signed', () => {
  const approvals = { key: 'a key that nobody else can know: 1' };
  const signed = () => asking({}, { approvals });

  it('a decision counts with the token of its approval', async () => {
    const { read, handle, approvals: open } = await signed();
    const [{ token } = { token: undefined }] = await signApprovals(handle, open);
    expect(await read({ [id]: { decision: 'approve', token } })).toMatchObject([{ draft: { decision: 'approve' } }]);
    expect(await read({ [id]: { decision: { reject: 'no' }, by: 'Ada', token } })).toMatchObject([
      { draft: { decision: 'reject', decidedBy: 'Ada' } },
    ]);
    await expect(read({ [id]: { decision: 'approve', token: `${token}x` } })).rejects.toEqual(refusal(expect.any(String)));
    // A token alone decides nothing.
    await expect(read({ [id]: { token } })).rejects.toEqual(refusal(expect.stringContaining('does not fit')));
  });

  it.each([['approve'], [{ decision: 'approve' }], [{ decision: 'approve', token: 7 }], [{ decision: 'approve', token: 'x', more: 1 }]])(
    'a decision like %j has no token',
    async (decision) => {
      const { read } = await signed();
      await expect(read({ [id]: decision })).rejects.toEqual(
        refusal(expect.stringContaining('The decision for r1/p1 has no token, and approvals are signed here.')),
      );
    },
  );

  it('a token needs a key to check it with', async () => {
    const { read } = await asking();
    await expect(read({ [id]: { decision: 'approve', token: 'x' } })).rejects.toEqual(
      refusal(expect.stringContaining('The decision for r1/p1 has a token, and `resume` was given no key to check it with.')),
    );
  });
});

describe('a decision about an answer', () => {
  it('approves or rejects it, and can do nothing else', async () => {
    const kept = new Map<string, JsonValue>();
    const quarantine = {
      put: async (key: string, value: JsonValue) => void kept.set(key, value),
      get: async (key: string) => kept.get(key),
      delete: async (key: string) => void kept.delete(key),
    };
    const asks = defineGuardrail({ name: 'asks', on: ['output'], check: () => ask('look') });
    const { read, approval } = await waiting(agentOf({ guardrails: [asks] }), { quarantine });
    await settle();
    expect(approval.surface).toBe('output');
    expect(await read({ [id]: 'approve' })).toMatchObject([{ draft: { decision: 'approve' } }]);
    for (const decision of [{ result: 1 }, { edit: {} }, { approve: 'standing' }])
      await expect(read({ [id]: decision })).rejects.toEqual(refusal(expect.any(String)));
  });
});
