import type { Usage } from '@guardloop/core/model';

/** Prices for a million tokens, in the currency that `usage.cost` is wanted in. */
export interface AnthropicPrices {
  readonly input: number;
  readonly output: number;
  /** Left out, a tenth of `input`: what Anthropic asks for most models. */
  readonly cacheRead?: number | undefined;
  /** Left out, 1.25 times `input`: what Anthropic asks for its cache of five minutes, the one that this adapter uses. */
  readonly cacheWrite?: number | undefined;
}

/** Token counts of one response, as its events have told them so far. */
export interface TokenCounts {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly reasoning: number | undefined;
}

export const noTokens: TokenCounts = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: undefined };

/** Counts of later events replace those of earlier ones: the API sends running totals, and null for what it does not repeat. */
export function updateCounts(counts: TokenCounts, usage: unknown): TokenCounts {
  const fields = recordOf(usage);
  const thinking = countOf(recordOf(fields.output_tokens_details).thinking_tokens);
  return {
    input: countOf(fields.input_tokens) ?? counts.input,
    output: countOf(fields.output_tokens) ?? counts.output,
    cacheRead: countOf(fields.cache_read_input_tokens) ?? counts.cacheRead,
    cacheWrite: countOf(fields.cache_creation_input_tokens) ?? counts.cacheWrite,
    reasoning: thinking ?? counts.reasoning,
  };
}

export function addCounts(one: TokenCounts, other: TokenCounts): TokenCounts {
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    cacheRead: one.cacheRead + other.cacheRead,
    cacheWrite: one.cacheWrite + other.cacheWrite,
    reasoning: one.reasoning === undefined ? other.reasoning : one.reasoning + (other.reasoning ?? 0),
  };
}

/** The API counts cached input apart; core counts all input. */
export function toUsage(counts: TokenCounts, requests: number, prices: AnthropicPrices | undefined): Usage {
  return {
    requests,
    inputTokens: counts.input + counts.cacheRead + counts.cacheWrite,
    outputTokens: counts.output,
    cacheReadTokens: counts.cacheRead,
    cacheWriteTokens: counts.cacheWrite,
    ...(counts.reasoning === undefined ? {} : { reasoningTokens: counts.reasoning }),
    ...(prices === undefined ? {} : { cost: costOf(counts, prices) }),
  };
}

function costOf(counts: TokenCounts, prices: AnthropicPrices): number {
  const { input, output, cacheRead = input * 0.1, cacheWrite = input * 1.25 } = prices;
  return (counts.input * input + counts.output * output + counts.cacheRead * cacheRead + counts.cacheWrite * cacheWrite) / 1_000_000;
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
