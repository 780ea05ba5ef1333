import { describe, expect, it } from 'vitest';
import { GuardloopError } from '../errors.js';
import type { SessionStore } from '../session/session.js';
import type { LogEvent } from '../state/events.js';
import { StoreWriter } from './store-writer.js';

const event = (seq: number, more: Partial<LogEvent> = {}): LogEvent =>
  ({ type: 'run.end', seq, at: seq, run: 'r', agent: 'a', status: 'completed', ...more }) as LogEvent;
const resume = (seq: number, writer: string): LogEvent => event(seq, { type: 'run.resume', writer } as Partial<LogEvent>);
const start = (seq: number, writer: string): LogEvent => event(seq, { type: 'run.start', writer } as Partial<LogEvent>);

interface Written {
  readonly id: string;
  readonly seqs: readonly number[];
  readonly afterSeq: number;
}

/** A writer over a store that keeps what it is given, where `append` may do otherwise. */
function writing({
  afterSeq = 0,
  append,
  tail,
}: {
  readonly afterSeq?: number;
  readonly append?: (given: Written, count: number) => void | Promise<void>;
  readonly tail?: (afterSeq: number) => readonly LogEvent[];
} = {}) {
  const written: Written[] = [];
  const loads: { readonly id: string; readonly afterSeq: number | undefined }[] = [];
  const failures: GuardloopError[] = [];
  const store: SessionStore = {
    async load(id, after) {
      loads.push({ id, afterSeq: after });
      return tail?.(after ?? 0) ?? [];
    },
    async append(id, events, after) {
      const given = { id, seqs: events.map(({ seq }) => seq), afterSeq: after };
      written.push(given);
      await append?.(given, written.length);
    },
  };
  const writer = new StoreWriter({ store, id: 's' }, 'w1', { afterSeq, onFailure: (error) => failures.push(error) });
  return { writer, written, loads, failures };
}

const broken = Object.assign(new Error('the address is secret'), { code: 'EPIPE' });
const fail = (): never => {
  throw broken;
};
const failFirst = (_: Written, count: number): void => {
  if (count === 1) fail();
};

describe('a store writer', () => {
  it('writes what was added in one step together, and what comes meanwhile after it', async () => {
    let added = false;
    const { writer, written, failures } = writing({
      afterSeq: 4,
      append: () => {
        if (added) return;
        added = true;
        writer.add(event(7));
        writer.add(event(8));
      },
    });
    expect(writer.barrier()).toBeUndefined();
    writer.add(event(5));
    writer.add(event(6));
    expect(written).toEqual([]);
    await writer.barrier();
    expect(written).toEqual([
      { id: 's', seqs: [5, 6], afterSeq: 4 },
      { id: 's', seqs: [7, 8], afterSeq: 6 },
    ]);
    expect(writer.barrier()).toBeUndefined();
    expect(writer.failure).toBeUndefined();
    expect(failures).toEqual([]);
  });

  it('writes again after everything was stored', async () => {
    const { writer, written } = writing();
    writer.add(event(1));
    await writer.barrier();
    writer.add(event(2));
    expect(writer.barrier()).toBeDefined();
    await writer.barrier();
    expect(written.map(({ seqs, afterSeq }) => [seqs, afterSeq])).toEqual([
      [[1], 0],
      [[2], 1],
    ]);
  });

  it('writes nothing more after a failure, and tells of it once', async () => {
    const { writer, written, failures } = writing({
      append: fail,
      tail: () => fail(),
    });
    writer.add(event(1));
    await writer.barrier();
    expect(writer.failure).toMatchObject({
      code: 'STORE_FAILED',
      message: 'The session store failed to append to s. The run was stopped; look at the cause, then resume it.',
      isRetryable: true,
      cause: { name: 'Error', code: 'EPIPE' },
    });
    expect(failures).toEqual([writer.failure]);
    expect(writer.barrier()).toBeUndefined();
    writer.add(event(2));
    expect(writer.barrier()).toBeUndefined();
    expect(written).toHaveLength(1);
  });

  it("keeps an error of the store's own that is one of Guardloop", async () => {
    const error = new GuardloopError('LOG_CONFLICT', 'Somebody else was here.');
    const { writer, failures } = writing({
      append: fail,
      tail: () => {
        throw error;
      },
    });
    writer.add(event(1));
    await writer.barrier();
    expect(writer.failure).toBe(error);
    expect(failures).toEqual([error]);
  });

  it('can be given up: the failure says so, and what is left is not written', async () => {
    let letGo: () => void = () => undefined;
    const { writer, written, failures } = writing({
      append: () =>
        new Promise<void>((resolve) => {
          letGo = resolve;
        }),
    });
    writer.add(event(1));
    const waiting = writer.barrier();
    await new Promise((resolve) => setImmediate(resolve));
    writer.add(event(2));
    writer.giveUp(new DOMException('enough', 'TimeoutError'));
    expect(writer.failure).toMatchObject({
      code: 'STORE_FAILED',
      message:
        'The session store did not say in time that it holds what was written to s: the run was stopped, and could wait no longer. Look at the store, then resume the run from what it holds.',
      isRetryable: true,
      cause: { name: 'TimeoutError' },
    });
    expect(writer.barrier()).toBeUndefined();
    writer.add(event(3));
    letGo();
    await waiting;
    expect(written).toHaveLength(1);
    expect(failures).toHaveLength(1);
  });

  it('tells of the first failure alone when the store fails after it was given up', async () => {
    let refuse: (error: unknown) => void = () => undefined;
    const { writer, failures } = writing({
      append: () =>
        new Promise<void>((_, reject) => {
          refuse = reject;
        }),
      tail: () => fail(),
    });
    writer.add(event(1));
    const waiting = writer.barrier();
    await new Promise((resolve) => setImmediate(resolve));
    writer.giveUp(undefined);
    const first = writer.failure;
    refuse(broken);
    await waiting;
    expect(writer.failure).toBe(first);
    expect(failures).toEqual([first]);
  });
});

describe('after an append whose outcome is not known', () => {
  it('nothing is written again where the store holds it all', async () => {
    const { writer, written, loads } = writing({ afterSeq: 2, append: failFirst, tail: () => [event(3), event(4)] });
    writer.add(event(3));
    writer.add(event(4));
    await writer.barrier();
    expect(loads).toEqual([{ id: 's', afterSeq: 2 }]);
    expect(written).toHaveLength(1);
    expect(writer.failure).toBeUndefined();
    writer.add(event(5));
    await writer.barrier();
    expect(written[1]).toEqual({ id: 's', seqs: [5], afterSeq: 4 });
  });

  it('what the store does not hold is written once more', async () => {
    const { writer, written } = writing({ afterSeq: 2, append: failFirst, tail: () => [event(3)] });
    writer.add(event(3));
    writer.add(event(4));
    writer.add(event(5));
    await writer.barrier();
    expect(written).toEqual([
      { id: 's', seqs: [3, 4, 5], afterSeq: 2 },
      { id: 's', seqs: [4, 5], afterSeq: 3 },
    ]);
    expect(writer.failure).toBeUndefined();
    const none = writing({ append: failFirst });
    none.writer.add(event(1));
    await none.writer.barrier();
    expect(none.written.map(({ seqs }) => seqs)).toEqual([[1], [1]]);
  });

  it('a store that fails again has failed', async () => {
    const { writer, written } = writing({ append: fail });
    writer.add(event(1));
    await writer.barrier();
    expect(written).toHaveLength(2);
    expect(writer.failure).toMatchObject({ code: 'STORE_FAILED' });
  });

  it.each<[string, readonly LogEvent[], readonly LogEvent[]]>([
    ['run.start', [start(1, 'w1'), event(2)], [start(1, 'w1'), event(2)]],
    ['run.resume', [resume(1, 'w1'), event(2)], [resume(1, 'w1'), event(2)]],
  ])('what holds its own writer in a %s is its own', async (_type, batch, tail) => {
    const { writer } = writing({ append: failFirst, tail: () => tail });
    for (const each of batch) writer.add(each);
    await writer.barrier();
    expect(writer.failure).toBeUndefined();
  });

  it.each<[string, LogEvent, LogEvent]>([
    ['with another number', event(1), event(2, { at: 1 })],
    ['of another type', event(1), event(1, { type: 'handoff' } as Partial<LogEvent>)],
    ['of another run', event(1), event(1, { run: 'r2' })],
    ['of another time', event(1), event(1, { at: 9 })],
    ["of another writer's start", start(1, 'w1'), start(1, 'w2')],
    ["of another writer's resume", resume(1, 'w1'), resume(1, 'w2')],
  ])('an event %s is of another writer, and that is a conflict', async (_what, own, found) => {
    const { writer, written } = writing({ append: failFirst, tail: () => [found] });
    writer.add(own);
    await writer.barrier();
    expect(written).toHaveLength(1);
    expect(writer.failure).toMatchObject({
      code: 'LOG_CONFLICT',
      message: 'Another writer has appended to s. This run was stopped and appended nothing more; load the log and go on from there.',
      cause: { name: 'Error', code: 'EPIPE' },
      isRetryable: false,
    });
  });

  it('more events than were written are a conflict, though the first are its own', async () => {
    const { writer } = writing({ append: failFirst, tail: () => [event(1), event(2)] });
    writer.add(event(1));
    await writer.barrier();
    expect(writer.failure).toMatchObject({ code: 'LOG_CONFLICT' });
  });
});
