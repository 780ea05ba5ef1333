import assert from 'node:assert/strict';
import { defineAgent, run } from '@guardloop/core';

// #region adapter

import type { Model, ModelEvent, ModelRequest } from '@guardloop/core/model';
import { GuardloopError } from '@guardloop/core/model';

/** A server that takes `{ system, turns: [{ who, text }] }` and streams lines of JSON: `{"text":…}` and, last, `{"done":true,"in":…,"out":…}`. */
export function linesModel(id: string, url: string): Model {
  return { id, provider: 'lines', stream: (request, { signal }) => answer({ id, url, signal }, request) };
}

interface Call {
  readonly id: string;
  readonly url: string;
  readonly signal: AbortSignal;
}

async function* answer({ id, url, signal }: Call, request: ModelRequest): AsyncGenerator<ModelEvent> {
  if (request.tools.length > 0 || request.output) {
    throw new GuardloopError('CONFIG_INVALID', `Model ${id} knows neither tools nor structured answers. Use it for agents without them.`);
  }
  const response = await send({ id, url, signal }, request);
  if (!response.ok || response.body === null) {
    // Status and request id, never the body: it may repeat what was sent.
    throw new GuardloopError('MODEL_FAILED', `Model ${id} answered with status ${response.status}.`, {
      isRetryable: response.status === 429 || response.status >= 500,
      details: { status: response.status },
    });
  }
  let pending = '';
  for await (const piece of response.body.pipeThrough(new TextDecoderStream(), { signal })) {
    const lines = (pending + piece).split('\n');
    pending = lines.pop() ?? '';
    for (const line of lines) {
      const event = JSON.parse(line) as { text?: string; done?: boolean; in?: number; out?: number };
      if (event.text !== undefined) yield { type: 'text.delta', text: event.text };
      if (event.done) {
        yield { type: 'end', stopReason: 'stop', usage: { requests: 1, inputTokens: event.in ?? 0, outputTokens: event.out ?? 0 } };
        return;
      }
    }
  }
  // No `end` was seen: core makes of it the failure MODEL_PROTOCOL.
}

async function send({ id, url, signal }: Call, request: ModelRequest): Promise<Response> {
  const turns = request.messages.map((message) => ({
    who: message.role,
    text: message.role === 'assistant' ? message.text : JSON.stringify(message.role === 'user' ? message.parts : message.content),
  }));
  if (request.note !== undefined) turns.push({ who: 'user', text: request.note });
  try {
    return await fetch(url, { method: 'POST', body: JSON.stringify({ system: request.system, turns }), signal });
  } catch (thrown) {
    throw new GuardloopError('MODEL_FAILED', `Model ${id} could not be reached.`, { cause: thrown, isRetryable: !signal.aborted });
  }
}
// #endregion
const { createServer } = await import('node:http');
const replies = ['{"text":"Hel"}\n{"te', 'xt":"lo."}\n{"done":true,"in":7,"out":2}\n'];
const server = createServer((_request, response) => {
  response.write(replies[0]);
  setTimeout(() => response.end(replies[1]), 10);
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const address = server.address();
const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
const helper = defineAgent({ name: 'helper', instructions: 'Be brief.', model: linesModel('lines-1', url) });
const result = await run(helper, 'Hi.');
assert.equal(result.status === 'completed' && result.text, 'Hello.');
assert.deepEqual(result.usage, { requests: 1, inputTokens: 7, outputTokens: 2 });
replies[1] = '';
const cut = await run(helper, 'Hi.');
assert.equal(cut.status === 'failed' && cut.error.code, 'MODEL_PROTOCOL');
server.closeAllConnections();
await new Promise((resolve) => server.close(resolve));
const unreachable = await run(helper, 'Hi.');
assert.equal(unreachable.status === 'failed' && unreachable.error.code, 'MODEL_FAILED');

// #region wrap
/** New behaviour of a model goes in as a function from model to model: here, how long its first words take. */
export function withTiming(model: Model, note: (ms: number) => void): Model {
  return {
    ...model,
    async *stream(request, options) {
      const from = performance.now();
      let isFirst = true;
      for await (const event of model.stream(request, options)) {
        if (isFirst && event.type === 'text.delta') {
          isFirst = false;
          note(performance.now() - from);
        }
        yield event;
      }
    },
  };
}
// #endregion
const { say, scriptedModel } = await import('@guardloop/testing');
const times: number[] = [];
const timed = await run(helper, 'Hi.', { model: withTiming(scriptedModel([say(['One', ' two.'])]), (ms) => times.push(ms)) });
assert.equal(timed.status === 'completed' && timed.text, 'One two.');
assert.equal(times.length, 1);
