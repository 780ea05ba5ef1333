import type { BenchStream } from '../../testing/src/conformance.js';
import { httpBench, modelConformance } from '../../testing/src/conformance.js';
import { checkChatRequest } from '../../testing/src/requests/openai-chat.js';
import { openai } from './chat/model.js';
import type { ChatOptions } from './chat/options.js';

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

/** `others` are faults that only OpenAI would find in what this server is sent. */
const conformance = (options: ChatOptions, others?: RegExp) =>
  httpBench({
    model: (url, maxRetries) => openai('gpt-5', { apiKey: 'key', baseURL: `${url}/v1`, maxRetries, ...options }),
    stream: (said) =>
      chunksOf(said)
        .map((each) => `data: ${JSON.stringify(each)}\n\n`)
        .join('') + (said.type === 'beginning' ? '' : 'data: [DONE]\n\n'),
    check: ({ body }) => checkChatRequest(body).filter((fault) => others?.test(fault) !== true),
    toolNames: (body) => ((body as ChatBody).tools ?? []).map((tool) => tool.function.name),
    extra: { service_tier: 'flex' },
  });

for (const transport of ['sdk', 'fetch'] as const) modelConformance(`openai by ${transport}`, () => conformance({ transport }));

// The ids of calls that the suite says are not those of Mistral, which would have others derived.
modelConformance('openai as Mistral', () => conformance({ dialect: 'mistral', callIds: 'any' }, /^random_seed: is no parameter/));
modelConformance('openai as DeepSeek', () => conformance({ dialect: 'deepseek' }));
modelConformance('openai as LiteLLM', () => conformance({ dialect: 'litellm' }, /^metadata: is only allowed when store/));
modelConformance('openai for a strict chat template', () =>
  conformance({ dialect: 'vllm', roleOrder: 'alternating', systemRole: 'user', media: [], callContent: 'empty' }),
);
