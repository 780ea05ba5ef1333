// The places of a worker: how many runs it advances at once, and which comes next when one is free.
import type { Advanced, EngineWork } from './engine.js';

/** What an engine puts kicks into. The store's claim decides which run is taken; places only say when to try. */
export interface Places {
  /** Places that are free now; 0 after `stop`. */
  readonly free: number;
  /**
   * For a kick: advances in a free place the run that is due first. That need not be the one of the kick, which would overtake those that
   * are due before it. `nothing` at once if no place is free, or if nothing can be claimed now: what is due is looked for again when a run
   * of this worker has ended, and at the next look. Never rejects.
   */
  take(): Promise<Advanced>;
  /**
   * Takes what is due while places are free, in the store's order. Settles when they are filled or nothing more can be taken; never
   * rejects.
   */
  look(): Promise<void>;
  /** Takes no more and waits for what is under way. */
  stop(): Promise<void>;
}

/**
 * Opens the places of a worker. At once and every `everyMs` (and a bit, so that workers do not look together) it looks for runs that are
 * due though nobody tells of them: their kick was lost, or came while no place was free, or met a limit; or their worker is dead. A look is
 * one listing for each queue, and one claim more than it takes runs.
 */
export function openPlaces(work: EngineWork, everyMs: number): Places {
  const underWay = new Set<Promise<Advanced>>();
  let isStopped = false;
  /** Rises with each kick that came to nothing. */
  let misses = 0;
  /** Something may be due that nobody tells of. Only a look that finds nothing due takes it back. */
  let hasMissed = false;
  const countFree = () => (isStopped ? 0 : Math.max(0, work.concurrency - underWay.size));
  const miss = () => {
    misses += 1;
    hasMissed = true;
  };

  const occupy = (onClaimed?: () => void): Promise<Advanced> => {
    const advancing = work.advance(undefined, onClaimed);
    underWay.add(advancing);
    void advancing.then(({ status }) => {
      underWay.delete(advancing);
      if (status !== 'nothing' && hasMissed && countFree() > 0) void occupy();
    });
    return advancing;
  };

  /** How many runs of this worker's queues are due, up to `limit`. */
  const countDue = async (limit: number): Promise<number> => {
    let count = 0;
    for (const { queue } of work.queues) {
      if (count >= limit) break;
      const { items } = await work.store.runs.list({ queue, due: true, limit: limit - count });
      count += items.length;
    }
    return count;
  };
  /** Whether a place has got the run that is due first. */
  const tryOne = (): Promise<boolean> =>
    new Promise((resolve) => {
      void occupy(() => resolve(true)).then(({ status }) => resolve(status !== 'nothing'));
    });
  const fill = async (): Promise<void> => {
    if (countFree() === 0) return;
    const before = misses;
    let due = await countDue(countFree());
    if (due === 0 && misses === before) hasMissed = false;
    if (due > 0) hasMissed = true;
    while (due > 0 && countFree() > 0 && (await tryOne())) due -= 1;
  };
  let looking: Promise<void> | undefined;
  const look = (): Promise<void> => {
    looking ??= fill()
      .catch(() => undefined) // A store that fails now is asked again at the next look.
      .finally(() => {
        looking = undefined;
      });
    return looking;
  };

  let timer: ReturnType<typeof setTimeout> | undefined;
  const lookOn = async (): Promise<void> => {
    await look();
    if (!isStopped) timer = setTimeout(lookOn, everyMs * (1 + Math.random() / 5));
  };
  void lookOn();

  return {
    get free() {
      return countFree();
    },
    async take() {
      const advanced: Advanced = countFree() > 0 ? await occupy() : { status: 'nothing' };
      if (advanced.status === 'nothing') miss();
      return advanced;
    },
    look,
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await looking;
      await Promise.all(underWay);
    },
  };
}
