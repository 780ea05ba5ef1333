import type { LogEvent } from '@guardloop/core';
import type { RunRecord, SessionRecord, Store } from '@guardloop/store';

/** What a run writes before it has got on: entries, and beginnings whose end is missing. */
const noProgress: ReadonlySet<LogEvent['type']> = new Set(['run.start', 'run.resume', 'model.start', 'tool.start', 'guard.verdict']);
/** Enough of a log's end for as many entries as anybody counts. */
const tail = 1_000;

/** How often a run was entered since its log last told of something that had come to an end. */
export async function countEntries(store: Store, { id, session }: RunRecord, { events: last }: SessionRecord): Promise<number> {
  const events = await store.load(session, Math.max(0, last - tail));
  const since = events.slice(events.findLastIndex(({ type }) => !noProgress.has(type)) + 1);
  return since.filter(({ type, run }) => (type === 'run.start' || type === 'run.resume') && run === id).length;
}
