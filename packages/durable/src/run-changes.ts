import type { RunChange, RunRecord, Store } from '@guardloop/store';
import { digestSubmission } from './submission.js';

/**
 * Changes a run's record as it stands when the change is written. `makeChange` is asked anew when somebody else was faster; undefined: nothing
 * is to be changed. Resolves to the record as it is then; undefined without one.
 */
export async function changeRun(
  store: Store,
  id: string,
  makeChange: (record: RunRecord, now: number) => RunChange | undefined | Promise<RunChange | undefined>,
): Promise<{ readonly record: RunRecord; readonly isChanged: boolean } | undefined> {
  for (;;) {
    const record = await store.runs.get(id);
    if (record === undefined) return undefined;
    const wanted = await makeChange(record, await store.now());
    if (wanted === undefined) return { record, isChanged: false };
    const { submission } = record;
    const isOver = wanted.state === 'ended' && submission !== undefined;
    const change = isOver ? { ...wanted, submission: await digestSubmission(submission) } : wanted;
    const changed = await store.runs.update(id, record.version, change);
    if (changed) return { record: changed, isChanged: true };
  }
}

/** Makes a run due that waits for people, or for its next try. Undefined where there is nothing to do. */
export async function makeDue(store: Store, id: string): Promise<RunRecord | undefined> {
  const changed = await changeRun(store, id, ({ state, dueAt, trouble }, now) => {
    if (state === 'waiting') return { state: 'queued', dueAt: now, trouble: null };
    return state === 'queued' && trouble && dueAt > now ? { dueAt: now } : undefined;
  });
  return changed?.isChanged ? changed.record : undefined;
}

/** Whether the run stands in its session's log, as the last one there. */
export async function hasBegun(store: Store, { id, session }: RunRecord): Promise<boolean> {
  return (await store.sessions.get(session))?.run === id;
}
