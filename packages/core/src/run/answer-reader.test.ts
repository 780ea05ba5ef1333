import { describe, expect, it, vi } from 'vitest';
import { enterRun, modelOf, trusted } from '../../test/enter-run.js';
import { GuardloopError } from '../errors.js';
import type { ModelEvent, Usage } from '../model/types.js';
import type { RunEvent } from '../state/events.js';
import { AnswerReader, leaveMs } from './answer-reader.js';
import { Channel, unreadDeltas } from './channel.js';
import type { OpenModelCall } from './handle.js';
import { RunHandle } from './handle.js';
import { Release } from './release.js';

const usage: Usage = { requests: 1, inputTokens: 2, outputTokens: 3 };
const end: ModelEvent = { type: 'end', stopReason: 'stop', usage };
const say = (text: unknown): ModelEvent => ({ type: 'text.delta', text: text as string });
const think = (text: unknown): ModelEvent => ({ type: 'reasoning.delta', text: text as string });
const call = (given: unknown): ModelEvent => ({ type: 'tool.call', call: given as never });
const warning = (given: object): ModelEvent => ({ type: 'warning', ...given }) as ModelEvent;
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function* streamOf(...events: readonly ModelEvent[]): AsyncGenerator<ModelEvent, void, undefined> {
  yield* events;
}

/** A stream whose reads are answered by hand. */
class Manual implements AsyncIterator<ModelEvent> {
  readonly reads: ((result: IteratorResult<ModelEvent>) => void)[] = [];
  readonly refusals: ((error: unknown) => void)[] = [];
  next(): Promise<IteratorResult<ModelEvent>> {
    return new Promise((resolve, reject) => {
      this.reads.push(resolve);
      this.refusals.push(reject);
    });
  }
  async give(event: ModelEvent): Promise<void> {
    this.reads.at(-1)?.({ value: event, done: false });
    await tick();
  }
}

interface Given {
  readonly options?: object;
  readonly isUnguarded?: boolean;
  readonly open?: Partial<OpenModelCall>;
  readonly release?: (text: string) => undefined | Promise<void>;
  readonly isStreamed?: boolean;
  readonly channel?: Channel;
}

async function reading(events: AsyncIterator<ModelEvent>, { options, isUnguarded = true, open, release, isStreamed, channel }: Given = {}) {
  const entered = await enterRun(undefined, options);
  const { root, state, agents } = entered.handle;
  if (channel) Object.assign(root, { channel });
  const handle = isStreamed === false ? new RunHandle(root, state, { agents, isStreamed }) : entered.handle;
  const reader = new AnswerReader(
    handle,
    {
      events,
      first: undefined,
      controller: undefined,
      off: undefined,
      turn: 4,
      model: modelOf(),
      names: new Map(),
      isFinal: false,
      ...open,
    },
    {
      release: release
        ? ({ push: release } as unknown as Release)
        : new Release(handle, { turn: 4, guards: [], isStructured: false, label: trusted }),
      isUnguarded,
    },
  );
  entered.seen.length = 0;
  return { ...entered, handle, reader };
}
const told = (seen: readonly RunEvent[]) => seen.map(({ at: _, run: __, agent: ___, ...rest }) => rest);
const misstep = (what: string) => ({
  code: 'MODEL_PROTOCOL',
  message: `Model m ${what}. Nothing of it was recorded; resume the run to ask again.`,
  isRetryable: true,
});

describe('reading an answer', () => {
  it('gathers text, reasoning, calls and the end, and shows the text', async () => {
    const calls = [
      { name: 'send', input: { to: 'anna' } },
      { name: 'look', unparsable: '{' },
      { name: 'odd', input: null },
    ];
    const { reader, seen } = await reading(streamOf(think('Hm'), think('.'), say('Hel'), say('lo'), ...calls.map(call), end));
    await reader.read();
    expect(reader).toMatchObject({ text: 'Hello', reasoning: 'Hm.', calls, end, retries: 0, isOver: false });
    expect(told(seen)).toEqual([
      { type: 'text.delta', turn: 4, text: 'Hel' },
      { type: 'text.delta', turn: 4, text: 'lo' },
    ]);
  });

  it('ends with the stream, whether or not it said so', async () => {
    const { reader } = await reading(streamOf(say('Hel')));
    await reader.read();
    expect([reader.text, reader.end]).toEqual(['Hel', undefined]);
  });

  it('goes on from a read that is under way', async () => {
    const events = streamOf(say('b'), end);
    const { reader } = await reading(events, { open: { first: Promise.resolve({ value: say('a'), done: false }) } });
    await reader.read();
    expect(reader.text).toBe('ab');
  });

  it('passes over events that it does not know', async () => {
    const { reader } = await reading(streamOf({ type: 'tool.delta', index: 0, text: 'x' }, { type: 'other' } as never, say('a'), end));
    await reader.read();
    expect(reader.text).toBe('a');
  });

  it('rejects with what the stream throws', async () => {
    const error = new Error('broken');
    const failing: AsyncIterator<ModelEvent> = { next: () => Promise.reject(error) };
    await expect((await reading(failing)).reader.read()).rejects.toBe(error);
  });

  it.each([
    [true, 'show', true],
    [false, 'show', false],
    [true, 'hide', false],
    [false, 'hide', false],
  ])('shows reasoning where nothing guards it (%j) and the run shows it (%j): %j', async (isUnguarded, reasoning, isShown) => {
    const { reader, seen } = await reading(streamOf(think('Hm'), end), { isUnguarded, options: { reasoning } });
    await reader.read();
    expect(reader.isReasoningShown).toBe(isShown);
    expect(reader.reasoning).toBe('Hm');
    expect(told(seen)).toEqual(isShown ? [{ type: 'reasoning.delta', turn: 4, text: 'Hm' }] : []);
  });

  it('counts and tells of attempts that are made again', async () => {
    const { reader, seen } = await reading(
      streamOf({ type: 'retry', attempt: 1, waitMs: 5 }, { type: 'retry', attempt: 2, waitMs: 9 }, end),
    );
    await reader.read();
    expect(reader.retries).toBe(2);
    expect(told(seen)).toEqual([
      { type: 'model.retry', attempt: 1, waitMs: 5 },
      { type: 'model.retry', attempt: 2, waitMs: 9 },
    ]);
  });

  it('tells of warnings, not at any length, and fails over none', async () => {
    const { reader, seen } = await reading(
      streamOf(
        warning({ about: 'setting', message: 'No seed.' }),
        warning({ about: 'part', message: 'x'.repeat(1_001), item: 'r/i1' }),
        warning({ about: 'part', message: 'No item.', item: 5 }),
        warning({ about: 5, message: 'No kind.' }),
        warning({ about: 'part' }),
        end,
      ),
    );
    await reader.read();
    expect(told(seen)).toStrictEqual([
      { type: 'model.warning', turn: 4, about: 'setting', message: 'No seed.' },
      { type: 'model.warning', turn: 4, about: 'part', message: 'x'.repeat(1_000), item: 'r/i1' },
      { type: 'model.warning', turn: 4, about: 'part', message: 'No item.' },
    ]);
  });
});

describe('an answer breaks the protocol', () => {
  it.each<[string, readonly ModelEvent[]]>([
    ['gave a text that is none', [say(5)]],
    ['gave a text that is none', [think(undefined)]],
    ['ended its answer twice', [end, end]],
    ['went on after the end of its answer', [end, say('more')]],
    ['gave a call without a name or arguments', [call(undefined)]],
    ['gave a call without a name or arguments', [call(null)]],
    ['gave a call without a name or arguments', [call('send')]],
    ['gave a call without a name or arguments', [call({ input: {} })]],
    ['gave a call without a name or arguments', [call({ name: 5, input: {} })]],
    ['gave a call without a name or arguments', [call({ name: 'send' })]],
    ['gave a call without a name or arguments', [call({ name: 'send', unparsable: 5, input: {} })]],
    ['gave a call without a name or arguments', [call({ name: 5, unparsable: '{' })]],
    ['gave a call without a name or arguments', [call(Object.assign(() => 1, { input: {} }))]],
  ])('when it %s', async (what, events) => {
    const { reader } = await reading(streamOf(...events));
    await expect(reader.read()).rejects.toMatchObject(misstep(what));
    expect(reader.calls).toEqual([]);
  });
});

describe('once nobody waits', () => {
  it('what comes is void', async () => {
    const events = new Manual();
    const { reader } = await reading(events);
    const read = reader.read();
    await events.give(say('a'));
    reader.isOver = true;
    await events.give(say('b'));
    await read;
    expect(reader.text).toBe('a');
    expect(events.reads).toHaveLength(2);
  });

  it('no more is read', async () => {
    const events = new Manual();
    const channel = new Channel(() => undefined);
    const { reader } = await reading(events, { channel });
    for (let count = 1; count < unreadDeltas; count += 1)
      channel.push({ type: 'text.delta', at: 0, run: 'r', agent: 'a', turn: 1, text: '' });
    const read = reader.read();
    await events.give(say('a'));
    reader.isOver = true;
    channel.free();
    await read;
    expect(events.reads).toHaveLength(1);
  });
});

describe('reading on waits', () => {
  it('for text that is still being looked at', async () => {
    const events = new Manual();
    let pass: () => void = () => undefined;
    const { reader } = await reading(events, {
      release: () =>
        new Promise<void>((resolve) => {
          pass = resolve;
        }),
    });
    const read = reader.read();
    await events.give(say('a'));
    expect(events.reads).toHaveLength(1);
    pass();
    await tick();
    expect(events.reads).toHaveLength(2);
    events.reads[1]?.({ value: undefined, done: true });
    await read;
  });

  it('for a slow reader of the run, and not in a child run that nobody watches', async () => {
    for (const isStreamed of [true, false]) {
      const events = new Manual();
      const channel = new Channel(() => undefined);
      const { reader } = await reading(events, { channel, isStreamed });
      for (let count = 0; count < unreadDeltas; count += 1)
        channel.push({ type: 'text.delta', at: 0, run: 'r', agent: 'a', turn: 1, text: '' });
      const read = reader.read();
      await events.give({ type: 'retry', attempt: 1, waitMs: 0 });
      expect(events.reads).toHaveLength(isStreamed ? 1 : 2);
      await channel.next();
      await tick();
      expect(events.reads).toHaveLength(2);
      events.reads[1]?.({ value: undefined, done: true });
      await read;
    }
  });
});

describe('a stream after the end of its answer', () => {
  it('that closes at once gets no timer', async () => {
    const { reader, clock } = await reading(streamOf(say('a'), end));
    const after = vi.spyOn(clock, 'after');
    await reader.read();
    expect(after).not.toHaveBeenCalled();
  });

  it('that stays open is left alone after a while, and asked to return', async () => {
    const events = Object.assign(new Manual(), { return: vi.fn(() => Promise.reject(new Error('no'))) });
    const { reader, clock } = await reading(events);
    let isRead = false;
    const read = reader.read().then(() => {
      isRead = true;
    });
    await events.give(end);
    clock.pass(leaveMs - 1);
    await tick();
    expect([isRead, events.return.mock.calls.length]).toEqual([false, 0]);
    clock.pass(1);
    await read;
    expect(events.return).toHaveBeenCalledTimes(1);
    // Nor is what it does later anybody's.
    events.refusals[1]?.(new Error('late'));
    await tick();
  });

  it('that cannot be asked to return is left alone too', async () => {
    const events = new Manual();
    const { reader, clock } = await reading(events);
    const read = reader.read();
    await events.give(end);
    clock.pass(leaveMs);
    await read;
    expect(reader.end).toBe(end);
  });

  it('that takes a little longer is read to its own end, or to what it breaks', async () => {
    const closing = Object.assign(new Manual(), { return: vi.fn() });
    const first = await reading(closing);
    const read = first.reader.read();
    await closing.give(end);
    first.clock.pass(leaveMs - 1);
    closing.reads[1]?.({ value: undefined, done: true });
    await read;
    expect(closing.return).not.toHaveBeenCalled();
    const going = new Manual();
    const second = await reading(going);
    const broken = expect(second.reader.read()).rejects.toMatchObject(misstep('went on after the end of its answer'));
    await going.give(end);
    await going.give(say('more'));
    await broken;
    const failing = new Manual();
    const third = await reading(failing);
    const failed = expect(third.reader.read()).rejects.toThrow('lost');
    await failing.give(end);
    failing.refusals[1]?.(new Error('lost'));
    await failed;
  });
});

describe('what an answer used', () => {
  const ended = async (...events: readonly ModelEvent[]) => {
    const { reader } = await reading(streamOf(...events));
    await reader.read();
    return reader;
  };
  const retry: ModelEvent = { type: 'retry', attempt: 1, waitMs: 0 };

  it('is what its end tells', async () => {
    expect((await ended(retry, end)).usage(undefined)).toBe(usage);
  });

  it('is at least the attempts where its end does not count requests', async () => {
    const without = (given: unknown): ModelEvent => ({ type: 'end', stopReason: 'stop', usage: given as Usage });
    expect((await ended(retry, without({ inputTokens: 5 }))).usage(undefined)).toEqual({ inputTokens: 5, requests: 2 });
    expect((await ended(without({ requests: Number.NaN, inputTokens: 5 }))).usage(undefined)).toEqual({ inputTokens: 5, requests: 1 });
    expect((await ended(without(undefined))).usage(undefined)).toEqual({ requests: 1 });
  });

  it('is what its failure tells where it has no end, or else its attempts', async () => {
    const reader = await ended(retry, say('a'));
    const failure = new GuardloopError('MODEL_FAILED', 'Down.', { details: { usage: { requests: 7, inputTokens: 4 } } });
    expect(reader.usage(failure)).toEqual({ requests: 7, inputTokens: 4 });
    expect(reader.usage(new Error('x'))).toEqual({ requests: 2 });
  });
});
