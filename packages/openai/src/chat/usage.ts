import type { Prices, Usage } from '@guardloop/core/model';
import { recordOf } from '@guardloop/core/model';
import { tokenCount, usageOf } from '../usage.js';

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
  const prompt = tokenCount(fields.prompt_tokens);
  const counts: Usage = {
    requests,
    inputTokens: prompt,
    outputTokens: allOutput(tokenCount(fields.completion_tokens), prompt, tokenCount(fields.total_tokens)),
    cacheReadTokens: tokenCount(input?.cached_tokens) ?? tokenCount(fields.prompt_cache_hit_tokens) ?? tokenCount(fields.cached_tokens),
    cacheWriteTokens: tokenCount(input?.cache_write_tokens) ?? tokenCount(input?.cache_creation_tokens),
    reasoningTokens: tokenCount(output?.reasoning_tokens) ?? tokenCount(fields.reasoning_tokens),
    audioInputTokens: tokenCount(input?.audio_tokens),
    audioOutputTokens: tokenCount(output?.audio_tokens),
  };
  return usageOf(counts, prices);
}

/** Where the total says more than its parts, the rest is reasoning that the server does not count as completion. */
function allOutput(completion: number | undefined, prompt: number | undefined, total: number | undefined): number | undefined {
  if (prompt === undefined || total === undefined || total < prompt) return completion;
  return Math.max(completion ?? 0, total - prompt);
}
