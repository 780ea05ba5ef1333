import type { HistoryItem, JsonObject, Part } from '@guardloop/core';
import { z } from 'zod';
import type { Connection } from './connection.js';
import { isObject } from './json.js';
import { listAll } from './listing.js';
import { told } from './resources.js';
import { partsOf } from './result-content.js';

/** A prompt of a server, as it lists it. Every text is that of an untrusted party. */
export interface McpPrompt {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly arguments: readonly { readonly name: string; readonly description?: string | undefined; readonly required: boolean }[];
}
/** A prompt with its arguments filled in. */
export interface McpPromptMessages {
  readonly description?: string | undefined;
  /** For the option `history` of `run`, which is untrusted and guarded. Images and files are stand-ins in it. */
  readonly history: readonly HistoryItem[];
  /** Whole, for a host that shows them. */
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly parts: readonly Part[] }[];
}
/** The prompts of a server. All reject with an error that says what happened, without URLs or bodies. */
export interface McpPrompts {
  list(asking?: { readonly signal?: AbortSignal | undefined }): Promise<readonly McpPrompt[]>;
  get(
    name: string,
    given?: Readonly<Record<string, string>>,
    asking?: { readonly signal?: AbortSignal | undefined },
  ): Promise<McpPromptMessages>;
}

const promptSchema = z.looseObject({ messages: z.array(z.unknown()) });

export function promptsOf(
  connection: Connection,
  { serverName, timeoutMs }: { readonly serverName: string; readonly timeoutMs: number },
): McpPrompts {
  const list: McpPrompts['list'] = async ({ signal } = {}) => {
    await connection.connect(signal);
    if (connection.about?.capabilities.prompts === undefined) return [];
    return (await listAll(connection, { list: 'prompts', serverName, timeoutMs, signal })).flatMap(readPrompt);
  };
  const get: McpPrompts['get'] = async (name, given = {}, { signal } = {}) => {
    const request = { method: 'prompts/get', params: { name, arguments: { ...given } } };
    const { messages, description } = await connection.request(request, promptSchema, { signal, timeoutMs, isRepeatable: true });
    const read = messages.flatMap(readMessage);
    return {
      ...(typeof description === 'string' ? { description } : {}),
      messages: read,
      history: read.map(({ role, parts }) => ({ role, text: parts.map(textOf).join('\n') })),
    };
  };
  return Object.freeze({
    list: (asking?: { readonly signal?: AbortSignal | undefined }) => told(serverName, list(asking)),
    get: (...asked: Parameters<McpPrompts['get']>) => told(serverName, get(...asked)),
  });
}

const textOf = (part: Part): string => (part.type === 'text' ? part.text : `[${part.type} ${part.mediaType ?? ''}]`);

function readMessage(message: unknown): McpPromptMessages['messages'] {
  if (!isObject(message)) return [];
  const { role, content } = message;
  const parts = partsOf(Array.isArray(content) ? content : [content]);
  return [{ role: role === 'assistant' ? 'assistant' : 'user', parts }];
}

function readPrompt(entry: unknown): readonly McpPrompt[] {
  if (!isObject(entry) || typeof entry.name !== 'string') return [];
  const { name, title, description } = entry;
  const given = Array.isArray(entry.arguments) ? (entry.arguments as readonly unknown[]) : [];
  return [
    {
      name,
      ...(typeof title === 'string' ? { title } : {}),
      ...(typeof description === 'string' ? { description } : {}),
      arguments: given.filter(isArgument).map((argument) => ({
        name: argument.name,
        ...(typeof argument.description === 'string' ? { description: argument.description } : {}),
        required: argument.required === true,
      })),
    },
  ];
}

const isArgument = (argument: unknown): argument is JsonObject & { readonly name: string } =>
  isObject(argument) && typeof argument.name === 'string';
