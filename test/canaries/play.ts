import type { Agent, Answer, Guardrail, Log, Model, RunEvent, RunOptions, RunResult, Subject } from '@guardloop/core';
import { allow, asTool, defineAgent, defineGuardrail, memorySession, resume, run, stream, withFallback, withRetry } from '@guardloop/core';
import type { ScriptedModel } from '@guardloop/testing';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { canary, tracesOf } from './canary.js';
import type { Kit, Manner } from './kit.js';
import { again, makeKit } from './kit.js';
import type { Source } from './scenes.js';

/** How a source's run is made. To add one, add a name and say in {@link play} what it does. */
export const modes = [
  'run',
  'streamed',
  'live',
  'under the run’s own',
  'beside the model',
  'in a child',
  'in a child of a child',
  'live in a child',
  'with retries',
  'cut anywhere',
] as const;
export type Mode = (typeof modes)[number];

/** Everything that a run leaves behind, by name. */
export interface Left {
  readonly result: RunResult;
  readonly sinks: Readonly<Record<string, unknown>>;
  /** Whether a guardrail, or the function that quotes it, met the canary at all. */
  readonly met: number;
  readonly kit: Kit;
}

/** What was shown without what was taken back. */
export function withoutRetracted(events: readonly RunEvent[]): readonly RunEvent[] {
  return events.filter((event, index) => {
    if (event.type !== 'text.delta') return true;
    return !events.slice(index).some((later) => later.type === 'text.retract' && later.run === event.run && later.turn === event.turn);
  });
}

/** A guardrail that only looks: on each surface it is shown what the one before it let through. */
function witness(seen: unknown[], source: Source, manner: Manner) {
  const isGone = manner === 'rewrites' || manner === 'denies while rewriting' || manner === 'rewrites to what does not fit';
  return defineGuardrail({
    name: 'witness',
    on: ['input', 'toolInput', 'toolOutput', 'handoff', 'output'],
    check: (subject: Subject, { messages }) => {
      // Who stands on the same surface is shown what the other is shown, unless a rewrite took it away before.
      const isEntitled = source.passes?.includes(subject.surface) || (subject.surface === source.surface && !isGone);
      if (!isEntitled) seen.push(subject);
      if (!isEntitled || !source.isTold) seen.push(messages);
      return allow();
    },
  });
}

/** Makes the agent a tool of another, which asks it first; `brief` is what it is asked, and `told` takes the model of the other. */
function wrap(agent: Agent<unknown, Answer>, { name, brief, told }: Wrapping): Agent<unknown, Answer> {
  const model = scriptedModel(({ messages, turn }) => {
    if (JSON.stringify(messages).includes(again)) return say('Nothing new.');
    return turn === 1 ? callTool(`ask_${agent.name}`, { input: 'go' }) : say('Asked.');
  });
  told.push(model);
  const ask = asTool(agent, { name: `ask_${agent.name}`, description: 'Asks.', brief: () => brief, stream: true });
  return defineAgent({ name, instructions: 'Ask.', model, tools: [ask] }) as never;
}
interface Wrapping {
  readonly name: string;
  readonly brief: string;
  readonly told: ScriptedModel[];
}

/** Another model is asked first. It fails with a call half made, and with an error that quotes it. */
function behindFailures(model: Model): Model {
  const failing: Model = {
    id: 'down',
    provider: 'other',
    async *stream() {
      yield { type: 'tool.delta', index: 0, text: canary };
      yield { type: 'tool.call', call: { name: 'act', input: { text: canary }, providerId: canary } };
      throw Object.assign(new Error(canary, { cause: canary }), { body: canary });
    },
  };
  return withFallback([withRetry(failing, { attempts: 2, baseMs: 0 }), withRetry(model, { attempts: 2, baseMs: 0 })], { when: () => true });
}

/** A kit whose guardrail stands on the run, or whose models are asked after others have failed. */
function kitIn(mode: Mode, kit: Kit, lifted: Guardrail<unknown>[]): Kit {
  if (mode === 'with retries') return { ...kit, model: (...turns) => behindFailures(kit.model(...turns)) };
  if (mode !== 'under the run’s own') return kit;
  return {
    ...kit,
    watch: (...on) => {
      if (lifted.length === 0) lifted.push(...kit.watch(...on));
      return [];
    },
  };
}

/** Runs a source once in a mode, with a second run on its session, and gathers all that is left. */
export async function play(source: Source, manner: Manner, mode: Exclude<Mode, 'cut anywhere'>): Promise<Left> {
  const { kit, models } = makeKit(manner);
  const lifted: Guardrail<unknown>[] = [];
  const scene = source.build(kitIn(mode, kit, lifted));
  const outer: ScriptedModel[] = [];
  const isLive = mode === 'live' || mode === 'live in a child';
  const isChild = mode.endsWith('in a child') || mode === 'in a child of a child';
  const given = scene.input ?? 'Please help.';
  let { agent } = scene;
  if (isChild) agent = wrap(agent, { name: 'outer', brief: String(given), told: outer });
  if (mode === 'in a child of a child') agent = wrap(agent, { name: 'outermost', brief: 'go', told: outer });
  const observed: RunEvent[] = [];
  const seen: unknown[] = [];
  const session = { store: memorySession(), id: 's' };
  const calm = defineGuardrail({ name: 'calm', on: ['input'], beside: 'model', check: async () => allow() });
  const options = {
    ...scene.options,
    session,
    observers: [(event: RunEvent) => void observed.push(event), ...(scene.options?.observers ?? [])],
    guardrails: [...(mode === 'beside the model' ? [calm] : []), ...lifted, witness(seen, source, manner)],
    ...(isLive ? { release: 'live' as const } : {}),
  } as RunOptions;
  const input = isChild ? 'go' : given;
  const events: RunEvent[] = [];
  const thrown: unknown[] = [];

  let result: RunResult;
  if (mode === 'run' || lifted.length > 0) result = await run(agent, input as never, options as never);
  else {
    const watched = stream(agent, input as never, options as never);
    for await (const event of watched) events.push(event);
    result = await watched.result;
  }
  const results: RunResult[] = [result];
  for (let round = 0; result.status === 'interrupted' && scene.decide && round < 3; round += 1) {
    const { history: _history, session: _session, ...others } = options;
    const resumed = resume(agent, session, { ...others, decisions: scene.decide(result.approvals) } as never);
    for await (const event of resumed) events.push(event);
    result = (await resumed.result) as RunResult;
    results.push(result);
  }
  const { signal: _signal, history: _given, limits: _limits, onLimit: _onLimit, ...later } = options;
  const next = await run(agent, again, { ...later, unfinished: 'abandon' } as never).catch((error: unknown) => {
    thrown.push(error);
    return undefined;
  });
  return {
    result,
    met: kit.shown(),
    kit,
    sinks: {
      results,
      next,
      thrown,
      log: JSON.stringify(result.log),
      stored: await session.store.load('s'),
      events: isLive ? withoutRetracted(events) : events,
      observed: isLive ? withoutRetracted(observed) : observed,
      requests: [...models, ...outer].map(({ requests }) => requests),
      seen,
      quarantined: scene.quarantine?.kept,
    },
  };
}

/** Runs a source, cuts its log after each event, and has each prefix resumed as another process would. */
export async function playCuts(source: Source, manner: Manner): Promise<readonly Left[]> {
  const whole = await play(source, manner, 'run');
  const all: Left[] = [];
  const { events } = whole.result.log;
  const end = events.findIndex((event) => event.type === 'run.end' && event.parent === undefined);
  for (let length = 1; length <= (end < 0 ? events.length : end); length += 1) {
    const { kit, models } = makeKit(manner);
    const scene = source.build(kit);
    const prefix = JSON.parse(JSON.stringify({ version: 1, events: events.slice(0, length) })) as Log;
    const seen: unknown[] = [];
    const shown: RunEvent[] = [];
    const { limits: _limits, onLimit: _onLimit, ...options } = scene.options ?? {};
    const resumed = resume(scene.agent, prefix, {
      ...options,
      input: scene.input ?? 'Please help.',
      guardrails: [witness(seen, source, manner)],
    } as never);
    for await (const event of resumed) shown.push(event);
    const result = (await resumed.result) as RunResult;
    all.push({ result, met: kit.shown(), kit, sinks: { result, shown, requests: models.map(({ requests }) => requests), seen } });
  }
  return all;
}

/** Where the canary can still be reached, by sink and path. */
export function tracesIn(sinks: Readonly<Record<string, unknown>>): readonly string[] {
  const seen = new Set<unknown>();
  return Object.entries(sinks).flatMap(([name, sink]) => tracesOf(sink, name, seen));
}
