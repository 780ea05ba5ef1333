import type { AnthropicOptions } from '@guardloop/anthropic';
import { anthropic } from '@guardloop/anthropic';
import type { Model } from '@guardloop/core';
import { openaiChat, openaiResponses } from '@guardloop/openai';
import type OpenAI from 'openai';
import OpenAI7 from 'openai-7';
import type { Dialect } from './wire-request.js';

/** Where a model sends its requests, and by what. */
export interface Place {
  readonly url: string;
  readonly fetch: typeof fetch;
}

export interface SideOptions {
  readonly maxRetries?: number;
  readonly thinking?: AnthropicOptions['thinking'];
}

/** One official SDK in one version, behind one of our adapters. */
export interface Side {
  readonly name: string;
  readonly dialect: Dialect;
  /** False where the adapter is given a client of the caller's: then it is not told of attempts. */
  readonly countsAttempts: boolean;
  model(place: Place, options?: SideOptions): Model;
}

export const chat6: Side = {
  name: 'chat over openai 6',
  dialect: 'chat',
  countsAttempts: true,
  model: (place, { maxRetries = 0 } = {}) => openaiChat('gpt-5', { ...forOpenAI(place), maxRetries }),
};

export const chat7: Side = {
  name: 'chat over openai 7',
  dialect: 'chat',
  countsAttempts: false,
  model: (place, options) => openaiChat('gpt-5', { client: openai7(place, options) }),
};

export const responses6: Side = {
  name: 'responses over openai 6',
  dialect: 'responses',
  countsAttempts: true,
  model: (place, { maxRetries = 0 } = {}) => openaiResponses('gpt-5', { ...forOpenAI(place), maxRetries }),
};

export const responses7: Side = {
  name: 'responses over openai 7',
  dialect: 'responses',
  countsAttempts: false,
  model: (place, options) => openaiResponses('gpt-5', { client: openai7(place, options) }),
};

export const messages1: Side = {
  name: 'messages',
  dialect: 'messages',
  countsAttempts: true,
  model: (place, { maxRetries = 0, thinking } = {}) => anthropic('claude-opus-4-8', { ...forAnthropic(place), maxRetries, thinking }),
};

export const sides: readonly Side[] = [chat6, chat7, responses6, responses7, messages1];

/** The same adapters, whose requests are made by the SDK and sent by `fetch` alone. */
export const fetchSides: readonly Side[] = [
  {
    ...chat6,
    name: 'chat by fetch',
    model: (place, { maxRetries = 0 } = {}) => openaiChat('gpt-5', { ...forOpenAI(place), maxRetries, transport: 'fetch' }),
  },
  {
    ...chat7,
    name: 'chat by fetch over openai 7',
    model: (place, options) => openaiChat('gpt-5', { client: openai7(place, options), transport: 'fetch' }),
  },
  {
    ...responses6,
    name: 'responses by fetch',
    model: (place, { maxRetries = 0 } = {}) => openaiResponses('gpt-5', { ...forOpenAI(place), maxRetries, transport: 'fetch' }),
  },
  {
    ...messages1,
    name: 'messages by fetch',
    model: (place, { maxRetries = 0, thinking } = {}) =>
      anthropic('claude-opus-4-8', { ...forAnthropic(place), maxRetries, thinking, transport: 'fetch' }),
  },
];

/** One side for each way in which an answer is read: what sends the request makes no difference there. */
export const readers: readonly Side[] = [chat6, responses6, messages1];

/** Every way to begin on one provider, or with one SDK, and to go on with another. */
export const crossings: readonly { readonly from: Side; readonly to: Side }[] = sides.flatMap((from) =>
  sides.filter((to) => to !== from).map((to) => ({ from, to })),
);

function forOpenAI({ url, fetch }: Place) {
  return { apiKey: 'test', baseURL: `${url}/v1`, fetch };
}

function forAnthropic({ url, fetch }: Place) {
  return { apiKey: 'test', baseURL: url, fetch };
}

function openai7(place: Place, { maxRetries = 0 }: SideOptions = {}): OpenAI {
  return new OpenAI7({ ...forOpenAI(place), maxRetries }) as unknown as OpenAI;
}
