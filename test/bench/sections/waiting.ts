import type { Model, ModelEvent } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, deny, run } from '@guardloop/core';
import { median } from '../measure.js';
import type { Row } from '../row.js';
import { atMost } from '../row.js';

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Answers after 300 ms. Tells when it was aborted. */
function slowModel(onAbort: () => void): Model {
  return {
    id: 'slow',
    provider: 'bench',
    async *stream(_, { signal }): AsyncGenerator<ModelEvent> {
      signal.addEventListener('abort', onAbort, { once: true });
      await sleep(300);
      yield { type: 'text.delta', text: 'done' };
      yield { type: 'end', stopReason: 'stop', usage: { requests: 1, inputTokens: 1, outputTokens: 1 } };
    },
  };
}

/** A guardrail of 200 ms beside a model of 300 ms: what it costs when it allows, and how soon the model is stopped when it refuses. */
export async function measureWaiting(): Promise<readonly Row[]> {
  const totals: number[] = [];
  const floors: number[] = [];
  const aborts: number[] = [];
  for (let round = 0; round < 7; round += 1) {
    let refusedAt = 0;
    let abortedAt = 0;
    const model = slowModel(() => {
      abortedAt = performance.now();
    });
    const guardrail = (refuses: boolean) =>
      defineGuardrail({
        name: 'slow',
        on: ['input'],
        beside: 'model',
        check: async () => {
          await sleep(200);
          refusedAt = performance.now();
          return refuses ? deny('no') : allow();
        },
      });
    const timeOf = async (refuses: boolean) => {
      const agent = defineAgent({ name: 'slow', instructions: '', model, guardrails: [guardrail(refuses)] });
      const started = performance.now();
      const { status } = await run(agent, 'go');
      if (status !== (refuses ? 'blocked' : 'completed')) throw new Error(`The run ended ${status}.`);
      return performance.now() - started;
    };
    totals.push(await timeOf(false));
    await timeOf(true);
    aborts.push(abortedAt - refusedAt);
    const started = performance.now();
    await sleep(300);
    floors.push(performance.now() - started);
  }
  return [
    { what: '200 ms input guardrail beside a 300 ms model', unit: 'ms', ours: median(totals), byHand: median(floors), target: atMost(305) },
    { what: '… from its refusal to the abort of the model call', unit: 'ms', ours: median(aborts), target: atMost(5) },
  ];
}
