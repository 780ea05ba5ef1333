import type {
  AssistantMessage,
  Label,
  Message,
  ModelAnswer,
  ModelRequest,
  ToolMessage,
  ToolSpec,
  UserMessage,
} from '@guardloop/core/model';

const user: Label = { origin: 'user', integrity: 'trusted' };

export const tools: readonly ToolSpec[] = ['find', 'send'].map(toolSpec);

export function toolSpec(name: string): ToolSpec {
  return { name, description: `Can ${name}.`, schema: { type: 'object', properties: { id: { type: 'string' }, to: { type: 'string' } } } };
}

export function userItem(id: string, text: string, fields: Partial<UserMessage> = {}): UserMessage {
  return { role: 'user', id, via: 'user', parts: [{ type: 'text', text }], label: user, ...fields };
}

export function assistantItem(id: string, fields: Partial<AssistantMessage>): AssistantMessage {
  return { role: 'assistant', id, agent: 'main', text: '', calls: [], label: { origin: 'agent:main', integrity: 'trusted' }, ...fields };
}

export function resultItem(callId: string, content: ToolMessage['content'], fields: Partial<ToolMessage> = {}): ToolMessage {
  return {
    role: 'tool',
    id: `r/${callId}`,
    callId,
    tool: 'find',
    content,
    isError: false,
    label: { origin: 'tool:find', integrity: 'untrusted' },
    ...fields,
  };
}

/** What core records of an answer that nothing has changed. */
export function recordOf(answer: ModelAnswer, provider: string, turn: number): AssistantMessage {
  return assistantItem(`r/${turn}`, {
    text: answer.text,
    calls: answer.calls.map((call, index) => ({
      id: `${turn}.${index}`,
      name: call.name,
      input: 'input' in call ? (call.input as AssistantMessage['calls'][number]['input']) : {},
      ...(call.providerId === undefined ? {} : { providerId: call.providerId }),
    })),
    ...(answer.end?.native === undefined ? {} : { native: { provider, message: answer.end.native } }),
  });
}

export const hello: readonly Message[] = [userItem('r/i1', 'Hello.')];

export function requestOf(messages: readonly Message[], more: Partial<ModelRequest> = {}): ModelRequest {
  return { agent: 'main', turn: 1, system: 'Help.', messages, tools, settings: {}, ...more };
}
