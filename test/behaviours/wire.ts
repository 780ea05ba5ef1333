// Servers on 127.0.0.1 that answer as the Chat Completions and the Messages API do, and check every request as strictly.
import type { Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { anthropic } from '@guardloop/anthropic';
import type { Model } from '@guardloop/core';
import { openai } from '@guardloop/openai';
import { checkChatRequest, checkMessagesRequest } from '@guardloop/testing';
import { afterEach, expect } from 'vitest';

/** One call of an answer; `raw` are its arguments where they are no JSON. */
export interface WireCall {
  readonly id: string;
  readonly name: string;
  readonly input?: object;
  readonly raw?: string;
}
/** One answer of the server. */
export interface WireAnswer {
  readonly text?: string;
  readonly thinking?: { readonly thinking: string; readonly signature: string };
  readonly calls?: readonly WireCall[];
  /** The connection breaks after the text. */
  readonly isCut?: boolean;
  /** In place of an answer. */
  readonly failure?: { readonly status: number; readonly headers?: Readonly<Record<string, string>> };
}
export type WireScript = readonly WireAnswer[] | ((body: WireBody, index: number) => WireAnswer);
export interface WireMessage {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string; readonly arguments: string } }[];
  readonly tool_call_id?: string;
}
export interface WireBody {
  readonly messages: readonly WireMessage[];
  readonly tools?: readonly unknown[];
  readonly [field: string]: unknown;
}
export interface Wire {
  readonly model: Model;
  readonly bodies: readonly WireBody[];
  /** When each request came, milliseconds. */
  readonly times: readonly number[];
}

let open: { readonly server: Server; readonly problems: string[] }[] = [];

afterEach(() => {
  const closing = open;
  open = [];
  for (const { server, problems } of closing) {
    server.close();
    server.closeAllConnections();
    expect(problems).toEqual([]);
  }
});

export function chatWire(script: WireScript, options: { readonly maxRetries?: number } = {}): Promise<Wire> {
  return serve(script, {
    check: checkChatRequest,
    frames: chatFrames,
    model: (url) => openai('gpt-5', { apiKey: 'k', baseURL: `${url}/v1`, maxRetries: 0, ...options }),
  });
}

export function messagesWire(script: WireScript, options: { readonly maxRetries?: number } = {}): Promise<Wire> {
  return serve(script, {
    check: (body) => checkMessagesRequest(body),
    frames: messagesFrames,
    model: (url) => anthropic('claude-opus-4-8', { apiKey: 'k', baseURL: url, maxRetries: 0, ...options }),
  });
}

interface Dialect {
  readonly check: (body: unknown) => readonly string[];
  readonly frames: (answer: WireAnswer) => string;
  readonly model: (url: string) => Model;
}

async function serve(script: WireScript, dialect: Dialect): Promise<Wire> {
  const bodies: WireBody[] = [];
  const times: number[] = [];
  const problems: string[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    request.on('end', () => {
      const body = JSON.parse(text) as WireBody;
      bodies.push(body);
      times.push(performance.now());
      problems.push(...dialect.check(body));
      const answer = typeof script === 'function' ? script(body, bodies.length - 1) : script[bodies.length - 1];
      respond(response, answer, dialect);
    });
  });
  open.push({ server, problems });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { model: dialect.model(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), bodies, times };
}

function respond(response: ServerResponse, answer: WireAnswer | undefined, { frames }: Dialect): void {
  const failure = answer === undefined ? { status: 400 } : answer.failure;
  if (failure || answer === undefined) {
    response.writeHead(failure?.status ?? 400, { 'content-type': 'application/json', ...failure?.headers });
    response.end('{"error":{"message":"no answer"}}');
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const whole = frames(answer);
  if (answer.isCut)
    response.write(whole.slice(0, whole.lastIndexOf(answer.text ?? '') + 100), () => setTimeout(() => response.destroy(), 5));
  else response.end(whole);
}

const argumentsOf = ({ input, raw }: WireCall): string => raw ?? JSON.stringify(input ?? {});

function chatFrames({ text, calls = [] }: WireAnswer): string {
  const frame = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
  const choice = (delta: object, reason: string | null = null): string => frame({ choices: [{ index: 0, delta, finish_reason: reason }] });
  return [
    choice({ role: 'assistant', content: text ?? null }),
    ...calls.map((call, index) =>
      choice({ tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: argumentsOf(call) } }] }),
    ),
    choice({}, calls.length > 0 ? 'tool_calls' : 'stop'),
    frame({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } }),
    'data: [DONE]\n\n',
  ].join('');
}

function messagesFrames({ text, thinking, calls = [] }: WireAnswer): string {
  let index = -1;
  const block = (start: object, ...deltas: readonly object[]): object[] => {
    index += 1;
    const at = index;
    return [
      { type: 'content_block_start', index: at, content_block: start },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index: at, delta })),
      { type: 'content_block_stop', index: at },
    ];
  };
  const events: object[] = [
    {
      type: 'message_start',
      message: { id: 'm', type: 'message', role: 'assistant', content: [], usage: { input_tokens: 10, output_tokens: 1 } },
    },
    ...(thinking
      ? block(
          { type: 'thinking', thinking: '', signature: '' },
          { type: 'thinking_delta', thinking: thinking.thinking },
          { type: 'signature_delta', signature: thinking.signature },
        )
      : []),
    ...(text === undefined ? [] : block({ type: 'text', text: '' }, { type: 'text_delta', text })),
    ...calls.flatMap((call) =>
      block({ type: 'tool_use', id: call.id, name: call.name, input: {} }, { type: 'input_json_delta', partial_json: argumentsOf(call) }),
    ),
    {
      type: 'message_delta',
      delta: { stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn', stop_sequence: null },
      usage: { output_tokens: 5 },
    },
    { type: 'message_stop' },
  ];
  return events.map((event) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}
