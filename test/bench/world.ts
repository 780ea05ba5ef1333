// What is measured: one agent with one tool under guardrails on all five surfaces, its model in the same process, and the same by hand.
import type { Guardrail, JsonObject, Model, ModelEvent, ModelRequest, RunOptions, Usage } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, run } from '@guardloop/core';
import { z } from 'zod';

const usage: Usage = { requests: 1, inputTokens: 10, outputTokens: 10 };
const observation = 'ok '.repeat(66);

export interface Shape {
  /** Turns with calls; one more gives the answer. */
  readonly turns: number;
  readonly calls: number;
  /** How long the model waits before it answers. */
  readonly waitMs?: number;
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Calls the tool for so many turns, then answers. Takes the same time at any length of transcript. */
export function callingModel({ turns, calls, waitMs = 0 }: Shape): Model {
  return {
    id: 'bench',
    provider: 'bench',
    async *stream({ turn }: ModelRequest): AsyncGenerator<ModelEvent> {
      if (waitMs > 0) await sleep(waitMs);
      if (turn > turns) {
        yield { type: 'text.delta', text: 'done' };
        yield { type: 'end', stopReason: 'stop', usage };
        return;
      }
      for (let index = 0; index < calls; index += 1) {
        yield { type: 'tool.call', call: { providerId: `c${turn}_${index}`, name: 'work', input: { i: turn, j: index } } };
      }
      yield { type: 'end', stopReason: 'tools', usage };
    },
  };
}

const input = z.object({ i: z.number(), j: z.number() });
const execute = async (): Promise<string> => observation;

export const work = defineTool({ name: 'work', description: 'Does one unit of work.', input, execute });

/** Stands on all five surfaces and lets everything pass. */
export const passAll = defineGuardrail({
  name: 'pass-all',
  on: ['input', 'toolInput', 'toolOutput', 'handoff', 'output'],
  check: () => allow(),
});

/** One run to its answer. */
export function runOf(model: Model, guardrails: readonly Guardrail<unknown>[] = [passAll], options: RunOptions = {}): () => Promise<void> {
  const agent = defineAgent({ name: 'worker', instructions: 'Work.', model, tools: [work], guardrails });
  const all: RunOptions = { ...options, limits: { turns: Number.POSITIVE_INFINITY } };
  return async () => {
    const result = await run(agent, 'go', all);
    if (result.status !== 'completed')
      throw new Error(`The run ended ${result.status}${result.status === 'failed' ? `: ${result.error.message}` : ''}.`);
  };
}

interface HandMessage {
  readonly role: 'user' | 'assistant' | 'tool';
  readonly content: string;
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly input: JsonObject }[];
  readonly callId?: string;
}

/** The same loop by hand: asks, parses, runs the calls together, keeps the transcript; no guardrails, no log. */
export function byHand(model: Model): () => Promise<void> {
  const { signal } = new AbortController();
  return async () => {
    const messages: HandMessage[] = [{ role: 'user', content: 'go' }];
    for (let turn = 1; ; turn += 1) {
      let content = '';
      const calls: { id: string; name: string; input: JsonObject }[] = [];
      const request = { agent: 'worker', turn, system: 'Work.', messages: [], tools: [], settings: {} };
      for await (const event of model.stream(request, { signal })) {
        if (event.type === 'text.delta') content += event.text;
        if (event.type === 'tool.call' && 'input' in event.call) {
          calls.push({ id: event.call.providerId ?? '', name: event.call.name, input: event.call.input as JsonObject });
        }
      }
      messages.push({ role: 'assistant', content, calls });
      if (calls.length === 0) return;
      const results = await Promise.all(
        calls.map(async ({ id, input: raw }) => {
          input.parse(raw);
          return { role: 'tool' as const, callId: id, content: await execute() };
        }),
      );
      messages.push(...results);
    }
  };
}
