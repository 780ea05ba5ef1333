import type { RunEvent } from '@guardloop/core';
import type { LiveText, Store } from '@guardloop/store';
import type { Lease } from './lease.js';

/** Text is put into the store at most so often. */
const everyMs = 50;

/** Publishes the text of a run's model calls while they are under way: what was released, and never anything else. */
export class LiveTextPublisher {
  private live: LiveText | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private putAt = Number.NEGATIVE_INFINITY;
  /** The last text of this call that the store was given. */
  private isStored = false;
  private writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: Store,
    private readonly place: { readonly session: string; readonly run: string; readonly lease: Lease },
  ) {}

  observe(event: RunEvent): void {
    if (event.run !== this.place.run) return;
    switch (event.type) {
      case 'model.start':
        this.live = { seq: event.seq, run: event.run, agent: event.agent, turn: event.turn, text: '', epoch: 0 };
        return;
      case 'text.delta':
        if (this.live) this.change({ ...this.live, text: this.live.text + event.text });
        return;
      case 'text.retract':
        if (this.live) this.change({ ...this.live, text: '', epoch: this.live.epoch + 1 });
        return;
      case 'model.end':
      case 'run.resume':
      case 'run.end':
        this.end();
        return;
      default:
    }
  }

  /** Once the store has what was given to it. */
  settled(): Promise<void> {
    return this.writing;
  }

  private change(live: LiveText): void {
    this.live = live;
    this.timer ??= setTimeout(() => this.put(), Math.max(0, this.putAt + everyMs - performance.now()));
  }

  private put(): void {
    this.timer = undefined;
    this.putAt = performance.now();
    this.isStored = true;
    this.write(this.live);
  }

  private end(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.live = undefined;
    if (this.isStored) this.write(undefined);
    this.isStored = false;
  }

  /** Text that does not get through is told by the log later. */
  private write(live: LiveText | undefined): void {
    const { session, lease } = this.place;
    this.writing = this.writing.then(async () => {
      if (lease.isHeld) await this.store.live.put(session, live).catch(() => undefined);
    });
  }
}
