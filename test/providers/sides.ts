import type { AnthropicOptions } from '@guardloop/anthropic';
import { anthropic } from '@guardloop/anthropic';
import type { Model } from '@guardloop/core';
import { openai } from '@guardloop/openai';
import type OpenAI from 'openai';
import OpenAI7 from 'openai-7';
import type { ModelServer } from './model-server.js';

export interface SideOptions {
  readonly maxRetries?: number;
  readonly thinking?: AnthropicOptions['thinking'];
}

/** One official SDK in one version, behind our adapter. */
export interface Side {
  readonly name: string;
  readonly api: 'openai' | 'anthropic';
  /** False where the adapter is given a client of the caller's: then it is not told of attempts. */
  readonly countsAttempts: boolean;
  model(server: ModelServer, options?: SideOptions): Model;
}

export const openai6: Side = {
  name: 'openai 6',
  api: 'openai',
  countsAttempts: true,
  model: (server, { maxRetries = 0 } = {}) =>
    openai('gpt-5', { apiKey: 'test', baseURL: `${server.url}/v1`, fetch: server.fetch, maxRetries }),
};

export const openai7: Side = {
  name: 'openai 7',
  api: 'openai',
  countsAttempts: false,
  model(server, { maxRetries = 0 } = {}) {
    const client = new OpenAI7({ apiKey: 'test', baseURL: `${server.url}/v1`, fetch: server.fetch, maxRetries });
    return openai('gpt-5', { client: client as unknown as OpenAI });
  },
};

export const anthropic1: Side = {
  name: 'anthropic',
  api: 'anthropic',
  countsAttempts: true,
  model: (server, { maxRetries = 0, thinking } = {}) =>
    anthropic('claude-opus-4-8', { apiKey: 'test', baseURL: server.url, fetch: server.fetch, maxRetries, thinking }),
};

export const sides: readonly Side[] = [openai6, openai7, anthropic1];

/** Every way to begin on one provider and to go on with the other. */
export const crossings: readonly { readonly from: Side; readonly to: Side }[] = [
  { from: openai6, to: anthropic1 },
  { from: anthropic1, to: openai6 },
  { from: openai7, to: anthropic1 },
  { from: anthropic1, to: openai7 },
];
