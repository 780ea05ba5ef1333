import type { LogEvent, SessionStore } from '@guardloop/core';
import { canonicalJson, GuardloopError } from '@guardloop/core';
import type { JsonValue } from '@guardloop/core/model';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** What the suite may be told beside how a store is made. */
export interface SessionConformanceOptions<S extends SessionStore = SessionStore> {
  /** Closes what {@link sessionConformance} was given; called once, after all tests. */
  readonly close?: ((store: S) => PromiseLike<void> | void) | undefined;
  /** Opens the same storage anew, as another process would. With it the suite also tests that logs outlive the store that wrote them. */
  readonly reopen?: (() => PromiseLike<S> | S) | undefined;
  /** Events in the large batch. Default 2,000. */
  readonly batchSize?: number | undefined;
}

/**
 * The suite that every `SessionStore` runs: order, tails, atomicity, stale and concurrent writers, odd strings, large batches, isolation. Call
 * it at the top level of a vitest file.
 *
 * `makeStore` is called once. Each test uses session ids of its own, so the storage behind it may be shared and need not be empty.
 *
 * ```ts
 * sessionConformance('memorySession', () => memorySession());
 * ```
 */
export function sessionConformance<S extends SessionStore>(
  name: string,
  makeStore: () => PromiseLike<S> | S,
  options: SessionConformanceOptions<S> = {},
): void {
  describe(`${name} is a session store`, () => {
    let store: S;
    beforeAll(async () => {
      store = await makeStore();
    });
    afterAll(async () => {
      await options.close?.(store);
    });
    const suite: Suite<S> = { store: () => store, options };
    testOrder(suite);
    testConflicts(suite);
    testContents(suite);
    testIsolation(suite);
  });
}

interface Suite<S extends SessionStore> {
  store(): S;
  readonly options: SessionConformanceOptions<S>;
}

let sessions = 0;
const newId = (): string => {
  sessions += 1;
  return `conformance-${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}-${sessions}`;
};

/** Events `first`, `first + 1`, … that carry a text. */
function batch(first: number, count: number, text: string): readonly LogEvent[] {
  return Array.from({ length: count }, (_, index): LogEvent => {
    const seq = first + index;
    const label = { origin: 'user', integrity: 'trusted' } as const;
    return {
      type: 'input.accept',
      seq,
      at: 1_700_000_000_000 + seq,
      run: 'r1',
      agent: 'triage',
      subject: 'r1/input',
      revision: 0,
      items: [{ role: 'user', id: `r1/i${seq}`, via: 'user', parts: [{ type: 'text', text }], label }],
    };
  });
}

function withInput(seq: number, input: object): LogEvent {
  return {
    type: 'tool.start',
    seq,
    at: seq,
    run: 'r1',
    agent: 'triage',
    callId: '1.0',
    tool: 'find',
    revision: 0,
    input: input as never,
    idempotencyKey: 'r1/1.0',
  };
}

/** Equal for what is equal as JSON, whatever the order in which a store gives keys back. */
const canonical = (value: unknown): string => canonicalJson(value as JsonValue);

async function expectConflict(appending: Promise<void>): Promise<void> {
  const error: unknown = await appending.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(GuardloopError.is(error) && error.code, 'append rejects with a GuardloopError LOG_CONFLICT').toBe('LOG_CONFLICT');
}

const seqs = (events: readonly LogEvent[]): readonly number[] => events.map(({ seq }) => seq);

function testOrder<S extends SessionStore>({ store, options }: Suite<S>): void {
  it('gives nothing for an id that was never appended to', async () => {
    expect(await store().load(newId())).toEqual([]);
    expect(await store().load(newId(), 7)).toEqual([]);
  });

  it('gives events back equal and in order', async () => {
    const id = newId();
    const events = [...batch(1, 3, 'one'), ...batch(4, 1, 'two')];
    await store().append(id, events.slice(0, 3), 0);
    await store().append(id, events.slice(3), 3);
    expect(canonical(await store().load(id))).toBe(canonical(events));
    expect(canonical(await store().load(id, 0))).toBe(canonical(events));
  });

  it('orders by number, not by text, and not by time', async () => {
    const id = newId();
    for (let seq = 0; seq < 12; seq += 1)
      await store().append(
        id,
        batch(seq + 1, 1, `${seq}`).map((event) => ({ ...event, at: 100 - seq })),
        seq,
      );
    expect(seqs(await store().load(id))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  });

  it('gives the tail after any number', async () => {
    const id = newId();
    await store().append(id, batch(1, 12, 'x'), 0);
    for (let after = 0; after <= 14; after += 1)
      expect(seqs(await store().load(id, after))).toEqual(seqs(batch(after + 1, Math.max(0, 12 - after), 'x')));
  });

  it('keeps sessions apart, however alike their ids are', async () => {
    const id = newId();
    const ids = [
      id,
      `${id}/1`,
      `${id}%`,
      `${id}_`,
      `${id.toUpperCase()}`,
      `${id} `,
      `${id}'"\\;--`,
      `${id}:*`,
      `${id}é😀`,
      `${id}${'x'.repeat(120)}`,
    ];
    for (const [index, each] of ids.entries()) await store().append(each, batch(1, 1, `text ${index}`), 0);
    for (const [index, each] of ids.entries()) expect(canonical(await store().load(each))).toBe(canonical(batch(1, 1, `text ${index}`)));
  });

  if (options.reopen === undefined) return;
  const { reopen, close } = options;
  it('keeps logs beyond the store that wrote them, and fences writers across stores', async () => {
    const id = newId();
    await store().append(id, batch(1, 2, 'kept'), 0);
    const other = await reopen();
    expect(canonical(await other.load(id))).toBe(canonical(batch(1, 2, 'kept')));
    await other.append(id, batch(3, 1, 'other'), 2);
    await expectConflict(store().append(id, batch(3, 1, 'stale'), 2));
    expect(canonical(await store().load(id, 2))).toBe(canonical(batch(3, 1, 'other')));
    if (other !== store()) await close?.(other);
  });
}

function testConflicts<S extends SessionStore>({ store }: Suite<S>): void {
  it('refuses a stale writer, and stores nothing of its batch', async () => {
    const id = newId();
    await store().append(id, batch(1, 3, 'first'), 0);
    await expectConflict(store().append(id, batch(1, 5, 'stale'), 0));
    await expectConflict(store().append(id, batch(3, 5, 'stale'), 2));
    expect(canonical(await store().load(id))).toBe(canonical(batch(1, 3, 'first')));
  });

  it('refuses a writer that is ahead of the log', async () => {
    const id = newId();
    await expectConflict(store().append(id, batch(4, 1, 'ahead'), 3));
    expect(await store().load(id)).toEqual([]);
    await store().append(id, batch(1, 1, 'first'), 0);
    await expectConflict(store().append(id, batch(4, 1, 'ahead'), 3));
    expect(seqs(await store().load(id))).toEqual([1]);
  });

  it('goes on after a conflict', async () => {
    const id = newId();
    await store().append(id, batch(1, 1, 'one'), 0);
    await expectConflict(store().append(id, batch(1, 1, 'stale'), 0));
    await store().append(id, batch(2, 1, 'two'), 1);
    expect(seqs(await store().load(id))).toEqual([1, 2]);
  });

  it('lets exactly one of several writers at once win', async () => {
    for (const before of [0, 2]) {
      const id = newId();
      if (before > 0) await store().append(id, batch(1, before, 'before'), 0);
      const writers = Array.from({ length: 8 }, (_, writer) => batch(before + 1, 3, `writer ${writer}`));
      const outcomes = await Promise.allSettled(writers.map((events) => store().append(id, events, before)));
      const winners = writers.filter((_, index) => outcomes[index]?.status === 'fulfilled');
      expect(winners).toHaveLength(1);
      for (const outcome of outcomes) if (outcome.status === 'rejected') await expectConflict(Promise.reject(outcome.reason));
      expect(canonical(await store().load(id, before))).toBe(canonical(winners[0]));
    }
  });

  it('never shows part of a batch', async () => {
    const id = newId();
    let isWriting = true;
    const reading = (async () => {
      while (isWriting) {
        const events = await store().load(id);
        expect(events.length % 5).toBe(0);
        expect(seqs(events)).toEqual(seqs(batch(1, events.length, '')));
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
    })();
    for (let written = 0; written < 50; written += 5) await store().append(id, batch(written + 1, 5, 'x'), written);
    isWriting = false;
    await reading;
    expect(await store().load(id)).toHaveLength(50);
  });

  it('does not mix writers of different sessions at once', async () => {
    const ids = Array.from({ length: 6 }, newId);
    await Promise.all(
      ids.map(async (id, index) => {
        for (let seq = 0; seq < 6; seq += 2) await store().append(id, batch(seq + 1, 2, `session ${index}`), seq);
      }),
    );
    for (const [index, id] of ids.entries()) expect(canonical(await store().load(id))).toBe(canonical(batch(1, 6, `session ${index}`)));
  });
}

const oddStrings = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\\u0000',
  '\\\\u0000',
  '\ud83d',
  '\ude00',
  'x\ude00\ud83dy',
  '😀👨‍👩‍👧',
  'e\u0301 é',
  '\u2028\u2029\ufeff\u200b',
  '\r\n\t\b\f\u007f\u0080\u001f',
  "'; drop table logs; --",
  '"{}[],:\\/',
  '$1 %s {{x}} #{y}',
  'null',
  '__proto__',
  '2026-01-01T00:00:00.000Z',
  '𐏿 東京 עברית',
];

function testContents<S extends SessionStore>({ store, options }: Suite<S>): void {
  it('S204: gives back any string as it was: U+0000, lone surrogates, escapes, every script', async () => {
    const id = newId();
    const events = oddStrings.map((text, index) => batch(index + 1, 1, text)[0]).filter((event) => event !== undefined);
    await store().append(id, events, 0);
    expect(canonical(await store().load(id))).toBe(canonical(events));
  });

  it('gives back any object key, number, and shape as it was', async () => {
    const id = newId();
    const keys = JSON.parse(`{${[...new Set(oddStrings)].map((key, index) => `${JSON.stringify(key)}:${index}`).join(',')}}`) as object;
    const inputs = [
      keys,
      { numbers: [0, 1, -1, 0.1, 1e21, 1e-7, 9007199254740991, -9007199254740991, 5e-324, 1.7976931348623157e308] },
      { nothing: null, yes: true, no: false, list: [], object: {}, nested: [[[[{ deep: [null] }]]]] },
      { 10: 'ten', 9: 'nine', constructor: 'x', toString: 'y' },
    ];
    const events = inputs.map((input, index) => withInput(index + 1, input));
    await store().append(id, events, 0);
    expect(canonical(await store().load(id))).toBe(canonical(events));
  });

  it('takes a large batch, whole', async () => {
    const id = newId();
    const count = options.batchSize ?? 2_000;
    const events = batch(1, count, 'a line of text');
    await store().append(id, events, 0);
    expect(seqs(await store().load(id))).toEqual(seqs(events));
    expect(seqs(await store().load(id, count - 1))).toEqual([count]);
  });

  it('takes a large event', async () => {
    const id = newId();
    const events = batch(1, 1, '東é😀x'.repeat(200_000));
    await store().append(id, events, 0);
    expect(canonical(await store().load(id)) === canonical(events)).toBe(true);
  });
}

function testIsolation<S extends SessionStore>({ store }: Suite<S>): void {
  it('is not changed through the arrays that it was given or gave', async () => {
    const id = newId();
    const given = [...batch(1, 2, 'x')];
    await store().append(id, given, 0);
    given.length = 0;
    const loaded = (await store().load(id)) as LogEvent[];
    change(() => loaded.reverse());
    change(() => loaded.splice(0));
    expect(canonical(await store().load(id))).toBe(canonical(batch(1, 2, 'x')));
  });

  it('is not changed through the events that it was given or gave', async () => {
    const id = newId();
    const given = batch(1, 1, 'x');
    await store().append(id, given, 0);
    for (const events of [given, await store().load(id)]) {
      change(() => Object.assign(events[0] ?? {}, { agent: 'other' }));
      const [event] = events;
      if (event?.type === 'input.accept') {
        change(() => Object.assign(event.items[0]?.label ?? {}, { integrity: 'untrusted' }));
        change(() => (event.items as unknown[]).push('more'));
      }
    }
    expect(canonical(await store().load(id))).toBe(canonical(batch(1, 1, 'x')));
  });
}

/** Tries to change something; a store may freeze what it gives. */
function change(attempt: () => unknown): void {
  try {
    attempt();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}
