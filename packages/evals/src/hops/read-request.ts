import type { JsonObject, JsonValue, ModelRequest } from '@guardloop/core/model';

/** A tool, however it was told. */
export interface SeenTool {
  readonly name: string;
  readonly description: string;
  readonly required: readonly string[];
}
/** A call that was made, and what came of it. */
export interface SeenCall {
  readonly name: string;
  readonly input: JsonObject;
  readonly value: JsonValue;
  readonly error?: { readonly retryable: boolean; readonly summary: string } | undefined;
}
/** What a request shows, the same for every form in which it may be put. */
export interface Seen {
  readonly question: string;
  readonly tools: readonly SeenTool[];
  readonly calls: readonly SeenCall[];
  /** How an answer is written: as text, as the call `stop` after a thought, or as lines of text. */
  readonly form: { readonly kind: 'plain' } | { readonly kind: 'calls' | 'lines'; readonly stop: string };
}

export function readRequest(request: ModelRequest): Seen {
  const { messages, tools, system } = request;
  const start = messages.findLastIndex((message) => message.role === 'user' && message.via !== 'developer');
  const first = messages[start];
  const question = first?.role === 'user' ? first.parts.map((part) => (part.type === 'text' ? part.text : '')).join(' ') : '';
  const later = messages.slice(start + 1);
  const stopLine = /Action: (\w+)\[/.exec(system.slice(Math.max(0, system.indexOf('end with'))))?.[1];
  if (system.includes('Action Input:') && stopLine !== undefined)
    return { question, tools: toolsInText(system), calls: callsInText(later), form: { kind: 'lines', stop: stopLine } };
  const stop = tools.find(({ schema }) => requiredOf(schema).join() === 'answer')?.name;
  return {
    question,
    tools: tools.flatMap(({ name, description, schema }) => (name === stop ? [] : [{ name, description, required: requiredOf(schema) }])),
    calls: callsIn(later),
    form: stop === undefined ? { kind: 'plain' } : { kind: 'calls', stop },
  };
}

const requiredOf = ({ required }: JsonObject): readonly string[] =>
  Array.isArray(required) ? required.filter((each): each is string => typeof each === 'string') : [];

/** `- name: description Arguments: {schema}`, a line each. */
function toolsInText(system: string): readonly SeenTool[] {
  return [...system.matchAll(/^- (\w+): (.*?) Arguments: (\{.*\})$/gm)].map(([, name = '', description = '', schema = '']) => ({
    name,
    description,
    required: requiredOf(objectOf(readJson(schema))),
  }));
}

function callsIn(messages: ModelRequest['messages']): readonly SeenCall[] {
  const inputs = new Map<string, JsonObject>();
  return messages.flatMap((message): readonly SeenCall[] => {
    if (message.role === 'assistant') for (const { id, input } of message.calls) inputs.set(id, input);
    if (message.role !== 'tool') return [];
    const text = typeof message.content === 'string' ? message.content : '';
    return [seenCall(message.tool, inputs.get(message.callId) ?? {}, text)];
  });
}

/** Lines of the model's own, each followed by what was observed. */
function callsInText(messages: ModelRequest['messages']): readonly SeenCall[] {
  return messages.flatMap((message, index): readonly SeenCall[] => {
    const said = message.role === 'assistant' ? /Action: (\w+)\nAction Input: (\{.*\})/.exec(message.text) : null;
    const next = messages[index + 1];
    const [part] = next?.role === 'user' ? next.parts : [];
    if (said === null || part?.type !== 'text') return [];
    return [seenCall(said[1] ?? '', objectOf(readJson(said[2] ?? '')), part.text.replace(/^Observation: /, ''))];
  });
}

function seenCall(name: string, input: JsonObject, text: string): SeenCall {
  const value = readJson(text.split('\n')[0] ?? '') ?? text;
  const { error_class: errorClass, summary, retryable } = objectOf(value);
  const error = errorClass === undefined ? {} : { error: { retryable: retryable === true, summary: String(summary) } };
  return { name, input, value, ...error };
}

export const objectOf = (value: JsonValue | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};

function readJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
