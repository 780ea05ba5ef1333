import { describe, expect, it } from 'vitest';
import { agentOf, answered, calls, eventsOf, lastEvent, openCall, scripted, tool } from '../../test/scene.js';
import { defineGuardrail } from '../define/guardrail.js';
import { defineTool } from '../define/tool.js';
import type { Subject } from '../define/types.js';
import { ask, rewrite } from '../define/verdict.js';
import { canonicalJson } from '../state/canonical-json.js';
import { sha256Hex } from '../state/digest.js';
import type { Approval } from '../state/events.js';
import { approvalOf, changedFields, requestCallApproval, requestHandoffApproval } from './request-approval.js';
import { resume, run } from './run.js';

const asks = [
  { by: 'sees', reason: 'look' },
  { by: 'approval', reason: 'pay needs an approval' },
] as const;
const mails = tool('read_mail', () => 'Mail.');
const pay = tool('pay', () => 'Paid.', { flow: { effect: 'send', authority: ['cents'] } });
const mending = (
  at: { readonly name: string; readonly on: 'toolInput' | 'handoff' },
  make: (subject: Subject) => unknown,
  more: object = {},
) => defineGuardrail({ name: at.name, on: [at.on], rewrite: make as () => ReturnType<typeof rewrite>, ...more } as never);
const trusted = { origin: 'agent:desk', integrity: 'trusted' } as const;

const paying = (more: object = {}, input: object = { cents: 5 }) =>
  answered(agentOf({ model: scripted([calls('pay', input as never)]), tools: [pay, mails], ...more }));
const approvalIn = (event: unknown): Approval => (event as { approval: Approval }).approval;

describe('what a person is asked about a call', () => {
  it('is all that the decision depends on', async () => {
    const handle = await paying();
    const approval = await requestCallApproval(openCall(handle), { asks, mayHaveRun: false });
    expect(approval).toStrictEqual({
      id: 'r1/p1',
      surface: 'toolInput',
      run: 'r1',
      agentPath: ['desk'],
      subject: 'r1/1.0',
      revision: 0,
      digest: await sha256Hex(canonicalJson({ cents: 5 })),
      reason: 'look; pay needs an approval',
      asks,
      label: trusted,
      untrustedFrom: [],
      tool: 'pay',
      callId: '1.0',
      input: { cents: 5 },
      flow: { effect: 'send', authority: ['cents'], declared: true },
      mayHaveRun: false,
    });
    expect(lastEvent(handle)).toMatchObject({ type: 'approval.request', approval });
    expect(Object.isFrozen(approval.flow)).toBe(true);
  });

  it('is numbered in the run', async () => {
    const handle = await answered(agentOf({ model: scripted([calls('pay', { cents: 5 }), calls('pay', { cents: 6 })]), tools: [pay] }));
    await requestCallApproval(openCall(handle), { asks, mayHaveRun: true });
    const second = await requestCallApproval(openCall(handle, '1.1'), { asks, mayHaveRun: false });
    expect(eventsOf(handle.root, 'approval.request').map(({ approval }) => approval.id)).toEqual(['r1/p1', 'r1/p2']);
    expect(eventsOf(handle.root, 'approval.request')[0]?.approval).toMatchObject({ mayHaveRun: true });
    expect(second.callId).toBe('1.1');
  });

  it('tells that the caller runs it, where that is so', async () => {
    const caller = defineTool({ name: 'by_hand', description: 'You.', input: { type: 'object' } });
    const handle = await answered(agentOf({ model: scripted([calls('by_hand')]), tools: [caller] }));
    expect(await requestCallApproval(openCall(handle), { asks, mayHaveRun: false })).toMatchObject({ caller: true });
  });

  it('tells whose words it may depend on, each tool once', async () => {
    const risky = tool('pay', () => 'Paid.', { approval: true });
    const model = scripted([calls('read_mail', { a: 1 }), calls('read_mail', { a: 2 })], [calls('pay')]);
    const { log } = await run(agentOf({ model, tools: [mails, risky] }), 'hello', { runId: 'r1' });
    expect(approvalIn(eventsOf(log, 'approval.request')[0])).toMatchObject({
      untrustedFrom: ['read_mail'],
      label: { origin: 'agent:desk', integrity: 'untrusted' },
    });
  });

  it('tells what guardrails rewrote on the way, in order, and what changed by it', async () => {
    const spans = mending({ name: 'masks', on: 'toolInput' }, ({ content }) =>
      rewrite([{ start: content.indexOf('5'), end: content.indexOf('5') + 1, with: '4' }], 'less'),
    );
    const whole = mending({ name: 'notes', on: 'toolInput' }, () => rewrite({ cents: 4, note: 'x' }, 'noted'));
    const handle = await paying({ guardrails: [spans, whole] });
    expect(await requestCallApproval(openCall(handle), { asks, mayHaveRun: false })).toMatchObject({
      revision: 2,
      digest: await sha256Hex(canonicalJson({ cents: 4, note: 'x' })),
      input: { cents: 4, note: 'x' },
      changedFields: ['cents', 'note'],
      rewrites: [
        { by: 'masks', reason: 'less', places: 1 },
        { by: 'notes', reason: 'noted' },
      ],
    });
    const approval = await requestCallApproval(openCall(handle), { asks, mayHaveRun: false });
    expect(approval.rewrites?.[1]).toStrictEqual({ by: 'notes', reason: 'noted' });
  });

  it('tells nothing of a rewrite that only watched, or of another call', async () => {
    const shadow = mending({ name: 'watches', on: 'toolInput' }, () => rewrite({ cents: 1 }, 'would'), { shadow: true });
    const other = mending({ name: 'mends', on: 'toolInput' }, ({ content }) =>
      content.includes('6') ? rewrite({ cents: 7 }, 'more') : { action: 'allow' },
    );
    const handle = await answered(
      agentOf({ model: scripted([calls('pay', { cents: 5 }), calls('pay', { cents: 6 })]), tools: [pay], guardrails: [shadow, other] }),
    );
    expect(await requestCallApproval(openCall(handle), { asks, mayHaveRun: false })).not.toHaveProperty('rewrites');
    expect(await requestCallApproval(openCall(handle, '1.1'), { asks, mayHaveRun: false })).toMatchObject({
      rewrites: [{ by: 'mends', reason: 'more' }],
    });
  });

  it('tells of the rewrites since a person edited it, and of none before', async () => {
    const risky = tool('pay', () => 'Paid.', { approval: true });
    const mends = mending({ name: 'mends', on: 'toolInput' }, ({ content }) =>
      content.includes('1') ? { action: 'allow' } : rewrite(`${content.slice(0, -1)}1}`, 'longer'),
    );
    const agent = agentOf({ model: scripted([calls('pay', { cents: 5 })], 'Done.'), tools: [risky], guardrails: [mends] });
    const asked = await run(agent, 'hello', { runId: 'r1' });
    expect(approvalIn(eventsOf(asked.log, 'approval.request')[0])).toMatchObject({
      revision: 1,
      input: { cents: 51 },
      rewrites: [{ by: 'mends' }],
    });
    const edited = await resume(agent, asked.log, { decisions: { 'r1/p1': { edit: { cents: 6 } } } });
    const second = approvalIn(eventsOf(edited.log, 'approval.request')[1]);
    expect(second).toMatchObject({
      id: 'r1/p2',
      revision: 3,
      input: { cents: 61 },
      rewrites: [{ by: 'mends', reason: 'longer' }],
      changedFields: ['cents'],
    });
    expect(second.rewrites).toHaveLength(1);
  });

  it('takes of rewrites that a cut made void those that were given anew', async () => {
    const handle = await paying({ guardrails: [mending({ name: 'mends', on: 'toolInput' }, () => rewrite({ cents: 4 }, 'first'))] });
    const at = handle.root.events.findIndex(({ type }) => type === 'guard.verdict');
    const verdict = handle.root.events[at];
    if (verdict?.type !== 'guard.verdict') throw new Error('no verdict');
    handle.root.events.splice(at + 1, 0, { ...verdict, reason: 'again' });
    expect(await requestCallApproval(openCall(handle), { asks, mayHaveRun: false })).toMatchObject({
      rewrites: [{ by: 'mends', reason: 'again' }],
    });
  });

  it('looks no further back than the start of the run, and at one surface', async () => {
    const handle = await paying();
    const told = {
      type: 'guard.verdict',
      guardrail: 'old',
      action: 'rewrite',
      surface: 'toolInput',
      subject: 'r1/1.0',
      revision: 0,
      phase: 'rewrite',
    };
    const matter = {
      surface: 'toolInput',
      subject: 'r1/1.0',
      revision: 1,
      givenRevision: 0,
      digest: '',
      asks: [],
      label: trusted,
    } as const;
    const events = handle.root.events as object[];
    events.unshift(told);
    (handle.state as { startSeq: number }).startSeq = 2;
    expect(approvalOf(handle, matter)).toMatchObject({ rewrites: [] });
    (handle.state as { startSeq: number }).startSeq = 1;
    expect(approvalOf(handle, matter)).toMatchObject({ rewrites: [{ by: 'old' }] });
    expect(approvalOf(handle, { ...matter, surface: 'handoff' })).toMatchObject({ rewrites: [] });
    expect(approvalOf(handle, { ...matter, givenRevision: 1, revision: 2 })).toMatchObject({ rewrites: [] });
    expect(approvalOf(handle, { ...matter, givenRevision: 1 })).not.toHaveProperty('rewrites');
    expect(approvalOf(handle, { ...matter, asks: [{ by: 'a', reason: 'x' }] }).rewrites?.[0]).toStrictEqual({ by: 'old' });
    told.revision = 1;
    expect(approvalOf(handle, matter)).toMatchObject({ rewrites: [] });
  });
});

describe('what a person is asked about a handoff', () => {
  it('is where it leads and with what', async () => {
    const asking = defineGuardrail({ name: 'asks', on: ['handoff'], check: () => ask('look') });
    const mends = mending({ name: 'mends', on: 'handoff' }, () => rewrite('Bill it.', 'shorter'));
    const handle = await answered(
      agentOf({ model: scripted([calls('transfer_to_billing')]), handoffs: [agentOf({ name: 'billing' })], guardrails: [mends, asking] }),
    );
    const call = handle.state.calls.get('1.0');
    if (call === undefined) throw new Error('no call');
    await requestHandoffApproval(handle, call, { to: 'billing', brief: 'Bill it.', revision: 1, asks });
    expect(approvalIn(lastEvent(handle))).toStrictEqual({
      id: 'r1/p1',
      surface: 'handoff',
      run: 'r1',
      agentPath: ['desk'],
      subject: 'r1/1.0',
      revision: 1,
      digest: await sha256Hex(canonicalJson({ to: 'billing', brief: 'Bill it.' })),
      reason: 'look; pay needs an approval',
      asks,
      label: trusted,
      untrustedFrom: [],
      rewrites: [{ by: 'mends', reason: 'shorter' }],
      tool: 'transfer_to_billing',
      callId: '1.0',
      input: {},
      from: 'desk',
      to: 'billing',
      brief: 'Bill it.',
    });
    expect(Object.isFrozen(approvalIn(lastEvent(handle)))).toBe(true);
  });
});

describe('the fields that changed', () => {
  it.each([
    ['equal values in another order', { a: { x: 1, y: 2 } }, { a: { y: 2, x: 1 } }, []],
    ['another value', { a: 1, b: 2 }, { a: 1, b: 3 }, ['b']],
    ['a new field', {}, { a: 1 }, ['a']],
    ['a field that is gone', { a: 1 }, {}, []],
    ['a field without a value before', { a: undefined }, { a: 1 }, ['a']],
    ['a field without a value now', { a: 1 }, { a: undefined }, ['a']],
    ['a name that every object has', {}, { toString: 'x' }, ['toString']],
  ])('are told of %s', (...[, given, passed, expected]) => {
    expect(changedFields(given, passed as never)).toEqual(expected);
  });
});
