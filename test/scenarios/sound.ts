import type { Log, LogEvent, Message, RunEvent } from '@guardloop/core';
import { auditLog } from '@guardloop/testing';
import { expect, onTestFinished } from 'vitest';

/** A run's end, after a look at its whole log: the audit finds nothing, and every call has one result, next to its answer, in order. */
export async function sound<R extends { readonly log: Log; readonly messages: readonly Message[]; readonly status: string }>(
  running: PromiseLike<R>,
): Promise<R> {
  const result = await running;
  expect(auditLog(result.log)).toEqual([]);
  if (result.status !== 'interrupted') expect(unpaired(result.messages)).toEqual([]);
  return result;
}

/** Calls without exactly one result in its place, and results without a call. */
export function unpaired(messages: readonly Message[]): readonly string[] {
  const found: string[] = [];
  let due: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      if (due.shift() !== message.callId) found.push(`result ${message.id}`);
      continue;
    }
    found.push(...due.map((id) => `call ${id}`));
    due = message.role === 'assistant' ? message.calls.map(({ id }) => id) : [];
  }
  return [...found, ...due.map((id) => `call ${id}`)];
}

/** Reads a stream to its end. */
export async function readAll<R>(
  watched: AsyncIterable<RunEvent> & { readonly result: Promise<R> },
): Promise<{ readonly events: readonly RunEvent[]; readonly result: R }> {
  const events: RunEvent[] = [];
  for await (const event of watched) events.push(event);
  return { events, result: await watched.result };
}

export const shownText = (events: readonly RunEvent[]): string =>
  events.map((event) => (event.type === 'text.delta' ? event.text : '')).join('');

export function ofType<T extends RunEvent['type']>(
  events: readonly RunEvent[],
  type: T,
): readonly Extract<RunEvent, { readonly type: T }>[] {
  return events.filter((event): event is Extract<RunEvent, { readonly type: T }> => event.type === type);
}

/** The ends of calls as `<call> <status>`, in the log's order. */
export const ends = (events: readonly (LogEvent | RunEvent)[]): readonly string[] =>
  events.flatMap((event) => (event.type === 'tool.end' ? [`${event.callId} ${event.status}`] : []));

/** Rejections that nobody handled, from now to the end of the test. */
export function unhandled(): readonly unknown[] {
  const seen: unknown[] = [];
  const note = (reason: unknown): void => void seen.push(reason);
  process.on('unhandledRejection', note);
  onTestFinished(() => void process.off('unhandledRejection', note));
  return seen;
}

/** Everything that can be reached from a value: strings, keys, getters of errors, also what is not enumerable. */
export function reaches(value: unknown, text: string, seen = new Set<unknown>()): boolean {
  if (typeof value === 'string') return value.includes(text);
  if (typeof value === 'symbol') return String(value).includes(text);
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) return false;
  seen.add(value);
  if (value instanceof Map) return reaches([...value.entries()], text, seen);
  if (value instanceof Set) return reaches([...value], text, seen);
  return Reflect.ownKeys(value).some((key) => {
    if (typeof key === 'string' && key.includes(text)) return true;
    try {
      return reaches((value as Record<PropertyKey, unknown>)[key], text, seen);
    } catch {
      return false;
    }
  });
}

/** The JSON of a log, read again: what a store or another process would have. */
export const stored = (log: Log): Log => JSON.parse(JSON.stringify(log)) as Log;

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Something that others wait for until it is opened. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}
export function gate(): Gate {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
