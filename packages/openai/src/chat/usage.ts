import type { Usage } from '@guardloop/core/model';
import { recordOf } from '../failure.js';
import type { Prices } from './options.js';

/** Usage in core's form. Numbers that a server leaves out, or that are no counts, are 0; without any usage there is no cost either. */
export function readUsage(usage: Record<string, unknown> | undefined, requests: number, prices: Prices | undefined): Usage {
  if (usage === undefined) return { requests, inputTokens: 0, outputTokens: 0 };
  const inputTokens = count(usage.prompt_tokens) ?? 0;
  const outputTokens = count(usage.completion_tokens) ?? 0;
  const input = recordOf(usage.prompt_tokens_details);
  const cacheReadTokens = count(input?.cached_tokens) ?? count(usage.prompt_cache_hit_tokens);
  const cacheWriteTokens = count(input?.cache_write_tokens);
  const reasoningTokens = count(recordOf(usage.completion_tokens_details)?.reasoning_tokens);
  return {
    requests,
    inputTokens,
    outputTokens,
    ...(cacheReadTokens === undefined ? {} : { cacheReadTokens }),
    ...(cacheWriteTokens === undefined ? {} : { cacheWriteTokens }),
    ...(reasoningTokens === undefined ? {} : { reasoningTokens }),
    ...(prices === undefined ? {} : { cost: cost(prices, { inputTokens, outputTokens, cacheReadTokens }) }),
  };
}

type Counts = Pick<Usage, 'inputTokens' | 'outputTokens' | 'cacheReadTokens'>;

function cost(prices: Prices, { inputTokens, outputTokens, cacheReadTokens = 0 }: Counts): number {
  const cached = Math.min(cacheReadTokens, inputTokens);
  return ((inputTokens - cached) * prices.input + cached * (prices.cacheRead ?? prices.input) + outputTokens * prices.output) / 1_000_000;
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}
