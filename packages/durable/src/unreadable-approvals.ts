import { GuardloopError } from '@guardloop/core';
import type { RunRecord, Store } from '@guardloop/store';
import { approvalsOfRun } from './approvals-of-run.js';
import { changeRun } from './run-changes.js';

const size = 500;
const code = 'STORE_FAILED';

/** What is told of runs that wait for approvals nobody can read. */
export interface UnreadablePlace {
  readonly store: Store;
  /** Told when a trouble begins. Never throws. */
  onTrouble(record: RunRecord): void;
}

/**
 * Runs that wait for questions or answers that cannot be read, since they were altered or their key is not here, have that for their
 * trouble, for as long as it is so. Looks at some of what is open, from `after` on; gives where to go on.
 */
export async function lookAfterUnreadable(place: UnreadablePlace, after: string | undefined): Promise<string | undefined> {
  const { store } = place;
  const open = await store.approvals.list({ state: 'open', limit: size, ...(after === undefined ? {} : { after }) });
  const decided = await store.approvals.list({ state: 'decided', limit: size });
  for (const id of [...(open.unreadable ?? []), ...(decided.unreadable ?? [])]) await tell(place, id);
  const { items } = await store.runs.list({ state: 'waiting', trouble: true, limit: size });
  for (const run of items) {
    if (!isOurs(run) || (await approvalsOfRun(store, run)).unreadable) continue;
    await changeRun(store, run.id, (now) => (now.state === 'waiting' && isOurs(now) ? { trouble: null } : undefined));
  }
  return open.next;
}

async function tell({ store, onTrouble }: UnreadablePlace, id: string): Promise<void> {
  const why = await store.approvals.get(id).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!GuardloopError.is(why) || why.code !== code || why.isRetryable) return;
  const message = `The run waits for an approval that cannot be read. ${why.message}`;
  const run = await store.runs.get(runOf(id));
  if (run?.state !== 'waiting' || (await hasTrouble(store, run))) return;
  const changed = await changeRun(store, run.id, ({ version }) => (version === run.version ? { trouble: { code, message } } : undefined));
  if (changed?.isChanged) onTrouble(changed.record);
}

/** Trouble of a run whose submission cannot be read is told by the store in place of what its record has. */
const isOurs = ({ submission, trouble }: RunRecord): boolean => submission !== undefined && trouble?.code === code;

/** Whether the record itself has trouble. */
async function hasTrouble(store: Store, { id, session }: RunRecord): Promise<boolean> {
  const { items } = await store.runs.list({ session, state: 'waiting', trouble: true, limit: 1_000 });
  return items.some((run) => run.id === id);
}

/** The root run of an approval: its id begins with it, and has no / itself. */
const runOf = (approval: string): string => approval.split('/')[0] ?? approval;
