import type { Prices, Usage } from '@guardloop/core/model';
import { costOf, recordOf } from '@guardloop/core/model';

/** Usage in core's form. Numbers that a server leaves out, or that are no counts, stay missing. */
export function readUsage(fields: Record<string, unknown> | undefined, requests: number, prices: Prices | undefined): Usage {
  if (fields === undefined) return { requests };
  const input = recordOf(fields.prompt_tokens_details);
  const output = recordOf(fields.completion_tokens_details);
  const counts: { readonly [K in keyof Usage]: Usage[K] } = {
    requests,
    inputTokens: count(fields.prompt_tokens),
    outputTokens: count(fields.completion_tokens),
    cacheReadTokens: count(input?.cached_tokens) ?? count(fields.prompt_cache_hit_tokens),
    cacheWriteTokens: count(input?.cache_write_tokens),
    reasoningTokens: count(output?.reasoning_tokens),
    audioInputTokens: count(input?.audio_tokens),
    audioOutputTokens: count(output?.audio_tokens),
  };
  const cost = prices === undefined ? undefined : costOf(counts, prices);
  return Object.fromEntries(Object.entries({ ...counts, cost }).filter(([, value]) => value !== undefined)) as unknown as Usage;
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}
