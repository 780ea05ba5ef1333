import type { LogEvent } from '@guardloop/core';
import type { RunRecord, SessionRecord, Store } from '@guardloop/store';

/** What a run writes before it has got on: entries, and beginnings whose end is missing. */
const noProgress: ReadonlySet<LogEvent['type']> = new Set(['run.start', 'run.resume', 'model.start', 'tool.start', 'guard.verdict']);
/** Enough of a log's end for as many entries as anybody counts. */
const tail = 1_000;

/**
 * How often a run was entered since its log last told of something that had come to an end. While it waits for people, entries in which
 * nothing happened do not count: each decision that does not fit makes one.
 */
export async function countEntries(store: Store, { id, session }: RunRecord, { events: last, status }: SessionRecord): Promise<number> {
  const events = await store.load(session, Math.max(0, last - tail));
  const since = events.slice(events.findLastIndex(({ type }) => !noProgress.has(type)) + 1);
  const isEntry = (event: LogEvent | undefined): boolean =>
    (event?.type === 'run.start' || event?.type === 'run.resume') && event.run === id;
  const isBare = (index: number): boolean => index + 1 === since.length || isEntry(since[index + 1]);
  return since.filter((event, index) => isEntry(event) && !(status === 'waiting' && isBare(index))).length;
}
