import type { ModelCall, ModelEvent } from './types.js';

type End = Extract<ModelEvent, { type: 'end' }>;

/** A drained answer. */
export interface ModelAnswer {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ModelCall[];
  readonly end: End | undefined;
}

/** Drains a model's stream: what a non-streaming call would have given. `end` is undefined when the stream broke the contract and had none. */
export async function collect(events: AsyncIterable<ModelEvent>): Promise<ModelAnswer> {
  let text = '';
  let reasoning = '';
  let end: End | undefined;
  const calls: ModelCall[] = [];
  for await (const event of events) {
    if (event.type === 'text.delta') text += event.text;
    else if (event.type === 'reasoning.delta') reasoning += event.text;
    else if (event.type === 'tool.call') calls.push(event.call);
    else if (event.type === 'end') end = event;
  }
  return { text, reasoning, calls, end };
}
