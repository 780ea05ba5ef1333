import type { Usage } from './types.js';

/** Prices for a million tokens, in any one currency; `usage.cost` and `limits.cost` are in the same. */
export interface Prices {
  readonly input: number;
  readonly output: number;
  /** Of input tokens that came from the cache (`input`). */
  readonly cacheRead?: number | undefined;
  /** Of input tokens that were written to the cache (`input`). */
  readonly cacheWrite?: number | undefined;
  /** Of input tokens of audio (`input`). */
  readonly audioInput?: number | undefined;
  /** Of output tokens of audio (`output`). */
  readonly audioOutput?: number | undefined;
}

/** What the tokens cost. Undefined where the provider has not told how many they are: what is not known costs nothing less for that. */
export function costOf(usage: Usage, prices: Prices): number | undefined {
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0, audioInputTokens = 0, audioOutputTokens = 0 } = usage;
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  const { input, output, cacheRead = input, cacheWrite = input, audioInput = input, audioOutput = output } = prices;
  const plainInput = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens - audioInputTokens);
  const plainOutput = Math.max(0, outputTokens - audioOutputTokens);
  const millionths =
    plainInput * input +
    cacheReadTokens * cacheRead +
    cacheWriteTokens * cacheWrite +
    audioInputTokens * audioInput +
    plainOutput * output +
    audioOutputTokens * audioOutput;
  return millionths / 1_000_000;
}
