import type { Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AnthropicOptions } from '@guardloop/anthropic';
import { anthropic } from '@guardloop/anthropic';
import type { Model } from '@guardloop/core';
import type { ChatOptions, ResponsesOptions } from '@guardloop/openai';
import { openai, openaiResponses } from '@guardloop/openai';
import { checkChatRequest, checkMessagesRequest, checkResponsesRequest } from '@guardloop/testing';
import { onTestFinished } from 'vitest';

/** What a server does in one answer: writes this, waits, or cuts the connection. */
export type WireStep = string | { readonly waitMs: number } | 'cut';
export interface WireAnswer {
  readonly status?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly steps: readonly WireStep[];
}
export type Body = Readonly<Record<string, unknown>>;

interface WireCall {
  readonly id: string;
  readonly name: string;
  /** An object, or the text of the arguments as it goes over the wire. */
  readonly args?: object | string | undefined;
}
interface Said {
  readonly text?: string | undefined;
  readonly calls?: readonly WireCall[] | undefined;
  readonly finish?: string | undefined;
  readonly usage?: { readonly input: number; readonly output: number } | undefined;
}

const textOf = (args: WireCall['args']): string => (typeof args === 'string' ? args : JSON.stringify(args ?? {}));

/** One event of a Chat Completions stream. */
export function chatChunk(delta: object, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-4.1', choices })}\n\n`;
}

/** A whole answer of the Chat Completions API. */
export function chatAnswer({ text, calls = [], finish, usage = { input: 10, output: 5 } }: Said): WireAnswer {
  const totals = { prompt_tokens: usage.input, completion_tokens: usage.output, total_tokens: usage.input + usage.output };
  return {
    steps: [
      chatChunk({ role: 'assistant', content: '' }),
      ...(text === undefined ? [] : [chatChunk({ content: text })]),
      ...calls.map(({ id, name, args }, index) =>
        chatChunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: textOf(args) } }] }),
      ),
      chatChunk({}, finish ?? (calls.length > 0 ? 'tool_calls' : 'stop')),
      `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-4.1', choices: [], usage: totals })}\n\n`,
      'data: [DONE]\n\n',
    ],
  };
}

/** One event of a Messages stream. */
export const messagesEvent = (type: string, fields: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

/** A whole answer of the Messages API. */
export function messagesAnswer({ text, calls = [], finish, usage = { input: 10, output: 5 } }: Said): WireAnswer {
  const blocks = [
    ...(text === undefined ? [] : [{ start: { type: 'text', text: '' }, delta: { type: 'text_delta', text } }]),
    ...calls.map(({ id, name, args }) => ({
      start: { type: 'tool_use', id, name, input: {} },
      delta: { type: 'input_json_delta', partial_json: textOf(args) },
    })),
  ];
  return {
    steps: [
      messagesEvent('message_start', {
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'claude-opus-4-8',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: usage.input, output_tokens: 1 },
        },
      }),
      ...blocks.flatMap(({ start, delta }, index) => [
        messagesEvent('content_block_start', { index, content_block: start }),
        messagesEvent('content_block_delta', { index, delta }),
        messagesEvent('content_block_stop', { index }),
      ]),
      messagesEvent('message_delta', {
        delta: { stop_reason: finish ?? (calls.length > 0 ? 'tool_use' : 'end_turn'), stop_sequence: null },
        usage: { output_tokens: usage.output },
      }),
      messagesEvent('message_stop', {}),
    ],
  };
}

/** One event of a Responses stream. */
export const responsesEvent = (type: string, fields: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

/** A whole answer of the Responses API, of these output items. */
export function responsesAnswer(...output: readonly object[]): WireAnswer {
  const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
  return {
    steps: [
      responsesEvent('response.created', { response: { object: 'response', status: 'in_progress', output: [] } }),
      ...output.map((item, index) => responsesEvent('response.output_item.done', { output_index: index, item })),
      responsesEvent('response.completed', { response: { object: 'response', status: 'completed', output, usage } }),
    ],
  };
}

type Check = (body: Body) => readonly string[];

function checkerOf(url: string): Check {
  if (url.endsWith('/messages')) return (body) => checkMessagesRequest(body);
  return url.endsWith('/responses') ? checkResponsesRequest : checkChatRequest;
}

/** A provider on 127.0.0.1: gives its answers in order, and checks every request as strictly as the real one. */
export class ProviderServer {
  readonly bodies: Body[] = [];
  /** What the real API would have refused. */
  readonly problems: string[] = [];
  answers: WireAnswer[] = [];
  /** Connections that the client left before the answer was whole. */
  closedEarly = 0;
  #address = '';
  readonly #server: Server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    request.on('end', () => {
      const body = JSON.parse(text) as Body;
      this.bodies.push(body);
      this.problems.push(...checkerOf(request.url ?? '')(body));
      response.on('close', () => {
        if (!response.writableFinished) this.closedEarly += 1;
      });
      void this.#answer(response);
    });
  });

  async open(): Promise<this> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    this.#address = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  get address(): string {
    return this.#address;
  }

  chat(options: ChatOptions = {}, id = 'gpt-4.1'): Model {
    return openai(id, { apiKey: 'key', baseURL: `${this.#address}/v1`, maxRetries: 0, ...options });
  }

  responses(options: ResponsesOptions = {}, id = 'gpt-5'): Model {
    return openaiResponses(id, { apiKey: 'key', baseURL: `${this.#address}/v1`, maxRetries: 0, ...options });
  }

  claude(options: AnthropicOptions = {}, id = 'claude-opus-4-8'): Model {
    return anthropic(id, { apiKey: 'key', baseURL: this.#address, maxRetries: 0, ...options });
  }

  async #answer(response: ServerResponse): Promise<void> {
    const answer = this.answers.shift() ?? { status: 500, steps: ['no answer left'] };
    response.writeHead(answer.status ?? 200, { 'content-type': 'text/event-stream', ...answer.headers });
    response.flushHeaders();
    for (const step of answer.steps) {
      if (step === 'cut') {
        await sleep(5);
        response.destroy();
        return;
      }
      if (typeof step === 'object') await sleep(step.waitMs);
      else await new Promise((resolve) => response.write(step, resolve));
    }
    response.end();
  }
}

/** A provider that closes when the test is over. */
export async function serve(...answers: readonly WireAnswer[]): Promise<ProviderServer> {
  const server = await new ProviderServer().open();
  server.answers = [...answers];
  onTestFinished(() => server.close());
  return server;
}
