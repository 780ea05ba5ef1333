import Anthropic from '@anthropic-ai/sdk';
import type { ProviderWords } from '@guardloop/core/model';
import { providerName } from './encode-items.js';

/** How Anthropic is named, and how its errors look. */
export const anthropicWords: ProviderWords = {
  provider: providerName,
  name: 'Anthropic',
  requestIdHeader: 'request-id',
  connectionErrors: [Anthropic.APIConnectionError],
  statusOfWord: {
    invalid_request_error: 400,
    authentication_error: 401,
    billing_error: 402,
    permission_error: 403,
    not_found_error: 404,
    request_too_large: 413,
    rate_limit_error: 429,
    api_error: 500,
    timeout_error: 504,
    overloaded_error: 529,
  },
};
