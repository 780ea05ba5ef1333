import type { ProviderWords } from '@guardloop/core/model';
import { recordOf } from '@guardloop/core/model';
import OpenAI from 'openai';

/** What the Responses API calls images that it cannot take: to ask again would not help. */
const faultyImages = Object.fromEntries(
  [
    'image_too_large',
    'image_too_small',
    'image_parse_error',
    'image_file_too_large',
    'empty_image_file',
    'failed_to_download_image',
    'image_file_not_found',
    'data_residency_mismatch',
  ].map((word) => [word, 400] as const),
);

/** How OpenAI and the servers that imitate it are named, and how their errors look. */
export function openaiWords(provider: string): ProviderWords {
  return {
    provider,
    name: 'The provider',
    requestIdHeader: 'x-request-id',
    connectionErrors: [OpenAI.APIConnectionError],
    statusOfWord: { server_error: 500, rate_limit_exceeded: 429, invalid_prompt: 400, ...faultyImages },
    isRefusal: isContentFilter,
  };
}

/** True if the provider's content filter refused, or a policy of the provider's, by the word it gives for that (`bio_policy`). */
export function isContentFilter(error: unknown): boolean {
  const code = recordOf(error)?.code;
  return typeof code === 'string' && (code === 'content_filter' || /_policy(?:_violation)?$/.test(code));
}
