import type { AttributedDecision, Decision, RunEvent, RunInput, RunResult, RunStream, SessionReference } from '@guardloop/core';
import { endUnfinished, GuardloopError, resume, stream } from '@guardloop/core';
import type { ApprovalRecord, RunChange, RunRecord, SessionRecord, Store } from '@guardloop/store';
import type { Registered } from './agents.js';
import { approvalsOfRun } from './approvals-of-run.js';
import { countEntries } from './count-entries.js';
import type { Advanced, Engine } from './engine.js';
import { HeldObservers } from './held-observers.js';
import type { Instant } from './lease.js';
import { Lease } from './lease.js';
import { LeasedLog } from './leased-log.js';
import { LiveTextPublisher } from './live-text.js';
import { onAbort } from './on-abort.js';
import type { Outcome } from './outcome.js';
import { afterTrouble, changeFor, outcomeOfError, outcomeOfResult } from './outcome.js';
import { changeRun, makeDue } from './run-changes.js';
import { runInfo } from './run-info.js';
import { forResume, makeMaterials } from './run-materials.js';
import { scheduleApprovals } from './schedule-approvals.js';
import { endAbandoned, findEnd, nextOfSession } from './session-runs.js';
import type { Submission } from './submission.js';
import { readSubmission } from './submission.js';
import { takeBack } from './take-back.js';
import { beginsTrouble, givenUp, heldUp, notRegistered } from './told-trouble.js';
import type { ApprovalTimes } from './types.js';

/** What all runs of a worker share. */
export interface RunPlace {
  readonly store: Store;
  readonly engine: Engine;
  readonly agents: ReadonlyMap<string, Registered>;
  readonly worker: string;
  readonly leaseMs: number;
  readonly maxAttempts: number;
  readonly retry: { readonly firstMs: number; readonly mostMs: number };
  readonly times: ApprovalTimes | undefined;
  /** Told when a trouble begins. Never throws. */
  onTrouble(record: RunRecord): void;
}

// The options of a run are put together while workers run, and checked by core: their types are those that durableAgent has held.
const begin = stream as unknown as (agent: unknown, input: RunInput, options: object) => RunStream;
const goOn = resume as unknown as (agent: unknown, target: SessionReference, options: object) => RunStream;

/** One run that a worker has claimed, until it ends, asks, or is let go. */
export class ActiveRun {
  private readonly controller = new AbortController();
  private readonly lease: Lease;
  private readonly log: LeasedLog;
  private readonly live: LiveTextPublisher;
  private stream: RunStream | undefined;
  private isPaused = false;
  private letGo: (outcome: Outcome) => void = () => undefined;
  private readonly gone: Promise<Outcome>;
  private readonly off: () => void;
  /** Undefined once the records of runs that this one has ended tell so. */
  private reconciling: Promise<Outcome | undefined> | undefined;
  private readonly observers: HeldObservers;
  private agent = '';

  constructor(
    private readonly place: RunPlace,
    private readonly record: RunRecord,
    claimedAt: Instant,
  ) {
    const { store, leaseMs } = place;
    const { id, session } = record;
    this.gone = new Promise((resolve) => {
      this.letGo = resolve;
    });
    this.lease = new Lease(
      store,
      { id, token: record.lease?.token ?? -1, leaseMs, claimedAt },
      { onRecord: (now) => this.look(now), onLost: () => this.leave({ kind: 'lost' }) },
    );
    this.log = new LeasedLog(store, this.lease);
    this.live = new LiveTextPublisher(store, { session, run: id, lease: this.lease });
    this.observers = new HeldObservers(id, this.lease);
    this.off = this.watchForCancel();
  }

  get id(): string {
    return this.record.id;
  }

  /** Takes the run on. Never rejects. */
  async go(): Promise<Advanced> {
    const taken = this.take().catch((thrown: unknown) => outcomeOfError(thrown));
    const outcome = await Promise.race([taken, this.gone]);
    try {
      await this.live.settled();
      const unsettled = await this.reconciling;
      return await this.settle(outcome.kind === 'ended' ? (unsettled ?? outcome) : outcome);
    } finally {
      this.off();
      this.lease.end();
    }
  }

  /** Stops before the next model call; it is handed back then. */
  pause(): void {
    this.isPaused = true;
    this.stream?.pause();
  }

  /** Hands it back as it stands: what is under way reaches no log any more. */
  handBack(): void {
    this.leave({ kind: 'handBack' });
  }

  private leave(outcome: Outcome): void {
    this.lease.end();
    if (this.agent !== '') this.observers.tellLeft(this.agent);
    this.letGo(outcome);
    this.controller.abort(new DOMException('Another worker goes on with the run.', 'AbortError'));
  }

  private look({ cancel }: RunRecord): void {
    if (cancel) this.controller.abort(new DOMException('Somebody has cancelled the run.', 'AbortError'));
  }

  /** A wish to cancel is seen before the next renewal, where the store tells of changes. */
  private watchForCancel(): () => void {
    const { store } = this.place;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async (): Promise<void> => {
      timer = undefined;
      const now = await store.runs.get(this.id);
      if (now) this.look(now);
    };
    const off = store.watch(this.record.session, () => {
      timer ??= setTimeout(() => void read().catch(() => undefined), lookMs);
    });
    return () => {
      off();
      clearTimeout(timer);
    };
  }

  private async take(): Promise<Outcome> {
    const { store, agents } = this.place;
    const { record } = this;
    const registered = agents.get(record.agent);
    const session = await store.sessions.get(record.session);
    const isBegun = session?.run === record.id;
    const { status } = session ?? {};
    if (isBegun && status !== undefined && status !== 'open' && status !== 'waiting') {
      if (record.abandons) await endAbandoned(store, record);
      return { kind: 'ended', status };
    }
    if (record.cancel) return isBegun ? this.endCancelled(registered) : { kind: 'ended', status: 'cancelled' };
    if (registered === undefined) return notRegistered(record.agent);
    if (isBegun && session) {
      const entries = await countEntries(store, record, session);
      if (entries >= this.place.maxAttempts) return this.giveUp(entries);
    }
    // Trouble explains tries; without it each was a worker that died.
    if (!isBegun && record.trouble === undefined && record.attempts > this.place.maxAttempts)
      return { kind: 'ended', status: 'failed', trouble: givenUp(record.attempts - 1) };
    if (record.submission === undefined && record.trouble) return { kind: 'trouble', ...record.trouble };
    const submission = readSubmission(record.submission);
    const options = await this.optionsInTime(registered, submission);
    if (options === undefined) return isBegun ? this.endCancelled(undefined) : { kind: 'ended', status: 'cancelled' };
    return isBegun ? this.resume(registered, options, submission.input) : this.begin(registered, options, { submission, session });
  }

  private get session(): SessionReference {
    return { store: this.log, id: this.record.session };
  }

  /** As `options`; undefined where the user's functions have not made them some time after somebody wanted the run ended. */
  private async optionsInTime(registered: Registered, submission: Submission): Promise<object | undefined> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let off: (() => void) | undefined;
    const { signal } = this.controller;
    const tooLate = new Promise<undefined>((resolve) => {
      const wait = (): void => {
        timer = setTimeout(() => resolve(undefined), stopMs);
      };
      if (signal.aborted) wait();
      else off = onAbort(signal, wait);
    });
    try {
      return await Promise.race([this.options(registered, submission), tooLate]);
    } finally {
      clearTimeout(timer);
      off?.();
    }
  }

  /** What the run is given beside its input. */
  private async options(registered: Registered, submission: Submission): Promise<object> {
    const { options, observers } = await makeMaterials(registered, this.record, { submission, worker: this.place.worker });
    return {
      ...options,
      signal: this.controller.signal,
      observers: [(event: RunEvent) => this.observe(event), ...this.observers.wrap(observers)],
    };
  }

  private observe(event: RunEvent): void {
    this.live.observe(event);
    if (event.run === this.id) this.agent = event.agent;
    if (this.record.abandons && event.run === this.id && (event.type === 'run.start' || event.type === 'run.resume'))
      this.reconciling ??= afterTrouble(() => endAbandoned(this.place.store, this.record)).catch(outcomeOfError);
  }

  private async begin(
    { agent }: Registered,
    options: object,
    { submission, session }: { readonly submission: Submission; readonly session: SessionRecord | undefined },
  ): Promise<Outcome> {
    const { record } = this;
    const { input, limits, onLimit } = submission;
    const given = {
      ...options,
      runId: record.id,
      session: this.session,
      ...(limits ? { limits: { ...(options as { readonly limits?: object }).limits, ...limits } } : {}),
      ...(onLimit ? { onLimit } : {}),
      ...(record.abandons ? { unfinished: 'abandon' } : {}),
    };
    try {
      return await this.settled(await this.drive(begin(agent, input, given)));
    } catch (thrown) {
      // Its end is in the log, and other runs of the session since, without a worker having noted it.
      const end = session?.run === undefined ? undefined : await findEnd(this.place.store, record);
      if (end) return { kind: 'ended', status: end };
      if (GuardloopError.is(thrown) && thrown.code === 'RESUME_MISMATCH' && (await this.isSessionBusy())) return heldUp(record.session);
      throw thrown;
    }
  }

  /** Whether the session has a run that has not ended and is not this one. */
  private async isSessionBusy(): Promise<boolean> {
    const session = await this.place.store.sessions.get(this.record.session);
    return session?.run !== undefined && session.run !== this.id && (session.status === 'open' || session.status === 'waiting');
  }

  private async resume(registered: Registered, options: object, input: RunInput): Promise<Outcome> {
    const { accept } = registered;
    const accepted = typeof accept === 'function' ? accept(runInfo(this.record)) : accept;
    const given = { ...forResume(options), ...(accepted ? { accept: accepted } : {}), input };
    const decided = await this.decided();
    if (decided.length === 0) return this.settled(await this.enter(registered, given));
    try {
      return await this.settled(await this.enter(registered, { ...given, decisions: decisionsOf(decided) }));
    } catch (thrown) {
      if (!GuardloopError.is(thrown) || thrown.code !== 'RESUME_MISMATCH') throw thrown;
      return this.resumeOneByOne(registered, given, decided);
    }
  }

  /** One of the decisions cannot be used: those that can are; the others are put before people anew. */
  private async resumeOneByOne(registered: Registered, given: object, decided: readonly ApprovalRecord[]): Promise<Outcome> {
    let refused: GuardloopError | undefined;
    let last: RunResult | undefined;
    for (const approval of decided) {
      try {
        last = await this.enter(registered, { ...given, decisions: decisionsOf([approval]) });
      } catch (thrown) {
        if (!GuardloopError.is(thrown) || thrown.code !== 'RESUME_MISMATCH') throw thrown;
        refused = thrown;
        // Without any decision it would be refused as well: it is not the decision that does not fit.
        if (last === undefined) last = await this.enter(registered, given);
        await this.place.store.approvals.reopen(approval.id, approval.decidedAt ?? 0);
      }
    }
    const outcome = last ? await this.settled(last) : ({ kind: 'waiting' } as const);
    return refused && outcome.kind === 'waiting' ? { kind: 'waiting', trouble: { code: refused.code, message: refused.message } } : outcome;
  }

  private async enter({ agent }: Registered, options: object): Promise<RunResult> {
    return this.drive(goOn(agent, this.session, options));
  }

  private drive(opened: RunStream): Promise<RunResult> {
    this.stream = opened;
    if (this.isPaused) opened.pause();
    return opened.result;
  }

  private decided(): Promise<readonly ApprovalRecord[]> {
    return approvalsOfRun(this.place.store, this.record, 'decided').then(({ items }) => items);
  }

  /** What a result means for the record; decisions that came meanwhile are taken up by the next claim. */
  private async settled(result: RunResult): Promise<Outcome> {
    const outcome = outcomeOfResult(result, this.log.hasEnded);
    if (outcome.kind === 'waiting') {
      const { store, agents, times } = this.place;
      await scheduleApprovals(store, this.record, agents.get(this.record.agent)?.approvals ?? times);
    }
    return outcome;
  }

  /** Ends what stands in the log: by its agent where that is here, which can take back what waits in quarantine. */
  private async endCancelled(registered: Registered | undefined): Promise<Outcome> {
    const reason = new DOMException('Somebody has cancelled the run.', 'AbortError');
    this.controller.abort(reason);
    let takeWaitingBack = async (): Promise<void> => undefined;
    if (registered) {
      try {
        const submission = readSubmission(this.record.submission);
        const options = await this.optionsInTime(registered, submission);
        if (options) {
          const { items } = await approvalsOfRun(this.place.store, this.record);
          const waiting = items.filter(({ state }) => state === 'open' || state === 'decided');
          takeWaitingBack = () => takeBack(options, waiting, stopMs);
          const result = await this.enter(registered, { ...forResume(options), accept: 'changed', input: submission.input });
          const outcome = outcomeOfResult(result, this.log.hasEnded);
          if (outcome.kind === 'ended') await takeWaitingBack();
          return outcome;
        }
      } catch (thrown) {
        if (!GuardloopError.is(thrown) || (thrown.code !== 'RESUME_MISMATCH' && thrown.code !== 'CONFIG_INVALID')) throw thrown;
      }
    }
    await endUnfinished(this.session, { status: 'cancelled', reason }, this.id);
    await takeWaitingBack();
    return { kind: 'ended', status: 'cancelled' };
  }

  private async giveUp(entries: number): Promise<Outcome> {
    const trouble = givenUp(entries);
    await endUnfinished(this.session, { status: 'failed', error: new GuardloopError('INTERNAL', trouble.message) }, this.id);
    return { kind: 'ended', status: 'failed', trouble };
  }

  /** Writes down how far the run came, and tells the engine what is due by that. */
  private async settle(outcome: Outcome): Promise<Advanced> {
    const { store, engine, retry, leaseMs } = this.place;
    const { id } = this;
    if (outcome.kind === 'lost') return { status: 'lost', run: id };
    const token = this.record.lease?.token;
    const changed = await afterTrouble(() =>
      changeRun(store, id, (now, at): RunChange | undefined =>
        now.lease?.token === token ? changeFor(outcome, { record: now, at, retry }) : undefined,
      ),
    ).catch(() => 'failed' as const);
    // The store does not take it: the lease runs out, and the run is taken over.
    if (changed === 'failed') return { status: 'again', run: id, dueAt: Date.now() + leaseMs };
    if (changed === undefined || !changed.isChanged) return { status: 'lost', run: id };
    const { record } = changed;
    if (beginsTrouble(this.record, record)) this.place.onTrouble(record);
    const told = (run: RunRecord): Promise<void> => engine.kick(run).catch(() => undefined);
    if (record.state === 'queued') {
      await told(record);
      return { status: 'again', run: id, dueAt: record.dueAt };
    }
    if (record.state === 'waiting' && (await this.decided().catch(() => [])).length > 0) {
      const due = await makeDue(store, id).catch(() => undefined);
      if (due) await told(due);
    }
    await nextOfSession(store, record)
      .then((next) => next && told(next))
      .catch(() => undefined);
    return { status: record.state === 'ended' ? 'ended' : 'waiting', run: id };
  }
}

/** How soon a change of the session is looked at. */
const lookMs = 200;
/** How long functions of the user's are waited for once the run is to end: as long as core waits for tools. */
const stopMs = 2_000;

function decisionsOf(records: readonly ApprovalRecord[]): Readonly<Record<string, Decision | AttributedDecision>> {
  return Object.fromEntries(
    records.flatMap(({ id, decision, decidedBy }) =>
      decision === undefined ? [] : [[id, decidedBy === undefined ? decision : { decision, by: decidedBy }]],
    ),
  );
}
