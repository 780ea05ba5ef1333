import type { IncomingHttpHeaders, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Model, ModelEvent, ModelRequest } from '@guardloop/core/model';
import { GuardloopError } from '@guardloop/core/model';
import { checkChatRequest } from '../../testing/src/requests/openai-chat.js';

export type Step = string | Uint8Array | { readonly waitMs: number } | 'cut';

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}

/** A server on 127.0.0.1 that gives its answers in order, writes their steps one by one, and checks every request it gets. */
export class ChatServer {
  readonly bodies: Record<string, unknown>[] = [];
  readonly headers: IncomingHttpHeaders[] = [];
  readonly problems: string[] = [];
  answers: Answer[] = [];
  closedEarly = 0;
  connections = 0;
  readonly #server: Server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    request.on('end', () => {
      const body = JSON.parse(text) as Record<string, unknown>;
      this.bodies.push(body);
      this.headers.push(request.headers);
      this.problems.push(...checkChatRequest(body));
      response.on('close', () => {
        if (!response.writableFinished) this.closedEarly += 1;
      });
      void this.#answer(response);
    });
  });

  async open(): Promise<string> {
    this.#server.on('connection', () => {
      this.connections += 1;
    });
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(response: ServerResponse): Promise<void> {
    const answer = this.answers.shift() ?? { status: 500, steps: ['no answer left'] };
    response.writeHead(answer.status ?? 200, { 'content-type': 'text/event-stream', 'x-request-id': 'req_1', ...answer.headers });
    response.flushHeaders();
    for (const step of answer.steps) {
      if (step === 'cut') {
        await sleep(5);
        response.destroy();
        return;
      }
      if (typeof step === 'object' && 'waitMs' in step) await sleep(step.waitMs);
      else await new Promise((resolve) => response.write(step, resolve));
    }
    response.end();
  }
}

export const baseRequest: ModelRequest = {
  agent: 'a',
  turn: 1,
  system: 'Be brief.',
  messages: [
    { role: 'user', id: 'u1', via: 'user', parts: [{ type: 'text', text: 'hi' }], label: { origin: 'user', integrity: 'trusted' } },
  ],
  tools: [],
  settings: {},
};
export const weather = {
  name: 'w',
  description: 'Weather.',
  schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false },
} as const;

export const frame = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
export const delta = (fields: unknown): string => frame({ choices: [{ index: 0, delta: fields, finish_reason: null }] });
export const calls = (...list: readonly unknown[]): string => delta({ tool_calls: list });
export const finish = (reason: string | null): string => frame({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
export const usage = (input: number, output: number): string =>
  frame({ choices: [], usage: { prompt_tokens: input, completion_tokens: output } });
export const done = 'data: [DONE]\n\n';
export const said = (text: string): Answer => ({ steps: [delta({ content: text }), finish('stop'), done] });

/** Answers with these bytes, in exactly these chunks. */
export function chunked(
  chunks: readonly Uint8Array[],
  headers: Record<string, string> = { 'content-type': 'text/event-stream' },
): typeof fetch {
  return () => {
    let index = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const chunk = chunks[index];
        index += 1;
        if (chunk === undefined) controller.close();
        else controller.enqueue(chunk);
      },
    });
    return Promise.resolve(new Response(body, { headers }));
  };
}

export async function events(
  model: Model,
  request: ModelRequest = baseRequest,
  signal = new AbortController().signal,
): Promise<ModelEvent[]> {
  const list: ModelEvent[] = [];
  for await (const event of model.stream(request, { signal })) list.push(event);
  return list;
}

/** The events up to the failure, and the failure. */
export async function failing(model: Model, signal = new AbortController().signal): Promise<{ seen: ModelEvent[]; error: GuardloopError }> {
  const seen: ModelEvent[] = [];
  try {
    for await (const event of model.stream(baseRequest, { signal })) seen.push(event);
  } catch (error) {
    if (GuardloopError.is(error)) return { seen, error };
    throw error;
  }
  throw new Error('expected a failure');
}
