// A model server on 127.0.0.1 that speaks Chat Completions and Messages, for snippets that call a provider. It refuses what the APIs refuse.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { checkChatRequest, checkMessagesRequest } from '@guardloop/testing';

/** What the server does with a request: it says something, or calls a tool. */
export type Reply = { readonly text: string } | { readonly tool: string; readonly input: object };
/** What a request came to, in the words of no provider. */
export interface Seen {
  readonly tools: readonly string[];
  /** Texts of the tool results so far. */
  readonly results: readonly string[];
}

export interface FakeProvider {
  readonly chatUrl: string;
  readonly messagesUrl: string;
  /** What was wrong with requests; empty when all were legal. */
  readonly faults: readonly string[];
  close(): Promise<void>;
}

interface ChatBody {
  readonly messages: readonly { readonly role: string; readonly content?: unknown }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
  readonly stream?: boolean;
}
interface MessagesBody {
  readonly messages: readonly { readonly content: string | readonly { readonly type: string; readonly content?: unknown }[] }[];
  readonly tools?: readonly { readonly name: string }[];
}

export async function startFakeProvider(answer: (seen: Seen) => Reply): Promise<FakeProvider> {
  const faults: string[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then((text) => {
      const body: unknown = JSON.parse(text);
      const isChat = request.url?.endsWith('/chat/completions') === true;
      const found = isChat ? checkChatRequest(body) : checkMessagesRequest(body);
      faults.push(...found);
      if (found.length > 0)
        response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message: found[0] } }));
      else if (isChat) answerChat(body as ChatBody, response, answer);
      else answerMessages(body as MessagesBody, response, answer);
    });
  });
  const port = await listen(server);
  return {
    chatUrl: `http://127.0.0.1:${port}/v1`,
    messagesUrl: `http://127.0.0.1:${port}`,
    faults,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)));
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

const textOf = (content: unknown): string => (typeof content === 'string' ? content : JSON.stringify(content));

function answerChat(body: ChatBody, response: ServerResponse, answer: (seen: Seen) => Reply): void {
  const reply = answer({
    tools: (body.tools ?? []).map((tool) => tool.function.name),
    results: body.messages.filter(({ role }) => role === 'tool').map(({ content }) => textOf(content)),
  });
  const base = { id: 'chatcmpl-1', created: 1, model: 'fake' };
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const calls =
    'tool' in reply
      ? [{ id: `call_${body.messages.length}`, type: 'function', function: { name: reply.tool, arguments: JSON.stringify(reply.input) } }]
      : undefined;
  const finish = calls ? 'tool_calls' : 'stop';
  if (body.stream !== true) {
    const message = { role: 'assistant', content: 'text' in reply ? reply.text : null, ...(calls ? { tool_calls: calls } : {}) };
    const whole = { ...base, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: finish }], usage };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole));
    return;
  }
  const delta = calls ? { tool_calls: calls.map((call, index) => ({ index, ...call })) } : { content: 'text' in reply ? reply.text : '' };
  const chunks = [
    { ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta: { role: 'assistant', ...delta }, finish_reason: null }] },
    { ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta: {}, finish_reason: finish }] },
    { ...base, object: 'chat.completion.chunk', choices: [], usage },
  ];
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`);
}

function answerMessages(body: MessagesBody, response: ServerResponse, answer: (seen: Seen) => Reply): void {
  const blocks = body.messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  const reply = answer({
    tools: (body.tools ?? []).map(({ name }) => name),
    results: blocks.filter(({ type }) => type === 'tool_result').map(({ content }) => textOf(content)),
  });
  const isCall = 'tool' in reply;
  const block = isCall
    ? { type: 'tool_use', id: `toolu_${body.messages.length}`, name: reply.tool, input: {} }
    : { type: 'text', text: '' };
  const delta = isCall ? { type: 'input_json_delta', partial_json: JSON.stringify(reply.input) } : { type: 'text_delta', text: reply.text };
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'fake',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 1 },
  };
  const events = [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: isCall ? 'tool_use' : 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ];
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
}
