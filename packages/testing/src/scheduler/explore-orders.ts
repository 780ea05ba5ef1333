import { checkOptionNames, checkWholeNumber, optionFault } from '@guardloop/core/model';
import type { Scheduler, SchedulerOptions } from './seeded-scheduler.js';
import { seededScheduler } from './seeded-scheduler.js';

/** What {@link exploreOrders} may be told. */
export interface ExploreOptions {
  /** How many orders are tried. */
  readonly orders: number;
  /** Of the first order; each further one has the next. Default 1. */
  readonly seed?: number | undefined;
  readonly time?: SchedulerOptions['time'];
}

/** What {@link exploreOrders} tried. */
export interface ExploreReport {
  readonly orders: number;
  /** How many of them were different. */
  readonly different: number;
}

/**
 * Holds a property in many orders, one after another, each with a scheduler of its own. Rejects with the first failure: its message has
 * the seed and the steps, its `cause` is what was thrown.
 *
 * ```ts
 * await exploreOrders({ orders: 500 }, async (scheduler) => {
 *   const result = await scheduler.run(() => run(agentOf(scheduler), 'go', { clock: scheduler.clock }));
 *   expect(auditLog(result.log)).toEqual([]);
 * });
 * ```
 */
export async function exploreOrders(
  options: ExploreOptions,
  property: (scheduler: Scheduler) => PromiseLike<void>,
): Promise<ExploreReport> {
  checkOptionNames(where, options, { orders: true, seed: true, time: true } satisfies { readonly [K in keyof ExploreOptions]-?: true });
  const { orders, seed: first = 1, time } = options;
  // Of no order nothing would be told.
  if (orders === undefined) throw optionFault(where, 'orders is missing. Say how many are to be tried.');
  checkWholeNumber(where, { orders }, 1);
  const taken = new Set<string>();
  for (let seed = first; seed < first + orders; seed += 1) {
    const scheduler = seededScheduler({ seed, time });
    try {
      await property(scheduler);
    } catch (thrown) {
      throw new Error(failure(thrown, scheduler, { seed, time }), { cause: thrown });
    }
    taken.add(scheduler.schedule.join());
  }
  return { orders, different: taken.size };
}

const where = 'exploreOrders(…)';

function failure(
  thrown: unknown,
  { schedule }: Scheduler,
  { seed, time }: Pick<ExploreOptions, 'time'> & { readonly seed: number },
): string {
  const options = time === undefined ? `{ seed: ${seed} }` : `{ seed: ${seed}, time: '${time}' }`;
  const steps = schedule.map((name) => `'${name}'`).join(', ');
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return `Seed ${seed} fails: ${message}\nTake it again with seededScheduler(${options}). Its steps: [${steps}].`;
}
