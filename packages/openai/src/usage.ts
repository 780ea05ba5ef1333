import type { Prices, Usage } from '@guardloop/core/model';
import { costOf } from '@guardloop/core/model';

/** A count as a server gave it; undefined for what is none. */
export function tokenCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** Usage in core's form, with its cost. What the server has not told stays missing. */
export function usageOf(counts: Usage, prices: Prices | undefined): Usage {
  const cost = prices === undefined ? undefined : costOf(counts, prices);
  return Object.fromEntries(Object.entries({ ...counts, cost }).filter(([, value]) => value !== undefined)) as unknown as Usage;
}
