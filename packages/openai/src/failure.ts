import type { ProviderWords } from '@guardloop/core/model';
import { recordOf } from '@guardloop/core/model';
import OpenAI from 'openai';

/** How OpenAI and the servers that imitate it are named, and how their errors look. */
export function openaiWords(provider: string): ProviderWords {
  return {
    provider,
    name: 'The provider',
    requestIdHeader: 'x-request-id',
    connectionErrors: [OpenAI.APIConnectionError],
    statusOfWord: { server_error: 500, rate_limit_exceeded: 429, invalid_prompt: 400 },
    isRefusal: isContentFilter,
  };
}

/** True if the provider's content filter refused, by the word it gives for that. */
export function isContentFilter(error: unknown): boolean {
  const code = recordOf(error)?.code;
  return code === 'content_filter' || code === 'content_policy_violation';
}
