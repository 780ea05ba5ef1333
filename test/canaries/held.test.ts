import type { Agent, Answer, LogEvent, RunEvent } from '@guardloop/core';
import {
  allow,
  ask,
  asTool,
  defineAgent,
  defineGuardrail,
  defineTool,
  deny,
  GuardloopError,
  halt,
  handoff,
  memorySession,
  resume,
  rewrite,
  run,
  stream,
  withRetry,
} from '@guardloop/core';
import { auditLog, callTool, endWith, failWith, say, scriptedModel, think } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { canary, holdsCanary, tracesOf } from './canary.js';
import { openQuarantine } from './kit.js';

/** Where refused text is held by someone on purpose: there, for as long as it must be, and nowhere else. */

const holds = (value: unknown): boolean => tracesOf(value).length > 0;
const refuses = (name: string, ...on: ('input' | 'toolInput' | 'toolOutput' | 'handoff' | 'output')[]) =>
  defineGuardrail({ name, on, check: (subject) => (holds(subject) ? deny('not for here') : allow()) });
const watch = async (watched: AsyncIterable<RunEvent>): Promise<RunEvent[]> => {
  const events: RunEvent[] = [];
  for await (const event of watched) events.push(event);
  return events;
};
/** Types of the events of a log that hold it. */
const typesHolding = (events: readonly LogEvent[]): readonly string[] => events.filter(holds).map(({ type, run: id }) => `${id} ${type}`);

describe('an answer in quarantine', () => {
  const asks = defineGuardrail({
    name: 'asks',
    on: ['output'],
    check: ({ content }) => (holdsCanary(content) ? ask('look at it') : allow()),
  });
  const agent = defineAgent({
    name: 'desk',
    instructions: 'Help.',
    model: scriptedModel([[think(canary), say(canary), endWith({ native: { all: canary } })], say('Clean.')], { chunks: 4 }),
    guardrails: [asks],
  });

  it.each(['checked', 'live'] as const)(
    'is in the store alone until a person rejects it, and then nowhere (release %s)',
    async (release) => {
      const quarantine = openQuarantine();
      const session = { store: memorySession(), id: 's' };
      const watched = stream(agent, 'go', { session, quarantine, release, runId: 'r' });
      const events = await watch(watched);
      const first = await watched.result;
      if (first.status !== 'interrupted') throw new Error(first.status);
      expect([...quarantine.kept.keys()]).toEqual(['r/1']);
      expect(holds(quarantine.kept)).toBe(true);
      expect(tracesOf([first, await session.store.load('s')])).toEqual([]);
      expect(holds(events.filter(({ type }) => type !== 'text.delta'))).toBe(false);
      const shown = events.flatMap((event) => (event.type === 'text.delta' ? [event.text] : [])).join('');
      const back = events.flatMap((event) => (event.type === 'text.retract' ? [event.chars] : []));
      expect({ shown, back }).toEqual(release === 'live' ? { shown: canary, back: [canary.length] } : { shown: '', back: [] });
      // Its digest is salted: the text cannot be guessed by it.
      expect(first.approvals[0]?.digest).toMatch(/^[0-9a-f]{64}$/);

      const decisions = { [first.approvals[0]?.id ?? '']: { reject: 'not this' } };
      const later = await resume(agent, session, { quarantine, decisions });
      expect(later).toMatchObject({ status: 'completed', output: 'Clean.' });
      expect(tracesOf([later, await session.store.load('s'), quarantine.kept])).toEqual([]);
      expect(auditLog(later.log)).toEqual([]);
    },
  );

  it('is recorded when a person approves it, and gone from the store', async () => {
    const quarantine = openQuarantine();
    const first = await run(agent, 'go', { quarantine });
    if (first.status !== 'interrupted') throw new Error(first.status);
    const later = await resume(agent, first.log, { quarantine, decisions: { [first.approvals[0]?.id ?? '']: 'approve' } });
    expect(later).toMatchObject({ status: 'completed', output: canary });
    expect(quarantine.kept.size).toBe(0);
  });

  it('is refused by a guardrail that stands there at the resume, approved or not, and gone from the store', async () => {
    const quarantine = openQuarantine();
    const first = await run(agent, 'go', { quarantine });
    if (first.status !== 'interrupted') throw new Error(first.status);
    const late = defineGuardrail({ name: 'late', on: ['output'], check: (subject) => (holds(subject) ? halt('no') : allow()) });
    const options = { quarantine, decisions: { [first.approvals[0]?.id ?? '']: 'approve' as const }, guardrails: [late] };
    const later = await resume(agent, first.log, options);
    expect(later).toMatchObject({ status: 'blocked', by: 'late' });
    expect(tracesOf([later, quarantine.kept])).toEqual([]);
  });
});

describe('an answer in quarantine that nobody will decide about any more', () => {
  const asks = defineGuardrail({
    name: 'asks',
    on: ['output'],
    check: ({ content }) => (holdsCanary(content) ? ask('look at it') : allow()),
  });
  const act = defineTool({
    name: 'act',
    description: 'Acts.',
    input: z.object({ text: z.string() }),
    approval: true,
    execute: () => 'acted',
  });
  const build = () => {
    const inner = defineAgent({ name: 'inner', instructions: 'Inner.', model: scriptedModel([say(canary)]), guardrails: [asks] });
    const stop = defineGuardrail({
      name: 'stop',
      on: ['toolInput'],
      check: ({ content }) => (content.includes('evil') ? halt('no') : allow()),
    });
    return defineAgent({
      name: 'desk',
      instructions: 'Help.',
      model: scriptedModel(({ messages }) =>
        JSON.stringify(messages).includes('again') ? say('Fine.') : [callTool('ask_inner', { input: 'x' }), callTool('act', { text: 'x' })],
      ),
      tools: [act, asTool(inner, { name: 'ask_inner', description: 'Asks.' })],
      guardrails: [stop],
    });
  };
  const begin = async () => {
    const quarantine = openQuarantine();
    const session = { store: memorySession(), id: 's' };
    const first = await run(build(), 'go', { quarantine, session });
    if (first.status !== 'interrupted') throw new Error(first.status);
    expect(holds(quarantine.kept)).toBe(true);
    return { quarantine, session, first };
  };

  it('is deleted with a child run whose root was halted', async () => {
    const { quarantine, session, first } = await begin();
    const id = first.approvals.find(({ surface }) => surface === 'toolInput')?.id ?? '';
    const last = await resume(build(), session, { quarantine, decisions: { [id]: { edit: { text: 'evil' } } } });
    expect(last).toMatchObject({ status: 'blocked', by: 'stop' });
    expect(tracesOf([last, quarantine.kept])).toEqual([]);
    expect(auditLog(last.log)).toEqual([]);
  });

  it('is deleted with a run that was abandoned, whose next run is given the store', async () => {
    const { quarantine, session } = await begin();
    const next = await run(build(), 'again', { quarantine, session, unfinished: 'abandon' });
    expect(next).toMatchObject({ status: 'completed', output: 'Fine.' });
    expect(tracesOf([next, quarantine.kept])).toEqual([]);
  });

  it('holds up no run when the store fails or hangs, and waits on with a run that can be taken up again', async () => {
    for (const remove of [async () => Promise.reject(new Error(canary)), async () => undefined]) {
      const { quarantine, session } = await begin();
      const next = await run(build(), 'again', { quarantine: { ...quarantine, delete: remove }, session, unfinished: 'abandon' });
      expect(next).toMatchObject({ status: 'completed', output: 'Fine.' });
      expect(tracesOf(next)).toEqual([]);
    }
    const { quarantine, first } = await begin();
    const later = await resume(build(), first.log, { quarantine });
    expect(later.status).toBe('interrupted');
    expect(quarantine.kept.size).toBe(1);
  });
});

describe('text that was let through live', () => {
  it('is taken back to the last character when it is refused, and nothing else holds it', async () => {
    const agent = defineAgent({
      name: 'desk',
      instructions: 'Help.',
      model: scriptedModel([say(`Well: ${canary}`), say('Clean.')], { chunks: 5 }),
      guardrails: [refuses('g', 'output')],
    });
    const watched = stream(agent, 'go', { release: 'live' });
    const events = await watch(watched);
    let shown = '';
    for (const event of events) {
      if (event.type === 'text.delta') shown += event.text;
      if (event.type === 'text.retract') shown = shown.slice(0, shown.length - event.chars);
    }
    expect(shown).toBe('Clean.');
    expect(tracesOf([await watched.result, events.filter(({ type }) => type !== 'text.delta')])).toEqual([]);
  });

  it.each([
    ['a failure of the model', [say(canary), failWith(new Error(canary))]],
    ['a length stop', [say(canary), endWith({ stopReason: 'length' })]],
    ['a refusal of the provider', [say(canary), endWith({ stopReason: 'refusal' })]],
  ])('is taken back at %s', async (_name, step) => {
    const agent = defineAgent({
      name: 'desk',
      instructions: 'Help.',
      model: scriptedModel([step], { chunks: 3 }),
      guardrails: [refuses('g', 'output')],
    });
    const watched = stream(agent, 'go', { release: 'live' });
    const events = await watch(watched);
    expect(events.flatMap((event) => (event.type === 'text.retract' ? [event.chars] : []))).toEqual([canary.length]);
    expect(tracesOf([await watched.result, events.filter(({ type }) => type !== 'text.delta')])).toEqual([]);
  });
});

describe('text that flows through a window', () => {
  const scrub = (name: string, shadow = false) =>
    defineGuardrail({
      name,
      on: ['output'],
      window: canary.length,
      shadow,
      rewrite: ({ content }) => {
        const spans = [];
        for (let start = content.indexOf(canary); start >= 0; start = content.indexOf(canary, start + 1))
          spans.push({ start, end: start + canary.length, with: '[gone]' });
        return spans.length === 0 ? allow() : rewrite(spans, 'a canary');
      },
    });

  it.each([1, 2, 3, 7, 24])('shows nothing of what a rewrite takes out, in %i chunks', async (chunks) => {
    const text = `Before ${canary} between ${canary} and after, to the very end.`;
    const agent = defineAgent({
      name: 'desk',
      instructions: 'Help.',
      model: scriptedModel([say(text)], { chunks, native: { all: text } as never }),
      guardrails: [scrub('scrub'), scrub('shadow', true)],
    });
    const watched = stream(agent, 'go');
    const events = await watch(watched);
    const result = await watched.result;
    expect(result).toMatchObject({ status: 'completed', output: text.replaceAll(canary, '[gone]') });
    expect(tracesOf([events, result])).toEqual([]);
  });

  it('takes back what had settled when the guardrail breaks, and records nothing', async () => {
    const breaks = defineGuardrail({
      name: 'breaks',
      on: ['output'],
      window: 4,
      rewrite: ({ content }) => {
        if (holdsCanary(content)) throw new Error(content);
        return allow();
      },
    });
    const agent = defineAgent({
      name: 'desk',
      instructions: 'Help.',
      model: scriptedModel([say(`A long beginning, then ${canary}`)], { chunks: 9 }),
      guardrails: [breaks],
    });
    const watched = stream(agent, 'go');
    const events = await watch(watched);
    expect(await watched.result).toMatchObject({ status: 'blocked', failed: true, reason: 'guardrail breaks failed' });
    const shown = events.flatMap((event) => (event.type === 'text.delta' ? [event.text] : [])).join('');
    expect(events.flatMap((event) => (event.type === 'text.retract' ? [event.chars] : []))).toEqual([shown.length]);
    expect(tracesOf([events.filter(({ type }) => type !== 'text.delta'), await watched.result])).toEqual([]);
  });
});

it('an input that is judged beside the model is seen by that one request, and by nobody after it', async () => {
  const beside = defineGuardrail({
    name: 'beside',
    on: ['input'],
    beside: 'model',
    check: async (subject) => (holds(subject) ? deny('not for here') : allow()),
  });
  const model = scriptedModel(() => say('Fine.'));
  const agent = defineAgent({ name: 'desk', instructions: 'Help.', model, guardrails: [beside] });
  const session = { store: memorySession(), id: 's' };
  const first = await run(agent, canary, { session });
  expect(first).toMatchObject({ status: 'blocked', by: 'beside' });
  const next = await run(agent, 'again', { session });
  expect(model.requests.map((request) => holds(request.messages))).toEqual([true, false]);
  expect(tracesOf([first, next, await session.store.load('s')])).toEqual([]);
});

it('what a guardrail in shadow would have refused passes, and its verdict quotes nothing of it', async () => {
  const shadow = (name: string, more: object) =>
    defineGuardrail({ name, on: ['output'], shadow: true, check: () => allow(), ...more } as never);
  const agent = defineAgent({
    name: 'desk',
    instructions: 'Help.',
    model: scriptedModel([say(canary)]),
    guardrails: [
      shadow('denies', { check: () => deny('not for here') }),
      shadow('rewrites', { check: undefined, rewrite: () => rewrite(`still ${canary}`, 'changed') }),
      shadow('throws', {
        check: () => {
          throw new Error(canary);
        },
      }),
      shadow('answers', { check: () => ({ action: canary, reason: canary }) }),
    ],
  });
  const result = await run(agent, 'go');
  expect(result).toMatchObject({ status: 'completed', output: canary });
  const verdicts = result.events.filter(({ type }) => type === 'guard.verdict');
  expect(verdicts).toHaveLength(4);
  expect(tracesOf(verdicts)).toEqual([]);
  expect(auditLog(result.log)).toEqual([]);
});

/** What has passed one boundary and is refused at the next stays where it passed. */
describe('what passed before', () => {
  const child = (model = scriptedModel([say(canary)])): Agent<unknown, Answer> =>
    defineAgent({ name: 'inner', instructions: 'Inner.', model }) as never;

  it.each([true, false])(
    'a child’s answer, refused by the parent’s guardrail on results, stays in the child’s own events (streamed: %s)',
    async (streams) => {
      const model = scriptedModel([callTool('ask_inner', { input: 'go' }), say('Done.')]);
      const agent = defineAgent({
        name: 'desk',
        instructions: 'Help.',
        model,
        tools: [asTool(child(), { name: 'ask_inner', description: 'Asks.', stream: streams })],
        guardrails: [refuses('g', 'toolOutput')],
      });
      const watched = stream(agent, 'go', { runId: 'r' });
      const events = await watch(watched);
      const result = await watched.result;
      expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
      expect(typesHolding(result.log.events)).toEqual(['r/1.0 model.end', 'r/1.0 run.end']);
      expect(tracesOf([result.messages, model.requests])).toEqual([]);
      expect(events.filter((event) => event.run === 'r').some(holds)).toBe(false);
      expect(events.some((event) => event.type === 'text.delta' && holds(event))).toBe(streams);
      expect(auditLog(result.log)).toEqual([]);
    },
  );

  it('a call’s arguments, refused by the child’s guardrail on input, stay in the parent’s call', async () => {
    const inner = defineAgent({
      name: 'inner',
      instructions: 'Inner.',
      model: scriptedModel([say('Hm.')]),
      guardrails: [refuses('g', 'input')],
    });
    const agent = defineAgent({
      name: 'desk',
      instructions: 'Help.',
      model: scriptedModel([callTool('ask_inner', { input: canary }), say('Done.')]),
      tools: [asTool(inner, { name: 'ask_inner', description: 'Asks.' })],
    });
    const result = await run(agent, 'go', { runId: 'r' });
    expect(result.status).toBe('completed');
    expect(typesHolding(result.log.events)).toEqual(['r model.end', 'r tool.start']);
  });

  it('a brief that the source’s guardrails let pass, refused by the target’s on input, stays in the call and is sent to nobody', async () => {
    const model = scriptedModel([callTool('pass', { text: 'x' }), say('Done.')]);
    const asked = scriptedModel([say('Never.')]);
    const billing = defineAgent({ name: 'billing', instructions: 'B.', model: asked, guardrails: [refuses('g', 'input')] });
    const agent = defineAgent({
      name: 'desk',
      instructions: 'Help.',
      model,
      handoffs: [handoff(billing, { name: 'pass', input: z.object({ text: z.string() }), brief: () => canary })],
    });
    const result = await run(agent, 'go', { runId: 'r' });
    expect(result).toMatchObject({ status: 'completed', agent: 'desk' });
    expect(typesHolding(result.log.events)).toEqual(['r model.end']);
    expect(tracesOf([result.messages, model.requests])).toEqual([]);
    expect(asked.requests).toEqual([]);
  });
});

describe('errors of what stands around a run', () => {
  const quoting = (): Error =>
    Object.assign(new Error(canary, { cause: new Error(canary) }), { code: canary, status: canary, request_id: canary, body: canary });
  const plain = defineAgent({ name: 'desk', instructions: 'Help.', model: scriptedModel(() => say('Fine.')) });

  it.each(['load', 'append'] as const)('a store that throws what it was given from %s', async (method) => {
    const store = memorySession();
    const failing = {
      ...store,
      [method]: async () => {
        throw quoting();
      },
    };
    const error: unknown = await run(plain, 'go', { session: { store: failing, id: 's' } }).catch((thrown: unknown) => thrown);
    expect(GuardloopError.is(error) && error.code).toBe('STORE_FAILED');
    expect(tracesOf(error)).toEqual([]);
  });

  it('a store that throws in the middle of a run', async () => {
    const store = memorySession();
    let appended = 0;
    const failing = {
      ...store,
      append: async (...given: Parameters<typeof store.append>) => {
        appended += 1;
        if (appended > 1) throw quoting();
        return store.append(...given);
      },
    };
    const result = await run(plain, 'go', { session: { store: failing, id: 's' } });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'STORE_FAILED' } });
    expect(tracesOf(result)).toEqual([]);
  });

  it('an edit that does not fit is refused without a word of it', async () => {
    const act = defineTool({
      name: 'act',
      description: 'Acts.',
      input: z
        .object({ text: z.string().max(5) })
        .refine(({ text }) => text !== canary, { error: ({ input }) => `not ${JSON.stringify(input)}` }),
      approval: true,
      execute: () => 'acted',
    });
    const agent = defineAgent({
      name: 'desk',
      instructions: 'Help.',
      model: scriptedModel([callTool('act', { text: 'x' }), say('Done.')]),
      tools: [act],
    });
    const first = await run(agent, 'go');
    if (first.status !== 'interrupted') throw new Error(first.status);
    const edits = [
      { text: canary },
      { [canary]: canary },
      [canary],
      canary,
      {
        toJSON: () => {
          throw quoting();
        },
      },
    ];
    for (const edit of edits) {
      const decisions = { [first.approvals[0]?.id ?? '']: { edit } };
      const error: unknown = await resume(agent, first.log, { decisions: decisions as never }).result.catch((thrown: unknown) => thrown);
      expect(GuardloopError.is(error) && error.code).toBe('RESUME_MISMATCH');
      expect(tracesOf(error)).toEqual([]);
    }
  });

  it('of a cause only its name, code, status and request id are kept, and these only if they are one short word', async () => {
    const failing = (error: Error) => defineAgent({ name: 'desk', instructions: 'Help.', model: scriptedModel([failWith(error)]) });
    const kept = await run(
      failing(Object.assign(new TypeError('x'), { code: 'ECONNRESET', status: 503, request_id: 'req_1', extra: 1 })),
      'go',
    );
    expect(kept).toMatchObject({
      status: 'failed',
      error: { cause: { name: 'TypeError', code: 'ECONNRESET', status: 503, requestId: 'req_1' } },
    });
    const left = await run(failing(Object.assign(quoting(), { name: `${canary} x` })), 'go');
    expect(left.status === 'failed' && left.error.cause).toEqual({ name: 'Error' });
    expect(tracesOf(left)).toEqual([]);
  });

  it('an attempt that is made again leaves nothing of the one before', async () => {
    let asked = 0;
    const model = withRetry(
      {
        id: 'm',
        provider: 'p',
        async *stream() {
          asked += 1;
          if (asked === 1) {
            yield { type: 'tool.call', call: { name: 'act', input: { text: canary } } };
            throw new GuardloopError('MODEL_FAILED', 'Status 503.', { isRetryable: true, cause: quoting() });
          }
          yield { type: 'text.delta', text: 'Fine.' };
          yield { type: 'end', stopReason: 'stop', usage: { requests: 1 } };
        },
      },
      { attempts: 2, baseMs: 0 },
    );
    const watched = stream(defineAgent({ name: 'desk', instructions: 'Help.', model }), 'go');
    const events = await watch(watched);
    expect(await watched.result).toMatchObject({ status: 'completed', output: 'Fine.' });
    expect(tracesOf([events, await watched.result])).toEqual([]);
  });
});
