import type { Guardrail, JsonObject, Part } from '@guardloop/core';
import { toolError, withContext } from '@guardloop/core';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { Connection } from './connection.js';
import { RequestFailure, toToolError } from './failure.js';
import { isObject } from './json.js';
import { listAll } from './listing.js';
import type { McpTool } from './offer.js';
import { partOfResource } from './result-content.js';
import { oneLine } from './show-text.js';
import { mcpToolName } from './tool-names.js';

/** A resource of a server, as it lists it. Every text is that of an untrusted party. */
export interface McpResource {
  readonly uri: string;
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly mimeType?: string | undefined;
  /** Bytes. */
  readonly size?: number | undefined;
}
/** A family of resources: a URI with places to fill in (RFC 6570). */
export interface McpResourceTemplate {
  readonly uriTemplate: string;
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly mimeType?: string | undefined;
}
interface Asking {
  readonly signal?: AbortSignal | undefined;
}
/** The resources of a server. All reject with an error that says what happened, without URLs or bodies. */
export interface McpResources<C = unknown> {
  list(asking?: Asking): Promise<readonly McpResource[]>;
  templates(asking?: Asking): Promise<readonly McpResourceTemplate[]>;
  /** The contents as parts of an input to `run`, labelled untrusted: `run(agent, [{ type: 'text', text: 'Sum this up.' }, ...parts])`. */
  read(uri: string, asking?: Asking): Promise<readonly Part[]>;
  /** For `defineAgent`: `<server>-resources__list` and `<server>-resources__read`, by which the model looks itself. Results are untrusted. */
  readonly tools: readonly McpTool<C>[];
}

interface ResourceSettings<C> {
  readonly serverName: string;
  readonly timeoutMs: number;
  readonly guardrails: readonly Guardrail<C, 'toolInput' | 'toolOutput'>[] | undefined;
}

const readSchema = z.looseObject({ contents: z.array(z.unknown()) });
const longestUri = 4_000;
/** As of a server of its own: no tool that the server itself lists can have such a name. */
const placeOf = (serverName: string): string => `${serverName}-resources`;

export function resourcesOf<C>(connection: Connection, settings: ResourceSettings<C>): McpResources<C> {
  const { serverName, timeoutMs } = settings;
  const list = async ({ signal }: Asking = {}): Promise<readonly McpResource[]> => {
    await connection.connect(signal);
    if (connection.about?.capabilities.resources === undefined) return [];
    return (await listAll(connection, { list: 'resources', serverName, timeoutMs, signal })).flatMap(readResource);
  };
  const templates = async ({ signal }: Asking = {}): Promise<readonly McpResourceTemplate[]> => {
    await connection.connect(signal);
    if (connection.about?.capabilities.resources === undefined) return [];
    return (await listAll(connection, { list: 'resourceTemplates', serverName, timeoutMs, signal })).flatMap(readTemplate);
  };
  const read = async (uri: string, { signal }: Asking = {}): Promise<readonly Part[]> => {
    const request = { method: 'resources/read', params: { uri } };
    const { contents } = await connection.request(request, readSchema, { signal, timeoutMs, isRepeatable: true });
    return contents.flatMap((content) => (isObject(content) ? [partOfResource(content)] : []));
  };
  const label = { origin: `tool:${mcpToolName(placeOf(serverName), 'read')}`, integrity: 'untrusted' } as const;
  return Object.freeze({
    list: (asking?: Asking) => told(serverName, list(asking)),
    templates: (asking?: Asking) => told(serverName, templates(asking)),
    read: async (uri: string, asking?: Asking) => (await told(serverName, read(uri, asking))).map((part) => ({ ...part, label })),
    tools: Object.freeze(toolsOf<C>(settings, { list, read })),
  });
}

function toolsOf<C>(
  { serverName, guardrails }: ResourceSettings<C>,
  {
    list,
    read,
  }: {
    readonly list: (asking: Asking) => Promise<readonly McpResource[]>;
    readonly read: (uri: string, asking: Asking) => Promise<readonly Part[]>;
  },
): readonly McpTool<C>[] {
  const { defineTool } = withContext<C>();
  const shared = guardrails === undefined ? {} : { guardrails };
  return [
    defineTool({
      name: mcpToolName(placeOf(serverName), 'list'),
      description: `List the resources of ${serverName}: their uri, name and kind.`,
      input: { type: 'object', properties: {}, additionalProperties: false },
      flow: { effect: 'read', results: 'untrusted', authority: [] },
      ...shared,
      execute: async (_input: JsonObject, { signal }): Promise<unknown> =>
        failing(serverName, async () => ({ resources: await list({ signal }) })),
    }),
    defineTool({
      name: mcpToolName(placeOf(serverName), 'read'),
      description: `Read one resource of ${serverName} by its uri.`,
      input: {
        type: 'object',
        properties: { uri: { type: 'string', minLength: 1, maxLength: longestUri } },
        required: ['uri'],
        additionalProperties: false,
      },
      flow: { effect: 'read', results: 'untrusted', authority: ['uri'] },
      ...shared,
      execute: async ({ uri }: JsonObject, { signal }): Promise<unknown> => failing(serverName, () => read(String(uri), { signal })),
    }),
  ] as readonly McpTool<C>[];
}

async function failing<T>(serverName: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (thrown) {
    if (thrown instanceof RequestFailure) throw toToolError(thrown, true);
    if (!(thrown instanceof McpError))
      throw toolError(`server ${serverName} gave an answer that cannot be read.`, { errorClass: 'bad_result' });
    const isGone = thrown.code === -32_002 || thrown.code === -32_602;
    throw toolError(oneLine(thrown.message.replace(/^(?:MCP error -?\d+: )+/, ''), 2_000), { errorClass: isGone ? 'not_found' : 'failed' });
  }
}

/** For the host: the way's failures and the server's errors in words of our own. */
export async function told<T>(serverName: string, asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (thrown) {
    if (thrown instanceof RequestFailure) throw new Error(thrown.message);
    if (thrown instanceof McpError) throw new Error(`Server ${serverName} answered with error ${thrown.code}.`);
    throw new Error(`Server ${serverName} gave an answer that cannot be read.`);
  }
}

function readResource(entry: unknown): readonly McpResource[] {
  if (!isObject(entry) || typeof entry.uri !== 'string') return [];
  const { uri, name, size } = entry;
  return [{ uri, name: typeof name === 'string' ? name : uri, ...texts(entry), ...(typeof size === 'number' ? { size } : {}) }];
}

function readTemplate(entry: unknown): readonly McpResourceTemplate[] {
  if (!isObject(entry) || typeof entry.uriTemplate !== 'string') return [];
  const { uriTemplate, name } = entry;
  return [{ uriTemplate, name: typeof name === 'string' ? name : uriTemplate, ...texts(entry) }];
}

function texts({ title, description, mimeType }: JsonObject): {
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
} {
  return {
    ...(typeof title === 'string' ? { title } : {}),
    ...(typeof description === 'string' ? { description } : {}),
    ...(typeof mimeType === 'string' ? { mimeType } : {}),
  };
}
