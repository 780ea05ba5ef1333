import type { BenchStream } from '../../testing/src/conformance.js';
import { httpBench, modelConformance } from '../../testing/src/conformance.js';
import { checkChatRequest } from '../../testing/src/requests/openai-chat.js';
import { openai } from './chat/model.js';

const chunk = (choice: object, more: object = {}): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'gpt-5',
  choices: [{ index: 0, delta: {}, finish_reason: null, ...choice }],
  ...more,
});
const textChunk = (content: string): object => chunk({ delta: { content } });
const callChunk = (fields: object): object => chunk({ delta: { tool_calls: [fields] } });
const finish = (reason: string): object => chunk({ finish_reason: reason });
const usage = { ...chunk({}), choices: [], usage: { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 } };

function callChunks(calls: Extract<BenchStream, { type: 'answer' }>['calls'] = []): readonly object[] {
  return calls.flatMap(({ id, name, arguments: given }, index) => {
    const half = Math.ceil(given.length / 2);
    return [
      callChunk({ index, id, type: 'function', function: { name, arguments: '' } }),
      ...[given.slice(0, half), given.slice(half)].map((part) => callChunk({ index, function: { arguments: part } })),
    ];
  });
}

function chunksOf(said: BenchStream): readonly object[] {
  const start = chunk({ delta: { role: 'assistant', content: '' } });
  switch (said.type) {
    case 'answer': {
      const { text = [], calls = [] } = said;
      const reason = finish(calls.length > 0 ? 'tool_calls' : 'stop');
      return [start, ...text.map(textChunk), ...callChunks(calls), reason, ...(said.usage === false ? [] : [usage])];
    }
    case 'length':
      return [start, textChunk(said.text), ...callChunks(said.calls), finish('length'), usage];
    case 'refusal':
      return [start, chunk({ delta: { refusal: 'No.' } }), finish('stop'), usage];
    case 'beginning':
      return [start, ...(said.text === '' ? [] : [textChunk(said.text)])];
    default:
      return said satisfies never;
  }
}

interface ChatBody {
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

const conformance = (transport: 'sdk' | 'fetch') =>
  httpBench({
    model: (url, maxRetries) => openai('gpt-5', { apiKey: 'key', baseURL: `${url}/v1`, maxRetries, transport }),
    stream: (said) =>
      chunksOf(said)
        .map((each) => `data: ${JSON.stringify(each)}\n\n`)
        .join('') + (said.type === 'beginning' ? '' : 'data: [DONE]\n\n'),
    check: ({ body }) => checkChatRequest(body),
    toolNames: (body) => ((body as ChatBody).tools ?? []).map((tool) => tool.function.name),
    extra: { service_tier: 'flex' },
  });

for (const transport of ['sdk', 'fetch'] as const) modelConformance(`openai by ${transport}`, () => conformance(transport));
