import type { Agent, Decision, Interrupted, LogEvent } from '@guardloop/core';
import { defineAgent, defineTool, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { afterAll, beforeAll, expect } from 'vitest';
import type { NewRun, Page, PageQuery, Store } from '../contract.js';
import type { EncryptionOptions } from '../sealing.js';

/** How the suite wants a store opened. */
export interface StoreSetting {
  /** Which database, a short word of letters. The same word is the same storage, if it lasts beyond the store that wrote it. */
  readonly database: string;
  readonly ttlMs?: number | undefined;
  readonly encryption?: EncryptionOptions | undefined;
  readonly blobChars?: number | undefined;
  /** The clock, for stores that keep their own. */
  readonly now?: (() => number) | undefined;
}
/** What the suite may be told beside how a store is opened. */
export interface StoreConformanceOptions {
  /** The store takes `now`: the suite moves its clock. Left out: it waits. */
  readonly hasClock?: boolean | undefined;
  /** Storage outlives the store: `open` with the same `database` opens it again, as another process would. */
  readonly isLasting?: boolean | undefined;
  /** The store takes `encryption` and `blobChars`. */
  readonly hasCodec?: boolean | undefined;
  /** All rows of a database, deleted ones apart, in any form in which a text can be searched for. With `isLasting` and `hasCodec`. */
  readonly raw?: ((database: string) => PromiseLike<string> | string) | undefined;
  /** Events in the large batch. Default 2,000. */
  readonly batchSize?: number | undefined;
}
/** What every part of the suite works with. */
export interface Suite {
  readonly options: StoreConformanceOptions;
  /** The store of most tests, opened once. Sessions without a time to live. */
  store(): Store;
  /** Another store over the same storage, or the same store where storage does not last. */
  other(): Store;
  /** A store of one test, closed after all. */
  open(setting: Omit<StoreSetting, 'now'>): Promise<Store>;
  /** Lets time go by for all stores: at least so many milliseconds. */
  pass(ms: number): Promise<void>;
}

/** Opens the stores that the tests share, and closes all at the end. Call it within a describe. */
export function prepare(open: (setting: StoreSetting) => PromiseLike<Store> | Store, options: StoreConformanceOptions): Suite {
  const opened: Store[] = [];
  let moved = 0;
  const now = (): number => Date.now() + moved;
  const openOne = async (setting: StoreSetting): Promise<Store> => {
    const store = await open(options.hasClock ? { ...setting, now } : setting);
    opened.push(store);
    return store;
  };
  beforeAll(async () => {
    const store = await openOne({ database: 'main' });
    await store.now();
    if (options.isLasting) await openOne({ database: 'main' });
  });
  afterAll(async () => {
    for (const store of opened) await store.close();
  });
  return {
    options,
    store: () => opened[0] as Store,
    other: () => (options.isLasting ? (opened[1] as Store) : (opened[0] as Store)),
    open: openOne,
    async pass(ms) {
      if (options.hasClock) moved += ms;
      else await new Promise((resolve) => setTimeout(resolve, ms));
    },
  };
}

let ids = 0;
/** An id that no other test has, in this process or another. */
export function newId(word = 'conformance'): string {
  ids += 1;
  return `${word}-${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}-${ids}`;
}

/** Waits until it holds: half a minute, since machines of CI are slow. */
export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!(await holds())) {
    if (Date.now() > deadline) expect.fail(`waited for 30 seconds, and this did not come to hold: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Every item of a list, page by page. */
export async function all<T, Q extends PageQuery>(list: (query?: Q) => Promise<Page<T>>, query: NoInfer<Q>): Promise<readonly T[]> {
  const items: T[] = [];
  let after: string | undefined;
  do {
    const page: Page<T> = await list(after === undefined ? query : { ...query, after });
    items.push(...page.items);
    after = page.next;
  } while (after !== undefined);
  return items;
}

/** The code of the error that it rejects with; undefined where it does not. */
export async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => (error as { readonly code?: unknown }).code ?? String(error),
  );
}

/** A run that waits for people to approve calls of `pay`, one a label. */
export async function waitingRun(
  store: Store,
  session: string,
  labels: readonly string[] = ['a'],
): Promise<{ readonly agent: Agent<unknown>; readonly result: Interrupted; readonly paid: string[] }> {
  const paid: string[] = [];
  const pay = defineTool({
    name: 'pay',
    description: 'Pay.',
    input: { type: 'object', properties: { label: { type: 'string' } }, required: ['label'] } as const,
    approval: true,
    execute: ({ label }) => {
      paid.push(String(label));
      return `paid ${label}`;
    },
  });
  const agent = defineAgent({
    name: 'cashier',
    instructions: '',
    model: scriptedModel((request) =>
      request.messages.at(-1)?.role === 'user' ? labels.map((label) => callTool('pay', { label })) : say('Done.'),
    ),
    tools: [pay],
  });
  const result = await run(agent, 'Pay.', { session: { store, id: session } });
  if (result.status !== 'interrupted') return expect.fail(`the run is ${result.status} and not interrupted`);
  return { agent, result, paid };
}

/** Ids of a session's approvals in the order of the question. */
export async function approvalIds(store: Store, session: string): Promise<readonly string[]> {
  return (await store.approvals.list({ session })).items.map(({ id }) => id);
}

/** One accepted input, as an event. */
export function inputEvent(seq: number, text: string): LogEvent {
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
}

/** A run that is due, on a session of its own. */
export function newRun(change: Partial<NewRun> = {}): NewRun {
  return {
    id: newId('run'),
    session: newId('session'),
    agent: 'desk',
    queue: 'default',
    priority: 100,
    dueAt: 0,
    submission: { input: 'hello' },
    abandons: false,
    ...change,
  };
}

/** Every form of a decision, by how it is told. */
export const decisions: readonly Decision[] = [
  'approve',
  { approve: 'standing', when: { label: 'a' } },
  { reject: 'no' },
  { edit: { label: 'b' } },
  { result: ['any', null] },
];

/** What strings may hold that databases trip over. */
export const oddText = 'a\u0000b \ud83d \ude00 \\u0000 é😀 \u2028 \'";--$1%s';
