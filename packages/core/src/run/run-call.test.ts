import { describe, expect, it } from 'vitest';
import { agentOf, answered, calls, eventsOf, openCall, scripted, settle, tool } from '../../test/scene.js';
import { asTool } from '../define/as-tool.js';
import { defineGuardrail } from '../define/guardrail.js';
import { deny, halt } from '../define/verdict.js';
import { GuardloopError } from '../errors.js';
import { memorySession } from '../session/memory.js';
import type { LogEvent, RunEvent } from '../state/events.js';
import { resume, run } from './run.js';
import { runCall } from './run-call.js';

const look = (more: object = {}, execute: () => unknown = () => 'Seen.') => tool('look', execute, more);
const looking = (more: object = {}, execute?: () => unknown) =>
  agentOf({ model: scripted([calls('look', { at: 'sky' })], 'Done.'), tools: [look(more, execute)] });
const fails = (error: unknown) => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) });
const typesOf = (events: readonly LogEvent[]) => events.map(({ type }) => type);

describe('a call that is started', () => {
  it('is recorded with what it runs on, before it ends', async () => {
    const handle = await answered(looking());
    await runCall(openCall(handle), { at: 'sky' });
    const [start, end, ...rest] = handle.root.events.slice(-2);
    expect(rest).toEqual([]);
    expect(start).toEqual({
      type: 'tool.start',
      seq: handle.root.log.seq - 1,
      at: expect.any(Number),
      run: 'r1',
      agent: 'desk',
      callId: '1.0',
      tool: 'look',
      revision: 0,
      input: { at: 'sky' },
      idempotencyKey: 'r1/1.0',
    });
    expect(end).toMatchObject({ type: 'tool.end', callId: '1.0', status: 'ok', content: 'Seen.' });
  });

  it.each([
    [{ flow: { effect: 'write' } }, true],
    [{ flow: { effect: 'send' } }, true],
    [{ flow: { effect: 'send' }, repeatable: true }, undefined],
    [{ flow: { effect: 'read' } }, undefined],
    [{}, undefined],
  ])('tells of %j whether it runs once for an input: %s', async (more, once) => {
    const handle = await answered(looking(more));
    await runCall(openCall(handle), {});
    expect(eventsOf(handle.root, 'tool.start').map((event) => event.once)).toEqual([once]);
  });

  it('has not happened for sure where the run was stopped before it could begin', async () => {
    let ran = 0;
    const agent = looking({}, () => (ran += 1));
    const handle = await answered(agent, {
      observers: [{ 'tool.start': () => handle.abort({ kind: 'cancel', reason: undefined }) }],
    });
    await runCall(openCall(handle), {});
    expect(ran).toBe(0);
    expect(handle.root.events.at(-1)).toMatchObject({
      type: 'tool.end',
      status: 'unknown',
      revision: 0,
      chars: 0,
      content: expect.stringContaining('look was started, but the run was stopped; it may have happened'),
    });
  });
});

describe('the effect of a call', () => {
  /** A store that holds nothing until it is told to. */
  function slowStore() {
    const store = memorySession();
    let open: () => void = () => undefined;
    let opened: Promise<void> | undefined;
    return {
      hold: () => (opened = new Promise((resolve) => (open = resolve))),
      release: () => open(),
      session: {
        id: 's',
        store: {
          load: store.load,
          async append(...given: Parameters<typeof store.append>) {
            await opened;
            await store.append(...given);
          },
        },
      },
    };
  }

  it.each([
    ['waits until the store holds its start', {}, 0],
    ['does not wait for the store where it may happen twice', { repeatable: true }, 1],
  ])('%s', async (_what, more, before) => {
    let ran = 0;
    const { hold, release, session } = slowStore();
    const handle = await answered(
      looking(more, () => (ran += 1)),
      { session },
    );
    hold();
    const running = runCall(openCall(handle), {});
    await settle();
    expect(ran).toBe(before);
    release();
    await running;
    expect(ran).toBe(1);
  });

  it('does not come where the store failed to take its start', async () => {
    let ran = 0;
    const store = memorySession();
    const session = {
      id: 's',
      store: {
        load: store.load,
        append: (id: string, events: readonly LogEvent[], after: number) =>
          events.some(({ type }) => type === 'tool.start') ? Promise.reject(new Error('full')) : store.append(id, events, after),
      },
    };
    const handle = await answered(
      looking({}, () => (ran += 1)),
      { session },
    );
    await runCall(openCall(handle), {});
    expect(ran).toBe(0);
    expect(typesOf(handle.root.events).at(-1)).toBe('tool.start');
    expect(handle.stop).toMatchObject({ kind: 'store' });
  });

  it('of an agent is that of its own calls: it does not wait for the store', async () => {
    const asked: string[] = [];
    const { hold, release, session } = slowStore();
    const model = scripted(({ agent }) => {
      asked.push(agent);
      return 'Helped.';
    });
    const helper = asTool(agentOf({ name: 'helper', model }), { name: 'look', description: 'Helps.' });
    const handle = await answered(agentOf({ model: scripted([calls('look', { input: 'sky' })]), tools: [helper] }), { session });
    hold();
    const running = runCall(openCall(handle), { input: 'sky' });
    await settle();
    expect(asked).toEqual(['helper']);
    release();
    await running;
  });
});

describe('a call of an agent', () => {
  const helped = (more: object, input: object = { input: 'sky' }, options: object = {}) => {
    const helper = asTool(agentOf({ name: 'helper', model: scripted('Helped.'), ...more }), { name: 'ask_helper', description: 'Helps.' });
    return run(agentOf({ model: scripted([calls('ask_helper', input as never)], 'Done.'), tools: [helper] }), 'hello', {
      runId: 'r1',
      ...options,
    });
  };
  const endOf = (events: readonly LogEvent[]) => eventsOf({ events }, 'tool.end').find(({ tool: name }) => name === 'ask_helper');

  it('ends with what the agent answers', async () => {
    const { events } = await helped({});
    expect(endOf(events)).toMatchObject({ status: 'ok', content: 'Helped.', label: { origin: 'tool:ask_helper', integrity: 'untrusted' } });
  });

  it('is an error where the agent could not answer', async () => {
    const model = { ...scripted(), stream: () => fails(new GuardloopError('MODEL_FAILED', 'Status 400.')) };
    const { status, events } = await helped({ model });
    expect(status).toBe('completed');
    expect(JSON.parse(String(endOf(events)?.content))).toEqual({
      status: 'error',
      error_class: 'unavailable',
      summary: 'ask_helper failed: MODEL_FAILED.',
      retryable: false,
    });
  });

  it('is an error that may be tried again where its model says so', async () => {
    const model = { ...scripted(), stream: () => fails(new GuardloopError('MODEL_FAILED', 'Status 503.', { isRetryable: true })) };
    expect(endOf((await helped({ model })).events)).toMatchObject({ status: 'error', errorClass: 'unavailable', retryable: true });
  });

  it('ends denied, and the run with it, where a guardrail of the agent halts', async () => {
    const stops = defineGuardrail({ name: 'stops', on: ['output'], check: () => halt('no more') });
    const result = await helped({ guardrails: [stops] });
    expect(result).toMatchObject({ status: 'blocked', by: 'stops', reason: 'no more', surface: 'output' });
    const refusal = { action: 'halt', surface: 'output', by: 'stops', reason: 'no more' };
    expect(endOf(result.events)).toMatchObject({ status: 'error', errorClass: 'denied', refusal });
    expect(JSON.parse(String(endOf(result.events)?.content))).toEqual({
      status: 'error',
      error_class: 'denied',
      summary: 'ask_helper was stopped by a guardrail.',
      retryable: false,
    });
  });

  it('is refused in the words of the guardrail that denied its answers', async () => {
    const stops = defineGuardrail({ name: 'stops', on: ['output'], check: () => deny('not this') });
    const { status, events } = await helped({ guardrails: [stops], model: scripted('a', 'b', 'c') });
    expect(status).toBe('completed');
    expect(JSON.parse(String(endOf(events)?.content))).toMatchObject({
      error_class: 'denied',
      summary: 'ask_helper was refused by stops: not this',
      retryable: false,
    });
  });

  it('is refused by the model of the agent', async () => {
    const end = { type: 'end', stopReason: 'refusal', usage: { requests: 1 } } as const;
    const { events } = await helped({ model: scripted([end]) });
    expect(JSON.parse(String(endOf(events)?.content)).summary).toMatch(/^ask_helper was refused by its model: /);
  });

  it('starts once, waits while the agent waits for a person, and ends after that', async () => {
    const risky = tool('risky', () => 'Paid.', { approval: true });
    const helper = asTool(agentOf({ name: 'helper', model: scripted([calls('risky')], 'Helped.'), tools: [risky] }), {
      name: 'ask_helper',
      description: 'Helps.',
    });
    const agent = agentOf({ model: scripted([calls('ask_helper', { input: 'sky' })], 'Done.'), tools: [helper] });
    const asked = await run(agent, 'hello', { runId: 'r1' });
    expect(asked.status).toBe('interrupted');
    expect(endOf(asked.events)).toBeUndefined();
    const done = await resume(agent, asked.log, { decisions: { 'r1/1.0/p1': 'approve' } });
    expect(done).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(eventsOf(done.log, 'tool.start').map(({ tool: name }) => name)).toEqual(['ask_helper', 'risky']);
    expect(eventsOf(done.log, 'run.start').map((event) => event.run)).toEqual(['r1', 'r1/1.0']);
    expect(endOf(done.log.events)).toMatchObject({ status: 'ok', content: 'Helped.' });
  });

  it('is shown while it goes on only where its tool streams', async () => {
    for (const stream of [true, false]) {
      const told: RunEvent[] = [];
      const helper = asTool(agentOf({ name: 'helper', model: scripted('Helped.') }), { name: 'ask_helper', description: 'Helps.', stream });
      const agent = agentOf({ model: scripted([calls('ask_helper', { input: 'sky' })], 'Done.'), tools: [helper] });
      await run(agent, 'hello', { runId: 'r1', observers: [(event: RunEvent) => told.push(event)] });
      const shown = told.flatMap((event) => (event.type === 'text.delta' ? [`${event.agent}: ${event.text}`] : []));
      expect(shown).toEqual(stream ? ['helper: Helped.', 'desk: Done.'] : ['desk: Done.']);
    }
  });
});

it('runs a call again that was cut and may happen twice, with a second start', async () => {
  const agent = looking({ repeatable: true });
  const whole = await run(agent, 'hello', { runId: 'r1' });
  const cut = whole.log.events.findIndex(({ type }) => type === 'tool.end');
  const done = await resume(agent, { version: 1, events: whole.log.events.slice(0, cut) });
  expect(done).toMatchObject({ status: 'completed', text: 'Done.' });
  expect(eventsOf(done.log, 'tool.start').map(({ callId }) => callId)).toEqual(['1.0', '1.0']);
});
