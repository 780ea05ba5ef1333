import type { AssistantMessage, JsonObject, JsonValue, Message, Part, ToolCall, ToolMessage, UserMessage } from '@guardloop/core/model';
import { assistantItem, resultItem, userItem } from './items.js';

/** Words that stand in the native messages of another maker, and must never be sent. */
export const foreignWords = 'WORDS OF ANOTHER MAKER';

/** Numbers from 0 to 1 that look random and are the same each time. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const texts = ['hi', '', ' ', '\n', 'ends in space \n', 'ünï 東京 😀', 'a\u0000b', 'x\ud83d', '\ude00y', '"{}', 'line\r\nline', '\ufeff'];
const providerIds = [
  undefined,
  '',
  ' ',
  'call_1',
  'call_1',
  'toolu_2',
  'Bash:0',
  `${'x'.repeat(79)}a`,
  `${'x'.repeat(79)}b`,
  'ünï',
  'a\ud83d',
];
const names = ['find', 'send', 'gone_tool', 'gone.tool', 'gone tool', 'ünï', `${'n'.repeat(99)}a`, `${'n'.repeat(99)}b`, ''];
const inputs: readonly JsonObject[] = [
  {},
  { id: 'o1' },
  { id: '\ud83d', deep: [{ a: null, '\ude00': 1 }] },
  JSON.parse('{"__proto__":{"id":"x"},"":0}') as JsonObject,
];
const parts: readonly Part[] = [
  { type: 'text', text: 'hi' },
  { type: 'text', text: '' },
  { type: 'text', text: '\ud83d' },
  { type: 'image', mediaType: 'image/png', data: pixel },
  { type: 'image', url: 'https://example.com/a.png' },
  { type: 'image', mediaType: 'image/x-odd', data: pixel },
  { type: 'file', mediaType: 'application/pdf', data: 'JVBERi0xLjQK', name: 'a.pdf' },
  { type: 'file', mediaType: 'application/pdf', url: 'https://example.com/a.pdf' },
  { type: 'file', mediaType: 'text/plain', data: 'aGk=', name: 'a.txt' },
  { type: 'file', mediaType: 'application/x-odd', data: 'aGk=' },
];
const shapes: readonly JsonValue[] = [
  null,
  5,
  [],
  {},
  [null],
  [{}],
  { role: 'assistant' },
  { role: 'user', content: 'hi' },
  [{ type: 'text', text: 7 }],
  [{ type: 'tool_result', tool_use_id: 'x', content: 'hi' }],
  { content: 1, tool_calls: 'x' },
];
const foreigners: readonly JsonValue[] = [
  foreignWords,
  { role: 'assistant', content: foreignWords },
  [{ type: 'text', text: foreignWords }],
  [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: foreignWords, annotations: [] }] }],
  [{ type: 'reasoning', id: foreignWords, summary: [], encrypted_content: foreignWords }],
];

class HistoryMaker {
  readonly #random: () => number;
  readonly #provider: string;

  constructor(seed: number, provider: string) {
    this.#random = randomFrom(seed);
    this.#provider = provider;
  }

  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  upTo(most: number): number {
    return Math.floor(this.#random() * (most + 1));
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random() * items.length)] as T;
  }

  user(id: string): UserMessage {
    const via = this.pick(['user', 'handoff', 'view', 'session'] as const);
    const given = Array.from({ length: this.upTo(3) }, () => this.pick(parts));
    return userItem(id, this.pick(texts), { via, ...(this.chance(0.4) ? { parts: given } : {}) });
  }

  assistant(turn: number | string): AssistantMessage {
    const calls = Array.from({ length: this.upTo(3) }, (_, index): ToolCall => {
      const providerId = this.pick(providerIds);
      const call = { id: `${turn}.${index}`, name: this.pick(names), input: this.pick(inputs) };
      return providerId === undefined ? call : { ...call, providerId };
    });
    return assistantItem(`r/${turn}`, { text: this.pick(texts), calls, ...this.#native() });
  }

  result({ id, name }: ToolCall): ToolMessage {
    const content = this.chance(0.3) ? Array.from({ length: this.upTo(3) }, () => this.pick(parts)) : this.pick(texts);
    return resultItem(id, content, {
      tool: name,
      isError: this.chance(0.3),
      ...(this.chance(0.2) ? { note: this.pick(['a note', ' ', '\ud83d']) } : {}),
    });
  }

  /** Another maker's, or one of this maker that no version of it has written. */
  #native(): Partial<AssistantMessage> {
    if (!this.chance(0.4)) return {};
    const isForeign = this.chance(0.6);
    return {
      native: { provider: isForeign ? 'elsewhere' : this.#provider, message: this.pick(isForeign ? foreigners : shapes) },
    };
  }
}

/** A history that core could hand over: it begins with the user, and each call has its result, in order. */
export function historyFrom(seed: number, provider: string): readonly Message[] {
  const make = new HistoryMaker(seed, provider);
  const messages: Message[] = [userItem('r/i1', make.pick(texts.filter((text) => /\w/.test(text))))];
  const turns = make.upTo(5);
  for (let turn = 1; turn <= turns; turn += 1) {
    const answer = make.assistant(turn);
    messages.push(answer, ...answer.calls.map((call) => make.result(call)));
    if (answer.calls.length === 0 || make.chance(0.3)) messages.push(make.user(`r/u${turn}`));
  }
  return messages;
}

/** Any items in any order: calls without results, results without calls, twice, in other orders, behind other items; or nothing at all. */
export function heapFrom(seed: number, provider: string): readonly Message[] {
  const make = new HistoryMaker(seed, provider);
  const messages: Message[] = [];
  const count = make.upTo(8);
  let calls: readonly ToolCall[] = [];
  for (let index = 0; index < count; index += 1) {
    const kind = make.upTo(3);
    if (kind === 0) messages.push(make.user(`r/u${index}`));
    else if (kind === 1) {
      const answer = make.assistant(index);
      calls = answer.calls;
      messages.push(answer);
      // Mostly orderly, so that one fault at a time is met.
      const results = calls.map((call) => make.result(call));
      if (make.chance(0.75)) messages.push(...(make.chance(0.3) ? results.toReversed() : results));
    } else if (kind === 2 && calls.length > 0 && make.chance(0.3)) messages.push(make.result(make.pick(calls)));
    else if (make.chance(0.1)) messages.push(make.result({ id: '99.0', name: 'find', input: {} }));
  }
  return messages;
}

/** Frozen all through: an adapter that writes into what it was given throws. */
export function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const child of Object.values(value)) freeze(child);
  return Object.freeze(value);
}
