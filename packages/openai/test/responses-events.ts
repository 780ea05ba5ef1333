// Events of the Responses API, as its streams hold them.

import type { JsonObject } from '@guardloop/core/model';

export type Item = JsonObject;

export const usage = {
  input_tokens: 12,
  input_tokens_details: { cached_tokens: 4, cache_write_tokens: 3 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 17,
};

export function reasoning(id: string, encrypted: string | null, summary: readonly string[] = []): Item {
  return { id, type: 'reasoning', encrypted_content: encrypted, summary: summary.map((text) => ({ type: 'summary_text', text })) };
}

export function message(id: string, text: string): Item {
  return {
    id,
    type: 'message',
    status: 'completed',
    content: [{ type: 'output_text', annotations: [], logprobs: [], text }],
    role: 'assistant',
  };
}

export function call(id: string, callId: string, input: string): Item {
  return { id, type: 'function_call', status: 'completed', arguments: input, call_id: callId, name: 'find' };
}

/** The events that stream one item, in two pieces where it has text or arguments. */
export function streamed(item: Item, index: number): readonly object[] {
  const added = (fields: object): object => ({ type: 'response.output_item.added', output_index: index, item: { ...item, ...fields } });
  const done = { type: 'response.output_item.done', output_index: index, item };
  const at = { item_id: item.id, output_index: index };
  const pieces = (type: string, text: unknown, more: object = {}): readonly object[] => {
    const half = Math.ceil(String(text).length / 2);
    return [String(text).slice(0, half), String(text).slice(half)].filter(Boolean).map((delta) => ({ type, ...at, ...more, delta }));
  };
  if (item.type === 'function_call') {
    const { arguments: input } = item;
    return [
      added({ arguments: '', status: 'in_progress' }),
      ...pieces('response.function_call_arguments.delta', input),
      { type: 'response.function_call_arguments.done', ...at, arguments: input },
      done,
    ];
  }
  if (item.type === 'message') {
    const parts = item.content as readonly { readonly text?: string }[];
    return [
      added({ content: [], status: 'in_progress' }),
      ...parts.flatMap(({ text }, part) => [
        { type: 'response.content_part.added', ...at, content_index: part, part: { type: 'output_text', annotations: [], text: '' } },
        ...pieces('response.output_text.delta', text ?? '', { content_index: part, logprobs: [], obfuscation: 'k2hs' }),
        { type: 'response.output_text.done', ...at, content_index: part, text },
      ]),
      done,
    ];
  }
  if (item.type !== 'reasoning') return [added({ status: 'in_progress' }), done];
  const parts = item.summary as readonly { readonly text: string }[];
  return [
    added({ summary: [], encrypted_content: 'PART' }),
    ...parts.flatMap(({ text }, part) => pieces('response.reasoning_summary_text.delta', text, { summary_index: part })),
    done,
  ];
}

export const created = { type: 'response.created', response: { id: 'resp_1', object: 'response', status: 'in_progress', output: [] } };

export function completed(output: readonly Item[], more: object = {}): object {
  return { type: 'response.completed', response: { id: 'resp_1', object: 'response', status: 'completed', output, usage, ...more } };
}

/** A whole answer of these items. */
export function answerOf(...items: readonly Item[]): readonly object[] {
  return [created, ...items.flatMap(streamed), completed(items)];
}

export function sse(events: readonly object[]): string {
  return events
    .map(
      (event, index) =>
        `event: ${'type' in event ? String(event.type) : ''}\ndata: ${JSON.stringify({ ...event, sequence_number: index })}\n\n`,
    )
    .join('');
}
