import type { Prices, Usage } from '@guardloop/core/model';
import { costOf } from '@guardloop/core/model';
import { isObject } from './blocks.js';

/** Prices for a million tokens, in the currency that `usage.cost` is wanted in. */
export interface AnthropicPrices {
  readonly input: number;
  readonly output: number;
  /** Left out, a tenth of `input`: what Anthropic asks for most models. */
  readonly cacheRead?: number | undefined;
  /** Left out, 1.25 times `input`: what Anthropic asks for its cache of five minutes, the one that this adapter uses by itself. */
  readonly cacheWrite?: number | undefined;
  /** Of what is written to the cache of an hour. Left out, twice `input`. */
  readonly cacheWriteHour?: number | undefined;
}

/** Token counts of one response, as its events have told them so far. What they have not told is missing. */
export interface TokenCounts {
  readonly input?: number | undefined;
  readonly output?: number | undefined;
  readonly cacheRead?: number | undefined;
  readonly cacheWrite?: number | undefined;
  /** Of the tokens written to the cache, those of the cache of an hour. */
  readonly cacheWriteHour?: number | undefined;
  readonly reasoning?: number | undefined;
}

export const noTokens: TokenCounts = {};

/** Counts of later events replace those of earlier ones: the API sends running totals, and null for what it does not repeat. */
export function updateCounts(counts: TokenCounts, usage: unknown): TokenCounts {
  if (!isObject(usage)) return counts;
  const { output_tokens_details: details, cache_creation: created } = usage;
  return {
    input: countOf(usage.input_tokens) ?? counts.input,
    output: countOf(usage.output_tokens) ?? counts.output,
    cacheRead: countOf(usage.cache_read_input_tokens) ?? counts.cacheRead,
    cacheWrite: countOf(usage.cache_creation_input_tokens) ?? counts.cacheWrite,
    cacheWriteHour: countOf(isObject(created) ? created.ephemeral_1h_input_tokens : undefined) ?? counts.cacheWriteHour,
    reasoning: countOf(isObject(details) ? details.thinking_tokens : undefined) ?? counts.reasoning,
  };
}

/** The sum over responses. A count that none of them has told stays missing. */
export function addCounts(one: TokenCounts, other: TokenCounts): TokenCounts {
  return {
    input: sum(one.input, other.input),
    output: sum(one.output, other.output),
    cacheRead: sum(one.cacheRead, other.cacheRead),
    cacheWrite: sum(one.cacheWrite, other.cacheWrite),
    cacheWriteHour: sum(one.cacheWriteHour, other.cacheWriteHour),
    reasoning: sum(one.reasoning, other.reasoning),
  };
}

/** The API counts cached input apart; core counts all input. */
export function toUsage(counts: TokenCounts, requests: number, prices: AnthropicPrices | undefined): Usage {
  const { input, output, cacheRead, cacheWrite, reasoning } = counts;
  const usage: Usage = {
    requests,
    ...(input === undefined ? {} : { inputTokens: input + (cacheRead ?? 0) + (cacheWrite ?? 0) }),
    ...(output === undefined ? {} : { outputTokens: output }),
    ...(cacheRead === undefined ? {} : { cacheReadTokens: cacheRead }),
    ...(cacheWrite === undefined ? {} : { cacheWriteTokens: cacheWrite }),
    ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
  };
  const cost = prices === undefined ? undefined : costOf(usage, pricesFor(counts, prices));
  return cost === undefined ? usage : { ...usage, cost };
}

/** What is written to the cache costs by how long it is kept: the price of a token is that of the mixture. */
function pricesFor({ cacheWrite = 0, cacheWriteHour = 0 }: TokenCounts, prices: AnthropicPrices): Prices {
  const { input, output, cacheRead = input * 0.1, cacheWrite: short = input * 1.25, cacheWriteHour: long = input * 2 } = prices;
  const hour = cacheWrite === 0 ? 0 : Math.min(1, cacheWriteHour / cacheWrite);
  return { input, output, cacheRead, cacheWrite: hour === 0 ? short : short * (1 - hour) + long * hour };
}

function sum(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined ? other : one + (other ?? 0);
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}
