import type { ApprovalSigning, JsonObject, Log, OpenApproval, SignedDecision } from '@guardloop/core';
import {
  allow,
  ask,
  asTool,
  defineAgent,
  defineGuardrail,
  GuardloopError,
  memorySession,
  readQuarantined,
  rewrite,
  verifyApproval,
} from '@guardloop/core';
import { callTool, say } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { resume, run, scriptedModel, stream } from '../behaviours/audited.js';
import { eventsOf, memoryQuarantine, reread } from '../behaviours/reading.js';
import { HandClock } from '../models/hand-clock.js';
import { altered, idsOf, inOrders, only, payments, refused, waiting } from './desk.js';

const secret = 'a key that nobody else can know: 1';
const other = 'a key that nobody else can know: 2';
const approvals: ApprovalSigning = { key: secret };
const call = (orderId: string, cents: number) => callTool('pay', { orderId, cents });
const approve = ({ token }: OpenApproval): SignedDecision => ({ decision: 'approve', token });

function build(more: { readonly version?: string; readonly script?: Parameters<typeof scriptedModel>[0] } = {}) {
  const tools = payments();
  const look = defineGuardrail({ name: 'look', version: more.version ?? '1', on: ['toolInput'], check: () => allow() });
  const model = scriptedModel(more.script ?? [call('o1', 1), say('Done.')]);
  return { ...tools, agent: defineAgent({ name: 'a', instructions: '', model, tools: [tools.pay], guardrails: [look] }) };
}

describe('where approvals are signed', () => {
  it('each approval has a token that decides it, in run, stream and resume, through JSON', async () => {
    for (const start of [run, stream]) {
      const { agent, paid } = build({ script: [[call('o1', 1), call('o1', 2)], say('Done.')] });
      const asked = waiting(await start(agent, 'hi', { approvals, runId: 'r' }));
      expect(asked.approvals.map(({ token }) => typeof token)).toEqual(['string', 'string']);
      const [first, second] = reread({ version: 1, events: asked.approvals as never }).events as unknown as OpenApproval[];
      const half = waiting(
        await resume(agent, reread(asked.log), { approvals, decisions: { [second?.id ?? '']: approve(second as OpenApproval) } }),
      );
      expect(idsOf(half)).toEqual(['r/p1']);
      const done = await resume(agent, reread(half.log), { approvals, decisions: { 'r/p1': approve(first as OpenApproval) } });
      expect(done.status).toBe('completed');
      expect(paid).toEqual(inOrders(2, 1));
    }
  });

  it('neither tokens nor keys are in log, events, errors or store', async () => {
    const { agent } = build();
    const told: unknown[] = [];
    const session = { store: memorySession(), id: 's' };
    const asked = waiting(await run(agent, 'hi', { approvals, session, observers: [(event) => told.push(event)] }));
    const { token = '' } = only(asked);
    const failure: unknown = await resume(agent, session, {
      approvals,
      decisions: { [only(asked).id]: { decision: 'approve', token: `${token}0` } },
    }).result.catch((thrown: unknown) => thrown);
    expect(GuardloopError.is(failure)).toBe(true);
    for (const text of [
      JSON.stringify([asked.log, told, await session.store.load('s')]),
      `${String(failure)} ${JSON.stringify(failure)}`,
    ]) {
      expect(text).not.toContain(token);
      expect(text).not.toContain(token.split('.')[1]);
      expect(text).not.toContain(secret);
    }
  });

  it('a decision without its token is refused, and so is a token where nothing is signed', async () => {
    const { agent, paid } = build();
    const asked = waiting(await run(agent, 'hi', { approvals, runId: 'r' }));
    const before = JSON.stringify(asked.log);
    for (const decision of [
      'approve',
      { reject: 'no' },
      { decision: 'approve' },
      { decision: 'approve', token: undefined },
      { token: only(asked).token },
      null,
      7,
    ])
      await refused(resume(agent, asked.log, { approvals, decisions: { 'r/p1': decision as never } }), /Give|not fit/);
    await refused(resume(agent, asked.log, { decisions: { 'r/p1': approve(only(asked)) as never } }), /no key/);
    await refused(
      resume(agent, asked.log, { approvals, decisions: { 'r/p1': { ...approve(only(asked)), more: 1 } as never } }),
      /no token/,
    );
    expect(JSON.stringify(asked.log)).toBe(before);
    expect(paid).toEqual([]);
  });

  it('a token is used once', async () => {
    const { agent, paid } = build({ script: [call('o1', 1), call('o1', 1), say('Done.')] });
    const asked = waiting(await run(agent, 'hi', { approvals, runId: 'r' }));
    const next = waiting(await resume(agent, asked.log, { approvals, decisions: { 'r/p1': approve(only(asked)) } }));
    const token = only(asked).token;
    await refused(resume(agent, next.log, { approvals, decisions: { 'r/p1': { decision: 'approve', token } } }), /decided before/);
    await refused(
      resume(agent, next.log, { approvals, decisions: { 'r/p2': { decision: 'approve', token } } }),
      /made for another approval/,
    );
    expect(paid).toEqual(inOrders(1));
  });

  it('a token is for one run of one log, also where another has the same id, agent, call and input', async () => {
    const [here, there] = [build(), build()];
    const asked = waiting(await run(here.agent, 'hi', { approvals, runId: 'r' }));
    const twin = waiting(await run(there.agent, 'hi', { approvals, runId: 'r' }));
    await refused(resume(there.agent, twin.log, { approvals, decisions: { 'r/p1': approve(only(asked)) } }), /another log/);
    const second = waiting(await run(build().agent, 'hi', { approvals, runId: 'r2' }));
    await refused(resume(there.agent, twin.log, { approvals, decisions: { 'r/p1': approve(only(second)) } }), /made for another approval/);
    expect([...here.paid, ...there.paid]).toEqual([]);
  });

  it('a token is for one revision: after an edit that a rewrite changed, the old one is worth nothing', async () => {
    const tools = payments();
    const cap = defineGuardrail({
      name: 'cap',
      on: ['toolInput'],
      rewrite: ({ raw }) => (Number(raw.cents) > 50 ? rewrite({ ...raw, cents: 50 }, 'at most 50') : allow()),
    });
    const model = scriptedModel([call('o1', 1), say('Done.')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [tools.pay], guardrails: [cap] });
    const asked = waiting(await run(agent, 'hi', { approvals, runId: 'r' }));
    const { token } = only(asked);
    const edit = { edit: { orderId: 'o1', cents: 99 } };
    const next = waiting(await resume(agent, asked.log, { approvals, decisions: { 'r/p1': { decision: edit, token } } }));
    expect(only(next)).toMatchObject({ id: 'r/p2', revision: 2, input: { orderId: 'o1', cents: 50 } });
    await refused(resume(agent, next.log, { approvals, decisions: { 'r/p2': { decision: 'approve', token } } }), /another approval/);
    expect((await resume(agent, next.log, { approvals, decisions: { 'r/p2': approve(only(next)) } })).status).toBe('completed');
    expect(tools.paid).toEqual(inOrders(50));
  });

  it('a token is for the guardrails that stood: with another version, or one more, a person is asked again', async () => {
    const asked = waiting(await run(build().agent, 'hi', { approvals, runId: 'r' }));
    const changed = build({ version: '2' });
    await refused(resume(changed.agent, asked.log, { approvals, decisions: { 'r/p1': approve(only(asked)) } }), /other guardrails/);
    const more = defineGuardrail({ name: 'more', on: ['toolInput'], check: () => allow() });
    const { agent } = build();
    await refused(
      resume(agent, asked.log, { approvals, guardrails: [more], decisions: { 'r/p1': approve(only(asked)) } }),
      /other guardrails/,
    );
    const anew = waiting(await resume(changed.agent, asked.log, { approvals }));
    expect((await resume(changed.agent, anew.log, { approvals, decisions: { 'r/p1': approve(only(anew)) } })).status).toBe('completed');
    expect(changed.paid).toEqual(inOrders(1));
  });

  it('a token expires, by the clock of the run; resuming without a decision gives a new one', async () => {
    const clock = new HandClock();
    const { agent, paid } = build();
    const signing = { key: secret, forMs: 100 };
    const asked = waiting(await run(agent, 'hi', { approvals: signing, clock, runId: 'r' }));
    const { token } = only(asked);
    await clock.pass(99);
    expect(await verifyApproval(token ?? '', secret, { clock })).toMatchObject({ valid: true, claims: { id: 'r/p1', expiresAt: 100 } });
    await clock.pass(1);
    expect(await verifyApproval(token ?? '', secret, { clock })).toEqual({ valid: false, why: 'expired' });
    await refused(resume(agent, asked.log, { approvals: signing, clock, decisions: { 'r/p1': approve(only(asked)) } }), /expired/);
    const again = waiting(await resume(agent, asked.log, { approvals: signing, clock }));
    expect((await resume(agent, again.log, { approvals: signing, clock, decisions: { 'r/p1': approve(only(again)) } })).status).toBe(
      'completed',
    );
    expect(paid).toEqual(inOrders(1));
  });

  it('keys are changed one after another: the first signs, all are taken, and one that is gone is worth nothing', async () => {
    const { agent } = build();
    const bytes = new TextEncoder().encode(other);
    const imported = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
    const asked = waiting(await run(agent, 'hi', { approvals, runId: 'r' }));
    const decisions = { 'r/p1': approve(only(asked)) };
    for (const key of [other, bytes, imported]) await refused(resume(agent, asked.log, { approvals: { key }, decisions }), /another key/);
    for (const key of [
      [other, secret],
      [bytes, secret],
      [imported, secret],
    ]) {
      const rotated = waiting(await resume(agent, asked.log, { approvals: { key } }));
      expect(await verifyApproval(only(rotated).token ?? '', other)).toMatchObject({ valid: true });
      expect(await verifyApproval(only(rotated).token ?? '', secret)).toEqual({ valid: false, why: 'altered' });
      const done = await resume(build().agent, asked.log, { approvals: { key }, decisions });
      expect(done.status).toBe('completed');
    }
  });

  it('nested agents, standing decisions and answers in quarantine are signed like calls', async () => {
    const tools = payments();
    const quarantine = memoryQuarantine();
    const model = scriptedModel({
      top: [callTool('ask_below', { input: 'go' }), say('a promise')],
      below: [call('o1', 1), call('o1', 2), say('Below.')],
    });
    const gate = defineGuardrail({
      name: 'gate',
      on: ['output'],
      check: ({ content }) => (content.includes('promise') ? ask('promise') : allow()),
    });
    const below = defineAgent({ name: 'below', instructions: '', model, tools: [tools.pay] });
    const top = defineAgent({
      name: 'top',
      instructions: '',
      model,
      tools: [asTool(below, { name: 'ask_below', description: 'A.' })],
      guardrails: [gate],
    });
    const asked = waiting(await run(top, 'hi', { approvals, quarantine, runId: 'r' }));
    const decision = { approve: 'standing', when: { orderId: 'o1' } } as const;
    const held = waiting(
      await resume(top, reread(asked.log), { approvals, quarantine, decisions: { 'r/1.0/p1': { decision, token: only(asked).token } } }),
    );
    expect(tools.paid).toEqual(inOrders(1, 2));
    const answer = only(held);
    expect(answer).toMatchObject({ surface: 'output', agentPath: ['top'], chars: 9, calls: 0, turn: 2 });
    expect(answer.surface === 'output' && (await readQuarantined(quarantine, answer))).toEqual({
      text: 'a promise',
      reasoning: '',
      calls: [],
    });
    const done = await resume(top, reread(held.log), { approvals, quarantine, decisions: { [answer.id]: approve(answer) } });
    expect(done).toMatchObject({ status: 'completed', output: 'a promise' });
  });
});

describe('a service that shows an approval', () => {
  it('learns whether the token is ours, and whether what it shows is what was signed', async () => {
    const { agent } = build();
    const asked = waiting(await run(agent, 'hi', { approvals, runId: 'r' }));
    const approval = JSON.parse(JSON.stringify(only(asked))) as OpenApproval;
    const token = approval.token ?? '';
    expect(await verifyApproval(token, secret, { approval })).toMatchObject({
      valid: true,
      claims: { id: 'r/p1', run: 'r', agentPath: ['a'], surface: 'toolInput', subject: 'r/1.0', revision: 0, digest: approval.digest },
    });
    expect(await verifyApproval(token, [other, secret])).toMatchObject({ valid: true });
    expect(await verifyApproval(token, other)).toEqual({ valid: false, why: 'altered' });
    for (const more of [
      { input: { orderId: 'o1', cents: 2 } },
      { tool: 'look' },
      { reason: 'harmless' },
      { label: { origin: 'user', integrity: 'trusted' } },
      { asks: [] },
    ])
      expect(await verifyApproval(token, secret, { approval: { ...approval, ...more } as OpenApproval })).toEqual({
        valid: false,
        why: 'other',
      });
    const endless: { self?: unknown } = {};
    endless.self = endless;
    for (const odd of [{}, endless, { ...approval, input: 1n }, null])
      expect(await verifyApproval(token, secret, { approval: odd as never })).toEqual({ valid: false, why: 'other' });
    for (const nothing of ['', '.', 'x', undefined, null, {}])
      expect(await verifyApproval(nothing as never, secret)).toEqual({ valid: false, why: 'altered' });
  });

  it('every altered token is refused: any character changed, left out, put in or exchanged', async () => {
    const { agent, paid } = build();
    const asked = waiting(await run(agent, 'hi', { approvals, runId: 'r' }));
    const token = only(asked).token ?? '';
    const characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.+/= ';
    // Every place once: with a neighbour in the alphabet, whose bits differ least.
    for (let at = 0; at < token.length; at += 1) {
      const next = characters.charAt((characters.indexOf(token.charAt(at)) + 1) % characters.length);
      expect(await verifyApproval(token.slice(0, at) + next + token.slice(at + 1), secret)).toEqual({ valid: false, why: 'altered' });
    }
    await fc.assert(
      fc.asyncProperty(fc.nat(token.length), fc.nat(3), fc.string({ maxLength: 3 }), async (at, gone, put) => {
        const changed = token.slice(0, at) + put + token.slice(at + gone);
        fc.pre(changed !== token);
        expect(await verifyApproval(changed, secret)).toEqual({ valid: false, why: 'altered' });
        await refused(resume(agent, asked.log, { approvals, decisions: { 'r/p1': { decision: 'approve', token: changed } } }), /altered/);
      }),
      { numRuns: 300, seed: 7 },
    );
    expect(paid).toEqual([]);
  });

  it('every claim counts: whatever of a token is changed and signed with another key, or taken from another approval, is refused', async () => {
    const { agent, paid } = build();
    const asked = waiting(await run(agent, 'hi', { approvals, runId: 'r' }));
    const [payload = '', signature = ''] = (only(asked).token ?? '').split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as JsonObject;
    for (const name of [...Object.keys(claims), 'expiresAt', 'extra']) {
      const forged = Buffer.from(JSON.stringify({ ...claims, [name]: 'else' })).toString('base64url');
      await refused(
        resume(agent, asked.log, { approvals, decisions: { 'r/p1': { decision: 'approve', token: `${forged}.${signature}` } } }),
        /altered/,
      );
    }
    expect(paid).toEqual([]);
  });

  it('even with the right key, a token that says something else about this approval is refused', async () => {
    const { agent, paid } = build();
    const asked = waiting(await run(agent, 'hi', { approvals, runId: 'r' }));
    const claims = JSON.parse(Buffer.from((only(asked).token ?? '').split('.')[0] ?? '', 'base64url').toString()) as JsonObject;
    const key = await crypto.subtle.importKey('raw', new TextEncoder().encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
    const sign = async (content: JsonObject, domain = 'guardloop approval 1\n') => {
      const text = Buffer.from(JSON.stringify(content)).toString('base64url');
      return `${text}.${Buffer.from(await crypto.subtle.sign('HMAC', key, Buffer.from(domain + text))).toString('hex')}`;
    };
    expect(Object.keys(claims).sort()).toEqual([
      'agentPath',
      'digest',
      'guardrails',
      'id',
      'log',
      'revision',
      'run',
      'shown',
      'subject',
      'surface',
    ]);
    for (const [name, value] of Object.entries(claims))
      await refused(
        resume(agent, asked.log, {
          approvals,
          decisions: {
            'r/p1': {
              decision: 'approve',
              token: await sign({ ...claims, [name]: typeof value === 'number' ? value + 1 : `${String(value)}x` }),
            },
          },
        }),
        /was made for/,
      );
    await refused(
      resume(agent, asked.log, { approvals, decisions: { 'r/p1': { decision: 'approve', token: await sign({ ...claims, extra: 1 }) } } }),
      /something else/,
    );
    await refused(
      resume(agent, asked.log, {
        approvals,
        decisions: { 'r/p1': { decision: 'approve', token: await sign({ ...claims, expiresAt: 'never' }) } },
      }),
      /expired/,
    );
    await refused(
      resume(agent, asked.log, {
        approvals,
        decisions: { 'r/p1': { decision: 'approve', token: await sign(claims, 'something else\n') } },
      }),
      /altered/,
    );
    expect(paid).toEqual([]);
    const same = await resume(agent, asked.log, { approvals, decisions: { 'r/p1': { decision: 'approve', token: await sign(claims) } } });
    expect(same.status).toBe('completed');
  });
});

it('a log in which the question was exchanged, with a digest that fits, is not what the token was made for', async () => {
  const { agent, paid } = build();
  const asked = waiting(await run(agent, 'hi', { approvals, runId: 'r' }));
  const input = { orderId: 'o1', cents: 9_999 };
  const digest = Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from('{"cents":9999,"orderId":"o1"}'))).toString('hex');
  const ofModel = altered(reread(asked.log), 'model.end', (event) => ({
    ...event,
    calls: [{ ...((event.calls as JsonObject[])[0] as JsonObject), input }],
  }));
  const forged = altered(ofModel, 'approval.request', (event) => ({
    ...event,
    approval: { ...(event.approval as JsonObject), input, digest },
  }));
  // By itself it is a log like any other: whoever can write it can write what is asked.
  expect(only(waiting(await resume(agent, forged, { approvals }))).input).toEqual(input);
  await refused(resume(agent, forged, { approvals, decisions: { 'r/p1': approve(only(asked)) } }), /another input/);
  const reason = altered(reread(asked.log), 'approval.request', (event) => ({
    ...event,
    approval: { ...(event.approval as JsonObject), reason: 'harmless' },
  }));
  await refused(resume(agent, reason, { approvals, decisions: { 'r/p1': approve(only(asked)) } }), /says something else/);
  expect(paid).toEqual([]);
});

describe('keys that are none', () => {
  const { agent } = build();
  const wrong: [string, () => unknown][] = [
    ['an empty text', () => ''],
    ['a short text', () => 'secret-but-short'],
    ['a few bytes', () => new Uint8Array(31)],
    ['no list', () => []],
    ['a number', () => 7],
    ['an object', () => ({ secret })],
    ['a list with a short one', () => [secret, 'secret-but-short']],
    ['several that are wrong', () => [{ algorithm: { name: 'HMAC', hash: { name: 'SHA-256' } } }, 'secret-but-short', 7]],
    [
      'what only looks like a key',
      () => ({ algorithm: { name: 'HMAC', hash: { name: 'SHA-256' } }, usages: ['sign', 'verify'], type: 'secret' }),
    ],
    ['a key for something else', () => crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt'])],
    ['a key with another hash', () => crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-1' }, false, ['sign', 'verify'])],
    [
      'a key that may only verify, as the first',
      () => crypto.subtle.importKey('raw', new TextEncoder().encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']),
    ],
  ];
  it.each(wrong)('%s: CONFIG_INVALID, without a word of it', async (_what, make) => {
    const key = (await make()) as never;
    const attempts: readonly (() => Promise<unknown>)[] = [
      () => run(agent, 'hi', { approvals: { key } }),
      async () => stream(agent, 'hi', { approvals: { key } }).result,
      () => verifyApproval('x', key),
    ];
    for (const attempt of attempts) {
      const failure: unknown = await Promise.resolve()
        .then(attempt)
        .catch((thrown: unknown) => thrown);
      expect(failure).toMatchObject({ code: 'CONFIG_INVALID' });
      expect(String(failure)).not.toMatch(/secret-but-short|nobody else/);
    }
  });
  it.each([
    [{}],
    [null],
    [{ key: secret, forMs: 0 }],
    [{ key: secret, forMs: Number.NaN }],
    [{ key: secret, keys: [] }],
    [[secret]],
    [secret],
  ])('no form of the option but its own: %#', async (given) => {
    await expect(Promise.resolve().then(() => run(agent, 'hi', { approvals: given as never }))).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
  });
});

it('a signed log that was cut between approval and effect asks anew, with a token of its own', async () => {
  const { agent } = build();
  const asked = waiting(await run(agent, 'hi', { approvals, runId: 'r' }));
  const done = await resume(agent, asked.log, { approvals, decisions: { 'r/p1': approve(only(asked)) } });
  const at = done.log.events.findIndex(({ type }) => type === 'tool.start');
  const cut: Log = { version: 1, events: done.log.events.slice(0, at + 1) };
  const again = waiting(await resume(agent, reread(cut), { approvals }));
  expect(only(again)).toMatchObject({ mayHaveRun: true });
  await refused(resume(agent, reread(cut), { approvals, decisions: { 'r/p1': approve(only(asked)) } }), /no open approval/);
  await refused(resume(agent, again.log, { approvals, decisions: { [only(again).id]: approve(only(asked)) } }), /another approval/);
  expect(eventsOf(again.log, 'tool.end')).toEqual([]);
});
