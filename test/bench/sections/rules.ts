// A row for each rule of cost: most are counts of what may not happen, and so do not depend on the machine.
import type { Guardrail, LogEvent, Message, Model, Subject } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, memorySession, resume, run } from '@guardloop/core';
import { z } from 'zod';
import { interleave } from '../measure.js';
import type { Row } from '../row.js';
import { atMost } from '../row.js';
import { callingModel, passAll, runOf, work } from '../world.js';

const turns = 10;
const model = callingModel({ turns, calls: 1 });

export async function measureRules(): Promise<readonly Row[]> {
  return [
    ...(await controllers()),
    ...(await timers()),
    ...(await digests()),
    ...(await events()),
    ...(await subjects()),
    ...(await canonicalTexts()),
  ];
}

/** Runs with a global function replaced, and puts it back. */
async function withReplaced<T extends object, K extends keyof T>(
  owner: T,
  key: K,
  replaced: { readonly by: T[K]; readonly during: () => Promise<void> },
): Promise<void> {
  const original = owner[key];
  owner[key] = replaced.by;
  try {
    await replaced.during();
  } finally {
    owner[key] = original;
  }
}

async function countOf<T extends object, K extends keyof T>(owner: T, key: K, during: () => Promise<void>): Promise<number> {
  const original = owner[key];
  if (typeof original !== 'function') throw new Error(`${String(key)} is no function.`);
  let count = 0;
  const by = new Proxy(original, {
    apply(target, self, given) {
      count += 1;
      return Reflect.apply(target, self, given) as unknown;
    },
    construct(target, given) {
      count += 1;
      return Reflect.construct(target, given) as object;
    },
  });
  await withReplaced(owner, key, { by, during });
  return count;
}

/** One AbortController a run; the signal of a call or guardrail is made when it is first read. */
async function controllers(): Promise<readonly Row[]> {
  const reading = (reads: boolean) => {
    const tool = defineTool({
      name: 'work',
      description: 'Works.',
      input: z.object({ i: z.number(), j: z.number() }),
      execute: (_, info) => (reads && info.signal.aborted ? 'no' : 'ok'),
    });
    const guardrail = defineGuardrail({
      name: 'reader',
      on: ['toolInput', 'toolOutput'],
      check: (_, info) => (reads && info.signal.aborted ? allow() : allow()),
    });
    const agent = defineAgent({ name: 'worker', instructions: '', model, tools: [tool], guardrails: [guardrail] });
    return async () => {
      const { status } = await run(agent, 'go', { limits: { turns: turns + 2 } });
      if (status !== 'completed') throw new Error(`The run ended ${status}.`);
    };
  };
  const found = await interleave({ reads: reading(true), leaves: reading(false) });
  return [
    {
      what: 'AbortControllers of a run whose tools and guardrails read no signal',
      unit: 'count',
      ours: await countOf(globalThis, 'AbortController', reading(false)),
      target: atMost(1),
    },
    {
      what: '… AbortSignal.any of a run that reads every signal',
      unit: 'count',
      ours: await countOf(AbortSignal, 'any', reading(true)),
      target: atMost(0),
    },
    { what: '… CPU more for each signal that is read', unit: 'µs', ours: (found.reads - found.leaves) / (turns * 3) },
  ];
}

/** A timer for a promise that is waited for, and for nothing else. */
async function timers(): Promise<readonly Row[]> {
  const tool = (isAsync: boolean) =>
    defineTool({
      name: 'work',
      description: 'Works.',
      input: z.object({ i: z.number(), j: z.number() }),
      timeoutMs: 1_000,
      execute: () => (isAsync ? Promise.resolve('ok') : 'ok'),
    });
  const guardrail = (isAsync: boolean) =>
    defineGuardrail({
      name: 'guard',
      on: ['input', 'toolInput', 'toolOutput', 'output'],
      check: () => (isAsync ? Promise.resolve(allow()) : allow()),
    });
  const runWith = (isAsync: boolean) => {
    const agent = defineAgent({ name: 'worker', instructions: '', model, tools: [tool(isAsync)], guardrails: [guardrail(isAsync)] });
    return async () => {
      const { status } = await run(agent, 'go', { limits: { turns: turns + 2 } });
      if (status !== 'completed') throw new Error(`The run ended ${status}.`);
    };
  };
  const promises = turns * 3 + 2;
  return [
    {
      what: 'timers of a run whose tools and guardrails answer at once',
      unit: 'count',
      ours: await countOf(globalThis, 'setTimeout', runWith(false)),
      target: atMost(0),
    },
    {
      what: `… of one in which ${promises} promises with a deadline are waited for`,
      unit: 'count',
      ours: await countOf(globalThis, 'setTimeout', runWith(true)),
      target: atMost(promises),
    },
  ];
}

/** Digests for approvals and quarantine only. */
async function digests(): Promise<readonly Row[]> {
  const asking = defineTool({
    name: 'work',
    description: 'Works.',
    input: z.object({ i: z.number(), j: z.number() }),
    approval: true,
    execute: () => 'ok',
  });
  const agent = defineAgent({ name: 'worker', instructions: '', model: callingModel({ turns: 1, calls: 3 }), tools: [asking] });
  const approved = async () => {
    const paused = await run(agent, 'go');
    if (paused.status !== 'interrupted') throw new Error(`The run ended ${paused.status}.`);
    const { status } = await resume(agent, paused.log, {
      decisions: Object.fromEntries(paused.approvals.map(({ id }) => [id, 'approve'])),
    });
    if (status !== 'completed') throw new Error(`The run ended ${status}.`);
  };
  const { subtle } = globalThis.crypto;
  return [
    { what: 'digests of a run without approvals', unit: 'count', ours: await countOf(subtle, 'digest', runOf(model)), target: atMost(0) },
    {
      what: '… of one with 3 approvals, asked, given, and held to their inputs',
      unit: 'count',
      ours: await countOf(subtle, 'digest', approved),
      target: atMost(9),
    },
  ];
}

/** Events are built once, never cloned, serialised by a store alone. */
async function events(): Promise<readonly Row[]> {
  const seen: LogEvent[] = [];
  const agent = defineAgent({ name: 'worker', instructions: '', model, tools: [work], guardrails: [passAll] });
  const observer = (event: { readonly type: string }) => {
    if ('seq' in event) seen.push(event as LogEvent);
  };
  const result = await run(agent, 'go', { limits: { turns: turns + 2 }, observers: [observer] });
  const copies = result.log.events.filter((event) => !seen.includes(event)).length;
  const withSession = async () => {
    await run(agent, 'go', { limits: { turns: turns + 2 }, session: { store: memorySession(), id: 'chat' } });
  };
  const found = await interleave({ stored: withSession, bare: runOf(model) });
  return [
    { what: 'events in the log that are not the object an observer was shown', unit: 'count', ours: copies, target: atMost(0) },
    {
      what: '… structuredClone in a run',
      unit: 'count',
      ours: await countOf(globalThis, 'structuredClone', runOf(model)),
      target: atMost(0),
    },
    { what: '… CPU more a turn for a session in memory', unit: 'µs', ours: (found.stored - found.bare) / (turns + 1) },
  ];
}

/** A subject is built once, however many look at it; `messages` is a view of what is there. */
async function subjects(): Promise<readonly Row[]> {
  const shown = new Map<string, Set<Subject>>();
  const views = new Set<readonly Message[]>();
  const watching = (index: number): Guardrail<unknown> =>
    defineGuardrail({
      name: `watch-${index}`,
      on: ['input', 'toolInput', 'toolOutput', 'output'],
      check: (subject, info) => {
        const key = `${subject.surface} ${'callId' in subject ? subject.callId : subject.content}`;
        shown.set(key, (shown.get(key) ?? new Set()).add(subject));
        views.add(info.messages);
        return allow();
      },
    });
  await runOf(
    model,
    Array.from({ length: 8 }, (_, index) => watching(index)),
  )();
  const most = Math.max(...[...shown.values()].map(({ size }) => size));
  const standing = (count: number) =>
    Array.from({ length: count }, (_, index) =>
      defineGuardrail({ name: `pass-${index}`, on: ['input', 'toolInput', 'toolOutput', 'output'], check: () => allow() }),
    );
  const found = await interleave({ eight: runOf(model, standing(8)), one: runOf(model, standing(1)), none: runOf(model, []) });
  const answers = turns * 2 + 2;
  return [
    { what: 'objects that 8 guardrails were shown for one subject', unit: 'count', ours: most, target: atMost(1) },
    { what: '… arrays of messages that they were shown in the run', unit: 'count', ours: views.size, target: atMost(1) },
    { what: '… CPU of the first guardrail on a subject', unit: 'µs', ours: (found.one - found.none) / answers },
    { what: '… CPU of each further one', unit: 'µs', ours: (found.eight - found.one) / answers / 7 },
  ];
}

/** Canonical JSON, to see that calls are equal, only for a tool that was called before. */
async function canonicalTexts(): Promise<readonly Row[]> {
  const marker = 'a-key-of-the-input';
  const tool = (name: string) =>
    defineTool({ name, description: 'Works.', input: z.object({ [marker]: z.number() }), flow: { effect: 'read' }, execute: () => 'ok' });
  const tools = ['first', 'second', 'third'].map(tool);
  const calling = (names: readonly string[]): Model => ({
    ...callingModel({ turns: 1, calls: 1 }),
    async *stream({ turn }) {
      const usage = { requests: 1, inputTokens: 1, outputTokens: 1 };
      const name = names[turn - 1];
      if (name === undefined) yield { type: 'text.delta', text: 'done' };
      else yield { type: 'tool.call', call: { name, input: { [marker]: turn } } };
      yield { type: 'end', stopReason: name === undefined ? 'stop' : 'tools', usage };
    },
  });
  const countKeys = async (names: readonly string[]): Promise<number> => {
    const agent = defineAgent({ name: 'worker', instructions: '', model: calling(names), tools });
    // zod writes the key into the parser that it makes at the first input.
    await run(agent, 'go');
    let count = 0;
    const { stringify } = JSON;
    const by = ((...given: Parameters<typeof JSON.stringify>) => {
      if ((given[0] as unknown) === marker) count += 1;
      return stringify(...given);
    }) as typeof JSON.stringify;
    await withReplaced(JSON, 'stringify', { by, during: async () => void (await run(agent, 'go')) });
    return count;
  };
  return [
    {
      what: 'inputs put into canonical JSON, three tools called once each',
      unit: 'count',
      ours: await countKeys(['first', 'second', 'third']),
      target: atMost(0),
    },
    { what: '… one tool called three times', unit: 'count', ours: await countKeys(['first', 'first', 'first']), target: atMost(3) },
  ];
}
