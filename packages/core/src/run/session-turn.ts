import { GuardloopError } from '../errors.js';
import type { Clock } from '../model/clock.js';
import type { SessionStore } from '../session/session.js';
import type { LogEvent } from '../state/events.js';
import { nextStep } from '../state/next-step.js';
import type { LogState } from '../state/state.js';
import type { SessionReference } from './types.js';
import { whenAborted } from './when-aborted.js';

/** The runs of one session in this process, over one store object, in the order in which they came. */
interface Line {
  readonly turns: SessionTurn[];
  /** The writer of the run that left last. */
  left: string | undefined;
}
const lines = new WeakMap<SessionStore, Map<string, Line>>();
const originOf = ({ store }: SessionReference): SessionStore => store.origin ?? store;

const defaultWaitMs = 60_000;
const shortestWaitMs = 25;
const longestWaitMs = 1_000;

/** What a run waits with. */
export interface Patience {
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /** Takes what is to be called when the reader of the run's stream has left. */
  readonly onLeave: ((listener: () => void) => void) | undefined;
}

/** How a run tries to enter its session. */
export interface Attempt {
  /** Undefined: it was aborted while it waited, and may not write to the session. */
  readonly session: SessionReference | undefined;
  /** Another run won the session since this one came. */
  readonly isRetry: boolean;
  /** It may wait no longer. */
  readonly isLast: boolean;
}

/** Thrown by an attempt: a run may be under way in another process. `seq` is the last event that is known of it. */
export class SessionBusy {
  constructor(readonly seq: number) {}
}

/** One run's place among the runs of its session. Every run takes one; only those that queue wait for those before them. */
export class SessionTurn {
  private readonly line: Line;
  private readonly deadline: number;
  private readonly queues: boolean;
  private go: (() => void) | undefined;
  private isAborted = false;

  constructor(
    private readonly session: SessionReference,
    private readonly patience: Patience,
  ) {
    const { id, onConflict, waitMs = defaultWaitMs } = session;
    const store = originOf(session);
    this.queues = onConflict === 'queue';
    this.deadline = this.queues ? patience.clock.now() + waitMs : 0;
    let ofStore = lines.get(store);
    if (ofStore === undefined) {
      ofStore = new Map();
      lines.set(store, ofStore);
    }
    let line = ofStore.get(id);
    if (line === undefined) {
      line = { turns: [], left: undefined };
      ofStore.set(id, line);
    }
    this.line = line;
    line.turns.push(this);
  }

  /** The run is over, or did not come to be: the next one goes. Once. */
  leave(writer?: string): void {
    const { turns } = this.line;
    const at = turns.indexOf(this);
    if (at < 0) return;
    turns.splice(at, 1);
    if (writer !== undefined) this.line.left = writer;
    if (turns.length === 0) lines.get(originOf(this.session))?.delete(this.session.id);
    else turns[0]?.go?.();
  }

  /** Whether the unfinished run of a log may still be under way where this one cannot see it. */
  mayBeUnderWay({ root, writer }: LogState): boolean {
    return this.queues && root !== undefined && root.ended === undefined && nextStep(root).type !== 'wait' && writer !== this.line.left;
  }

  /** Enters, after those before. Who queues tries again after a conflict, until it may wait no longer. */
  async enter<T>(attempt: (attempt: Attempt) => Promise<T>): Promise<T> {
    const { session } = this;
    if (!this.queues) return attempt({ session, isRetry: false, isLast: true });
    await this.waitForThoseBefore();
    for (let waitMs = shortestWaitMs, isRetry = false; !this.isAborted; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
      const isLast = this.left() <= 0;
      let after: number | undefined;
      try {
        return await attempt({ session, isRetry, isLast });
      } catch (thrown) {
        if (thrown instanceof SessionBusy) {
          if (isLast) throw this.tooLate();
          after = thrown.seq;
        } else {
          if (isLast || !GuardloopError.is(thrown) || thrown.code !== 'LOG_CONFLICT') throw thrown;
          isRetry = true;
        }
      }
      if (after === undefined) await this.pause(waitMs);
      else waitMs = await this.waitForOther(after, waitMs);
    }
    return attempt({ session: undefined, isRetry: false, isLast: true });
  }

  private left(): number {
    return this.deadline - this.patience.clock.now();
  }

  private async waitForThoseBefore(): Promise<void> {
    if (this.line.turns[0] === this) return;
    await this.wait(this.left());
    if (this.line.turns[0] !== this && !this.isAborted) throw this.tooLate();
  }

  private tooLate(): GuardloopError {
    const { id, waitMs = defaultWaitMs } = this.session;
    return new GuardloopError(
      'RESUME_MISMATCH',
      `The run has waited ${waitMs} ms for its turn on the session ${id}; a run before it is still under way, or was cut. Nothing was run: try again, give the session a longer waitMs, or resume the run that was cut.`,
      { isRetryable: true, details: { session: id, waitMs } },
    );
  }

  /** Waits until the log tells something after which the other run may be over. */
  private async waitForOther(seq: number, firstWaitMs: number): Promise<number> {
    const { store, id } = this.session;
    let after = seq;
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
      await this.pause(waitMs);
      if (this.isAborted || this.left() <= 0) return waitMs;
      const tail = await this.loadTail(store, id, after);
      if (tail === undefined || tail.some(({ type }) => mayFree.has(type))) return waitMs;
      after += tail.length;
    }
  }

  /** Undefined: the attempt that follows says what is wrong with the store. */
  private async loadTail(store: SessionStore, id: string, after: number): Promise<readonly LogEvent[] | undefined> {
    try {
      return await store.load(id, after);
    } catch {
      return undefined;
    }
  }

  /** Those who come back together need no jitter: the store lets one of them in. */
  private pause(ms: number): Promise<void> {
    return this.wait(Math.min(ms, this.left()));
  }

  /** Until it is this run's turn, for `ms`, or until it is aborted. */
  private wait(ms: number): Promise<void> {
    const { clock, signal, onLeave } = this.patience;
    if (signal?.aborted) this.isAborted = true;
    if (this.isAborted || ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const off: (() => void)[] = [];
      const done = (): void => {
        this.go = undefined;
        for (const each of off) each();
        resolve();
      };
      const abort = (): void => {
        this.isAborted = true;
        done();
      };
      this.go = done;
      if (signal) off.push(whenAborted(signal, abort));
      if (ms !== Number.POSITIVE_INFINITY) off.push(clock.after(ms, done));
      onLeave?.(abort);
    });
  }
}

/** After one of these a run can have ended, or come to wait for people. */
const mayFree: ReadonlySet<LogEvent['type']> = new Set(['run.end', 'approval.request', 'approval.resolve', 'tool.end', 'handoff.refused']);
