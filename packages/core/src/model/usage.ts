import { GuardloopError } from '../errors.js';
import type { Usage } from './types.js';

const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;
const count = (value: number | undefined): number => (isCount(value) ? value : 0);

const optionalCounts = [
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'reasoningTokens',
  'audioInputTokens',
  'audioOutputTokens',
  'cost',
] as const;

/** The sum of two usages, undivided. A count that neither tells stays missing; what is no finite number from 0 tells nothing. */
export function addUsage(left: Usage, right: Usage): Usage {
  const sum: { -readonly [K in keyof Usage]: Usage[K] } = { requests: left.requests + count(right.requests) };
  // Before the first request all counts are known to be nothing, which tells nothing of what a provider leaves out.
  const isFirst = left.requests === 0 && right.requests > 0;
  for (const name of optionalCounts) {
    const before = left[name];
    const more = right[name];
    if (isCount(more)) sum[name] = count(before) + more;
    else if (before !== undefined && !(isFirst && before === 0)) sum[name] = before;
  }
  return sum;
}

/** Whether it is known what an answer cost: all of it, where several models took part. */
export function tellsCost({ cost, byModel }: Usage): boolean {
  if (!isCount(cost)) return false;
  if (byModel === undefined) return true;
  // A model that failed without a word about tokens is not known to have cost anything.
  return Object.values(byModel).every(
    (share) => isCount(share.cost) || (share.inputTokens === undefined && share.outputTokens === undefined),
  );
}

/** Whether it is known how many tokens an answer took. */
export function tellsTokens({ inputTokens, outputTokens }: Usage): boolean {
  return isCount(inputTokens) && isCount(outputTokens);
}

/** What one model used. */
export interface ModelShare {
  /** Id of the model, where the usage itself does not divide it. */
  readonly model: string;
  readonly usage: Usage;
}

const nothing: Usage = { requests: 0 };

/** What each model used, by id. */
export function divideUsage(shares: Iterable<ModelShare>): Map<string, Usage> {
  const byModel = new Map<string, Usage>();
  for (const { model, usage } of shares)
    for (const [id, part] of Object.entries(usage.byModel ?? { [model]: usage }))
      byModel.set(id, addUsage(byModel.get(id) ?? nothing, part));
  return byModel;
}

/** The sum of what the attempts at one model call used, divided over the models where more than one took part. */
export function sumUsage(shares: readonly ModelShare[]): Usage {
  const [only] = shares;
  if (only !== undefined && shares.length === 1) return only.usage;
  const byModel = divideUsage(shares);
  let sum = nothing;
  for (const { usage } of shares) sum = addUsage(sum, usage);
  return byModel.size > 1 ? { ...sum, byModel: Object.fromEntries(byModel) } : sum;
}

/**
 * What a failed call used, as far as its error tells (`details.usage`, `details.attempts`). `requests`: how many it made at least, where the
 * error does not tell.
 */
export function usageOfFailure(failure: unknown, requests: number): Usage {
  const { usage, attempts } = GuardloopError.is(failure) ? failure.details : {};
  const told = typeof usage === 'object' && usage !== null ? (usage as Partial<Usage>) : {};
  const known = [told.requests, attempts].filter(isCount);
  const sum = addUsage(nothing, { ...told, requests: known.length === 0 ? requests : Math.max(...known) });
  return typeof told.byModel === 'object' && told.byModel !== null ? { ...sum, byModel: told.byModel } : sum;
}
