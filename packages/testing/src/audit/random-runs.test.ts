import type {
  Approval,
  Decision,
  GuardVerdictEvent,
  JsonValue,
  Log,
  LogEvent,
  Message,
  QuarantineStore,
  RunResult,
  Surface,
} from '@guardloop/core';
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
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { cutAnywhere } from '../cut-anywhere.js';
import { normalLog } from '../normal-log.js';
import type { Piece, Script, Turn } from '../script.js';
import { callTool, callUnparsable, say, think } from '../script.js';
import { scriptedModel } from '../scripted-model.js';
import { auditLog } from './audit-log.js';

/** A guardrail whose answer is a function of what it looks at: the letter of its answer must stand in the content, with its name. */
interface GuardPlan {
  readonly name: string;
  readonly on: readonly Surface[];
  readonly phases: 'rewrite' | 'check' | 'both';
  readonly isShadow: boolean;
  readonly isSlow: boolean;
  readonly isBeside: boolean;
}
interface Plan {
  readonly runGuards: readonly GuardPlan[];
  readonly triage: readonly GuardPlan[];
  readonly billing: readonly GuardPlan[];
  readonly turns: readonly Turn[];
  readonly input: string;
  /** What people decide, in turn. */
  readonly decisions: readonly ('approve' | 'reject' | 'edit')[];
  readonly text: string;
  readonly hasQuarantine: boolean;
  readonly hasReasoning: boolean;
  readonly view: 'all' | 'summary';
  readonly filter: 'none' | 'last' | 'words';
}

/** For a longer search: `RUNS=1000`. */
const numRuns = Number(process.env.RUNS ?? 20);
const surfaces: readonly Surface[] = ['input', 'toolInput', 'toolOutput', 'handoff', 'output'];
const words = ['plain', 'deny-g0', 'deny-g1', 'halt-g2', 'ask-g0', 'ask-g1', 'blot-g0', 'blot-g1', 'blot-g2', 'fail-g1'];
const word = fc.constantFrom(...words, 'plain', 'plain', 'plain');
const guardPlan = (name: string) =>
  fc.record({
    name: fc.constant(name),
    on: fc.uniqueArray(fc.constantFrom(...surfaces), { minLength: 1 }),
    phases: fc.constantFrom('rewrite', 'check', 'both'),
    isShadow: fc.integer({ max: 9, min: 0 }).map((n) => n === 0),
    isSlow: fc.boolean(),
    isBeside: fc.boolean(),
  });
const piece: fc.Arbitrary<Piece> = fc.oneof(
  { weight: 3, arbitrary: word.map((text) => say(text)) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.constantFrom('find', 'send', 'approve', 'ask_helper', 'show', 'answer', 'give'), word)
      .map(([tool, text]) => callTool(tool, { text })),
  },
  { weight: 1, arbitrary: word.map((text) => callTool('transfer', { text })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(callTool('nothing', {}), callUnparsable('find', '{'), callTool('find', { no: 1 }), think('plain')),
  },
);
const plan: fc.Arbitrary<Plan> = fc.record({
  runGuards: fc.tuple(guardPlan('g0')),
  triage: fc.tuple(guardPlan('g1')),
  billing: fc.tuple(guardPlan('g2'), guardPlan('g3')),
  turns: fc.array(fc.array(piece, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 }),
  input: word,
  decisions: fc.array(fc.constantFrom('approve', 'approve', 'reject', 'edit'), { minLength: 1, maxLength: 4 }),
  text: word,
  hasQuarantine: fc.boolean(),
  hasReasoning: fc.boolean(),
  view: fc.constantFrom('all', 'all', 'summary'),
  filter: fc.constantFrom('none', 'none', 'last', 'words'),
});

function guardrail({ name, on: places, phases: asPlanned, isShadow, isSlow, isBeside }: GuardPlan) {
  const runsBeside = isBeside && asPlanned === 'check';
  const on = runsBeside ? (['input'] as const) : places;
  const phases = asPlanned;
  const answer = (content: string, surface: Surface, isRewrite: boolean): never => {
    const canAsk = surface !== 'input' && surface !== 'toolOutput';
    if (content.includes(`halt-${name}`)) return halt('halted') as never;
    if (content.includes(`deny-${name}`)) return deny('denied') as never;
    if (content.includes(`fail-${name}`)) throw new Error('broken');
    if (canAsk && content.includes(`ask-${name}`)) return ask('asked') as never;
    return (
      isRewrite && content.includes(`blot-${name}`) ? rewrite(content.replaceAll(`blot-${name}`, 'masked'), 'a mask') : allow()
    ) as never;
  };
  const asked = (isRewrite: boolean) => (subject: { readonly content: string; readonly surface: Surface }) =>
    (isSlow
      ? Promise.resolve().then(() => answer(subject.content, subject.surface, isRewrite))
      : answer(subject.content, subject.surface, isRewrite)) as never;
  return defineGuardrail({
    name,
    on,
    shadow: isShadow,
    ...(runsBeside ? { beside: 'model' } : {}),
    ...(phases === 'check' ? {} : { rewrite: asked(true) }),
    ...(phases === 'rewrite' ? {} : { check: asked(false) }),
  } as never) as ReturnType<typeof defineGuardrail<Surface>>;
}

const input = z.object({ text: z.string() });
function agentsOf({ triage, billing, turns, filter }: Plan, effects: string[]) {
  const act = ({ text }: { readonly text: string }, { idempotencyKey }: { readonly idempotencyKey: string }): string => {
    effects.push(`${idempotencyKey} ${text}`);
    return `did ${text}`;
  };
  const find = defineTool({
    name: 'find',
    description: 'Finds.',
    input,
    flow: { effect: 'read' },
    execute: async ({ text }) => `found ${text}`,
  });
  const send = defineTool({ name: 'send', description: 'Sends.', input, flow: { effect: 'send' }, execute: act });
  const approve = defineTool({ name: 'approve', description: 'Asks.', input, flow: { effect: 'write' }, approval: true, execute: act });
  const show = defineTool({
    name: 'show',
    description: 'Shows.',
    input,
    flow: { effect: 'read' },
    execute: ({ text }) => withDetails(text, { about: text }),
    project: (output) => `shown ${output}`,
  });
  const answer = defineTool({
    name: 'answer',
    description: 'Answers.',
    input,
    flow: { effect: 'read' },
    endsRun: true,
    execute: ({ text }) => text,
  });
  const history = (messages: readonly Message[]): readonly Message[] =>
    filter === 'last'
      ? messages.slice(-1).filter(({ role }) => role === 'user')
      : messages.map((message) => (message.role === 'user' ? { ...message, parts: [{ type: 'text', text: 'blot-g2' }] } : message));
  const script: Script = ({ turn }) => turns[turn - 1] ?? say('the end');
  const helper = defineAgent({
    name: 'helper',
    instructions: 'Help.',
    model: scriptedModel([callTool('find', { text: 'plain' }), say('blot-g0')]),
    tools: [find],
  });
  const second = defineAgent({
    name: 'billing',
    instructions: 'Bill.',
    model: scriptedModel(script),
    tools: [find, send],
    guardrails: billing.map(guardrail),
  });
  const give = defineTool({
    name: 'give',
    description: 'Gives over.',
    input,
    flow: { effect: 'read' },
    execute: ({ text }) => handoff(second, { brief: text }),
  });
  return defineAgent({
    name: 'triage',
    instructions: 'Help.',
    model: scriptedModel(script),
    tools: [
      find,
      send,
      approve,
      show,
      answer,
      give,
      asTool(helper, { name: 'ask_helper', description: 'Asks.', input, brief: ({ text }) => text }),
    ],
    handoffs: [handoff(second, { name: 'transfer', input, ...(filter === 'none' ? {} : { history }) })],
    guardrails: triage.map(guardrail),
  });
}
/** One object for all that a plan's runs share: the quarantine outlives an interruption. */
function optionsOf(given: Plan) {
  const kept = new Map<string, JsonValue>();
  const quarantine: QuarantineStore = {
    put: async (key, value) => void kept.set(key, value),
    get: async (key) => kept.get(key),
    delete: async (key) => void kept.delete(key),
  };
  return {
    guardrails: given.runGuards.map(guardrail),
    limits: { turns: 6 },
    reasoning: given.hasReasoning ? ('show' as const) : ('hide' as const),
    ...(given.hasQuarantine ? { quarantine } : {}),
    ...(given.view === 'summary' ? { view: (messages: readonly Message[]) => [{ text: 'blot-g1' }, ...messages] } : {}),
  };
}
type Options = ReturnType<typeof optionsOf>;

function decide(approval: Approval, given: Plan, round: number): Decision {
  const decision = given.decisions[round % given.decisions.length] ?? 'approve';
  if (decision === 'reject') return { reject: 'not today' };
  return decision === 'edit' && approval.surface === 'toolInput' ? { edit: { text: given.text } } : 'approve';
}

/** Runs a plan to its end, asking people up to ten times. */
async function finish(given: Plan, options: Options = optionsOf(given)): Promise<RunResult> {
  let result: RunResult = await run(agentsOf(given, []), given.input, options);
  for (let round = 0; round < 10 && result.status === 'interrupted'; round += 1) {
    const decisions = Object.fromEntries(result.approvals.map((approval) => [approval.id, decide(approval, given, round)]));
    result = await resume(agentsOf(given, []), result.log, { ...options, decisions });
  }
  return result;
}

/** Two plans as two runs of one session, the second under other guardrails. */
async function finishTwo(first: Plan, second: Plan): Promise<RunResult> {
  const session = { store: memorySession(), id: 's' };
  await run(agentsOf(first, []), first.input, { ...optionsOf(first), session });
  return run(agentsOf(second, []), second.input, { ...optionsOf(second), session, unfinished: 'abandon' });
}

const numbered = (events: readonly LogEvent[]): Log => ({
  version: 1,
  events: events.map((event, index) => ({ ...event, seq: index + 1 })),
});

describe('runs made at random', { timeout: 60_000 + numRuns * 500 }, () => {
  it('pass the audit, whole and cut anywhere', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (given) => {
        const { log } = await finish(given);
        expect(auditLog(log)).toEqual([]);
        for (let length = 0; length < log.events.length; length += 1)
          expect(auditLog({ version: 1, events: log.events.slice(0, length) })).toEqual([]);
      }),
      { numRuns: numRuns },
    );
  });

  it('pass the audit as two runs of a session', async () => {
    await fc.assert(
      fc.asyncProperty(plan, plan, async (first, second) => {
        const { log } = await finishTwo(first, second);
        expect(auditLog(log)).toEqual([]);
      }),
      { numRuns: numRuns },
    );
  });

  it('do not pass it once a verdict that counts is missing or turned', async () => {
    await fc.assert(
      fc.asyncProperty(plan, fc.nat(), fc.constantFrom('allow', 'rewrite', 'ask', 'deny', 'halt'), async (given, at, action) => {
        const { log } = await finish(given);
        const verdicts = log.events.filter((event): event is GuardVerdictEvent => event.type === 'guard.verdict');
        const verdict = verdicts[at % Math.max(1, verdicts.length)];
        if (verdict === undefined || isVoid(log, verdict)) return;
        expect(auditLog(numbered(log.events.filter((event) => event !== verdict))), 'one missing').not.toEqual([]);
        if (verdict.action !== action) {
          expect(
            auditLog(numbered(log.events.map((event) => (event === verdict ? { ...verdict, action } : event)))),
            `turned into ${action}`,
          ).not.toEqual([]);
        }
      }),
      { numRuns: numRuns },
    );
  });

  it('are logged alike by run and stream', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (given) => {
        const ran = await run(agentsOf(given, []), given.input, optionsOf(given));
        const streamed = stream(agentsOf(given, []), given.input, optionsOf(given));
        for await (const event of streamed) void event;
        expect(normalLog((await streamed.result).log)).toEqual(normalLog(ran.log));
      }),
      { numRuns: numRuns },
    );
  });

  it('S214: end the same or ask when they were cut, and run no effect twice', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (given) => {
        const whole = await run(agentsOf(given, []), given.input, optionsOf(given));
        const report = await cutAnywhere(whole.log, async (prefix) => {
          const effects: string[] = [];
          const result = await resume(agentsOf(given, effects), prefix, { ...optionsOf(given), input: given.input });
          const started = prefix.events.flatMap((event) =>
            event.type === 'tool.start' && event.tool === 'send' ? [event.idempotencyKey] : [],
          );
          const keys = [...started, ...effects.map((effect) => effect.split(' ')[0])];
          expect(new Set(keys).size, 'an effect ran twice').toBe(keys.length);
          return result;
        });
        expect(report.differences).toEqual([]);
      }),
      { numRuns: numRuns },
    );
  });
});

/** Void: no event counts it. A stopped run may have judged what it then did not record. */
function isVoid(log: Log, verdict: GuardVerdictEvent): boolean {
  const kept = normalLog(log).filter((event) => event.type === 'guard.verdict');
  return !kept.some(
    (event) =>
      event.guardrail === verdict.guardrail &&
      event.surface === verdict.surface &&
      event.phase === verdict.phase &&
      event.revision === verdict.revision &&
      event.action === verdict.action,
  );
}
