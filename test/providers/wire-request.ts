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
/** A request body, and what both APIs have in common in it. */
export interface WireRequest {
  readonly api: 'openai' | 'anthropic';
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

export function wireRequest(api: WireRequest['api'], body: unknown): WireRequest {
  const fields = fieldsOf(body);
  const all = listOf(fields.messages).map((message) => (api === 'openai' ? chatMessage(message) : messagesMessage(message)));
  const messages = all.filter(({ role }) => role !== 'system');
  return {
    api,
    body: fields,
    json: JSON.stringify(body),
    system: api === 'openai' ? textOf(all.find(({ role }) => role === 'system')?.text) : textOf(fields.system),
    messages,
    calls: messages.flatMap(({ calls }) => calls),
    results: messages.flatMap(({ results }) => results),
    tools: listOf(fields.tools).map((tool) => String(tool.name ?? fieldsOf(tool.function).name)),
  };
}

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

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .flatMap(({ type, text }) => (type === 'text' ? [String(text)] : []))
    .join('\n');
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? (value as readonly Fields[]) : [];
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}
