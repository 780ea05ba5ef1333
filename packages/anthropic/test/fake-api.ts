// A server on 127.0.0.1 that answers as the Messages API does, and refuses what it refuses.

import type { IncomingHttpHeaders, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AssistantMessage, Message, ModelCall, ModelEvent, ModelRequest, ToolMessage, UserMessage } from '@guardloop/core/model';
import { collect } from '@guardloop/core/model';
import { checkMessagesRequest } from '../../testing/src/requests/anthropic.js';

export interface SeenBlock {
  readonly type: string;
  readonly [key: string]: unknown;
}

export interface SeenBody {
  readonly messages: readonly { readonly role: string; readonly content: readonly SeenBlock[] }[];
  readonly [field: string]: unknown;
}

export interface Seen {
  readonly headers: IncomingHttpHeaders;
  readonly body: SeenBody;
}

/** One answer: the whole of it, or what a test does to the response by hand. */
export type Reply = (response: ServerResponse) => void;

export class FakeApi {
  readonly seen: Seen[] = [];
  /** What the strict checker found in all requests so far. */
  readonly problems: string[] = [];
  readonly #replies: Reply[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => this.#answer({ headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString()) }, response));
    });
  }

  static async start(): Promise<FakeApi> {
    const api = new FakeApi();
    await new Promise<void>((resolve) => api.#server.listen(0, '127.0.0.1', resolve));
    return api;
  }

  get baseURL(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Answers for the next requests, in order. */
  script(...replies: readonly Reply[]): void {
    this.#replies.push(...replies);
  }

  /** Forgets the answers that were not asked for. */
  dropScript(): void {
    this.#replies.length = 0;
  }

  get last(): SeenBody {
    const seen = this.seen.at(-1);
    if (seen === undefined) throw new Error('no request was sent');
    return seen.body;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(seen: Seen, response: ServerResponse): void {
    this.seen.push(seen);
    const version = seen.headers['anthropic-version'];
    this.problems.push(...checkMessagesRequest(seen.body, { apiVersion: typeof version === 'string' ? version : undefined }));
    const reply = this.#replies.shift();
    if (reply === undefined) failWith(500, 'api_error')(response);
    else reply(response);
  }
}

/** Server-sent events as the API frames them. */
export function frame(events: readonly object[]): string {
  return events.map((event) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}

/** Begins a stream and writes pieces with a pause between them, so that each arrives by itself. */
export function streamBytes(
  pieces: readonly (string | Uint8Array)[],
  end: (response: ServerResponse) => void = (response) => void response.end(),
): Reply {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'request-id': 'req_1' });
    const write = (index: number): void => {
      const piece = pieces[index];
      if (piece === undefined) end(response);
      else response.write(piece, () => setTimeout(() => write(index + 1), 2));
    };
    write(0);
  };
}

export function streamEvents(events: readonly object[]): Reply {
  return streamBytes([frame(events)]);
}

/** An answer in one go: each block is opened, filled and closed. */
export function answer(...blocks: readonly object[]): Reply {
  return streamEvents(answerEvents(blocks));
}

export function answerEvents(
  blocks: readonly object[],
  end: { readonly stopReason?: string | null; readonly id?: string; readonly more?: object } = {},
): object[] {
  const hasCall = blocks.some((block) => (block as SeenBlock).type === 'tool_use');
  return [
    {
      type: 'message_start',
      message: { id: end.id ?? 'msg_1', type: 'message', role: 'assistant', content: [], usage: { input_tokens: 10, output_tokens: 1 } },
    },
    ...blocks.flatMap((block, index) => blockEvents(block as SeenBlock, index)),
    {
      type: 'message_delta',
      delta: {
        stop_reason: end.stopReason === undefined ? (hasCall ? 'tool_use' : 'end_turn') : end.stopReason,
        stop_sequence: null,
        ...end.more,
      },
      usage: { output_tokens: 7 },
    },
    { type: 'message_stop' },
  ];
}

function blockEvents(block: SeenBlock, index: number): object[] {
  const start = (content: object): object => ({ type: 'content_block_start', index, content_block: content });
  const delta = (content: object): object => ({ type: 'content_block_delta', index, delta: content });
  const stop = { type: 'content_block_stop', index };
  switch (block.type) {
    case 'text':
      return [start({ type: 'text', text: '' }), ...(block.text === '' ? [] : [delta({ type: 'text_delta', text: block.text })]), stop];
    case 'thinking':
      return [
        start({ type: 'thinking', thinking: '', signature: '' }),
        delta({ type: 'thinking_delta', thinking: block.thinking }),
        delta({ type: 'signature_delta', signature: block.signature }),
        stop,
      ];
    case 'tool_use':
      return [start({ ...block, input: {} }), delta({ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }), stop];
    default:
      return [start(block), stop];
  }
}

export function failWith(status: number, type: string, headers: Readonly<Record<string, string>> = {}): Reply {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_9', ...headers });
    response.end(JSON.stringify({ type: 'error', error: { type, message: 'the secret text of the provider' } }));
  };
}

export const textOf = (text: string): SeenBlock => ({ type: 'text', text });
export const callOf = (id: string, name: string, input: object = {}): SeenBlock => ({ type: 'tool_use', id, name, input });

const trusted = { origin: 'user', integrity: 'trusted' } as const;
let items = 0;

export function user(...parts: readonly (string | UserMessage['parts'][number])[]): UserMessage {
  items += 1;
  return {
    role: 'user',
    id: `u${items}`,
    via: 'user',
    parts: parts.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : part)),
    label: trusted,
  };
}

export function assistant(
  text: string,
  ...calls: readonly { readonly id: string; readonly name: string; readonly providerId?: string; readonly input?: object }[]
): AssistantMessage {
  items += 1;
  return {
    role: 'assistant',
    id: `a${items}`,
    agent: 'main',
    text,
    calls: calls.map((call) => ({ ...call, input: (call.input ?? {}) as AssistantMessage['calls'][number]['input'] })),
    label: { origin: 'agent:main', integrity: 'trusted' },
  };
}

export function toolResult(callId: string, content: ToolMessage['content'], more: Partial<ToolMessage> = {}): ToolMessage {
  items += 1;
  return {
    role: 'tool',
    id: `t${items}`,
    callId,
    tool: 'lookup',
    content,
    isError: false,
    label: { origin: 'tool:lookup', integrity: 'untrusted' },
    ...more,
  };
}

export const lookup = {
  name: 'lookup',
  description: 'Looks up a key.',
  schema: { type: 'object', properties: { key: { type: 'string' } } },
} as const;

export function request(messages: readonly Message[], more: Partial<ModelRequest> = {}): ModelRequest {
  return { agent: 'main', turn: 1, system: '', messages, tools: [], settings: {}, ...more };
}

export interface Drained {
  readonly events: readonly ModelEvent[];
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ModelCall[];
  readonly end: Extract<ModelEvent, { type: 'end' }>;
}

/** All events of a stream, and what they amount to. */
export async function drain(stream: AsyncIterable<ModelEvent>): Promise<Drained> {
  const events: ModelEvent[] = [];
  for await (const event of stream) events.push(event);
  const { end, ...rest } = await collect(replay(events));
  if (end === undefined) throw new Error('the stream has no end');
  return { events, ...rest, end };
}

async function* replay(events: readonly ModelEvent[]): AsyncGenerator<ModelEvent> {
  yield* events;
}

/** What core records of an answer that nobody has changed. */
export function recorded(answered: Drained, turn: number): AssistantMessage {
  items += 1;
  return {
    role: 'assistant',
    id: `a${items}`,
    agent: 'main',
    text: answered.text,
    calls: answered.calls.map((call, index) => ({
      id: `${turn}.${index}`,
      ...(call.providerId === undefined ? {} : { providerId: call.providerId }),
      name: call.name,
      input: 'input' in call ? (call.input as AssistantMessage['calls'][number]['input']) : {},
    })),
    ...(answered.end.native === undefined ? {} : { native: { provider: 'anthropic.messages', message: answered.end.native } }),
    label: { origin: 'agent:main', integrity: 'trusted' },
  };
}
