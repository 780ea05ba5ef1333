import type { Clock } from '@guardloop/core';
import { checkOptionNames } from '@guardloop/core/model';
import { quiet, watchOutside } from './quiet.js';
import { seededRandom } from './seeded-random.js';

/** What {@link seededScheduler} may be told. */
export interface SchedulerOptions {
  /** Chooses the order. Default 1. */
  readonly seed?: number | undefined;
  /** Steps to take first, as {@link Scheduler.schedule} gave them; the seed chooses after the last. */
  readonly schedule?: readonly string[] | undefined;
  /**
   * When virtual time moves on. `last`: when nothing else can happen, so that no deadline passes because of the order. `any`: at any step,
   * so that deadlines race with everything. Default `last`.
   */
  readonly time?: 'last' | 'any' | undefined;
}

const optionNames: { readonly [K in keyof SchedulerOptions]-?: true } = { seed: true, schedule: true, time: true };

/** Decides in which order pending promises settle, and what time it is. */
export interface Scheduler {
  /** Virtual time, from 0: for the option `clock` of runs, stores and models around models. */
  readonly clock: Clock;
  /** Resolves when its turn comes. Rejects with the signal's reason as soon as that is aborted. */
  pause(label?: string, signal?: AbortSignal): Promise<void>;
  /** As {@link Scheduler.pause}, after so many milliseconds of virtual time. */
  sleep(ms: number, label?: string, signal?: AbortSignal): Promise<void>;
  /** As {@link Scheduler.pause}, and gives the value. */
  settle<T>(value: T, label?: string): Promise<T>;
  /** Never resolves; rejects as {@link Scheduler.pause} does. For what hangs. */
  hang(label?: string, signal?: AbortSignal): Promise<never>;
  /**
   * Calls `start`, and settles one pending thing after another until what it gave has settled. Whenever no promise can go on by itself, the
   * seed chooses who is next. Rejects as that does; and if nothing is left to settle and it still waits, with an error that names what
   * hangs. One at a time.
   */
  run<T>(start: () => PromiseLike<T> | T): Promise<T>;
  /** Settles what is left, for example of tools that came too late. */
  drain(): Promise<void>;
  /** The steps taken, in order: what was settled, by label and number. */
  readonly schedule: readonly string[];
  /** What waits for its turn, timers left out. */
  readonly pending: readonly string[];
  /** Timers of `clock` and sleeps that are set, with the time at which they are due. */
  readonly timers: readonly string[];
}

/** How long an outcome may take once nothing is left to settle: for what is loaded from disk on first use. Real milliseconds. */
const patienceMs = 500;

/** A pause, or a timer with the time at which it is due. */
interface Point {
  readonly name: string;
  readonly at?: number;
  settle(): void;
}
interface Timer extends Point {
  readonly at: number;
}

/**
 * Runs under a chosen order: virtual time, and a seed that decides which pending promise settles next. What is to be interleaved awaits
 * `pause`, `sleep` or `settle`; the same seed takes the same steps, and so do the steps themselves.
 *
 * ```ts
 * const scheduler = seededScheduler({ seed: 7 });
 * const find = defineTool({ …, execute: async ({ id }) => scheduler.settle(`found ${id}`, 'find') });
 * const result = await scheduler.run(() => run(agent, 'go', { clock: scheduler.clock }));
 * scheduler.schedule; // ['find#2', 'find#1', …]: print it, and give it as `schedule` to take the same steps again
 * ```
 */
export function seededScheduler(options: SchedulerOptions = {}): Scheduler {
  checkOptionNames('seededScheduler(…)', options, optionNames);
  return new Seeded(options);
}

class Seeded implements Scheduler {
  readonly schedule: string[] = [];
  readonly clock: Clock = {
    now: () => this.now,
    after: (ms, then) => this.setTimer(this.name('timer'), ms, then),
  };
  private now = 0;
  private readonly random: () => number;
  private readonly given: readonly string[];
  private readonly mayTimePass: boolean;
  private readonly points = new Set<Point>();
  private readonly clockTimers = new Set<Timer>();
  private readonly hanging = new Set<Point>();
  private readonly counts = new Map<string, number>();
  private isRunning = false;

  constructor({ seed = 1, schedule = [], time = 'last' }: SchedulerOptions) {
    this.random = seededRandom(seed);
    this.given = [...schedule];
    this.mayTimePass = time === 'any';
  }

  get pending(): readonly string[] {
    return [...this.points, ...this.hanging].map(({ name }) => name);
  }

  get timers(): readonly string[] {
    return [...this.clockTimers].map(({ name, at }) => `${name} at ${at} ms`);
  }

  pause(label = 'pause', signal?: AbortSignal): Promise<void> {
    return this.wait(signal, (settle) => this.put(this.points, { name: this.name(label), settle }));
  }

  sleep(ms: number, label = 'sleep', signal?: AbortSignal): Promise<void> {
    return this.wait(signal, (settle) => this.setTimer(this.name(label), ms, settle));
  }

  async settle<T>(value: T, label = 'settle'): Promise<T> {
    await this.pause(label);
    return value;
  }

  hang(label = 'hang', signal?: AbortSignal): Promise<never> {
    return this.wait(signal, (settle) => this.put(this.hanging, { name: this.name(label), settle })) as Promise<never>;
  }

  async run<T>(start: () => PromiseLike<T> | T): Promise<T> {
    if (this.isRunning) throw new Error('This scheduler drives something already. Await that first, or take another scheduler.');
    this.isRunning = true;
    const stopWatching = watchOutside();
    let isSettled = false;
    try {
      const outcome = (async () => start())();
      const settle = (): void => {
        isSettled = true;
      };
      outcome.then(settle, settle);
      for (;;) {
        await quiet();
        if (isSettled) return await outcome;
        if (!this.step() && !(await comesLate(() => isSettled || this.choices().length > 0))) throw this.deadlock();
      }
    } finally {
      this.isRunning = false;
      stopWatching();
    }
  }

  async drain(): Promise<void> {
    await this.run(async () => undefined);
    const stopWatching = watchOutside();
    try {
      while (this.step()) await quiet();
    } finally {
      stopWatching();
    }
  }

  private name(label: string): string {
    const count = (this.counts.get(label) ?? 0) + 1;
    this.counts.set(label, count);
    return `${label}#${count}`;
  }

  private put<P extends Point>(points: Set<P>, point: P): () => void {
    points.add(point);
    return () => void points.delete(point);
  }

  private setTimer(name: string, ms: number, settle: () => void): () => void {
    return this.put(this.clockTimers, { name, at: this.now + Math.max(0, ms), settle });
  }

  private wait(signal: AbortSignal | undefined, enter: (settle: () => void) => () => void): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        leave();
        reject(signal?.reason);
      };
      const leave = enter(() => {
        signal?.removeEventListener('abort', abort);
        resolve();
      });
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /** What may be settled now: pauses in the order in which they were asked for, then the timers that are due first. */
  private choices(): readonly Point[] {
    const points = [...this.points];
    if (points.length > 0 && !this.mayTimePass) return points;
    let at = Number.POSITIVE_INFINITY;
    for (const timer of this.clockTimers) at = Math.min(at, timer.at);
    if (at === Number.POSITIVE_INFINITY) return points;
    return [...points, ...[...this.clockTimers].filter((timer) => timer.at === at)];
  }

  /** Settles one thing. False: there is none. */
  private step(): boolean {
    const choices = this.choices();
    const wanted = this.given[this.schedule.length];
    const chosen =
      wanted === undefined
        ? choices[choices.length > 1 ? Math.floor(this.random() * choices.length) : 0]
        : choices.find(({ name }) => name === wanted);
    if (chosen === undefined) {
      if (wanted === undefined || choices.length === 0) return false;
      throw new Error(
        `Step ${this.schedule.length + 1} of the schedule is ${wanted}, but what can be settled is ${choices.map(({ name }) => name).join(', ')}. Give a schedule that was taken by the same script.`,
      );
    }
    this.schedule.push(chosen.name);
    this.points.delete(chosen);
    this.clockTimers.delete(chosen as Timer);
    this.now = Math.max(this.now, chosen.at ?? 0);
    chosen.settle();
    return true;
  }

  private deadlock(): Error {
    const hanging = [...this.hanging].map(({ name }) => name);
    const what =
      hanging.length > 0
        ? `What hangs: ${hanging.join(', ')}.`
        : 'It waits for something that the scheduler does not know: have that await pause(), sleep() or settle(), and give `scheduler.clock` as the clock.';
    const last = this.schedule.slice(-20).join(', ');
    return new Error(
      `Deadlock: nothing is left to settle, and the outcome has not come. ${what} Steps taken: ${this.schedule.length}${last === '' ? '' : `, the last of them ${last}`}.`,
    );
  }
}

/** Whether it comes true yet, by something outside the scheduler. */
async function comesLate(isTrue: () => boolean): Promise<boolean> {
  const until = performance.now() + patienceMs;
  while (!isTrue() && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    await quiet();
  }
  return isTrue();
}
