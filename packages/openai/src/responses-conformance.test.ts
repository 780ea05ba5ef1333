import type { BenchStream } from '../../testing/src/conformance.js';
import { httpBench, modelConformance } from '../../testing/src/conformance.js';
import { checkResponsesRequest } from '../../testing/src/requests/openai-responses.js';
import { openaiResponses } from './responses/model.js';

type Calls = Extract<BenchStream, { type: 'answer' }>['calls'];

const message = (text: string, status: string): object => ({
  type: 'message',
  id: 'msg_1',
  status,
  role: 'assistant',
  content: text === '' ? [] : [{ type: 'output_text', annotations: [], logprobs: [], text }],
});
const usage = {
  input_tokens: 12,
  input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 17,
};
const created = { type: 'response.created', response: { id: 'resp_1', object: 'response', status: 'in_progress', output: [] } };

function textEvents(pieces: readonly string[]): readonly object[] {
  if (pieces.length === 0) return [];
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  const text = pieces.join('');
  return [
    { type: 'response.output_item.added', output_index: 0, item: message('', 'in_progress') },
    ...pieces.map((delta) => ({ type: 'response.output_text.delta', ...at, delta, logprobs: [], obfuscation: 'x' })),
    { type: 'response.output_text.done', ...at, text },
    { type: 'response.output_item.done', output_index: 0, item: message(text, 'completed') },
  ];
}

function callEvents(calls: Calls = [], first = 0): readonly object[] {
  return calls.flatMap(({ id, name, arguments: given }, index) => {
    const item = { type: 'function_call', id: `fc_${index}`, call_id: id, name };
    const at = { item_id: `fc_${index}`, output_index: first + index };
    const half = Math.ceil(given.length / 2);
    return [
      { type: 'response.output_item.added', output_index: first + index, item: { ...item, arguments: '', status: 'in_progress' } },
      ...[given.slice(0, half), given.slice(half)].map((delta) => ({ type: 'response.function_call_arguments.delta', ...at, delta })),
      { type: 'response.function_call_arguments.done', ...at, arguments: given },
      { type: 'response.output_item.done', output_index: first + index, item: { ...item, arguments: given, status: 'completed' } },
    ];
  });
}

function itemsOf(events: readonly object[]): readonly unknown[] {
  return events.flatMap((event) => ('item' in event && 'type' in event && event.type === 'response.output_item.done' ? [event.item] : []));
}

function eventsOf(said: BenchStream): readonly object[] {
  switch (said.type) {
    case 'answer': {
      const { text = [], calls = [] } = said;
      const events = [...textEvents(text), ...callEvents(calls, text.length > 0 ? 1 : 0)];
      const response = { id: 'resp_1', object: 'response', status: 'completed', output: itemsOf(events) };
      return [
        created,
        ...events,
        { type: 'response.completed', response: { ...response, ...(said.usage === false ? { usage: null } : { usage }) } },
      ];
    }
    case 'length': {
      const events = [...textEvents([said.text]), ...callEvents(said.calls, 1)];
      const response = { object: 'response', status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, usage };
      return [created, ...events, { type: 'response.incomplete', response: { ...response, output: itemsOf(events) } }];
    }
    case 'refusal': {
      const item = { ...message('', 'completed'), content: [{ type: 'refusal', refusal: 'No.' }] };
      return [
        created,
        { type: 'response.refusal.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'No.' },
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: { object: 'response', status: 'completed', output: [item], usage } },
      ];
    }
    case 'beginning':
      return [created, ...textEvents(said.text === '' ? [] : [said.text]).slice(0, 2)];
    default:
      return said satisfies never;
  }
}

interface ResponsesBody {
  readonly tools?: readonly { readonly name: string }[];
}

modelConformance('openaiResponses', () =>
  httpBench({
    model: (url, maxRetries) => openaiResponses('gpt-5', { apiKey: 'key', baseURL: `${url}/v1`, maxRetries }),
    stream: (said) =>
      eventsOf(said)
        .map(
          (event, index) =>
            `event: ${String('type' in event && event.type)}\ndata: ${JSON.stringify({ ...event, sequence_number: index })}\n\n`,
        )
        .join(''),
    check: ({ body }) => checkResponsesRequest(body),
    toolNames: (body) => ((body as ResponsesBody).tools ?? []).map(({ name }) => name),
    extra: { service_tier: 'flex', text: { verbosity: 'low' } },
  }),
);
