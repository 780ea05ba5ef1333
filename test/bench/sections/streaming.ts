import type { Guardrail, Model, ModelEvent } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, rewrite, stream } from '@guardloop/core';
import { interleave } from '../measure.js';
import type { Row } from '../row.js';
import { atMost } from '../row.js';

const deltas = 20_000;

const model: Model = {
  id: 'bench',
  provider: 'bench',
  async *stream(): AsyncGenerator<ModelEvent> {
    for (let index = 0; index < deltas; index += 1) yield { type: 'text.delta', text: 'xxx ' };
    yield { type: 'end', stopReason: 'stop', usage: { requests: 1, inputTokens: 10, outputTokens: deltas } };
  },
};

const hold = defineGuardrail({ name: 'hold', on: ['output'], check: () => allow() });
const window = defineGuardrail({
  name: 'window',
  on: ['output'],
  window: 24,
  rewrite: ({ content }) => {
    const start = content.indexOf('4111');
    return start < 0 ? allow() : rewrite([{ start, end: start + 4, with: '#' }], 'a number');
  },
});

function streamOf(guardrails: readonly Guardrail<unknown>[]): () => Promise<void> {
  const agent = defineAgent({ name: 'speaker', instructions: 'Speak.', model, guardrails });
  return async () => {
    let length = 0;
    for await (const event of stream(agent, 'go')) if (event.type === 'text.delta') length += event.text.length;
    if (length !== 4 * deltas) throw new Error(`${length} characters came of ${4 * deltas}.`);
  };
}

/** CPU of a delta, from the model to the reader. */
export async function measureStreaming(): Promise<readonly Row[]> {
  const { signal } = new AbortController();
  const request = { agent: 'speaker', turn: 1, system: '', messages: [], tools: [], settings: {} };
  const byHand = async () => {
    let text = '';
    for await (const event of model.stream(request, { signal })) if (event.type === 'text.delta') text += event.text;
    if (text.length !== 4 * deltas) throw new Error('Deltas are missing.');
  };
  const found = await interleave(
    { none: streamOf([]), held: streamOf([hold]), windowed: streamOf([window]), byHand },
    { batchMs: 60, warmMs: 800 },
  );
  const hand = found.byHand / deltas;
  return [
    { what: 'CPU a delta, no output guardrail', unit: 'µs', ours: found.none / deltas, byHand: hand, target: atMost(1) },
    { what: 'CPU a delta, held to the end', unit: 'µs', ours: found.held / deltas, byHand: hand, target: atMost(1.5) },
    { what: 'CPU a delta, window of 24', unit: 'µs', ours: found.windowed / deltas, byHand: hand, target: atMost(1.5) },
  ];
}
