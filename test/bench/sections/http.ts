import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { Model } from '@guardloop/core';
import { defineAgent, run, stream } from '@guardloop/core';
import { openai } from '@guardloop/openai';
import OpenAI from 'openai';
import { interleave } from '../measure.js';
import type { Row } from '../row.js';
import { ratioAtMost } from '../row.js';
import { passAll, work } from '../world.js';

type Message = OpenAI.ChatCompletionMessageParam;

const turns = 10;
const tools: OpenAI.ChatCompletionTool[] = [
  {
    type: 'function',
    function: {
      name: 'work',
      description: 'Does one unit of work.',
      parameters: {
        type: 'object',
        properties: { i: { type: 'number' }, j: { type: 'number' } },
        required: ['i', 'j'],
        additionalProperties: false,
      },
    },
  },
];

const deltas = 400;

/** CPU of a turn and of a delta over HTTP, beside loops over a client of the same SDK, with the server in another process. */
export async function measureHttp(): Promise<readonly Row[]> {
  const server = fork(new URL('../chat-server.js', import.meta.url));
  try {
    const [port] = (await once(server, 'message')) as [number];
    const options = { baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'bench', maxRetries: 0 };
    const client = new OpenAI(options);
    const models = { ours: openai('bench', { client }), fetched: openai('bench', { ...options, transport: 'fetch' }) };
    return [...(await measureTurn(client, models, 1)), ...(await measureTurn(client, models, 8)), ...(await measureDelta(client, models))];
  } finally {
    server.disconnect();
  }
}

type Models = Readonly<Record<'ours' | 'fetched', Model>>;

async function measureTurn(client: OpenAI, models: Models, calls: number): Promise<readonly Row[]> {
  const user = JSON.stringify({ turns, calls });
  const works = {
    ours: guarded(models.ours, user),
    fetched: guarded(models.fetched, user),
    streamed: loopOf(user, streamedBy(client)),
    whole: loopOf(user, wholeBy(client)),
  };
  // Some 10,000 turns each: with a wait in every turn, V8 takes that many to optimise what all run through.
  const found = await interleave(works, { warmMs: 10_000, batchMs: 150 });
  const name = `HTTP: CPU a turn, ${calls === 1 ? '1 call' : '8 calls'}`;
  const each = (micros: number): number => micros / (turns + 1);
  const [ours, fetched, byHand] = [each(found.ours), each(found.fetched), each(found.streamed)];
  return [
    { what: `${name}, by hand with stream`, unit: 'µs', ours, byHand, target: ratioAtMost(1.05) },
    { what: `${name}, transport fetch, by hand with stream`, unit: 'µs', ours: fetched, byHand, target: ratioAtMost(1.05) },
    { what: `${name}, by hand without stream`, unit: 'µs', ours, byHand: each(found.whole) },
  ];
}

async function measureDelta(client: OpenAI, models: Models): Promise<readonly Row[]> {
  const user = JSON.stringify({ turns: 0, calls: 0, deltas });
  const works = { ours: streaming(models.ours, user), fetched: streaming(models.fetched, user), byHand: textBy(client, user) };
  const found = await interleave(works, { warmMs: 4_000, batchMs: 150 });
  const byHand = found.byHand / deltas;
  const name = 'HTTP: CPU a delta';
  return [
    { what: `${name}, by hand with stream`, unit: 'µs', ours: found.ours / deltas, byHand, target: ratioAtMost(1.1) },
    { what: `${name}, transport fetch, by hand with stream`, unit: 'µs', ours: found.fetched / deltas, byHand, target: ratioAtMost(1.1) },
  ];
}

function guarded(model: Model, user: string): () => Promise<void> {
  const agent = defineAgent({ name: 'worker', instructions: 'Work.', model, tools: [work], guardrails: [passAll] });
  return async () => {
    const result = await run(agent, user, { limits: { turns: turns + 2 } });
    if (result.status !== 'completed') throw new Error(`The run ended ${result.status}.`);
  };
}

/** The text of one answer, read by a watcher of the run. */
function streaming(model: Model, user: string): () => Promise<void> {
  const agent = defineAgent({ name: 'worker', instructions: 'Work.', model });
  return async () => {
    let text = '';
    for await (const event of stream(agent, user)) if (event.type === 'text.delta') text += event.text;
    if (text.length !== deltas * 5) throw new Error('Some of the text is missing.');
  };
}

function textBy(client: OpenAI, user: string): () => Promise<void> {
  const messages: Message[] = [
    { role: 'system', content: 'Work.' },
    { role: 'user', content: user },
  ];
  return async () => {
    let text = '';
    for await (const { choices } of await client.chat.completions.create({ model: 'bench', messages, stream: true }))
      text += choices[0]?.delta.content ?? '';
    if (text.length !== deltas * 5) throw new Error('Some of the text is missing.');
  };
}

interface HandAnswer {
  readonly content: string | null;
  readonly calls: OpenAI.ChatCompletionMessageFunctionToolCall[];
}

function loopOf(user: string, ask: (messages: Message[]) => Promise<HandAnswer>): () => Promise<void> {
  return async () => {
    const messages: Message[] = [
      { role: 'system', content: 'Work.' },
      { role: 'user', content: user },
    ];
    for (;;) {
      const { content, calls } = await ask(messages);
      if (calls.length === 0) {
        if (content !== 'done') throw new Error('The loop by hand ended too early.');
        return;
      }
      messages.push({ role: 'assistant', content, tool_calls: calls });
      const results = await Promise.all(
        calls.map(async ({ id, function: { arguments: json } }): Promise<Message> => {
          const { i, j } = JSON.parse(json) as { readonly i: unknown; readonly j: unknown };
          if (typeof i !== 'number' || typeof j !== 'number') throw new Error('The arguments do not fit.');
          return { role: 'tool', tool_call_id: id, content: 'ok '.repeat(66) };
        }),
      );
      messages.push(...results);
    }
  };
}

function wholeBy(client: OpenAI): (messages: Message[]) => Promise<HandAnswer> {
  return async (messages) => {
    const { choices } = await client.chat.completions.create({ model: 'bench', messages, tools });
    const message = choices[0]?.message;
    return { content: message?.content ?? null, calls: (message?.tool_calls ?? []).filter((call) => call.type === 'function') };
  };
}

function streamedBy(client: OpenAI): (messages: Message[]) => Promise<HandAnswer> {
  return async (messages) => {
    let content: string | null = null;
    const calls: OpenAI.ChatCompletionMessageFunctionToolCall[] = [];
    const options = { stream: true, stream_options: { include_usage: true } } as const;
    for await (const { choices } of await client.chat.completions.create({ model: 'bench', messages, tools, ...options })) {
      const delta = choices[0]?.delta;
      if (delta?.content) content = (content ?? '') + delta.content;
      for (const { index, id = '', function: { name = '', arguments: json = '' } = {} } of delta?.tool_calls ?? []) {
        const call = calls[index];
        if (call) call.function.arguments += json;
        else calls[index] = { id, type: 'function', function: { name, arguments: json } };
      }
    }
    return { content, calls };
  };
}
