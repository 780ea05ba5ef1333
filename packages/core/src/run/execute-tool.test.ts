import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { agentOf, answered, calls, HandClock, openCall, scripted, settle, tool } from '../../test/scene.js';
import { property } from '../define/definition-reader.js';
import { defineGuardrail } from '../define/guardrail.js';
import { toolError } from '../define/tool-error.js';
import type { ToolInfo } from '../define/types.js';
import { allow } from '../define/verdict.js';
import type { RunEvent } from '../state/events.js';
import { executeTool, failed } from './execute-tool.js';

type Execute = (input: never, info: ToolInfo) => unknown;

/** A call of the tool `look` that is about to be executed, and what a watcher is told. */
async function about(execute: Execute, { more = {}, input = {}, agent = {} }: { more?: object; input?: object; agent?: object } = {}) {
  const clock = new HandClock();
  const told: RunEvent[] = [];
  const made = agentOf({
    model: scripted([calls('look', input as never)]),
    tools: [tool('look', execute, more)],
    ...agent,
  });
  const handle = await answered(made, { clock, context: { user: 'u1' }, observers: [(event: RunEvent) => told.push(event)] });
  const open = openCall(handle);
  return { clock, handle, open, told, go: () => executeTool(open, input) };
}

const never = () => new Promise(() => undefined);
const unknown = (why: string) => ({
  kind: 'end',
  end: {
    status: 'unknown',
    content: JSON.stringify({
      status: 'unknown',
      error_class: 'timeout',
      summary: `look was started, but ${why}; it may have happened. Do not call it again before you have looked.`,
      retryable: false,
    }),
    errorClass: 'timeout',
    retryable: false,
    label: { origin: 'developer', integrity: 'trusted' },
  },
});

describe('what a tool gives', () => {
  it('is its outcome, at once where it gives no promise', async () => {
    const { go } = await about(() => 7);
    expect(go()).toEqual({ kind: 'value', value: 7 });
  });

  it('is waited for where it gives a promise', async () => {
    const { go } = await about(async () => 'later');
    expect(await go()).toEqual({ kind: 'value', value: 'later' });
  });

  it('is an error where it throws, or rejects', async () => {
    const error = { kind: 'error', summary: 'look failed: no net', errorClass: 'failed', retryable: false };
    const throwing = await about(() => {
      throw new Error('no net');
    });
    expect(throwing.go()).toEqual(error);
    const rejecting = await about(() => Promise.reject(new Error('no net')));
    expect(await rejecting.go()).toEqual(error);
  });

  it('may have happened when it takes longer than its deadline, and it may not run twice', async () => {
    const { clock, go } = await about(never, { more: { timeoutMs: 50 } });
    const outcome = go();
    await clock.pass(50);
    expect(await outcome).toEqual(unknown('it took longer than 50 ms'));
  });

  it.each([
    ['its arguments by name', { b: 1, c: 2, a: 1 }, ' with a, b'],
    ['none where none were given', {}, ''],
    ['none that its schema does not have', { c: 1 }, ''],
  ])('is stopped at its deadline where it may run again, in words that tell %s', async (_what, input, words) => {
    const schema = { type: 'object', properties: { a: {}, b: {} } };
    const { clock, go } = await about(never, { more: { timeoutMs: 50, repeatable: true, input: schema }, input });
    const outcome = go();
    await clock.pass(50);
    expect(await outcome).toEqual({
      kind: 'end',
      end: {
        status: 'error',
        content: JSON.stringify({
          status: 'error',
          error_class: 'timeout',
          summary: `look${words} took longer than 50 ms and was stopped.`,
          retryable: true,
        }),
        errorClass: 'timeout',
        retryable: true,
        label: { origin: 'developer', integrity: 'trusted' },
      },
    });
  });

  it('has no arguments to tell where its schema names none', async () => {
    const { clock, go } = await about(never, { more: { timeoutMs: 5, repeatable: true, input: { type: 'object' } }, input: { a: 1 } });
    const outcome = go();
    await clock.pass(5);
    expect(JSON.stringify(await outcome)).toContain('look took longer than 5 ms');
  });

  it('counts for 2,000 ms after the run was stopped, and may have happened after that', async () => {
    for (const [ms, expected] of [
      [1_999, { kind: 'value', value: 'late' }],
      [2_000, unknown('the run was stopped before its result was seen')],
    ] as const) {
      let answer: (value: string) => void = () => undefined;
      const { clock, handle, go } = await about(() => new Promise((resolve) => (answer = resolve)));
      const outcome = go();
      handle.abort({ kind: 'cancel', reason: undefined });
      await clock.pass(ms);
      answer('late');
      expect(await outcome).toEqual(expected);
    }
  });
});

describe('what a tool is told', () => {
  it('is who calls, with a key that is the same each time', async () => {
    let given: ToolInfo | undefined;
    const { go } = await about((_input, info) => {
      given = info;
    });
    void go();
    expect(given).toMatchObject({ context: { user: 'u1' }, run: 'r1', agent: 'desk', callId: '1.0', idempotencyKey: 'r1/1.0' });
  });

  it('is its parsed input', async () => {
    const seen: unknown[] = [];
    const { open } = await about((input) => seen.push(input));
    await executeTool(open, { parsed: true });
    expect(seen).toEqual([{ parsed: true }]);
  });
});

describe('the signal of a call', () => {
  it('is one, and is aborted with the reason of the run', async () => {
    const signals: AbortSignal[] = [];
    const { handle, go } = await about((_input, info) => {
      signals.push(info.signal, info.signal);
      return never();
    });
    void go();
    expect(signals[0]).toBe(signals[1]);
    expect(signals[0]?.aborted).toBe(false);
    handle.abort({ kind: 'cancel', reason: 'enough' });
    expect(signals[0]?.reason).toBe('enough');
  });

  it('is aborted at the deadline, with words that name the tool', async () => {
    let signal: AbortSignal | undefined;
    const { clock, go } = await about(
      (_input, info) => {
        signal = info.signal;
        return never();
      },
      { more: { timeoutMs: 50 } },
    );
    void go();
    await clock.pass(49);
    expect(signal?.aborted).toBe(false);
    await clock.pass(1);
    expect(signal?.reason).toEqual(new DOMException('look took longer than 50 ms.', 'TimeoutError'));
    expect(property(signal?.reason, 'name')).toBe('TimeoutError');
  });

  it.each([
    ['gave a value', () => 1],
    ['gave a promise of one', async () => 1],
    [
      'threw',
      () => {
        throw new Error('no');
      },
    ],
    ['rejected', () => Promise.reject(new Error('no'))],
  ])('is left alone by a stop after the tool %s', async (_how, execute) => {
    let signal: AbortSignal | undefined;
    const { handle, go } = await about((_input, info) => {
      signal = info.signal;
      return execute();
    });
    await go();
    handle.abort({ kind: 'cancel', reason: 'enough' });
    expect(signal?.aborted).toBe(false);
  });

  it('stays as it was when nothing was waited for any longer', async () => {
    let signal: AbortSignal | undefined;
    const { clock, handle, go } = await about((_input, info) => {
      signal = info.signal;
      return never();
    });
    const outcome = go();
    handle.abort({ kind: 'cancel', reason: 'enough' });
    await clock.pass(2_000);
    await outcome;
    expect(signal?.reason).toBe('enough');
  });

  it('costs a tool nothing that does not read it', async () => {
    const { clock, go } = await about(never, { more: { timeoutMs: 5 } });
    const outcome = go();
    await clock.pass(5);
    expect(await outcome).toMatchObject({ kind: 'end' });
  });
});

describe('the progress of a call', () => {
  const looks = defineGuardrail({ name: 'looks', on: ['toolOutput'], check: () => allow() });
  const shadow = defineGuardrail({ name: 'looks', on: ['toolOutput'], shadow: true, check: () => allow() });

  async function shown(notes: readonly (string | number)[], agent: object = {}) {
    const { go, told } = await about(
      (_input, { progress }) => {
        for (const note of notes) progress(note);
      },
      { agent },
    );
    void go();
    return told.filter(({ type }) => type === 'tool.progress').map((event) => ({ ...event, at: 0 }));
  }
  const event = (more: object) => ({ type: 'tool.progress', at: 0, run: 'r1', agent: 'desk', callId: '1.0', tool: 'look', ...more });

  it('is told as a step where it is a number of one, else in its words', async () => {
    expect(await shown([0, 1_000_000, 'half', '5', 1_000_001, -1, Number.NaN])).toEqual([
      event({ step: 0 }),
      event({ step: 1_000_000 }),
      event({ note: 'half' }),
      event({ note: '5' }),
      event({ note: '1000001' }),
      event({ note: '-1' }),
      event({ note: 'NaN' }),
    ]);
  });

  it('is told without its words where a guardrail stands on the output of the tool', async () => {
    expect(await shown([1, 'half', 1_000_001], { guardrails: [looks] })).toEqual([event({ step: 1 }), event({}), event({})]);
  });

  it('is told in its words where all guardrails there only watch', async () => {
    expect(await shown(['half'], { guardrails: [shadow] })).toEqual([event({ note: 'half' })]);
    const both = defineGuardrail({ name: 'other', on: ['toolOutput'], check: () => allow() });
    expect(await shown(['half'], { guardrails: [shadow, both] })).toEqual([event({})]);
  });

  it.each([
    ['gave a value', () => 1],
    ['gave a promise of one', async () => 1],
    [
      'threw',
      () => {
        throw new Error('no');
      },
    ],
    ['rejected', () => Promise.reject(new Error('no'))],
    ['was late', never],
    ['was stopped', never],
  ])('is not told after the tool %s', async (how, execute) => {
    let progress: ToolInfo['progress'] = () => undefined;
    const { clock, handle, go, told } = await about(
      (_input, info) => {
        progress = info.progress;
        return execute();
      },
      { more: how === 'was late' ? { timeoutMs: 5 } : {} },
    );
    const outcome = go();
    if (how === 'was late') await clock.pass(5);
    if (how === 'was stopped') {
      handle.abort({ kind: 'halt' });
      await clock.pass(2_000);
    }
    await outcome;
    const before = told.length;
    progress('still there');
    expect(told).toHaveLength(before);
  });

  it('is told while the tool is at work', async () => {
    let progress: ToolInfo['progress'] = () => undefined;
    const { go, told } = await about((_input, info) => {
      progress = info.progress;
      return never();
    });
    void go();
    await settle();
    progress('working');
    expect(told.at(-1)).toMatchObject({ type: 'tool.progress', note: 'working' });
  });
});

describe('what a failure of a tool says', () => {
  const look = async () => (await about(() => 1)).open.tool;
  const error = (summary: string, more: object = {}) => ({ kind: 'error', summary, errorClass: 'failed', retryable: false, ...more });
  const hostile = Object.defineProperty(new Error('x'), 'message', {
    get() {
      throw new Error('secret');
    },
  });

  it.each([
    ['the first line of an error', new Error('no net\n  at secret place'), error('look failed: no net')],
    ['a text that was thrown', ' no net \n x', error('look failed: no net')],
    ['nothing of an empty message', new Error('  \nstack'), error('look failed.')],
    ['nothing of what is no error', { message: 'secret' }, error('look failed.')],
    ['nothing of a message that is no text', Object.assign(new Error('x'), { message: 7 }), error('look failed.')],
    ['nothing of a message that throws', hostile, error('look failed.')],
    ['nothing of nothing', undefined, error('look failed.')],
    [
      'what the tool says of it',
      toolError('the shop is closed', { errorClass: 'unavailable', retryable: true }),
      error('look failed: the shop is closed', { errorClass: 'unavailable', retryable: true }),
    ],
  ])('is %s', async (_what, thrown, expected) => {
    expect(failed(await look(), thrown)).toEqual(expected);
  });
});

it('lets a tool with a typed schema name its arguments when it is late', async () => {
  const more = { timeoutMs: 5, repeatable: true, input: z.object({ city: z.string() }) };
  const { clock, go } = await about(never, { more, input: { city: 'Rome' } });
  const outcome = go();
  await clock.pass(5);
  expect(JSON.stringify(await outcome)).toContain('look with city took longer than 5 ms');
});
