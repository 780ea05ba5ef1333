// The packages run the suite over the SDKs they are built with, in words of their own. Here it runs over the other SDKs that they take, and
// in the words of a server that is not ours, and over models around models.
import type { Model } from '@guardloop/core';
import { withConcurrency, withFallback, withRetry, withTimeouts } from '@guardloop/core';
import type { BenchStream, FakeProvider } from '@guardloop/testing/conformance';
import { httpBench, modelConformance } from '@guardloop/testing/conformance';
import { afterAll, beforeAll } from 'vitest';
import { fakeProvider } from './fake-provider.js';
import { ModelServer } from './model-server.js';
import type { Side } from './sides.js';
import { chat6, fetchSides, readers, sides } from './sides.js';
import type { Dialect } from './wire-request.js';

let server: ModelServer;
let asked = 0;
beforeAll(async () => {
  server = await ModelServer.start();
});
afterAll(() => server.stop());

for (const side of [...sides, ...fetchSides].filter(({ name }) => name.endsWith('7')))
  modelConformance(side.name, () => httpBench(fakeProvider(side)));

for (const side of readers) modelConformance(`${side.name}, in the words of a third-party server,`, () => httpBench(thirdParty(side)));

/** A model around a model is held to what a model is held to; none of them asks again here, where the suite counts requests. */
const wrappers: Readonly<Record<string, (model: Model) => Model>> = {
  withRetry: (model) => withRetry(model, { attempts: 1 }),
  withFallback: (model) => withFallback([model, model], { when: () => false }),
  withTimeouts: (model) => withTimeouts(model, { connectMs: 30_000, firstEventMs: 30_000, betweenEventsMs: 30_000, totalMs: 60_000 }),
  withConcurrency: (model) => withConcurrency(model, { limit: 4 }),
};

for (const [name, wrap] of Object.entries(wrappers))
  modelConformance(`${name} around ${chat6.name}`, () => {
    const provider = fakeProvider(chat6);
    return httpBench({ ...provider, neverRetries: true, model: (url, maxRetries) => wrap(provider.model(url, maxRetries)) });
  });

type Sayable = Extract<BenchStream, { type: 'answer' | 'length' }>;

/** What the server can say is in its words, the rest in ours. */
function thirdParty(side: Side): FakeProvider {
  const ours = fakeProvider(side);
  return { ...ours, stream: (said) => (isSayable(side.dialect, said) ? answered(side.dialect, said) : ours.stream(said)) };
}

/** It always tells usage, has no beginnings and no refusals of Responses, and writes arguments for Messages anew. */
function isSayable(dialect: Dialect, said: BenchStream): said is Sayable {
  if (said.type !== 'answer' && said.type !== 'length') return false;
  if (said.type === 'answer' && said.usage === false) return false;
  return dialect !== 'messages' || (said.calls ?? []).every((call) => isPlainJson(call.arguments));
}

function isPlainJson(text: string): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === text;
  } catch {
    return false;
  }
}

async function answered(dialect: Dialect, said: Sayable): Promise<string> {
  asked += 1;
  const model = `asked-${asked}`;
  const calls = (said.calls ?? []).map((call) => ({ id: call.id, name: call.name, arguments: call.arguments }));
  const content = typeof said.text === 'string' ? said.text : (said.text ?? []).join('');
  server.on(
    { model },
    {
      ...(content === '' && calls.length > 0 ? {} : { content }),
      ...(calls.length > 0 ? { toolCalls: calls } : {}),
      ...(said.type === 'length' ? { finishReason: 'length' } : {}),
      usage: { prompt_tokens: 12, completion_tokens: 5 },
    },
    { chunkSize: 4 },
  );
  const messages = [{ role: 'user', content: 'Speak.' }];
  const [path, body] = {
    chat: ['/v1/chat/completions', { model, messages, stream: true, stream_options: { include_usage: true } }] as const,
    responses: ['/v1/responses', { model, input: 'Speak.', stream: true }] as const,
    messages: ['/v1/messages', { model, messages, max_tokens: 1_000, stream: true }] as const,
  }[dialect];
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`The server answered with status ${response.status}.`);
  return response.text();
}
