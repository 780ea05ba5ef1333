import type { Prices, Usage } from '@guardloop/core/model';
import { costOf, recordOf } from '@guardloop/core/model';

type Fields = Record<string, unknown>;

/**
 * The usage that a chunk tells, over that of the chunks before: servers send it once at the end, in every chunk (the sum so far), in parts,
 * in the choice (earendil-works/pi#2017 of Moonshot) or under `x_groq`.
 */
export function laterUsage(before: Fields | undefined, chunk: Fields, choice: Fields | undefined): Fields | undefined {
  const told = recordOf(chunk.usage) ?? recordOf(choice?.usage) ?? recordOf(recordOf(chunk.x_groq)?.usage);
  if (told === undefined) return before;
  return { ...before, ...Object.fromEntries(Object.entries(told).filter(([, value]) => value !== null && value !== undefined)) };
}

/** Usage in core's form. Numbers that a server leaves out, or that are no counts, stay missing. */
export function readUsage(fields: Fields | undefined, requests: number, prices: Prices | undefined): Usage {
  if (fields === undefined) return { requests };
  const input = recordOf(fields.prompt_tokens_details);
  const output = recordOf(fields.completion_tokens_details);
  const prompt = count(fields.prompt_tokens);
  const counts: { readonly [K in keyof Usage]: Usage[K] } = {
    requests,
    inputTokens: prompt,
    outputTokens: allOutput(count(fields.completion_tokens), prompt, count(fields.total_tokens)),
    cacheReadTokens: count(input?.cached_tokens) ?? count(fields.prompt_cache_hit_tokens) ?? count(fields.cached_tokens),
    cacheWriteTokens: count(input?.cache_write_tokens) ?? count(input?.cache_creation_tokens),
    reasoningTokens: count(output?.reasoning_tokens) ?? count(fields.reasoning_tokens),
    audioInputTokens: count(input?.audio_tokens),
    audioOutputTokens: count(output?.audio_tokens),
  };
  const cost = prices === undefined ? undefined : costOf(counts, prices);
  return Object.fromEntries(Object.entries({ ...counts, cost }).filter(([, value]) => value !== undefined)) as unknown as Usage;
}

/** Where the total says more than its parts, the rest is reasoning that the server does not count as completion. */
function allOutput(completion: number | undefined, prompt: number | undefined, total: number | undefined): number | undefined {
  if (prompt === undefined || total === undefined || total < prompt) return completion;
  return Math.max(completion ?? 0, total - prompt);
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}
