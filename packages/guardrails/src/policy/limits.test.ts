import type { Guardrail, LogEvent, RunOptions, Tool } from '@guardloop/core';
import { ask, asTool, compareVerdicts, defineAgent, defineGuardrail, defineTool, deny, memorySession, resume, run } from '@guardloop/core';
import type { Script } from '@guardloop/testing';
import { auditLog, callTool, cutAnywhere, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { LimitStore } from './limit-store.js';
import { memoryLimits } from './limit-store.js';
import type { PolicyFromOptions } from './policy-from.js';
import { limitObserver, policyFrom } from './policy-from.js';
import type { PolicyRuleData } from './types.js';

const payInput = z.object({ to: z.string().optional(), cents: z.number().optional() });
const pay = (execute: (input: z.infer<typeof payInput>) => unknown = () => 'Paid.') =>
  defineTool({ name: 'pay', description: 'Pays.', input: payInput, execute });
const one = (cents: number, to = 'anna') => callTool('pay', { cents, to });

interface Scene {
  readonly rule?: Partial<PolicyRuleData>;
  readonly options?: PolicyFromOptions<never>;
  readonly tools?: readonly Tool<unknown>[];
  readonly guardrails?: readonly Guardrail<unknown>[];
}
const policyOf = ({ rule, options }: Scene): Guardrail<unknown, 'toolInput'> =>
  policyFrom({ name: 'limits', rules: [{ tool: 'pay', then: 'allow', ...rule }], otherwise: 'allow' }, options as PolicyFromOptions);
function agentOf(script: Script, scene: Scene) {
  return defineAgent({
    name: 'desk',
    instructions: 'Help.',
    model: scriptedModel(script),
    tools: [...(scene.tools ?? [pay()])],
    guardrails: [policyOf(scene), ...(scene.guardrails ?? [])],
  });
}
/** How each call of `pay` ended, in the order of the calls, and why it was refused. */
const endsIn = (events: readonly LogEvent[]): readonly string[] =>
  events
    .flatMap((event) => (event.type === 'tool.end' && event.tool === 'pay' ? [event] : []))
    .sort((left, right) => Number(left.callId) - Number(right.callId))
    .map(({ status, refusal }) => (refusal ? `${status}: ${refusal.reason}` : status));
async function ends(script: Script, scene: Scene, options: Partial<RunOptions<unknown>> = {}): Promise<readonly string[]> {
  const { log, events } = await run(agentOf(script, scene), 'Go.', options);
  expect(auditLog(log)).toEqual([]);
  return endsIn(events);
}
const reached = 'denied: Rule 1 of policy limits: there may be at most 2 calls in one run.';

describe('a limit of calls in a run', () => {
  const twice: Scene = { rule: { limit: { calls: 2, per: 'run' } } };

  it('lets so many through, turn by turn', async () => {
    expect(await ends([one(1), one(2), one(3), say('Done.')], twice)).toEqual(['ok', 'ok', reached]);
  });

  it('counts calls of one answer, in their order', async () => {
    expect(await ends([[one(1), one(2), one(3)], one(4), say('Done.')], twice)).toEqual(['ok', 'ok', reached, reached]);
  });

  it('does not count what something else refused', async () => {
    const guard = defineGuardrail({
      name: 'no-mallory',
      on: ['toolInput'],
      check: ({ raw }) => (raw.to === 'mallory' ? deny('Not to him.') : { action: 'allow' }),
    });
    const script = [[one(1, 'mallory'), one(2)], one(3, 'mallory'), one(4), one(5), say('Done.')];
    const no = 'denied: Not to him.';
    expect(await ends(script, { ...twice, guardrails: [guard] })).toEqual([no, 'ok', no, 'ok', reached]);
  });

  it('counts what ran and failed: its effect may have happened', async () => {
    const tools = [pay(() => Promise.reject(new Error('lost')))];
    expect(await ends([one(1), one(2), one(3), say('Done.')], { ...twice, tools })).toEqual(['error', 'error', reached]);
  });

  it('counts calls of other tools that the rule is about, and no others', async () => {
    const other = (name: string) => defineTool({ name, description: 'Does.', input: z.object({}), execute: () => 'Done.' });
    const tools = [pay(), other('pay_all'), other('find')];
    const script = [callTool('find', {}), callTool('pay_all', {}), callTool('find', {}), one(1), one(2), say('Done.')];
    expect(await ends(script, { rule: { tool: ['pay*'], limit: { calls: 2, per: 'run' } }, tools })).toEqual(['ok', reached]);
  });

  it('is of one run: the next one in a session begins anew', async () => {
    const session = { store: memorySession(), id: 's' };
    expect(await ends([one(1), one(2), one(3), say('Done.')], twice, { session })).toEqual(['ok', 'ok', reached]);
    expect(await ends([one(4), say('Done.')], twice, { session })).toEqual(['ok']);
  });

  it('is of all agents in a run: of those after a handoff and of child runs', async () => {
    const helper = () => defineAgent({ name: 'helper', instructions: '', model: scriptedModel([one(5), say('Paid.')]), tools: [pay()] });
    const agent = defineAgent({
      name: 'desk',
      instructions: '',
      model: scriptedModel([
        callTool('helper', { input: 'a' }),
        callTool('helper', { input: 'b' }),
        callTool('transfer_to_last', {}),
        say('never'),
      ]),
      tools: [asTool(helper(), { name: 'helper', description: 'Helps.' })],
      handoffs: [
        defineAgent({
          name: 'last',
          instructions: '',
          model: scriptedModel([say('1'), say('2'), say('3'), one(6), say('Done.')]),
          tools: [pay()],
        }),
      ],
    });
    const guardrails = [
      policyFrom({ name: 'limits', rules: [{ tool: 'pay', then: 'allow', limit: { calls: 1, per: 'run' } }], otherwise: 'allow' }),
    ];
    const { events, log } = await run(agent, 'Go.', { guardrails });
    expect(auditLog(log)).toEqual([]);
    expect(endsIn(events).map((end) => end.slice(0, 6))).toEqual(['ok', 'denied', 'denied']);
  });

  it('holds for child runs that go at the same time', async () => {
    const slow = defineGuardrail({
      name: 'slow',
      on: ['toolInput'],
      check: () => new Promise((resolve) => setTimeout(() => resolve({ action: 'allow' as const }), 5)),
    });
    const helper = defineAgent({ name: 'helper', instructions: '', model: scriptedModel([one(5), say('Paid.')]), tools: [pay()] });
    const agent = defineAgent({
      name: 'desk',
      instructions: '',
      model: scriptedModel([['a', 'b', 'c', 'd'].map((input) => callTool('helper', { input })), say('Done.')]),
      tools: [asTool(helper, { name: 'helper', description: 'Helps.' })],
    });
    const { events } = await run(agent, 'Go.', { guardrails: [slow, policyOf(twice)] });
    expect(
      endsIn(events)
        .map((end) => end.slice(0, 6))
        .sort(),
    ).toEqual(['denied', 'denied', 'ok', 'ok']);
  });

  it('is the same after a resume, and counts what waits for a person', async () => {
    const asks = defineGuardrail({
      name: 'asks',
      on: ['toolInput'],
      check: ({ raw }) => ((raw.cents as number) < 2 ? ask('why') : { action: 'allow' }),
    });
    const scene: Scene = { ...twice, guardrails: [asks] };
    const script = [[one(1), one(2), one(3)], one(4), say('Done.')];
    const store = memorySession();
    const first = await run(agentOf(script, scene), 'Go.', { session: { store, id: 's' } });
    if (first.status !== 'interrupted') throw new Error(first.status);
    const last = await resume(agentOf(script, scene), { store, id: 's' }, { decisions: { [first.approvals[0]?.id ?? '']: 'approve' } });
    expect(endsIn(last.events)).toEqual(['ok', 'ok', reached, reached]);
    expect(auditLog(last.log)).toEqual([]);
  });

  it('does not count what a person rejected', async () => {
    const scene: Scene = { rule: { then: 'ask', limit: { calls: 1, per: 'run' } } };
    const script = [one(1), one(2), say('Done.')];
    const store = memorySession();
    const first = await run(agentOf(script, scene), 'Go.', { session: { store, id: 's' } });
    if (first.status !== 'interrupted') throw new Error(first.status);
    const next = await resume(
      agentOf(script, scene),
      { store, id: 's' },
      { decisions: { [first.approvals[0]?.id ?? '']: { reject: 'No.' } } },
    );
    expect(next.status).toBe('interrupted');
  });

  it('holds wherever the log is cut', async () => {
    const agent = () => agentOf([[one(1), one(2)], [one(3)], say('Done.')], twice);
    const whole = await run(agent(), 'Go.');
    expect(endsIn(whole.events)).toEqual(['ok', 'ok', reached]);
    const report = await cutAnywhere(whole.log, (prefix) => resume(agent(), prefix, {}), { from: 2 });
    expect(report.differences).toEqual([]);
    expect(report.cuts).toBeGreaterThan(10);
  });

  it('is the same where the log is put to the policy again', async () => {
    const whole = await run(agentOf([[one(1), one(2), one(3)], one(4), say('Done.')], twice), 'Go.');
    const put = async (calls: number) => {
      const policy = policyOf({ rule: { limit: { calls, per: 'run' } } });
      const { subjects } = await compareVerdicts(whole.log, [policy]);
      return subjects
        .filter(({ surface }) => surface === 'toolInput')
        .map(({ subject, status, replayed }) => `${subject} ${status} ${replayed?.action}`);
    };
    const id = whole.events[0]?.run;
    const refused = [`${id}/1.2 unknown undefined`, `${id}/2.0 unknown undefined`];
    expect(await put(2)).toEqual([`${id}/1.0 same allow`, `${id}/1.1 same allow`, ...refused]);
    expect(await put(1)).toEqual([`${id}/1.0 same allow`, `${id}/1.1 changed deny`, ...refused]);
  });

  it('may ask, halt, or hand on to the next rule instead', async () => {
    const over = async (over: 'ask' | 'halt' | 'next') => {
      const result = await run(agentOf([one(1), one(2), say('Done.')], { rule: { limit: { calls: 1, per: 'run', over } } }), 'Go.');
      return [result.status, endsIn(result.events).length];
    };
    expect([await over('ask'), await over('halt')]).toEqual([
      ['interrupted', 1],
      ['blocked', 2],
    ]);
    expect(await ends([one(1), one(2), say('Done.')], { rule: { limit: { calls: 1, per: 'run', over: 'next' } } })).toEqual(['ok', 'ok']);
  });
});

describe('a limit of what is spent in a run', () => {
  const ten: Scene = { rule: { spend: { field: 'cents', atMost: 10, per: 'run' } } };
  const spent = 'denied: Rule 1 of policy limits: there may be at most 10 of `cents` in one run.';
  const uncounted =
    'denied: Rule 1 of policy limits: `cents` of this call or of an earlier one is no number of 0 or more, so it cannot be counted.';

  it('counts what calls came to, and refuses what would be too much', async () => {
    expect(await ends([[one(4), one(7), one(6)], one(1), one(0), say('Done.')], ten)).toEqual(['ok', spent, 'ok', spent, 'ok']);
  });

  it('refuses what cannot be counted', async () => {
    const script = [callTool('pay', { to: 'x' }), one(-5), one(10), say('Done.')];
    expect(await ends(script, ten)).toEqual([uncounted, uncounted, 'ok']);
  });

  it('refuses a number that a schema made: the log would not tell it later', async () => {
    const input = z.object({ cents: z.number().default(3) });
    const tools = [defineTool({ name: 'pay', description: 'Pays.', input, execute: () => 'Paid.' })];
    expect(await ends([callTool('pay', {}), callTool('pay', { cents: 4 }), say('Done.')], { ...ten, tools })).toEqual([uncounted, 'ok']);
  });

  it('looks at what a person wrote instead', async () => {
    const asks = defineGuardrail({
      name: 'asks',
      on: ['toolInput'],
      check: ({ raw }) => (raw.cents === 1 ? ask('why') : { action: 'allow' }),
    });
    const scene: Scene = { ...ten, guardrails: [asks] };
    const script = [[one(1), one(5)], say('Done.')];
    for (const [cents, end] of [
      [5, 'ok'],
      [6, spent],
    ] as const) {
      const store = memorySession();
      const first = await run(agentOf(script, scene), 'Go.', { session: { store, id: 's' } });
      if (first.status !== 'interrupted') throw new Error(first.status);
      const decisions = { [first.approvals[0]?.id ?? '']: { edit: { cents, to: 'x' } } };
      const last = await resume(agentOf(script, scene), { store, id: 's' }, { decisions });
      expect(endsIn(last.events)).toContain(end);
      expect(auditLog(last.log)).toEqual([]);
    }
  });
});

/** A clock that a test moves. */
class Hand {
  at = 1_000_000;
  now = (): number => this.at;
}

describe('a limit over time', () => {
  const hour = (clock: Hand, limits: LimitStore = memoryLimits()): Scene => ({
    rule: { limit: { calls: 2, per: 'PT1H' } },
    options: { clock, limits },
  });
  const over = 'denied: Rule 1 of policy limits: there may be at most 2 calls in PT1H.';

  it('counts over runs, and slides', async () => {
    const clock = new Hand();
    const scene = hour(clock);
    expect(await ends([one(1), say('Done.')], scene)).toEqual(['ok']);
    clock.at += 30 * 60_000;
    expect(await ends([[one(2), one(3)], say('Done.')], scene)).toEqual(['ok', over]);
    clock.at += 30 * 60_000;
    expect(await ends([[one(4), one(5)], say('Done.')], scene)).toEqual(['ok', over]);
  });

  it('counts by a field of the context', async () => {
    const clock = new Hand();
    const limits = memoryLimits();
    const of = (userId: string | undefined): Scene => ({
      rule: { limit: { calls: 1, per: 'P1D', by: 'userId' } },
      options: { clock, limits, context: () => ({ userId }) },
    });
    expect(await ends([[one(1), one(2)], say('Done.')], of('anna'))).toEqual([
      'ok',
      expect.stringContaining('at most 1 call in P1D for one context.userId'),
    ]);
    expect(await ends([one(1), say('Done.')], of('bert'))).toEqual(['ok']);
    expect(await ends([one(1), say('Done.')], of(undefined))).toEqual([expect.stringContaining('context.userId is missing')]);
  });

  it('takes one call for one, however often its guardrails are asked, and keeps its place while a person is asked', async () => {
    const clock = new Hand();
    const released: string[] = [];
    const memory = memoryLimits();
    const limits: LimitStore = { reserve: (given) => memory.reserve(given), release: (id) => void released.push(id) };
    const policy = policyOf({ rule: { then: 'ask', limit: { calls: 1, per: 'PT1H' } }, options: { clock, limits } });
    const agent = () =>
      defineAgent({ name: 'desk', instructions: '', model: scriptedModel([one(1), say('Done.')]), tools: [pay()], guardrails: [policy] });
    const store = memorySession();
    const first = await run(agent(), 'Go.', { session: { store, id: 's' } });
    if (first.status !== 'interrupted') throw new Error(first.status);
    expect(endsIn((await run(agent(), 'Go.')).events)).toEqual([expect.stringContaining('at most 1 call in PT1H')]);
    released.length = 0;
    const last = await resume(agent(), { store, id: 's' }, { decisions: { [first.approvals[0]?.id ?? '']: 'approve' } });
    expect(endsIn(last.events)).toEqual(['ok']);
    expect(released).toEqual([]);
  });

  it('gives back what a call held that did not run, as the policy is asked again in its run', async () => {
    const clock = new Hand();
    const guard = defineGuardrail({
      name: 'no-mallory',
      on: ['toolInput'],
      check: ({ raw }) => (raw.to === 'mallory' ? deny('Not to him.') : { action: 'allow' }),
    });
    const script = [[one(1, 'mallory'), one(1, 'mallory')], [one(2), one(3)], one(4), say('Done.')];
    const no = 'denied: Not to him.';
    expect(await ends(script, { ...hour(clock), guardrails: [guard] })).toEqual([no, no, 'ok', 'ok', over]);
  });

  it('gives it back at once where the run is observed', async () => {
    const clock = new Hand();
    const limits = memoryLimits();
    const guard = defineGuardrail({ name: 'no', on: ['toolInput'], check: () => deny('No.') });
    const policy = policyOf(hour(clock, limits));
    const agent = (guardrails: readonly Guardrail<unknown>[]) =>
      defineAgent({
        name: 'desk',
        instructions: '',
        model: scriptedModel([[one(1), one(2)], say('Done.')]),
        tools: [pay()],
        guardrails: [...guardrails],
      });
    const refused = await run(agent([policy, guard]), 'Go.', { observers: [limitObserver(policy)] });
    expect(endsIn(refused.events)).toEqual(['denied: No.', 'denied: No.']);
    const passed = await run(agent([policy]), 'Go.', { observers: [limitObserver(policy)] });
    expect(endsIn(passed.events)).toEqual(['ok', 'ok']);
    const third = await run(agent([policy]), 'Go.', { observers: [limitObserver(policy)] });
    expect(endsIn(third.events)).toEqual([over, over]);
  });

  it('gives back what a person rejected', async () => {
    const clock = new Hand();
    const policy = policyOf({ rule: { then: 'ask', limit: { calls: 1, per: 'PT1H' } }, options: { clock } });
    const agent = () =>
      defineAgent({ name: 'desk', instructions: '', model: scriptedModel([one(1), say('Done.')]), tools: [pay()], guardrails: [policy] });
    const store = memorySession();
    const first = await run(agent(), 'Go.', { session: { store, id: 's' } });
    if (first.status !== 'interrupted') throw new Error(first.status);
    const decisions = { [first.approvals[0]?.id ?? '']: { reject: 'No.' } };
    await resume(agent(), { store, id: 's' }, { decisions, observers: [limitObserver(policy)] });
    expect((await run(agent(), 'Go.')).status).toBe('interrupted');
  });

  it('counts what is spent, and nothing of what was too much', async () => {
    const scene: Scene = {
      rule: { limit: { calls: 10, per: 'PT1H' }, spend: { field: 'cents', atMost: 10, per: 'P1D' } },
      options: { clock: new Hand() },
    };
    const spent = expect.stringContaining('at most 10 of `cents` in P1D') as string;
    expect(await ends([[one(6), one(5), one(4)], one(0.5), say('Done.')], scene)).toEqual(['ok', spent, 'ok', spent]);
  });

  it('is asked of a store that answers later, and refuses where that fails', async () => {
    const memory = memoryLimits();
    const later: LimitStore = {
      reserve: (reservation) => Promise.resolve(memory.reserve(reservation)),
      release: (id) => Promise.resolve(memory.release(id)),
    };
    expect(await ends([[one(1), one(2), one(3)], say('Done.')], hour(new Hand(), later))).toEqual(['ok', 'ok', over]);
    const lost: LimitStore = { reserve: () => Promise.reject(new Error('lost')), release: () => undefined };
    expect(await ends([one(1), say('Done.')], hour(new Hand(), lost))).toEqual(['denied: guardrail limits failed']);
    const odd = { reserve: () => 7, release: () => undefined };
    expect(await ends([one(1), say('Done.')], hour(new Hand(), odd))).toEqual(['denied: guardrail limits failed']);
  });

  it('holds nothing for a call that a stricter rule refuses after all', async () => {
    const released: string[] = [];
    const memory = memoryLimits();
    const limits: LimitStore = {
      reserve: (given) => memory.reserve(given),
      release(id) {
        released.push(id);
        return memory.release(id);
      },
    };
    const policy = policyFrom(
      {
        name: 'limits',
        rules: [
          { tool: 'pay', when: { field: 'to', endsWith: '.x' }, then: 'ask', limit: { calls: 5, per: 'PT1H' } },
          { tool: 'pay', then: 'deny' },
        ],
        otherwise: 'deny',
      },
      { limits },
    );
    const agent = defineAgent({
      name: 'desk',
      instructions: '',
      model: scriptedModel([callTool('pay', { cents: 1 }), say('Done.')]),
      tools: [pay()],
    });
    const { events } = await run(agent, 'Go.', { guardrails: [policy], runId: 'r1' });
    expect(endsIn(events)).toEqual(['denied: Rule 2 of policy limits denies pay.']);
    expect(released).toEqual(['r1/1.0']);
  });
});

describe('limits in memory', () => {
  const entry = (amount: number, key = 'k') => ({ key, amount, atMost: 10, windowMs: 100 });

  it('are taken all or not at all', () => {
    const store = memoryLimits();
    expect(store.reserve({ id: 'a', at: 0, entries: [entry(6, 'one'), entry(6, 'two')] })).toBeUndefined();
    expect(store.reserve({ id: 'b', at: 1, entries: [entry(4, 'one'), entry(5, 'two')] })).toBe(1);
    expect(store.reserve({ id: 'c', at: 2, entries: [entry(4, 'one')] })).toBeUndefined();
    expect(store.reserve({ id: 'd', at: 100, entries: [entry(4, 'one')] })).toBeUndefined();
  });

  it('put a call in its own place, and leave it there where the new one is too much', () => {
    const store = memoryLimits();
    store.reserve({ id: 'a', at: 0, entries: [entry(6)] });
    expect(store.reserve({ id: 'a', at: 1, entries: [entry(10)] })).toBeUndefined();
    expect(store.reserve({ id: 'a', at: 2, entries: [entry(11)] })).toBe(0);
    expect(store.reserve({ id: 'b', at: 3, entries: [entry(1)] })).toBe(0);
    store.release('a');
    store.release('a');
    store.release('nobody');
    expect(store.reserve({ id: 'b', at: 4, entries: [entry(10)] })).toBeUndefined();
  });

  it('refuse an amount that is no number', () => {
    expect(memoryLimits().reserve({ id: 'a', at: 0, entries: [entry(Number.NaN)] })).toBe(0);
  });

  it('forget what is over, however many keys there were', () => {
    const store = memoryLimits();
    for (let index = 0; index < 5_000; index += 1) store.reserve({ id: `i${index}`, at: index, entries: [entry(10, `k${index}`)] });
    expect(store.reserve({ id: 'x', at: 4_999, entries: [entry(1, 'k4999')] })).toBe(0);
    expect(store.reserve({ id: 'y', at: 5_100, entries: [entry(10, 'k4999')] })).toBeUndefined();
  });
});
