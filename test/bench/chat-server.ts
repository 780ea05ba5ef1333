// A model server in its own process. The user's message says how many turns with how many calls: `{"turns":10,"calls":1}`; with `deltas`, the
// answer comes in so many pieces, each in a chunk of its own.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface ChatBody {
  readonly stream?: boolean;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };

interface Answer {
  readonly message: Record<string, unknown>;
  readonly finish: string;
  readonly deltas?: number;
}

function answer({ messages }: ChatBody): Answer {
  const user = messages.find(({ role }) => role === 'user')?.content;
  const { turns, calls, deltas } = JSON.parse(String(user)) as { readonly turns: number; readonly calls: number; readonly deltas?: number };
  if (deltas !== undefined) return { message: { role: 'assistant', content: 'done ' }, finish: 'stop', deltas };
  const turn = messages.reduce((count, { role }) => (role === 'assistant' ? count + 1 : count), 1);
  if (turn > turns) return { message: { role: 'assistant', content: 'done' }, finish: 'stop' };
  const toolCalls = Array.from({ length: calls }, (_, index) => ({
    index,
    id: `c${turn}_${index}`,
    type: 'function',
    function: { name: 'work', arguments: JSON.stringify({ i: turn, j: index }) },
  }));
  return { message: { role: 'assistant', content: null, tool_calls: toolCalls }, finish: 'tool_calls' };
}

const server = createServer((request, response) => {
  request.socket.setNoDelay(true);
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(pieces).toString()) as ChatBody;
    const { message, finish, deltas = 1 } = answer(body);
    const common = { id: 'chatcmpl-1', created: 1, model: 'bench' };
    if (body.stream !== true) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({ ...common, object: 'chat.completion', usage, choices: [{ index: 0, message, finish_reason: finish }] }),
      );
      return;
    }
    const chunk = (choices: unknown, more = {}) =>
      `data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const delta = chunk([{ index: 0, delta: message, finish_reason: null }]);
    const last = `${chunk([{ index: 0, delta: {}, finish_reason: finish }])}${chunk([], { usage })}data: [DONE]\n\n`;
    let left = deltas;
    const next = (): void => {
      left -= 1;
      if (left === 0) response.end(delta + last);
      else response.write(delta, () => setImmediate(next));
    };
    next();
  });
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit());
