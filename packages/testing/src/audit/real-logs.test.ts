import type { GuardVerdictEvent, JsonValue, Log, LogEvent, QuarantineStore, RunResult, Surface } from '@guardloop/core';
import {
  allow,
  ask,
  asTool,
  defineAgent,
  defineGuardrail,
  defineTool,
  deny,
  halt,
  handoff,
  memorySession,
  resume,
  rewrite,
  run,
  stream,
  withDetails,
} from '@guardloop/core';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { cutAnywhere } from '../cut-anywhere.js';
import { normalLog } from '../normal-log.js';
import type { Script } from '../script.js';
import { callTool, callUnparsable, failWith, say, think } from '../script.js';
import { scriptedModel } from '../scripted-model.js';
import { auditLog } from './audit-log.js';

const everywhere: readonly Surface[] = ['input', 'toolInput', 'toolOutput', 'handoff', 'output'];

/** Masks digits wherever they stand. */
const scrub = defineGuardrail({
  name: 'scrub',
  on: everywhere,
  rewrite: ({ content }) => (/[5-9]/.test(content) ? rewrite(content.replace(/[5-9]/g, '4'), 'large digits') : allow()),
});
/** Answers as the words it looks at tell it. */
const judge = defineGuardrail({
  name: 'judge',
  version: '3',
  on: everywhere,
  check: ({ content, surface }): never => {
    if (content.includes('HALT')) return halt('stop it') as never;
    if (content.includes('DENY')) return deny('not this') as never;
    return (content.includes('ASK') && surface !== 'input' && surface !== 'toolOutput' ? ask('look at it') : allow()) as never;
  },
});
const slow = defineGuardrail({ name: 'slow', on: everywhere, check: async () => allow() });
const quiet = defineGuardrail({
  name: 'quiet',
  on: everywhere,
  shadow: true,
  rewrite: ({ content }) => rewrite(content.toUpperCase(), 'loud'),
  check: () => deny('never'),
});
const local = defineGuardrail({
  name: 'local',
  on: everywhere,
  rewrite: ({ content }) => (content.includes('name') ? rewrite(content.replace('name', 'NAME'), 'a name') : allow()),
  check: () => allow(),
});
const orders = defineGuardrail({ name: 'orders', on: ['toolInput', 'toolOutput'], tools: ['find*'], check: () => allow() });
const own = defineGuardrail({ name: 'own', on: ['toolInput', 'toolOutput'], check: () => allow() });
const beside = defineGuardrail({
  name: 'beside',
  on: ['input'],
  beside: 'model',
  check: async ({ content }) => (content.includes('OFF') ? deny('off topic') : allow()),
});
const runGuards = [scrub, judge, slow];

const find = defineTool({
  name: 'find',
  description: 'Finds.',
  input: z.object({ id: z.string() }),
  flow: { effect: 'read' },
  guardrails: [own],
  execute: ({ id }) => `found ${id} name 7`,
});
const send = defineTool({
  name: 'send',
  description: 'Sends.',
  input: z.object({ to: z.string() }),
  flow: { effect: 'send' },
  execute: ({ to }) => ({ sent: to, number: 77 }),
});
const fail = defineTool({
  name: 'fail',
  description: 'Fails.',
  input: z.object({}),
  execute: () => {
    throw new Error('no name 9');
  },
});
const shown = defineTool({
  name: 'shown',
  description: 'Shows.',
  input: z.object({}),
  flow: { effect: 'read' },
  execute: () => withDetails('long name 8', { page: 'name 8' }),
  project: (output) => `projected ${output}`,
});
const guarded = defineTool({
  name: 'guarded',
  description: 'Asks.',
  input: z.object({ to: z.string() }),
  flow: { effect: 'write' },
  approval: true,
  execute: ({ to }) => `written ${to}`,
});
const answering = defineTool({
  name: 'answering',
  description: 'Answers.',
  input: z.object({}),
  flow: { effect: 'read' },
  endsRun: true,
  execute: () => 'the answer, name 6',
});
const tools = [find, send, fail, shown, guarded, answering];

const agentOf = (script: Script, more: object = {}) =>
  defineAgent({
    name: 'triage',
    instructions: 'Help.',
    model: scriptedModel(script),
    tools,
    guardrails: [local, orders, quiet],
    ...more,
  } as never) as ReturnType<typeof defineAgent<'triage'>>;
const billing = defineAgent({
  name: 'billing',
  instructions: 'Bill.',
  model: scriptedModel({ billing: [callTool('find', { id: 'b5' }), say('billed 6')] }),
  tools: [find],
  guardrails: [quiet, local],
});
const helper = defineAgent({
  name: 'helper',
  instructions: 'Help.',
  model: scriptedModel([
    callTool('find', { id: 'h' }),
    (request) => say(JSON.stringify(request.messages).includes('STOP') ? 'HALT' : 'helped 5'),
  ]),
  tools: [find],
  guardrails: [local],
});
const askHelper = asTool(helper, { name: 'ask_helper', description: 'Asks.' });
const returning = defineTool({
  name: 'returning',
  description: 'Hands over.',
  input: z.object({}),
  flow: { effect: 'read' },
  execute: () => handoff(billing, { brief: 'take over name 5' }),
});

const strict = defineAgent({
  name: 'strict',
  instructions: 'No.',
  model: scriptedModel([say('x')]),
  guardrails: [defineGuardrail({ name: 'closed', on: ['input'], check: () => deny('closed') })],
});
const returningStrict = defineTool({
  name: 'returning_strict',
  description: 'Hands over.',
  input: z.object({}),
  flow: { effect: 'read' },
  execute: () => handoff(strict, { brief: 'take over' }),
});

function quarantineStore(): QuarantineStore {
  const kept = new Map<string, JsonValue>();
  return {
    put: async (key, value) => void kept.set(key, value),
    get: async (key) => kept.get(key),
    delete: async (key) => void kept.delete(key),
  };
}

type Result = RunResult;
const options = { guardrails: runGuards };
const play =
  (script: Script, more: object = {}, input = 'hi name 5'): (() => Promise<Result>) =>
  () =>
    run(agentOf(script), input, { ...options, ...more }) as Promise<Result>;
const decide = async (script: Script, decision: unknown, more: object = {}): Promise<Result> => {
  const agent = agentOf(script);
  const first = (await run(agent, 'hi', { ...options, ...more })) as Result;
  if (first.status !== 'interrupted') throw new Error(`the run ended ${first.status}`);
  return (await resume(
    agent,
    JSON.parse(JSON.stringify(first.log)) as Log,
    { ...options, ...more, decisions: Object.fromEntries(first.approvals.map(({ id }) => [id, decision])) } as never,
  )) as Result;
};

const scenarios: Readonly<Record<string, () => Promise<Result>>> = {
  'a plain answer': play([say('name 5')]),
  'parallel calls': play([
    [say('look 5'), callTool('find', { id: 'a5' }), callTool('send', { to: 'x' }), callTool('find', { id: 'b' })],
    say('done'),
  ]),
  'a denied call beside others': play([
    [
      callTool('find', { id: 'DENY' }),
      callTool('find', { id: 'ok' }),
      callTool('nothing', {}),
      callUnparsable('find', '{"id'),
      callTool('find', { no: 1 }),
    ],
    say('done'),
  ]),
  'a halted call beside others': play([[callTool('find', { id: 'ok' }), callTool('find', { id: 'HALT' })]]),
  'a halted result': play([[callTool('find', { id: 'ok' }), callTool('send', { to: 'HA' })], say('HALT')]),
  'a failing tool, a projected one and one with details': play([[callTool('fail', {}), callTool('shown', {})], say('done')]),
  'equal sends': play([[callTool('send', { to: 'x' }), callTool('send', { to: 'x' })], say('done')]),
  'a refused and repaired answer': play([say('DENY this'), say('good')]),
  'an answer refused twice': play([say('DENY this'), say('DENY that')]),
  'an ask on output without a quarantine': play([say('ASK'), say('good')]),
  'an empty answer': play([[], say('good')]),
  'a model error': play([failWith(new Error('lost'))]),
  'a denied input': play([say('x')], {}, 'DENY this'),
  'an input denied beside the model': () => run(agentOf([say('x')], { guardrails: [beside, local] }), 'OFF', options) as Promise<Result>,
  'an input allowed beside the model': () =>
    run(
      agentOf([[say('x'), callTool('find', { id: 'a' })], say('y')], { guardrails: [beside, local] }),
      'fine',
      options,
    ) as Promise<Result>,
  'an input rewritten, then allowed beside the model': () =>
    run(agentOf([say('x')], { guardrails: [beside, local] }), 'fine name 5', options) as Promise<Result>,
  'shown reasoning': play([[think('name 5'), say('x')]], { reasoning: 'show' }),
  'an answer given by a tool': play([callTool('answering', {})]),
  'history from elsewhere': play([say('x')], {
    history: [
      { role: 'user', text: 'old 5' },
      { role: 'assistant', text: 'older name' },
    ],
  }),
  'a turn limit, finalized': play([callTool('find', { id: 'a' }), say('last')], { limits: { turns: 1 }, onLimit: 'finalize' }),
  'a call limit': play([[callTool('find', { id: 'a' }), callTool('find', { id: 'b' })]], { limits: { toolCalls: 1 } }),
  'a view that writes': play([callTool('find', { id: 'a' }), say('x')], {
    view: (messages: readonly unknown[]) => [{ text: 'summary name 5' }, ...messages.slice(-3)],
  }),
  'an interrupted call': play([[callTool('guarded', { to: 'x' }), callTool('find', { id: 'a' })]]),
  'an approved call': () => decide([[callTool('guarded', { to: 'x' }), callTool('find', { id: 'ASK' })], say('done')], 'approve'),
  'a rejected call': () => decide([callTool('guarded', { to: 'x' }), say('done')], { reject: 'no' }),
  'an edited call': () => decide([callTool('guarded', { to: 'x' }), say('done')], { edit: { to: 'y' } }),
  'an edit that a guardrail changed': () => decide([callTool('guarded', { to: 'x' }), say('done')], { edit: { to: '5' } }),
  'an edit that a guardrail denied': () => decide([callTool('guarded', { to: 'x' }), say('done')], { edit: { to: 'DENY' } }),
  'a released answer': () => decide([say('ASK name 5')], 'approve', { quarantine: quarantineStore() }),
  'a rejected answer': () => decide([say('ASK name 5'), say('better')], { reject: 'no' }, { quarantine: quarantineStore() }),
  'a handoff': () => run(agentOf([callTool('transfer_to_billing', {})], { handoffs: [billing] }), 'hi name 5', options) as Promise<Result>,
  'a handoff beside calls': () =>
    run(
      agentOf([[say('look'), callTool('find', { id: 'a' }), callTool('transfer_to_billing', {}), callTool('transfer_to_billing', {})]], {
        handoffs: [billing],
      }),
      'hi',
      options,
    ) as Promise<Result>,
  'a denied handoff': () =>
    run(
      agentOf([callTool('to_billing', { why: 'DENY' }), say('stay')], {
        handoffs: [handoff(billing, { name: 'to_billing', input: z.object({ why: z.string() }) })],
      }),
      'hi',
      options,
    ) as Promise<Result>,
  'a filtered handoff': () =>
    run(
      agentOf([callTool('find', { id: 'a' }), callTool('to_billing', { why: 'name 5' })], {
        handoffs: [
          handoff(billing, { name: 'to_billing', input: z.object({ why: z.string() }), history: (messages) => messages.slice(-2) }),
        ],
      }),
      'hi',
      options,
    ) as Promise<Result>,
  'a handoff that a tool returned': () =>
    run(agentOf([callTool('returning', {})], { tools: [returning] }), 'hi', options) as Promise<Result>,
  'a handoff whose brief the target refuses': () =>
    run(agentOf([callTool('transfer_to_strict', {}), say('stay')], { handoffs: [strict] }), 'hi', options) as Promise<Result>,
  'a returned handoff that the target refuses': () =>
    run(agentOf([callTool('returning_strict', {}), say('stay')], { tools: [returningStrict] }), 'hi', options) as Promise<Result>,
  'a handoff under a filter that changes words': () =>
    run(
      agentOf([callTool('to_billing', {})], {
        handoffs: [
          handoff(billing, {
            name: 'to_billing',
            history: (messages) =>
              messages.map((message) =>
                message.role === 'user' ? { ...message, parts: [{ type: 'text', text: 'short name 5' }] } : message,
              ),
          }),
        ],
      }),
      'hi',
      options,
    ) as Promise<Result>,
  'a handoff returned by a tool that a person approved': async () => {
    const guarding = defineTool({
      name: 'guarding',
      description: 'Hands over.',
      input: z.object({}),
      approval: true,
      execute: () => handoff(billing, { brief: 'take over name 5' }),
    });
    const agent = agentOf([callTool('guarding', {})], { tools: [guarding] });
    const first = (await run(agent, 'hi', options)) as Result;
    if (first.status !== 'interrupted') throw new Error(`the run ended ${first.status}`);
    return (await resume(agent, first.log, { ...options, decisions: { [first.approvals[0]?.id ?? '']: 'approve' } } as never)) as Result;
  },
  'calls that a standing decision approves': async () => {
    const gated = defineTool({
      name: 'gated',
      description: 'Waits.',
      input: z.object({ id: z.string() }),
      approval: true,
      execute: () => 'done',
    });
    const script = [callTool('gated', { id: 'a5' }), [callTool('gated', { id: 'a4' }), callTool('gated', { id: 'ASK a4' })], say('done')];
    const agent = agentOf(script, { tools: [gated] });
    const first = (await run(agent, 'hi', options)) as Result;
    if (first.status !== 'interrupted') throw new Error(`the run ended ${first.status}`);
    const decision = { approve: 'standing', when: {}, forMs: 1e9 } as const;
    return (await resume(agent, first.log, { ...options, decisions: { [first.approvals[0]?.id ?? '']: decision } } as never)) as Result;
  },
  'two handoffs in one answer, the first returned by a tool': () =>
    run(
      agentOf([[callTool('returning', {}), callTool('transfer_to_billing', {}), callTool('returning', {})]], {
        tools: [returning],
        handoffs: [billing],
      }),
      'hi',
      options,
    ) as Promise<Result>,
  'a view that writes, beside a check of the input': () =>
    run(agentOf([callTool('find', { id: 'a' }), say('x')], { guardrails: [beside, local] }), 'fine', {
      ...options,
      view: (messages) => [{ text: 'summary name 5' }, ...messages],
    }) as Promise<Result>,
  'a view whose text is refused': play([say('x')], { view: () => [{ text: 'DENY' }] }),
  'a view whose text is refused, beside a check of the input': () =>
    run(agentOf([say('x')], { guardrails: [beside, local] }), 'fine name 5', {
      ...options,
      view: () => [{ text: 'DENY' }],
    }) as Promise<Result>,
  'an approved handoff': async () => {
    const agent = agentOf([callTool('to_billing', { why: 'ASK' })], {
      handoffs: [handoff(billing, { name: 'to_billing', input: z.object({ why: z.string() }) })],
    });
    const first = (await run(agent, 'hi', options)) as Result;
    if (first.status !== 'interrupted') throw new Error(`the run ended ${first.status}`);
    return (await resume(agent, first.log, { ...options, decisions: { [first.approvals[0]?.id ?? '']: 'approve' } } as never)) as Result;
  },
  'a child run': () =>
    run(
      agentOf([[callTool('ask_helper', { input: 'a 5' }), callTool('ask_helper', { input: 'b' })], say('done')], { tools: [askHelper] }),
      'hi',
      options,
    ) as Promise<Result>,
  'a child run that halts': () =>
    run(agentOf([callTool('ask_helper', { input: 'STOP' }), say('done')], { tools: [askHelper] }), 'hi', options) as Promise<Result>,
  'two runs of a session, the second under more guardrails': async () => {
    const session = { store: memorySession(), id: 's' };
    await run(agentOf([callTool('find', { id: 'a' }), say('one name 5')]), 'hi name 5', { session });
    return (await run(agentOf([say('two')]), 'again', { ...options, session })) as Result;
  },
  'two runs of a session, the first refused': async () => {
    const session = { store: memorySession(), id: 's' };
    await run(agentOf([say('one')]), 'hi name 5', { session });
    await run(agentOf([say('x')]), 'DENY', { ...options, session });
    return (await run(agentOf([say('two')]), 'again', { ...options, session })) as Result;
  },
  'a session whose first run was abandoned': async () => {
    const session = { store: memorySession(), id: 's' };
    await run(
      agentOf([[callTool('guarded', { to: 'x' }), callTool('ask_helper', { input: 'a' })]], { tools: [...tools, askHelper] }),
      'hi',
      { ...options, session },
    );
    return (await run(agentOf([say('two')]), 'again', { ...options, session, unfinished: 'abandon' })) as Result;
  },
  'a session that goes on with the agent handed to': async () => {
    const session = { store: memorySession(), id: 's' };
    await run(agentOf([callTool('transfer_to_billing', {})], { handoffs: [billing] }), 'hi', { ...options, session });
    return (await run(agentOf([callTool('transfer_to_billing', {})], { handoffs: [billing] }), 'again', { ...options, session })) as Result;
  },
};
/** How a scenario ends that does not end completed. */
const expected: Readonly<Record<string, Result['status']>> = {
  'a halted call beside others': 'blocked',
  'a halted result': 'blocked',
  'an answer refused twice': 'blocked',
  'a model error': 'failed',
  'a denied input': 'blocked',
  'an input denied beside the model': 'blocked',
  'a turn limit, finalized': 'exhausted',
  'a call limit': 'exhausted',
  'an interrupted call': 'interrupted',
  'an edit that a guardrail changed': 'interrupted',
  'a child run that halts': 'blocked',
  'a view whose text is refused': 'blocked',
  'a view whose text is refused, beside a check of the input': 'blocked',
};

/** Verdicts that an event commits; the others are void, and may be missing. */
function counting(log: Log): readonly GuardVerdictEvent[] {
  const kept = new Set(
    normalLog(log).flatMap((event) =>
      event.type === 'guard.verdict' ? [JSON.stringify([event.surface, event.guardrail, event.phase, event.action, event.revision])] : [],
    ),
  );
  return log.events.filter(
    (event): event is GuardVerdictEvent =>
      event.type === 'guard.verdict' &&
      kept.has(JSON.stringify([event.surface, event.guardrail, event.phase, event.action, event.revision])),
  );
}

const numbered = (events: readonly LogEvent[]): Log => ({
  version: 1,
  events: events.map((event, index) => ({ ...event, seq: index + 1 })),
});
const without = (log: Log, verdict: LogEvent): Log => numbered(log.events.filter((event) => event !== verdict));
const altered = (log: Log, verdict: LogEvent, alteration: Partial<GuardVerdictEvent>): Log =>
  numbered(log.events.map((event) => (event === verdict ? ({ ...event, ...alteration } as LogEvent) : event)));

describe.each(Object.entries(scenarios))('the log of %s', (name, make) => {
  it('passes the audit, as JSON and cut anywhere too', async () => {
    const { log, status } = await make();
    expect(status).toBe(expected[name] ?? 'completed');
    expect(auditLog(log)).toEqual([]);
    const copy = JSON.parse(JSON.stringify(log)) as Log;
    expect(auditLog(copy)).toEqual([]);
    for (let length = 0; length < copy.events.length; length += 1)
      expect(auditLog({ version: 1, events: copy.events.slice(0, length) })).toEqual([]);
  });

  it('does not pass once a verdict is missing', async () => {
    const { log } = await make();
    for (const verdict of counting(log)) expect(auditLog(without(log, verdict)), JSON.stringify(verdict)).not.toEqual([]);
  });

  it('does not pass once a verdict is by another guardrail, or about something else', async () => {
    const { log } = await make();
    for (const verdict of counting(log)) {
      const alterations: Partial<GuardVerdictEvent>[] = [
        { guardrail: 'nobody' },
        { guardrail: verdict.guardrail === 'local' ? 'slow' : 'local' },
        { subject: `${verdict.subject}0` },
        { revision: verdict.revision + 1 },
        { phase: verdict.phase === 'check' ? 'rewrite' : 'check' },
        { surface: verdict.surface === 'output' ? 'toolOutput' : 'output' },
        { level: verdict.level === 'run' ? 'agent' : 'run' },
      ];
      for (const alteration of alterations)
        expect(auditLog(altered(log, verdict, alteration)), `${JSON.stringify(verdict)} with ${JSON.stringify(alteration)}`).not.toEqual(
          [],
        );
    }
  });

  it('does not pass once an answer is another one', async () => {
    const { log } = await make();
    for (const verdict of counting(log)) {
      for (const action of ['allow', 'rewrite', 'ask', 'deny', 'halt'] as const) {
        if (action === verdict.action) continue;
        expect(auditLog(altered(log, verdict, { action, reason: 'another' })), `${JSON.stringify(verdict)} as ${action}`).not.toEqual([]);
      }
    }
  });

  it('has the same normal form when it is made again', async () => {
    expect(normalLog((await make()).log)).toEqual(normalLog((await make()).log));
  });
});

describe('run and stream', () => {
  it('log the same, in normal form', async () => {
    const script = [[say('look 5'), callTool('find', { id: 'a5' }), callTool('send', { to: 'x' })], say('done')];
    const ran = await run(agentOf(script), 'hi', options);
    const streamed = stream(agentOf(script), 'hi', options);
    for await (const event of streamed) void event;
    expect(normalLog((await streamed.result).log)).toEqual(normalLog(ran.log));
  });
});

describe('cutAnywhere', () => {
  it('finds that every cut ends the same or asks, and that no effect runs twice', async () => {
    const sent: string[] = [];
    const counted = defineTool({
      name: 'counted',
      description: 'Sends.',
      input: z.object({ to: z.string() }),
      flow: { effect: 'send' },
      execute: ({ to }) => sent.push(to),
    });
    const make = () =>
      agentOf([[say('x'), callTool('find', { id: 'a' }), callTool('counted', { to: 'x' })], say('DENY'), say('done')], {
        tools: [find, counted],
      });
    const whole = await run(make(), 'hi', options);
    sent.length = 0;
    const report = await cutAnywhere(whole.log, async (prefix) => {
      const startedBefore = prefix.events.some((event) => event.type === 'tool.start' && event.tool === 'counted');
      const result = await resume(make(), prefix, { ...options, input: 'hi' });
      expect(sent.length).toBe(startedBefore ? 0 : 1);
      sent.length = 0;
      return result;
    });
    expect(report.differences).toEqual([]);
    expect(report.cuts).toBe(whole.log.events.length - 1);
    expect(report.same + report.asked).toBe(report.cuts);
    expect(report.asked).toBeGreaterThan(0);
    expect(report.same).toBeGreaterThan(report.asked);
  });

  it('holds for handoffs and child runs', async () => {
    const make = () =>
      agentOf([callTool('ask_helper', { input: 'a' }), callTool('transfer_to_billing', {})], { tools: [askHelper], handoffs: [billing] });
    const whole = await run(make(), 'hi name 5', options);
    expect(whole.status).toBe('completed');
    const report = await cutAnywhere(whole.log, (prefix) => resume(make(), prefix, { ...options, input: 'hi name 5' }), { mayAsk: false });
    expect(report.differences).toEqual([]);
  });

  it('asks anew where a cut comes between a decision and what follows from it', async () => {
    const effects: string[] = [];
    const write = defineTool({
      name: 'write',
      description: 'Writes.',
      input: z.object({ to: z.string() }),
      flow: { effect: 'write' },
      approval: true,
      execute: ({ to }) => `wrote ${effects.push(to)}`,
    });
    const make = () => agentOf([callTool('write', { to: 'x' }), say('done')], { tools: [write] });
    const decisions = {
      changed: { edit: { to: '5' } },
      refused: { edit: { to: 'DENY' } },
      given: { result: 'written by hand' },
      rejected: { reject: 'no' },
    };
    for (const decision of Object.values(decisions)) {
      const first = (await run(make(), 'hi', options)) as Result;
      const approval = first.status === 'interrupted' ? first.approvals[0] : undefined;
      const whole = await resume(make(), first.log, { ...options, decisions: { [approval?.id ?? '']: decision } });
      effects.length = 0;
      const report = await cutAnywhere(whole.log, (prefix) => resume(make(), prefix, options), { from: first.log.events.length + 1 });
      expect(report.differences).toEqual([]);
      expect(effects, `nothing runs that nobody approved, after ${JSON.stringify(decision)}`).toEqual([]);
    }
  });

  it('tells what went otherwise: another end, a changed log, a rejection', async () => {
    const whole = await run(agentOf([say('one')]), 'hi', { runId: 'a' });
    const other = await run(agentOf([say('two')]), 'hi', { runId: 'a' });
    const differences = await cutAnywhere(whole.log, async () => other);
    expect(differences.differences.join('\n')).toMatch(/ended completed: normal event \d+ is .*two.*expected .*one/);
    const changed = await cutAnywhere(whole.log, async () => ({ ...whole, log: numbered(whole.log.events.slice(1)) }));
    expect(changed.differences.join('\n')).toMatch(/event 1 of the log was changed or lost/);
    const rejected = await cutAnywhere(whole.log, () => Promise.reject(new Error('lost')));
    expect(rejected.differences).toHaveLength(whole.log.events.length - 1);
    expect(rejected.differences[0]).toMatch(/cut after 1 \(run.start\): rejected with Error: lost/);
  });
});
