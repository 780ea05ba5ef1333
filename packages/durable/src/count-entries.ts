import type { LogEvent } from '@guardloop/core';
import type { RunRecord, SessionRecord, Store } from '@guardloop/store';
import { approvalsOfRun } from './approvals-of-run.js';

/** What a run writes before it has got on: entries, and beginnings whose end is missing. */
const noProgress: ReadonlySet<LogEvent['type']> = new Set(['run.start', 'run.resume', 'model.start', 'tool.start', 'guard.verdict']);
/** Enough of a log's end for as many entries as anybody counts. */
const tail = 1_000;

/**
 * How often a run was entered since its log last told of something that had come to an end. While it waits for people, entries in which
 * nothing happened do not count, as each decision that does not fit makes one; those do that came after a decision which is still to be
 * taken up: whoever judged it has died over it.
 */
export async function countEntries(store: Store, record: RunRecord, { events: last, status }: SessionRecord): Promise<number> {
  const { id, session } = record;
  const events = await store.load(session, Math.max(0, last - tail));
  const since = events.slice(events.findLastIndex(({ type }) => !noProgress.has(type)) + 1);
  const isEntry = (event: LogEvent | undefined): boolean =>
    (event?.type === 'run.start' || event?.type === 'run.resume') && event.run === id;
  const isBare = (index: number): boolean => index + 1 === since.length || isEntry(since[index + 1]);
  const entries = since.flatMap((event, index) => (isEntry(event) ? [{ at: event.at, isBare: isBare(index) }] : []));
  if (status !== 'waiting' || !entries.some(({ isBare }) => isBare)) return entries.length;
  const { items } = await approvalsOfRun(store, record, 'decided');
  const decidedAt = Math.min(...items.map((item) => item.decidedAt ?? Number.POSITIVE_INFINITY));
  return entries.filter(({ at, isBare }) => !isBare || at > decidedAt).length;
}
