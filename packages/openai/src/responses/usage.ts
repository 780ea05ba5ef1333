import type { Prices, Usage } from '@guardloop/core/model';
import { costOf, recordOf } from '@guardloop/core/model';

/** Usage in core's form. Numbers that a server leaves out, or that are no counts, stay missing. */
export function readUsage(fields: Record<string, unknown>, requests: number, prices: Prices | undefined): Usage {
  const input = recordOf(fields.input_tokens_details);
  const output = recordOf(fields.output_tokens_details);
  const counts: { readonly [K in keyof Usage]: Usage[K] } = {
    requests,
    inputTokens: count(fields.input_tokens),
    outputTokens: count(fields.output_tokens),
    cacheReadTokens: count(input?.cached_tokens),
    cacheWriteTokens: count(input?.cache_write_tokens),
    reasoningTokens: count(output?.reasoning_tokens),
  };
  const cost = prices === undefined ? undefined : costOf(counts, prices);
  return Object.fromEntries(Object.entries({ ...counts, cost }).filter(([, value]) => value !== undefined)) as unknown as Usage;
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}
