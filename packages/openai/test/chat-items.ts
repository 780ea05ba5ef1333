import type { AssistantMessage, JsonObject, JsonValue, Part, ToolMessage, ToolSpec, UserMessage } from '@guardloop/core/model';

const user = { origin: 'user', integrity: 'trusted' } as const;
const agent = { origin: 'agent:a', integrity: 'untrusted' } as const;

export function asks(id: string, ...parts: readonly (string | Part)[]): UserMessage {
  return {
    role: 'user',
    id,
    via: 'user',
    parts: parts.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : part)),
    label: user,
  };
}
/** An assistant message whose calls are given as `[providerId, input]`; they are numbered `<id>.<index>`. */
export function answers(id: string, text: string, calls: readonly (readonly [string | undefined, JsonObject])[] = []): AssistantMessage {
  return {
    role: 'assistant',
    id,
    agent: 'a',
    text,
    calls: calls.map(([providerId, input], index) => ({
      id: `${id}.${index}`,
      ...(providerId === undefined ? {} : { providerId }),
      name: 'lookup',
      input,
    })),
    label: agent,
  };
}
export function withNative(message: AssistantMessage, native: JsonValue): AssistantMessage {
  return { ...message, native: { provider: 'openai.chat', message: native } };
}
export function result(callId: string, content: string | readonly Part[], note?: string): ToolMessage {
  return {
    role: 'tool',
    id: `t${callId}`,
    callId,
    tool: 'lookup',
    content,
    isError: false,
    label: agent,
    ...(note === undefined ? {} : { note }),
  };
}

export const lookup: ToolSpec = {
  name: 'lookup',
  description: 'Looks up.',
  schema: { type: 'object', properties: { key: { type: 'string' } }, required: ['key'], additionalProperties: false },
};
