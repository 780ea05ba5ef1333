import type { Prices, Usage } from '@guardloop/core/model';
import { recordOf } from '@guardloop/core/model';
import { tokenCount, usageOf } from '../usage.js';

/** The usage of a response in core's form. */
export function readUsage(fields: Record<string, unknown>, requests: number, prices: Prices | undefined): Usage {
  const input = recordOf(fields.input_tokens_details);
  const output = recordOf(fields.output_tokens_details);
  return usageOf(
    {
      requests,
      inputTokens: tokenCount(fields.input_tokens),
      outputTokens: tokenCount(fields.output_tokens),
      cacheReadTokens: tokenCount(input?.cached_tokens),
      cacheWriteTokens: tokenCount(input?.cache_write_tokens),
      reasoningTokens: tokenCount(output?.reasoning_tokens),
    },
    prices,
  );
}
