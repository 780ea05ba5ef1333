import type { LogEvent, RunEndEvent } from '@guardloop/core';
import type { RunRecord, Store } from '@guardloop/store';
import { approvalsOfRun } from './approvals-of-run.js';
import { Changes } from './changes.js';
import { OptionReader } from './read-options.js';
import { runInfo } from './run-info.js';
import type { DurableResult, ResultOptions } from './types.js';

/** How a run ended, or how it stands once nobody waits any more. */
export async function resultOf(store: Store, id: string, options?: ResultOptions): Promise<DurableResult> {
  const reader = new OptionReader('result', options, ['waitMs', 'until', 'signal']);
  const waitMs = reader.number('waitMs', { least: 0 }) ?? Number.POSITIVE_INFINITY;
  const until = reader.choice('until', ['end', 'wait']) ?? 'wait';
  const signal = reader.signal('signal');
  const deadline = performance.now() + waitMs;
  let record = await store.runs.get(id);
  if (record === undefined) return { status: 'unknown' };
  const isThere = ({ state }: RunRecord): boolean => state === 'ended' || (state === 'waiting' && until === 'wait');
  if (!isThere(record) && waitMs > 0) {
    const changes = new Changes(store, record.session);
    try {
      for (let left = waitMs; left > 0; left = deadline - performance.now()) {
        signal?.throwIfAborted();
        record = await store.runs.get(id);
        if (record === undefined) return { status: 'unknown' };
        if (isThere(record)) break;
        await changes.next(left, signal);
      }
    } finally {
      changes.end();
    }
    signal?.throwIfAborted();
  }
  return record === undefined ? { status: 'unknown' } : resultNow(store, record);
}

async function resultNow(store: Store, found: RunRecord): Promise<DurableResult> {
  const record = await asLogged(store, found);
  const run = runInfo(record);
  const { state } = record;
  if (state === 'queued' || state === 'running') return { status: state, run };
  const log = { version: 1 as const, events: await store.load(record.session) };
  const events = eventsOf(record.id, log.events);
  const base = { run, log, events };
  if (state === 'waiting') {
    const { items } = await approvalsOfRun(store, record, 'open');
    return { ...base, status: 'interrupted', approvals: items };
  }
  const end = events.findLast((event): event is RunEndEvent => event.type === 'run.end' && event.run === record.id);
  const reason = record.cancel?.reason;
  // It was given up without an end of its own: before it began, or since nobody could take it on.
  if (record.status === 'failed' && record.trouble !== undefined)
    return { ...base, status: 'failed', error: { ...record.trouble, code: 'INTERNAL', isRetryable: false } };
  if (end === undefined) return { ...base, status: 'cancelled', ...(reason === undefined ? {} : { reason }) };
  return { ...base, ...ofEnd(end, reason) };
}

/** A run that has ended in its log, of which its worker is still to note it: who saw it end is not told that it runs. */
async function asLogged(store: Store, record: RunRecord): Promise<RunRecord> {
  const { state, id, session } = record;
  if (state !== 'queued' && state !== 'running') return record;
  const { run, status } = (await store.sessions.get(session)) ?? {};
  if (run !== id || status === undefined || status === 'open' || status === 'waiting') return record;
  return { ...record, state: 'ended', status, lease: undefined, trouble: undefined };
}

/** The events of one root run in its session's log. */
function eventsOf(id: string, events: readonly LogEvent[]): readonly LogEvent[] {
  const from = events.findIndex((event) => event.type === 'run.start' && event.run === id);
  if (from < 0) return [];
  const next = events.findIndex((event, index) => index > from && event.type === 'run.start' && event.parent === undefined);
  return events.slice(from, next < 0 ? undefined : next);
}

type Bare<R> = R extends { readonly log: unknown } ? Omit<R, 'run' | 'log' | 'events'> : never;

function ofEnd(end: RunEndEvent, reason: string | undefined): Exclude<Bare<DurableResult>, { readonly status: 'interrupted' }> {
  const text = end.text === undefined ? {} : { text: end.text };
  const value = end.value === undefined ? {} : { value: end.value };
  switch (end.status) {
    case 'completed':
      return { status: 'completed', agent: end.agent, text: end.text ?? '', ...value };
    case 'blocked': {
      const { surface = 'output', by = '', reason: why = '', failed } = end.refusal ?? {};
      const reply = end.reply === undefined ? {} : { reply: end.reply };
      return { status: 'blocked', surface, by, reason: why, ...reply, ...(failed ? { failed } : {}) };
    }
    case 'exhausted':
      return { status: 'exhausted', limit: end.limit ?? 'turns', ...text, ...value };
    case 'failed':
      return { status: 'failed', error: end.error ?? { code: 'INTERNAL', message: 'The run failed.', isRetryable: false } };
    case 'cancelled':
      return { status: 'cancelled', ...(reason === undefined ? {} : { reason }), ...(end.cause === undefined ? {} : { cause: end.cause }) };
    default:
      return end.status satisfies never;
  }
}
