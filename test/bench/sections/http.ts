import { fork } from 'node:child_process';
import { once } from 'node:events';
import { defineAgent, run } from '@guardloop/core';
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

/** CPU of a turn over HTTP, both on clients of the same SDK, with the server in another process. */
export async function measureHttp(): Promise<readonly Row[]> {
  const server = fork(new URL('../chat-server.js', import.meta.url));
  try {
    const [port] = (await once(server, 'message')) as [number];
    const client = new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'bench', maxRetries: 0 });
    const rows: Row[] = [];
    for (const calls of [1, 8]) {
      const user = JSON.stringify({ turns, calls });
      const works = { ours: guarded(client, user), streamed: loopOf(user, streamedBy(client)), whole: loopOf(user, wholeBy(client)) };
      // Some 10,000 turns each: with a wait in every turn, V8 takes that many to optimise what both run through.
      const found = await interleave(works, { warmMs: 10_000, batchMs: 150 });
      const name = `HTTP: CPU a turn, ${calls === 1 ? '1 call' : '8 calls'}`;
      const ours = found.ours / (turns + 1);
      rows.push(
        { what: `${name}, by hand with stream`, unit: 'µs', ours, byHand: found.streamed / (turns + 1), target: ratioAtMost(1.05) },
        { what: `${name}, by hand without stream`, unit: 'µs', ours, byHand: found.whole / (turns + 1) },
      );
    }
    return rows;
  } finally {
    server.disconnect();
  }
}

function guarded(client: OpenAI, user: string): () => Promise<void> {
  const agent = defineAgent({
    name: 'worker',
    instructions: 'Work.',
    model: openai('bench', { client }),
    tools: [work],
    guardrails: [passAll],
  });
  return async () => {
    const result = await run(agent, user, { limits: { turns: turns + 2 } });
    if (result.status !== 'completed') throw new Error(`The run ended ${result.status}.`);
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
