import type { Decision, GuardVerdictEvent, JsonObject, Log, StandingDecision } from '@guardloop/core';
import {
  allow,
  ask,
  asTool,
  resume as bareResume,
  defineAgent,
  defineGuardrail,
  defineTool,
  deny,
  memorySession,
  rewrite,
} from '@guardloop/core';
import { auditLog, callTool, cutAnywhere, normalLog, say } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { resume, run, scriptedModel, stream } from '../behaviours/audited.js';
import { callEnds, eventsOf, reread } from '../behaviours/reading.js';
import { HandClock } from '../models/hand-clock.js';
import { altered, idsOf, inOrders, only, payments, refused, waiting } from './desk.js';

const forOrder: StandingDecision = { approve: 'standing', when: { orderId: 'o1' } };
const call = (orderId: string, cents: number, more: JsonObject = {}) => callTool('pay', { orderId, cents, ...more });
const agentOf = (script: Parameters<typeof scriptedModel>[0], tools: ReturnType<typeof payments>, more: object = {}) =>
  defineAgent({ name: 'a', instructions: '', model: scriptedModel(script), tools: [tools.pay], ...more });
const usesOf = (log: Log): readonly (string | undefined)[] => eventsOf(log, 'approval.resolve').map(({ byStanding }) => byStanding);

it('B41: Standing decisions survive JSON; an exact decision goes before a standing one', async () => {
  const tools = payments();
  const agent = agentOf([[call('o1', 1), call('o1', 2)], call('o1', 3), say('Done.')], tools);
  const asked = waiting(await run(agent, 'hi', { runId: 'r' }));
  const decisions: Record<string, Decision> = { 'r/p1': forOrder, 'r/p2': { reject: 'not this one' } };
  const done = await resume(agent, reread(asked.log), { decisions: JSON.parse(JSON.stringify(decisions)) as typeof decisions });
  expect(done.status).toBe('completed');
  expect(tools.paid).toEqual(inOrders(1, 3));
  expect(callEnds(done.log)).toEqual(['pay ok', 'pay rejected', 'pay ok']);
  expect(usesOf(done.log)).toEqual([undefined, undefined, 'r/p1']);
});

describe('a standing decision', () => {
  it('approves later calls that fit, asks anew for others, and says in the log which calls it was', async () => {
    const tools = payments();
    const agent = agentOf([call('o1', 1), call('o1', 2), call('o2', 3), say('Done.')], tools);
    const asked = waiting(await run(agent, 'hi', { runId: 'r' }));
    const next = waiting(await resume(agent, reread(asked.log), { decisions: { 'r/p1': forOrder } }));
    expect(tools.paid).toEqual(inOrders(1, 2));
    expect(only(next)).toMatchObject({ id: 'r/p3', input: { orderId: 'o2', cents: 3 } });
    expect(eventsOf(next.log, 'approval.resolve')).toMatchObject([
      { id: 'r/p1', decision: 'approve', standing: { agentPath: ['a'], tool: 'pay', when: { orderId: 'o1' } } },
      { id: 'r/p2', decision: 'approve', byStanding: 'r/p1' },
    ]);
  });

  it('without a pattern holds for this very input: a field more, less or other asks anew', async () => {
    const tools = payments();
    const agent = agentOf([call('o1', 1), call('o1', 1), call('o1', 1, { note: 'x' }), say('Done.')], tools);
    const asked = waiting(await run(agent, 'hi', { runId: 'r' }));
    const next = waiting(await resume(agent, reread(asked.log), { decisions: { 'r/p1': { approve: 'standing' } } }));
    expect(tools.paid).toEqual(inOrders(1, 1));
    expect(only(next).input).toEqual({ orderId: 'o1', cents: 1, note: 'x' });
  });

  it('with an empty pattern holds for every input of the tool', async () => {
    const tools = payments();
    const agent = agentOf([call('o1', 1), call('o2', 2), say('Done.')], tools);
    const asked = waiting(await run(agent, 'hi', { runId: 'r' }));
    const done = await resume(agent, asked.log, { decisions: { 'r/p1': { approve: 'standing', when: {} } } });
    expect(done.status).toBe('completed');
    expect(tools.paid).toEqual([...inOrders(1), { orderId: 'o2', cents: 2 }]);
  });

  it('leaves open what was asked before it was made', async () => {
    const tools = payments();
    const agent = agentOf([[call('o1', 1), call('o1', 2)], say('Done.')], tools);
    const asked = waiting(await run(agent, 'hi', { runId: 'r' }));
    const next = waiting(await resume(agent, asked.log, { decisions: { 'r/p1': forOrder } }));
    expect(idsOf(next)).toEqual(['r/p2']);
    expect(tools.paid).toEqual(inOrders(1));
  });

  it('ends at its time, by the clock of the run, which is recorded as a point in time', async () => {
    for (const times of [{ forMs: 1_000 }, { expiresAt: 6_000 }]) {
      const clock = new HandClock();
      await clock.pass(5_000);
      const tools = payments();
      const wait = defineTool({
        name: 'wait',
        description: 'W.',
        input: z.object({}),
        flow: { effect: 'none' },
        execute: () => clock.pass(999).then(() => 'ok'),
      });
      const agent = agentOf(
        [call('o1', 1), callTool('wait', {}), call('o1', 2), callTool('wait', {}), call('o1', 3), say('Done.')],
        tools,
        {
          tools: [tools.pay, wait],
        },
      );
      const asked = waiting(await run(agent, 'hi', { runId: 'r', clock }));
      const next = waiting(
        await resume(agent, reread(asked.log), { clock, decisions: { 'r/p1': { ...forOrder, ...times } as StandingDecision } }),
      );
      expect(tools.paid).toEqual(inOrders(1, 2));
      expect(idsOf(next)).toEqual(['r/p3']);
      expect(eventsOf(next.log, 'approval.resolve')[0]?.standing?.expiresAt).toBe(6_000);
    }
  });

  it('holds in the later runs of a session, in other processes too, until it expires', async () => {
    const clock = new HandClock();
    const store = memorySession();
    const session = { store, id: 's' };
    const tools = payments();
    const agent = (orders: number) => agentOf([call('o1', orders), say('Done.')], tools);
    waiting(await run(agent(1), 'one', { session, clock, runId: 'r' }));
    expect((await resume(agent(1), session, { clock, decisions: { 'r/p1': { ...forOrder, forMs: 50 } } })).status).toBe('completed');
    expect((await run(agent(2), 'two', { session, clock })).status).toBe('completed');
    for await (const _ of stream(agent(3), 'three', { session, clock }));
    expect(tools.paid).toEqual(inOrders(1, 2, 3));
    await clock.pass(50);
    waiting(await run(agent(4), 'four', { session, clock }));
    expect(tools.paid).toEqual(inOrders(1, 2, 3));
  });

  it('answers nothing in a run that ignores it, and holds again in the next', async () => {
    const session = { store: memorySession(), id: 's' };
    const tools = payments();
    const agent = (cents: number) => agentOf([call('o1', cents), say('Done.')], tools);
    waiting(await run(agent(1), 'one', { session, runId: 'r' }));
    await resume(agent(1), session, { decisions: { 'r/p1': forOrder } });
    const asked = waiting(await run(agent(2), 'two', { session, standing: 'ignore' }));
    expect(idsOf(waiting(await resume(agent(2), session, { standing: 'ignore' })))).toEqual(idsOf(asked));
    expect(tools.paid).toEqual(inOrders(1));
    expect((await resume(agent(2), session)).status).toBe('completed');
    expect(tools.paid).toEqual(inOrders(1, 2));
  });

  it('ends when its agent hands over, also when that agent comes back', async () => {
    const tools = payments();
    const model = scriptedModel({
      a: [call('o1', 1), call('o1', 2), callTool('transfer_to_b', {}), call('o1', 3), say('Done.')],
      b: [callTool('transfer_to_a', {})],
    });
    const b = defineAgent({ name: 'b', instructions: '', model, handoffs: ['a'] });
    const a = defineAgent({ name: 'a', instructions: '', model, tools: [tools.pay], handoffs: [b] });
    const asked = waiting(await run(a, 'hi', { runId: 'r' }));
    const next = waiting(await resume(a, reread(asked.log), { decisions: { 'r/p1': forOrder } }));
    expect(eventsOf(next.log, 'handoff').map(({ to }) => to)).toEqual(['b', 'a']);
    expect(tools.paid).toEqual(inOrders(1, 2));
    // The script begins anew with the agent's stay.
    expect(only(next)).toMatchObject({ callId: '5.0', input: { orderId: 'o1', cents: 1 } });
  });

  it('ends when another agent starts the session’s next run', async () => {
    const session = { store: memorySession(), id: 's' };
    const tools = payments();
    const agent = (name: string, cents: number) => agentOf([call('o1', cents), say('Done.')], tools, { name });
    waiting(await run(agent('a', 1), 'hi', { session, runId: 'r' }));
    await resume(agent('a', 1), session, { decisions: { 'r/p1': forOrder } });
    const other = waiting(await run(agent('b', 2), 'hi', { session, runId: 'r2' }));
    await resume(agent('b', 2), session, { decisions: { [only(other).id]: { reject: 'no' } } });
    waiting(await run(agent('a', 3), 'hi', { session }));
    expect(tools.paid).toEqual(inOrders(1));
  });

  it('is for one agent and one tool: the same tool under another agent, and another tool of the agent, ask', async () => {
    const tools = payments();
    const refund = defineTool({
      name: 'refund',
      description: 'R.',
      input: z.object({ orderId: z.string() }),
      approval: true,
      execute: () => 'ok',
    });
    const model = scriptedModel({
      top: [call('o1', 1), [callTool('ask_below', { input: 'go' }), callTool('refund', { orderId: 'o1' })], say('Done.')],
      below: [call('o1', 2), say('Below.')],
    });
    const below = defineAgent({ name: 'below', instructions: '', model, tools: [tools.pay] });
    const top = defineAgent({
      name: 'top',
      instructions: '',
      model,
      tools: [tools.pay, refund, asTool(below, { name: 'ask_below', description: 'A.' })],
    });
    const asked = waiting(await run(top, 'hi', { runId: 'r' }));
    const next = waiting(await resume(top, asked.log, { decisions: { 'r/p1': { approve: 'standing', when: {} } } }));
    expect(next.approvals.map(({ agentPath, tool }) => [...agentPath, tool])).toEqual(
      expect.arrayContaining([
        ['top', 'below', 'pay'],
        ['top', 'refund'],
      ]),
    );
    expect(tools.paid).toEqual(inOrders(1));
  });

  it('of a nested agent holds in its later child runs, and ends when it or an agent above it hands over', async () => {
    const tools = payments();
    const model = scriptedModel({
      top: [
        callTool('ask_below', { input: '1' }),
        callTool('ask_below', { input: '2' }),
        callTool('transfer_to_side', {}),
        callTool('ask_below', { input: '3' }),
        say('Done.'),
      ],
      side: [callTool('transfer_to_top', {})],
      below: [call('o1', 1), say('Below.')],
    });
    const below = defineAgent({ name: 'below', instructions: '', model, tools: [tools.pay] });
    const side = defineAgent({ name: 'side', instructions: '', model, handoffs: ['top'] });
    const top = defineAgent({
      name: 'top',
      instructions: '',
      model,
      tools: [asTool(below, { name: 'ask_below', description: 'A.' })],
      handoffs: [side],
    });
    const asked = waiting(await run(top, 'hi', { runId: 'r' }));
    const next = waiting(await resume(top, reread(asked.log), { decisions: { 'r/1.0/p1': forOrder } }));
    expect(tools.paid).toEqual(inOrders(1, 1));
    expect(idsOf(next)).toEqual(['r/5.0/p1']);
  });

  it('for an agent that is used as a tool lets it run again', async () => {
    const model = scriptedModel({
      top: [callTool('ask_below', { input: 'x' }), callTool('ask_below', { input: 'y' }), say('Done.')],
      below: [say('Below.')],
    });
    const below = defineAgent({ name: 'below', instructions: '', model });
    const gate = defineGuardrail({ name: 'gate', on: ['toolInput'], check: () => ask('may it?') });
    const top = defineAgent({
      name: 'top',
      instructions: '',
      model,
      tools: [asTool(below, { name: 'ask_below', description: 'A.' })],
      guardrails: [gate],
    });
    const asked = waiting(await run(top, 'hi', { runId: 'r' }));
    const done = await resume(top, reread(asked.log), { decisions: { 'r/p1': { approve: 'standing', when: {} } } });
    expect(done.status).toBe('completed');
    expect(usesOf(done.log)).toEqual([undefined, 'r/p1']);
    expect(callEnds(done.log)).toEqual(['ask_below ok', 'ask_below ok']);
  });

  it('answers guardrails that ask and approval rules, but no deny and no halt; checks are asked again', async () => {
    const tools = payments();
    const large = defineGuardrail({
      name: 'large',
      on: ['toolInput'],
      check: ({ raw }) => (Number(raw.cents) > 1 ? ask('large') : allow()),
    });
    const shut = defineGuardrail({
      name: 'shut',
      on: ['toolInput'],
      check: ({ raw }) => {
        if (raw.cents === 4) return deny('four is not paid');
        return raw.cents === 6 && tools.paid.some(({ cents }) => cents === 5) ? deny('shut meanwhile') : allow();
      },
    });
    const agent = agentOf([call('o1', 2), call('o1', 3), call('o1', 4), [call('o1', 5), call('o1', 6)], say('Done.')], tools, {
      guardrails: [large, shut],
    });
    const asked = waiting(await run(agent, 'hi', { runId: 'r' }));
    const done = await resume(agent, asked.log, { decisions: { 'r/p1': forOrder } });
    expect(callEnds(done.log)).toEqual(['pay ok', 'pay ok', 'pay denied', 'pay ok', 'pay denied']);
    expect(tools.paid).toEqual(inOrders(2, 3, 5));
    const checks = done.log.events.filter(
      (event): event is GuardVerdictEvent => event.type === 'guard.verdict' && event.subject === 'r/2.0' && event.surface === 'toolInput',
    );
    expect(checks.map(({ guardrail, action }) => `${guardrail} ${action}`)).toEqual(['large ask', 'shut allow', 'large ask', 'shut allow']);
  });

  it('answers nothing that core asks: an equal effect, or one that may have happened', async () => {
    const tools = payments({ flow: { effect: 'send' } });
    const agent = agentOf([call('o1', 1), call('o1', 1), say('Done.')], tools);
    const asked = waiting(await run(agent, 'hi', { runId: 'r' }));
    const next = waiting(await resume(agent, asked.log, { decisions: { 'r/p1': { approve: 'standing', when: {} } } }));
    expect(tools.paid).toEqual(inOrders(1));
    expect(only(next).asks.map(({ by }) => by)).toContain('core');
    const started = next.log.events.findIndex(({ type }) => type === 'tool.start');
    const cut = { version: 1 as const, events: next.log.events.slice(0, started + 1) };
    const again = waiting(await resume(agent, cut));
    expect(only(again)).toMatchObject({ mayHaveRun: true, callId: '1.0' });
  });

  it('does not pass an edit that a rewrite changed, and holds for one that went through', async () => {
    const tools = payments();
    const cap = defineGuardrail({
      name: 'cap',
      on: ['toolInput'],
      rewrite: ({ raw }) => (Number(raw.cents) > 50 ? rewrite({ ...raw, cents: 50 }, 'at most 50') : allow()),
    });
    const agent = agentOf([[call('o1', 1), call('o1', 2)], call('o1', 3), say('Done.')], tools, { guardrails: [cap] });
    const asked = waiting(await run(agent, 'hi', { runId: 'r' }));
    const next = waiting(
      await resume(agent, asked.log, { decisions: { 'r/p1': forOrder, 'r/p2': { edit: { orderId: 'o1', cents: 99 } } } }),
    );
    expect(only(next)).toMatchObject({
      id: 'r/p3',
      callId: '1.1',
      input: { orderId: 'o1', cents: 50 },
      changedFields: ['cents'],
      rewrites: [{ by: 'cap', reason: 'at most 50' }],
    });
    const done = await resume(agent, next.log, { decisions: { 'r/p3': 'approve' } });
    expect(done.status).toBe('completed');
    expect(tools.paid).toEqual(inOrders(1, 50, 3));
  });
});

it('a run that waits its turn on the session knows the decisions that were made meanwhile', async () => {
  const store = memorySession();
  const tools = payments();
  const agent = (cents: number) => agentOf([call('o1', cents), say('Done.')], tools);
  waiting(await run(agent(1), 'one', { session: { store, id: 's' }, runId: 'r' }));
  const resumed = resume(agent(1), { store, id: 's' }, { decisions: { 'r/p1': forOrder } });
  const queued = run(agent(2), 'two', { session: { store, id: 's', onConflict: 'queue' } });
  expect((await resumed).status).toBe('completed');
  expect((await queued).status).toBe('completed');
  expect(tools.paid).toEqual(inOrders(1, 2));
});

it('a run that is stopped between the question and its standing answer runs nothing', async () => {
  const tools = payments();
  const agent = agentOf([call('o1', 1), call('o1', 2), say('Done.')], tools);
  const asked = waiting(await run(agent, 'hi', { runId: 'r' }));
  const stop = new AbortController();
  const done = await resume(agent, asked.log, {
    decisions: { 'r/p1': forOrder },
    signal: stop.signal,
    observers: [{ 'approval.request': () => stop.abort() }],
  });
  expect(done.status).toBe('cancelled');
  expect(callEnds(done.log)).toEqual(['pay ok', 'pay aborted']);
  expect(tools.paid).toEqual(inOrders(1));
});

describe('what cannot be a standing decision is refused before any event', () => {
  const tools = payments();
  const agent = agentOf([call('o1', 1), say('Done.')], tools);
  const asked = run(agent, 'hi', { runId: 'r' });
  it.each<[string, object]>([
    ['a pattern that does not fit the call at hand', { when: { orderId: 'o2' } }],
    ['a pattern with a field that the call does not have', { when: { note: null } }],
    ['a field without a value', { when: { orderId: undefined } }],
    ['a function', { when: { orderId: () => true } }],
    ['a number that is none', { when: { cents: Number.NaN } }],
    ['an instance', { when: new Date() }],
    ['a list', { when: ['o1'] }],
    ['a text', { when: 'o1' }],
    ['null', { when: null }],
    ['a getter', { when: Object.defineProperty({}, 'orderId', { get: () => 'o1', enumerable: true }) }],
    ['a hidden field', { when: Object.defineProperty({}, 'cents', { value: 2 }) }],
    ['an inherited field', { when: Object.create({ orderId: 'o2' }) as object }],
    ['a symbol', { when: { [Symbol('cents')]: 2 } }],
    [
      'a pattern that throws',
      {
        when: new Proxy(
          {},
          {
            ownKeys: () => {
              throw new Error('secret');
            },
          },
        ),
      },
    ],
    ['a time that has passed', { when: {}, expiresAt: 1 }],
    ['no time at all', { when: {}, forMs: Number.NaN }],
    ['an endless time', { when: {}, forMs: Number.POSITIVE_INFINITY }],
    ['a time in words', { when: {}, forMs: '1000' }],
    ['no duration', { when: {}, forMs: 0 }],
    ['two times', { when: {}, forMs: 5, expiresAt: 9e15 }],
    ['a misspelt option', { when: {}, expiresAT: 5 }],
    ['a rejection beside it', { when: {}, reject: 'no' }],
    ['another word', { approve: 'forever' }],
    ['true', { approve: true }],
  ])('%s', async (_what, more) => {
    const { log } = await asked;
    const decisions = { 'r/p1': { approve: 'standing', ...more } as never };
    await refused(resume(agent, log, { decisions }), /Give/);
    await expect(resume(agent, log, { decisions })).rejects.not.toThrow(/secret|o2/);
    expect(tools.paid).toEqual([]);
  });

  it('one for a handoff, and one for a tool that the caller runs', async () => {
    const model = scriptedModel([callTool('transfer_to_b', {}), say('x')]);
    const b = defineAgent({ name: 'b', instructions: '', model });
    const gate = defineGuardrail({ name: 'gate', on: ['handoff'], check: () => ask('may it?') });
    const a = defineAgent({ name: 'a', instructions: '', model, handoffs: [b], guardrails: [gate] });
    const atHandoff = waiting(await run(a, 'hi', { runId: 'r' }));
    await refused(resume(a, atHandoff.log, { decisions: { 'r/p1': { approve: 'standing' } } }), /only calls/);
    const remote = defineTool({ name: 'remote', description: 'R.', input: z.object({}) });
    const c = defineAgent({ name: 'c', instructions: '', model: scriptedModel([callTool('remote', {}), say('x')]), tools: [remote] });
    const atCaller = waiting(await run(c, 'hi', { runId: 'r' }));
    await refused(resume(c, atCaller.log, { decisions: { 'r/p1': { approve: 'standing' } } }), /you run yourself/);
  });
});

describe('cut anywhere', () => {
  it('a run with standing decisions ends the same, and runs no effect twice', async () => {
    const clock = new HandClock();
    const build = () => {
      const tools = payments({ flow: { effect: 'send' } });
      const guard = defineGuardrail({ name: 'look', on: ['toolInput'], check: ({ raw }) => (raw.cents === 2 ? ask('two') : allow()) });
      return { tools, agent: agentOf([call('o1', 1), [call('o1', 2), call('o1', 3)], say('Done.')], tools, { guardrails: [guard] }) };
    };
    const { agent } = build();
    const asked = waiting(await run(agent, 'hi', { runId: 'r', clock }));
    const decisions = { 'r/p1': { ...forOrder, forMs: 1e9 } } as const;
    const whole = await resume(agent, asked.log, { clock, decisions });
    expect(whole.status).toBe('completed');
    const isDecided = (log: Log): boolean => eventsOf(log, 'approval.resolve').some(({ id }) => id === 'r/p1');
    const report = await cutAnywhere(
      whole.log,
      async (prefix) => {
        const { agent: anew, tools } = build();
        const open = await bareResume(anew, reread(prefix), { input: 'hi', clock });
        const result =
          open.status === 'interrupted' && !isDecided(open.log) ? await bareResume(anew, open.log, { clock, decisions }) : open;
        const once = new Set(tools.paid.map(({ cents }) => cents));
        expect(once.size).toBe(tools.paid.length);
        return result;
      },
      // Only where an effect was under way.
      {
        mayAsk: (_prefix, { log }) =>
          eventsOf(log, 'approval.request').some(({ approval }) => approval.surface === 'toolInput' && approval.mayHaveRun),
      },
    );
    expect(report.differences).toEqual([]);
    expect(report.same).toBeGreaterThan(report.cuts - 6);
  });

  it('between a question and its standing answer, the decision must still hold when the run goes on', async () => {
    const clock = new HandClock();
    const tools = payments();
    const agent = agentOf([call('o1', 1), call('o1', 2), say('Done.')], tools);
    const asked = waiting(await run(agent, 'hi', { runId: 'r', clock }));
    const whole = await resume(agent, asked.log, { clock, decisions: { 'r/p1': { ...forOrder, forMs: 100 } } });
    const second = whole.log.events.findLastIndex(({ type }) => type === 'approval.request');
    const cut: Log = { version: 1, events: whole.log.events.slice(0, second + 1) };
    expect((await resume(agent, reread(cut), { clock })).status).toBe('completed');
    expect((await resume(agent, reread(cut), { clock, decisions: { 'r/p2': { reject: 'no' } } }).result).status).toBe('completed');
    await clock.pass(100);
    expect(idsOf(waiting(await resume(agent, reread(cut), { clock })))).toEqual(['r/p2']);
    expect(tools.paid).toEqual(inOrders(1, 2, 2));
  });

  it('run, stream and resume give the same log', async () => {
    const logs: Log[] = [];
    for (const isWatched of [false, true]) {
      const session = { store: memorySession(), id: 's' };
      const tools = payments();
      const agent = agentOf([call('o1', 1), call('o1', 2), say('Done.')], tools);
      const asked = isWatched ? await stream(agent, 'hi', { session }) : await run(agent, 'hi', { session });
      const resumed = resume(agent, session, { decisions: { [only(waiting(asked)).id]: { ...forOrder, forMs: isWatched ? 1e6 : 2e6 } } });
      if (isWatched) for await (const _ of resumed);
      logs.push((await resumed.result).log);
    }
    const [ran, streamed] = logs.map(normalLog);
    expect(streamed).toEqual(ran);
    expect(JSON.stringify(ran)).toContain('"byStanding":"r1/p1"');
  });
});

describe('the audit finds a use of a standing decision', () => {
  const build = async () => {
    const clock = new HandClock();
    await clock.pass(10);
    const tools = payments();
    const agent = agentOf([call('o1', 1), call('o1', 2), say('Done.')], tools);
    const asked = waiting(await run(agent, 'hi', { runId: 'r', clock }));
    const { log } = await resume(agent, asked.log, { clock, decisions: { 'r/p1': { ...forOrder, forMs: 100 } } });
    expect(auditLog(log)).toEqual([]);
    return reread(log);
  };
  const given = (change: (standing: JsonObject) => JsonObject | undefined) => (log: Log) =>
    altered(log, 'approval.resolve', (event) => {
      if (event.standing === undefined) return undefined;
      const { standing, ...rest } = event;
      const next = change(standing as JsonObject);
      return next === undefined ? rest : { ...rest, standing: next };
    });
  it.each<[string, (log: Log) => Log, RegExp]>([
    ['that nobody gave', given(() => undefined), /none was given/],
    ['that had expired', given((standing) => ({ ...standing, expiresAt: 5 })), /expired/],
    ['of another agent', given((standing) => ({ ...standing, agentPath: ['b'] })), /which is for pay of b/],
    ['of an agent above', given((standing) => ({ ...standing, agentPath: [] })), /which is for pay of/],
    ['of another tool', given((standing) => ({ ...standing, tool: 'refund' })), /which is for refund/],
    ['of another pattern', given((standing) => ({ ...standing, when: { orderId: 'o2' } })), /does not fit/],
    ['of one input only', given((standing) => ({ ...standing, exact: true })), /does not fit/],
    [
      'passed off as a person’s',
      (log) => altered(log, 'approval.resolve', ({ byStanding, ...rest }) => (byStanding === undefined ? undefined : rest)),
      /no person can have decided/,
    ],
    [
      'under another name',
      (log) => altered(log, 'approval.resolve', (event) => (event.byStanding === undefined ? undefined : { ...event, byStanding: 'r/p9' })),
      /none was given/,
    ],
    [
      'for a rejection',
      (log) => altered(log, 'approval.resolve', (event) => (event.byStanding === undefined ? undefined : { ...event, decision: 'reject' })),
      /can only approve/,
    ],
    [
      'on another input',
      (log) =>
        altered(log, 'approval.request', (event) => {
          const approval = event.approval as JsonObject;
          return approval.id === 'r/p2' ? { ...event, approval: { ...approval, input: { orderId: 'o3', cents: 2 } } } : undefined;
        }),
      /does not fit it/,
    ],
    [
      'where core asked',
      (log) =>
        altered(log, 'approval.request', (event) => {
          const approval = event.approval as JsonObject;
          return approval.id === 'r/p2' ? { ...event, approval: { ...approval, asks: [{ by: 'core', reason: 'x' }] } } : undefined;
        }),
      /core asked/,
    ],
  ])('%s', async (_what, alter, words) => {
    expect(auditLog(alter(await build())).join('\n')).toMatch(words);
  });

  it('after a handoff', async () => {
    const tools = payments();
    const model = scriptedModel({
      a: [call('o1', 1), callTool('transfer_to_b', {}), call('o1', 3), say('Done.')],
      b: [callTool('transfer_to_a', {})],
    });
    const b = defineAgent({ name: 'b', instructions: '', model, handoffs: ['a'] });
    const a = defineAgent({ name: 'a', instructions: '', model, tools: [tools.pay], handoffs: [b] });
    const asked = waiting(await run(a, 'hi', { runId: 'r' }));
    const next = waiting(await resume(a, asked.log, { decisions: { 'r/p1': forOrder } }));
    const done = await resume(a, next.log, { decisions: { 'r/p2': 'approve' } });
    const forged = altered(reread(done.log), 'approval.resolve', (event) =>
      event.id === 'r/p2' ? { ...event, byStanding: 'r/p1' } : undefined,
    );
    expect(auditLog(forged).join('\n')).toMatch(/which the handoff at seq \d+ had ended/);
  });
});

describe('every pattern', () => {
  const value = fc.oneof(
    fc.constantFrom('a', 'b', ''),
    fc.integer({ min: -1, max: 2 }),
    fc.boolean(),
    fc.constant(null),
    fc.array(fc.constantFrom(1, 'a'), { maxLength: 2 }),
    fc.record({ x: fc.constantFrom(1, 2) }),
  );
  const fields = fc.dictionary(fc.constantFrom('p', 'q', 'r', 'toString', 'constructor'), value, { maxKeys: 4 });
  const equal = (left: unknown, right: unknown): boolean => {
    try {
      expect(left).toStrictEqual(right);
      return true;
    } catch {
      return false;
    }
  };

  it('holds for later calls exactly where no field that it names differs', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          first: fields,
          second: fields,
          named: fc.array(fc.constantFrom('p', 'q', 'r', 'toString', 'constructor'), { maxLength: 3 }),
          isExact: fc.boolean(),
        }),
        async ({ first, second, named, isExact }) => {
          const when = Object.fromEntries(
            named.filter((name) => Object.hasOwn(first, name)).map((name) => [name, first[name]]),
          ) as JsonObject;
          const ran: unknown[] = [];
          const any = defineTool({
            name: 'any',
            description: 'Any.',
            input: { type: 'object', additionalProperties: true },
            approval: true,
            execute: (input) => {
              ran.push(input);
              return 'ok';
            },
          });
          const model = scriptedModel([callTool('any', first as JsonObject), callTool('any', second as JsonObject), say('Done.')]);
          const agent = defineAgent({ name: 'a', instructions: '', model, tools: [any] });
          const asked = waiting(await run(agent, 'hi', { runId: 'r' }));
          const decisions: Record<string, Decision> = { 'r/p1': isExact ? { approve: 'standing' } : { approve: 'standing', when } };
          const next = await resume(agent, reread(asked.log), { decisions });
          const isFit = isExact
            ? equal({ ...first }, { ...second })
            : Object.keys(when).every((name) => Object.hasOwn(second, name) && equal(second[name], when[name]));
          expect(next.status).toBe(isFit ? 'completed' : 'interrupted');
          expect(ran).toHaveLength(isFit ? 2 : 1);
        },
      ),
      { numRuns: 300, seed: 11 },
    );
  });
});
