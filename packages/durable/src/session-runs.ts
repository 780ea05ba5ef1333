import type { RunRecord, Store } from '@guardloop/store';
import { changeRun } from './run-changes.js';

/** A run that `abandons` has ended those of its session that waited: their records are told. */
export async function endAbandoned(store: Store, { id, session }: RunRecord): Promise<undefined> {
  const { items } = await store.runs.list({ session, state: 'waiting' });
  for (const { id: waiting } of items)
    if (waiting !== id)
      await changeRun(store, waiting, ({ state }) =>
        state === 'waiting' ? { state: 'ended', status: 'cancelled', cancel: { reason: 'the session went on without it' } } : undefined,
      );
}

/** How a run ended, where other runs of its session have come since. */
export async function findEnd(store: Store, { id, session }: RunRecord): Promise<RunRecord['status']> {
  const end = (await store.load(session)).findLast((event) => event.type === 'run.end' && event.run === id);
  return end?.type === 'run.end' ? end.status : undefined;
}

/** The run that has waited for this one. */
export async function nextOfSession(store: Store, { session, id }: RunRecord): Promise<RunRecord | undefined> {
  const { items } = await store.runs.list({ session, state: 'queued' });
  return items.findLast((each) => each.id !== id);
}
