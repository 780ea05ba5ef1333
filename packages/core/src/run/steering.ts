import type { UserMessage } from '../model/types.js';
import { deepFreeze } from './plain-output.js';

/** What a person says while a run is under way, and whether it is to pause. Shared by the stream and its run. */
export class Steering {
  isPaused = false;
  private waiting: Waiting[] | undefined;
  private isOver = false;

  /** Resolves to whether the message was taken: false when the run ended, paused or refused it before. */
  add(message: UserMessage): Promise<boolean> {
    if (this.isOver) return Promise.resolve(false);
    return new Promise((settle) => {
      this.waiting ??= [];
      this.waiting.push({ message, settle });
    });
  }

  get hasMessages(): boolean {
    return this.waiting !== undefined;
  }

  /** All that wait, as one entry of the run: its items are numbered on from `count`. */
  take(run: string, count: number): Steer {
    const waiting = this.waiting ?? [];
    this.waiting = undefined;
    const items = waiting.map(({ message }, index) => deepFreeze({ ...message, id: `${run}/s${count + index + 1}` }));
    const settle = (isTaken: boolean): void => {
      for (const each of waiting) each.settle(isTaken);
    };
    return { items, settle };
  }

  /** Nothing more can be taken. */
  end(): void {
    this.isOver = true;
    this.take('', 0).settle(false);
  }
}

interface Waiting {
  readonly message: UserMessage;
  readonly settle: (isTaken: boolean) => void;
}
interface Steer {
  readonly items: readonly UserMessage[];
  settle(isTaken: boolean): void;
}
