import type { BenchCall, BenchStream } from '../../testing/src/conformance.js';
import { httpBench, modelConformance } from '../../testing/src/conformance.js';
import { checkMessagesRequest } from '../../testing/src/requests/anthropic.js';
import { anthropic } from './anthropic.js';

const start = (usage?: object): object => ({
  type: 'message_start',
  message: { id: 'msg_1', type: 'message', role: 'assistant', content: [], ...(usage === undefined ? {} : { usage }) },
});
const end = (reason: string, usage?: object): readonly object[] => [
  { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, ...(usage === undefined ? {} : { usage }) },
  { type: 'message_stop' },
];
const open = (index: number, block: object): object => ({ type: 'content_block_start', index, content_block: block });
const delta = (index: number, piece: object): object => ({ type: 'content_block_delta', index, delta: piece });
const close = (index: number): object => ({ type: 'content_block_stop', index });
const before = { input_tokens: 12, output_tokens: 1 };
const after = { output_tokens: 5 };

function textEvents(text: readonly string[]): readonly object[] {
  return text.length === 0
    ? []
    : [open(0, { type: 'text', text: '' }), ...text.map((piece) => delta(0, { type: 'text_delta', text: piece })), close(0)];
}

function callEvents(first: number, calls: readonly BenchCall[] = []): readonly object[] {
  return calls.flatMap(({ id, name, arguments: given }, at) => {
    const index = first + at;
    const half = Math.ceil(given.length / 2);
    return [
      open(index, { type: 'tool_use', id, name, input: {} }),
      ...[given.slice(0, half), given.slice(half)].map((part) => delta(index, { type: 'input_json_delta', partial_json: part })),
      close(index),
    ];
  });
}

function eventsOf(said: BenchStream): readonly object[] {
  switch (said.type) {
    case 'answer': {
      const { text = [], calls = [] } = said;
      const usage = said.usage === false ? [] : [before, after];
      const content = [...textEvents(text), ...callEvents(text.length > 0 ? 1 : 0, calls)];
      return [start(usage[0]), ...content, ...end(calls.length > 0 ? 'tool_use' : 'end_turn', usage[1])];
    }
    case 'length':
      return [start(before), ...textEvents([said.text]), ...callEvents(1, said.calls), ...end('max_tokens', after)];
    case 'refusal':
      return [start(before), ...end('refusal', after)];
    case 'beginning':
      return [start(before), ...textEvents(said.text === '' ? [] : [said.text]).slice(0, 2)];
    default:
      return said satisfies never;
  }
}

interface MessagesBody {
  readonly tools?: readonly { readonly name: string }[];
}

const conformance = (transport: 'sdk' | 'fetch') =>
  httpBench({
    model: (url, maxRetries) => anthropic('claude-opus-4-8', { apiKey: 'key', baseURL: url, maxRetries, transport }),
    stream: (said) =>
      eventsOf(said)
        .map((event) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`)
        .join(''),
    check: ({ body, headers }) => checkMessagesRequest(body, { apiVersion: headers['anthropic-version'] }),
    toolNames: (body) => ((body as MessagesBody).tools ?? []).map(({ name }) => name),
    extra: { service_tier: 'standard_only' },
  });

for (const transport of ['sdk', 'fetch'] as const) modelConformance(`anthropic by ${transport}`, () => conformance(transport));
