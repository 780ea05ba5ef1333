import type { ApprovalRecord, Page, RunRecord, Store } from '@guardloop/store';
import type { Registered } from './agents.js';
import { cancelRun } from './cancel.js';
import type { Engine } from './engine.js';
import { changeRun, makeDue } from './run-changes.js';
import { findEnd, nextOfSession } from './session-runs.js';
import { notRegistered, notServed } from './told-trouble.js';
import type { ApprovalTimes } from './types.js';
import { lookAfterUnreadable } from './unreadable-approvals.js';

/** What an upkeep works with. */
export interface UpkeepPlace {
  readonly store: Store;
  readonly engine: Engine;
  readonly agents: ReadonlyMap<string, Registered>;
  /** Queues that the worker takes runs of. */
  readonly served: ReadonlySet<string>;
  readonly times: ApprovalTimes | undefined;
  readonly everyMs: number;
  /** Runs of an agent, or in a queue, that nobody takes are told of after so long. */
  readonly orphanMs: number;
  /** Takes up this run, whatever its agent and queue. */
  advance(run: Pick<RunRecord, 'id' | 'queue'>): Promise<unknown>;
  /** Told when a trouble begins. Never throws. */
  onTrouble(record: RunRecord): void;
  onError(error: unknown): void;
}

/** Who decides where nobody has. */
export const expiryName = 'expiry';
const expiryWords = 'Nobody has decided in time.';
const sweepMs = 600_000;
const size = 100;
const orphansAtOnce = 200;
const waitingAtOnce = 20;
/** Open approvals are read, to see that they can be, in one of so many rounds. */
const roundsBetweenReads = 10;

/**
 * What workers do beside runs, every one of them, each thing once: reminders, expiry, decisions whose run was not made due, runs that
 * nobody can take, runs that were ended behind their record, approvals that nobody can read, sweeping. Returns what ends it.
 */
export function keepUp(place: UpkeepPlace): () => Promise<void> {
  let isStopped = false;
  let sweptAt = performance.now();
  let decidedAfter: string | undefined;
  let orphansAfter: string | undefined;
  let rounds = 0;
  let unreadableAfter: string | undefined;
  let waitingAfter: string | undefined;
  const contain = async (act: () => Promise<void>): Promise<void> => {
    if (isStopped) return;
    try {
      await act();
    } catch (thrown) {
      place.onError(thrown);
    }
  };
  const round = async (): Promise<void> => {
    await contain(() => lookAfterApprovals(place, expireIfOver));
    await contain(async () => {
      decidedAfter = await lookAfterDecisions(place, decidedAfter);
    });
    await contain(async () => {
      orphansAfter = await lookAfterOrphans(place, orphansAfter);
    });
    if (rounds % roundsBetweenReads === 0)
      await contain(async () => {
        unreadableAfter = await lookAfterUnreadable(place, unreadableAfter);
      });
    rounds += 1;
    await contain(async () => {
      waitingAfter = await lookAfterWaiting(place, waitingAfter);
    });
    if (performance.now() - sweptAt >= sweepMs) {
      sweptAt = performance.now();
      await contain(async () => void (await place.store.sweep()));
    }
  };
  // A user's function that never comes back holds up reminders, and nothing else.
  const ends = [
    repeat(round, place.everyMs),
    repeat(() => contain(() => lookAfterApprovals(place, (due) => (isStopped ? undefined : remindUnlessOver(due)))), place.everyMs),
  ];
  return async () => {
    isStopped = true;
    await Promise.all(ends.map((end) => end()));
  };
}

/** Goes round every `everyMs` and a bit, so that workers do not look together. Returns what ends it, once the last round is over. */
function repeat(round: () => Promise<void>, everyMs: number): () => Promise<void> {
  let isStopped = false;
  let running: Promise<void> = Promise.resolve();
  const goOn = (): void => {
    running = round().then(() => {
      if (!isStopped) timer = setTimeout(goOn, everyMs * (1 + Math.random() / 5));
    });
  };
  let timer = setTimeout(goOn, everyMs);
  return async () => {
    isStopped = true;
    clearTimeout(timer);
    await running;
  };
}

/** An approval whose time has come, for a reminder or for its end. */
interface DueApproval {
  readonly place: UpkeepPlace;
  readonly approval: ApprovalRecord;
  readonly times: ApprovalTimes | undefined;
  readonly now: number;
}

async function lookAfterApprovals(place: UpkeepPlace, lookAfter: (due: DueApproval) => Promise<void> | undefined): Promise<void> {
  const { store } = place;
  const now = await store.now();
  const query = { state: 'open', dueBefore: now, limit: size } as const;
  for await (const approval of allOf((after) => store.approvals.list({ ...query, ...(after === undefined ? {} : { after }) }))) {
    const run = await store.runs.get(approval.run);
    const times = (run && place.agents.get(run.agent)?.approvals) ?? place.times;
    await lookAfter({ place, approval, times, now });
  }
}

const isOver = ({ approval: { expiresAt }, now }: DueApproval): boolean => expiresAt !== undefined && expiresAt <= now;

async function expireIfOver(due: DueApproval): Promise<void> {
  if (isOver(due)) await expire(due.place, due.approval, due.times?.atExpiry);
}

async function remindUnlessOver(due: DueApproval): Promise<void> {
  if (!isOver(due)) await remind(due.place, due.approval, due);
}

async function expire(place: UpkeepPlace, { id, run }: ApprovalRecord, atExpiry: ApprovalTimes['atExpiry']): Promise<void> {
  const { store, engine } = place;
  if (atExpiry === 'cancel') {
    await cancelRun(place, run, { reason: expiryWords });
    return;
  }
  await store.approvals.decide(id, atExpiry ?? { reject: expiryWords }, { by: expiryName, evenIfExpired: true });
  const due = await makeDue(store, run);
  if (due) await engine.kick(due);
}

/** The worker whose count is taken reminds. */
async function remind(
  { store, onError }: UpkeepPlace,
  approval: ApprovalRecord,
  { times, now }: { readonly times: ApprovalTimes | undefined; readonly now: number },
): Promise<void> {
  const { remindAfterMs, onReminder } = times ?? {};
  // A worker that does not know whom to tell leaves it to those that do.
  if (remindAfterMs === undefined || onReminder === undefined) return;
  const { id, reminders } = approval;
  if (!(await store.approvals.schedule(id, { reminded: reminders, remindAt: Math.ceil(now + remindAfterMs) }))) return;
  try {
    await onReminder({ ...approval, reminders: reminders + 1 });
  } catch (thrown) {
    onError(thrown);
  }
}

/**
 * Decisions whose run still waits: whoever decided died before it was made due. Looks at some, from `after` on, since those of runs that
 * cannot go on stay; gives where to go on.
 */
async function lookAfterDecisions({ store, engine }: UpkeepPlace, after: string | undefined): Promise<string | undefined> {
  const { items, next } = await store.approvals.list({ state: 'decided', limit: size, ...(after === undefined ? {} : { after }) });
  for (const run of new Set(items.map(({ run }) => run))) {
    const due = await makeDueIfWaiting(store, run);
    if (due) await engine.kick(due);
  }
  return next;
}

async function makeDueIfWaiting(store: Store, id: string): Promise<RunRecord | undefined> {
  return (await store.runs.get(id))?.state === 'waiting' ? makeDue(store, id) : undefined;
}

/**
 * Runs that are due and whose agent is not registered here, or whose queue is not served: where nobody takes them, that is told. One that
 * is to be ended needs neither. Looks at some of what is due, from `after` on, since that may be much; gives where to go on.
 */
async function lookAfterOrphans(place: UpkeepPlace, after: string | undefined): Promise<string | undefined> {
  const { store, agents, served, orphanMs, advance } = place;
  const busy = new Map<string, boolean>();
  /** Others take such runs: these wait for their turn. */
  const isBusy = async (of: { readonly agent: string } | { readonly queue: string }): Promise<boolean> => {
    const key = JSON.stringify(of);
    const known = busy.get(key) ?? (await store.runs.list({ ...of, state: 'running', due: false, limit: 1 })).items.length > 0;
    busy.set(key, known);
    return known;
  };
  const now = await store.now();
  const { items, next } = await store.runs.list({ due: true, limit: orphansAtOnce, ...(after === undefined ? {} : { after }) });
  for (const run of items) {
    const { agent, queue } = run;
    if (agents.has(agent) && served.has(queue)) continue;
    if (run.cancel) await advance(run);
    else if (run.trouble === undefined && now - Math.max(run.dueAt, run.updatedAt) >= orphanMs) {
      const isQueue = !served.has(queue);
      if (!(await isBusy(isQueue ? { queue } : { agent }))) await tellOrphan(place, run, isQueue ? notServed(queue) : notRegistered(agent));
    }
  }
  return next;
}

/**
 * Runs that wait though their session has gone on without them: `resume`, `run` with `abandon` or `endUnfinished` ended them, none of which
 * knows of records. Looks at some of those that wait, from `after` on; gives where to go on.
 */
async function lookAfterWaiting({ store, engine }: UpkeepPlace, after: string | undefined): Promise<string | undefined> {
  const { items, next } = await store.runs.list({ state: 'waiting', limit: waitingAtOnce, ...(after === undefined ? {} : { after }) });
  for (const run of items) {
    const status = await endBehind(store, run);
    if (status === undefined) continue;
    const changed = await changeRun(store, run.id, ({ version }) =>
      version === run.version ? { state: 'ended', status, trouble: null } : undefined,
    );
    const following = changed?.isChanged ? await nextOfSession(store, changed.record) : undefined;
    if (following) await engine.kick(following);
  }
  return next;
}

/** How the log says that a waiting run has ended; undefined where it has not. */
async function endBehind(store: Store, run: RunRecord): Promise<RunRecord['status']> {
  const session = await store.sessions.get(run.session);
  if (session?.run === undefined) return undefined;
  if (session.run !== run.id) return findEnd(store, run);
  return session.status === 'open' || session.status === 'waiting' ? undefined : session.status;
}

/** All items of a list, page by page. */
async function* allOf<T>(list: (after: string | undefined) => Promise<Page<T>>): AsyncGenerator<T, undefined> {
  let after: string | undefined;
  do {
    const { items, next } = await list(after);
    yield* items;
    after = next;
  } while (after !== undefined);
}

async function tellOrphan(
  { store, onTrouble }: UpkeepPlace,
  { id, version }: RunRecord,
  { code, message }: NonNullable<RunRecord['trouble']>,
): Promise<void> {
  const changed = await changeRun(store, id, (record) =>
    record.version === version && record.state === 'queued' ? { trouble: { code, message } } : undefined,
  );
  if (changed?.isChanged) onTrouble(changed.record);
}
