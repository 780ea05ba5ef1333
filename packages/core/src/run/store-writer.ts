import { GuardloopError } from '../errors.js';
import type { SessionStore } from '../session/session.js';
import type { LogEvent } from '../state/events.js';
import type { SessionReference } from './types.js';

/**
 * Writes a run's events behind it, one batch at a time. `barrier` waits until all that was added is stored.
 * After a failure nothing more is written, and every barrier answers with the error.
 */
export class StoreWriter {
  private pending: LogEvent[] = [];
  private flushing: Promise<void> | undefined;
  private stored: number;
  /** The last answer of a model that was added. */
  private lastAnswer = 0;
  failure: GuardloopError | undefined;

  private readonly store: SessionStore;
  private readonly id: string;

  constructor(
    session: SessionReference,
    private readonly writerId: string,
    private readonly writing: {
      /** What the store holds already. */
      readonly afterSeq: number;
      /** Called once. */
      readonly onFailure: (error: GuardloopError) => void;
    },
  ) {
    this.store = session.store;
    this.id = session.id;
    this.stored = writing.afterSeq;
  }

  add(event: LogEvent): void {
    if (this.failure) return;
    if (event.type === 'model.end') this.lastAnswer = event.seq;
    this.pending.push(event);
    this.flushing ??= this.flush();
  }

  /** Resolves once all is stored or the store has failed; look at `failure` then. Undefined when there is nothing to wait for. */
  barrier(): Promise<void> | undefined {
    return this.flushing;
  }

  /** Asks the store whether the session is still this writer's. Undefined when there is nothing to wait for; look at `failure` then. */
  confirm(): Promise<void> | undefined {
    return this.store.confirm?.(this.id)?.catch((thrown: unknown) => this.fail(this.failureOf(thrown, 'answer for')));
  }

  /** Whether the last answer of a model is stored: after a cut it is not asked for again. */
  get hasLastAnswer(): boolean {
    return this.stored >= this.lastAnswer;
  }

  /** The store has taken too long after a stop, for which `cause` is the reason: what it does now is its own, and nothing more is written. */
  giveUp(cause: unknown): void {
    this.fail(
      new GuardloopError(
        'STORE_FAILED',
        `The session store did not say in time that it holds what was written to ${this.id}: the run was stopped, and could wait no longer. Look at the store, then resume the run from what it holds.`,
        { cause, isRetryable: true },
      ),
    );
  }

  private fail(error: GuardloopError): void {
    this.pending = [];
    this.flushing = undefined;
    if (this.failure) return;
    this.failure = error;
    this.writing.onFailure(error);
  }

  private failureOf(thrown: unknown, what: string): GuardloopError {
    if (GuardloopError.is(thrown)) return thrown;
    const message = `The session store failed to ${what} ${this.id}. The run was stopped; look at the cause, then resume it.`;
    return new GuardloopError('STORE_FAILED', message, { cause: thrown, isRetryable: true });
  }

  private async flush(): Promise<void> {
    // Events appended in the same step go together.
    await undefined;
    try {
      while (this.pending.length > 0) {
        const batch = this.pending;
        this.pending = [];
        await this.write(batch);
        this.stored = batch.at(-1)?.seq ?? this.stored;
      }
    } catch (thrown) {
      this.fail(this.failureOf(thrown, 'append to'));
    } finally {
      this.flushing = undefined;
    }
  }

  private async write(batch: readonly LogEvent[]): Promise<void> {
    try {
      await this.store.append(this.id, batch, this.stored);
    } catch (thrown) {
      // The outcome is unknown, or another has written: the tail tells.
      const tail = await this.store.load(this.id, this.stored);
      if (this.isOurs(tail, batch)) {
        if (tail.length >= batch.length) return;
        await this.store.append(this.id, batch.slice(tail.length), this.stored + tail.length);
        return;
      }
      throw new GuardloopError(
        'LOG_CONFLICT',
        `Another writer has appended to ${this.id}. This run was stopped and appended nothing more; load the log and go on from there.`,
        { cause: thrown },
      );
    }
  }

  private isOurs(tail: readonly LogEvent[], batch: readonly LogEvent[]): boolean {
    return tail.every((event, index) => {
      const own = batch[index];
      if (own === undefined || own.seq !== event.seq || own.type !== event.type || own.run !== event.run || own.at !== event.at)
        return false;
      return event.type !== 'run.start' && event.type !== 'run.resume' ? true : event.writer === this.writerId;
    });
  }
}
