import type { AssistantMessage, JsonObject, Label, Message, ModelRequest, ToolMessage, ToolSpec, UserMessage } from '@guardloop/core/model';

const user: Label = { origin: 'user', integrity: 'trusted' };

export const tools: readonly ToolSpec[] = [
  { name: 'find', description: 'Finds.', schema: { type: 'object', properties: { id: { type: 'string' } } } },
  { name: 'send', description: 'Sends.', schema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] } },
];

export function userItem(id: string, text: string, via: UserMessage['via'] = 'user'): UserMessage {
  return { role: 'user', id, via, parts: [{ type: 'text', text }], label: user };
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

export function requestOf(messages: readonly Message[], more: Partial<ModelRequest> = {}): ModelRequest {
  return { agent: 'main', turn: 1, system: 'Help.', messages, tools, settings: {}, ...more };
}

/** Numbers from 0 to 1 that look random and are the same each time. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const texts = ['hi', '', ' ', '\n', 'ünï 東京 😀', 'a\u0000b', 'x\ud83d', '"{}', 'line\nline'];
const providerIds = [undefined, '', 'call_1', 'call_1', 'toolu_2', 'Bash:0', 'x'.repeat(90), 'ünï'];
const inputs: readonly JsonObject[] = [{}, { id: 'o1' }, { id: '\ud83d', deep: [{ a: null }] }];

/** A history that core could hand over: it begins with the user, ends where the model is to speak, and each call has its result, in order. */
export function historyFrom(seed: number): readonly Message[] {
  const random = randomFrom(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const messages: Message[] = [userItem('r/i1', pick(texts.filter((text) => text.trim() !== '')))];
  const turns = Math.floor(random() * 5);
  for (let turn = 1; turn <= turns; turn += 1) {
    const count = Math.floor(random() * 4);
    const text = pick(texts);
    const calls = Array.from({ length: count }, (_, index) => {
      const providerId = pick(providerIds);
      return {
        id: `${turn}.${index}`,
        name: pick(['find', 'send', 'gone_tool']),
        input: pick(inputs),
        ...(providerId === undefined ? {} : { providerId }),
      };
    });
    const isForeign = random() < 0.3;
    messages.push(
      assistantItem(`r/${turn}`, { text, calls, ...(isForeign ? { native: { provider: 'elsewhere', message: { foreign: true } } } : {}) }),
    );
    for (const call of calls) {
      messages.push(
        resultItem(call.id, random() < 0.2 ? [{ type: 'text', text: pick(texts) }] : pick(texts), {
          tool: call.name,
          isError: random() < 0.3,
          ...(random() < 0.2 ? { note: 'a note' } : {}),
        }),
      );
    }
    if (count === 0 || random() < 0.3)
      messages.push(userItem(`r/u${turn}`, pick(texts), pick(['user', 'handoff', 'view', 'session'] as const)));
  }
  return messages;
}
