export type Dialect = 'chat' | 'responses' | 'messages';

/** A call as it stands in a request. */
export interface WireCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}
export interface WireResult {
  readonly id: string;
  readonly text: string;
}
export interface WireMessage {
  readonly role: string;
  readonly text: string;
  readonly calls: readonly WireCall[];
  readonly results: readonly WireResult[];
}
/** A request body, and what all APIs have in common in it. */
export interface WireRequest {
  readonly dialect: Dialect;
  readonly body: Fields;
  /** The whole body as it was sent, for what must be nowhere in it. */
  readonly json: string;
  readonly system: string;
  readonly messages: readonly WireMessage[];
  readonly calls: readonly WireCall[];
  readonly results: readonly WireResult[];
  readonly tools: readonly string[];
}

export type Fields = Readonly<Record<string, unknown>>;

export function wireRequest(dialect: Dialect, body: unknown): WireRequest {
  const fields = fieldsOf(body);
  const all = readers[dialect](fields);
  const messages = all.filter(({ role }) => role !== 'system');
  const system = { chat: all.find(({ role }) => role === 'system')?.text, responses: fields.instructions, messages: fields.system };
  return {
    dialect,
    body: fields,
    json: JSON.stringify(body),
    system: textOf(system[dialect]),
    messages,
    calls: messages.flatMap(({ calls }) => calls),
    results: messages.flatMap(({ results }) => results),
    tools: listOf(fields.tools).map((tool) => String(tool.name ?? fieldsOf(tool.function).name)),
  };
}

const readers: { readonly [K in Dialect]: (body: Fields) => readonly WireMessage[] } = {
  chat: ({ messages }) => listOf(messages).map(chatMessage),
  messages: ({ messages }) => listOf(messages).map(messagesMessage),
  responses: ({ input }) => listOf(input).reduce(withItem, []),
};

function chatMessage(message: Fields): WireMessage {
  const text = textOf(message.content);
  if (message.role === 'tool') return { role: 'tool', text: '', calls: [], results: [{ id: String(message.tool_call_id), text }] };
  const calls = listOf(message.tool_calls).map((call) => {
    const { name, arguments: json } = fieldsOf(call.function);
    return { id: String(call.id), name: String(name), input: JSON.parse(String(json)) as unknown };
  });
  return { role: String(message.role), text, calls, results: [] };
}

function messagesMessage({ role, content }: Fields): WireMessage {
  const blocks = listOf(content);
  return {
    role: String(role),
    text: textOf(content),
    calls: blocks.flatMap(({ type, id, name, input }) => (type === 'tool_use' ? [{ id: String(id), name: String(name), input }] : [])),
    results: blocks.flatMap((block) =>
      block.type === 'tool_result' ? [{ id: String(block.tool_use_id), text: textOf(block.content) }] : [],
    ),
  };
}

/** Items of one answer (text, calls) are taken together, as the other dialects have them; reasoning and the provider's own are passed over. */
function withItem(messages: readonly WireMessage[], item: Fields): readonly WireMessage[] {
  const type = String(item.type ?? 'message');
  const last = messages.at(-1);
  if (type === 'function_call_output')
    return [...messages, { role: 'tool', text: '', calls: [], results: [{ id: String(item.call_id), text: textOf(item.output) }] }];
  if (type === 'message') return [...messages, { role: String(item.role), text: textOf(item.content), calls: [], results: [] }];
  if (type !== 'function_call') return messages;
  const call = { id: String(item.call_id), name: String(item.name), input: JSON.parse(String(item.arguments)) as unknown };
  if (last?.role !== 'assistant') return [...messages, { role: 'assistant', text: '', calls: [call], results: [] }];
  return [...messages.slice(0, -1), { ...last, calls: [...last.calls, call] }];
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .flatMap(({ text }) => (typeof text === 'string' ? [text] : []))
    .join('\n');
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? (value as readonly Fields[]) : [];
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}
