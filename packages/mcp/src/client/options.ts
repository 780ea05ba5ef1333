import type { Awaitable, Flow, Guardrail, Projection } from '@guardloop/core';
import { GuardloopError } from '@guardloop/core';
import { suggest } from '@guardloop/core/model';
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { DescriptionCheck } from './description-check.js';
import type { Pins } from './pins.js';
import { showName } from './show-text.js';

/** What happened that the host should know, and that stops nothing. */
export interface McpWarning {
  readonly server: string;
  /** The server's own name of the tool it is about. */
  readonly tool?: string | undefined;
  readonly kind: 'tool-refused' | 'tools-changed' | 'unavailable' | 'request-refused' | 'connection' | 'name-taken';
  /** One sentence. Holds no URL, header or body. */
  readonly message: string;
}

interface SharedServerOptions<C> {
  /** What the server is called here: it stands before the names of its tools, in warnings and in pins. Unique among an agent's servers. */
  readonly name: string;
  /** Names of tools as the server says them, or patterns (`read_*`). No other is offered. Default: all. */
  readonly allow?: readonly string[] | undefined;
  /**
   * What tools do, by name or pattern; a name goes before a pattern, and of patterns the first that fits counts. Left out: the strictest is
   * taken (`write`, `untrusted`, every argument an authority). With a pattern, `authority` counts for the tools that have such an argument.
   */
  readonly flow?: Readonly<Record<string, Flow>> | undefined;
  /** Tools whose calls a person decides about: names or patterns, or true for all. */
  readonly approval?: boolean | readonly string[] | undefined;
  /** Stand on `toolInput` and `toolOutput` of each of its tools, beside those of the run and the agent. */
  readonly guardrails?: readonly Guardrail<C, 'toolInput' | 'toolOutput'>[] | undefined;
  /** Makes of the results what the model sees. */
  readonly project?: Projection<unknown, never, C> | undefined;
  /**
   * `trust`: take the server's word (`readOnlyHint`, `idempotentHint`) for tools of which `flow` says nothing. Results stay untrusted. Default
   * `ignore`: they are claims of an untrusted party.
   */
  readonly hints?: 'ignore' | 'trust' | undefined;
  /**
   * The approved tools: any other, and any that has changed, is refused until it is approved. Left out: the tools are taken as the server has
   * them at connect, and held to that for as long as this object lives.
   */
  readonly pins?: Pins | undefined;
  /** Judge the texts of a tool that a model would read: its description and the texts in its schema. What refuses one, or throws, refuses the tool. */
  readonly checkDescription?: DescriptionCheck | readonly DescriptionCheck[] | undefined;
  /** A longer description, or text in a schema, refuses the tool. Default 4,000 characters. */
  readonly maxDescriptionChars?: number | undefined;
  /** How long connecting may take, milliseconds. Default 10,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** How long one request may take (a call, a list with all its pages), milliseconds. Default 60,000. */
  readonly requestTimeoutMs?: number | undefined;
  /** A message of the server that is larger is not read. Bytes. Default 10,000,000. */
  readonly maxMessageBytes?: number | undefined;
  /**
   * What to do where the server cannot be connected or does not list its tools: `throw`, or `skip`: go on with the tools in `pins`, whose
   * calls try to connect and fail as `unavailable` until it is there, or with none. Default `throw`.
   */
  readonly onUnavailable?: 'throw' | 'skip' | undefined;
  readonly onWarning?: ((warning: McpWarning) => void) | undefined;
}
/** A server that is a program of this machine, spoken to over its standard input and output. */
export interface LocalServerOptions<C = unknown> extends SharedServerOptions<C> {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Laid over the few variables that are handed on by default (HOME, PATH, USER and the like); secrets of this process are not. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  /** What becomes of what it writes to its standard error. Default `ignore`. */
  readonly stderr?: 'ignore' | 'inherit' | ((text: string) => void) | undefined;
  readonly url?: undefined;
}
/** A server that is spoken to over streamable HTTP. */
export interface RemoteServerOptions<C = unknown> extends SharedServerOptions<C> {
  /** With https, or http to this machine; http to elsewhere only without any credentials. */
  readonly url: string | URL;
  /** Sent to this server and nobody else. A function is asked for each request. */
  readonly headers?: Readonly<Record<string, string>> | (() => Awaitable<Readonly<Record<string, string>>>) | undefined;
  /** OAuth: `oauth({ … })`, or any provider of the SDK. */
  readonly auth?: OAuthClientProvider | undefined;
  /** Default: the global one. */
  readonly fetch?: FetchLike | undefined;
  readonly command?: undefined;
}
/** What `mcpServer` takes. */
export type McpServerOptions<C = unknown> = LocalServerOptions<C> | RemoteServerOptions<C>;

const shared = [
  'name',
  'allow',
  'flow',
  'approval',
  'guardrails',
  'project',
  'hints',
  'pins',
  'checkDescription',
  'maxDescriptionChars',
  'connectTimeoutMs',
  'requestTimeoutMs',
  'maxMessageBytes',
  'onUnavailable',
  'onWarning',
] as const;
const local = ['command', 'args', 'env', 'cwd', 'stderr'] as const;
const remote = ['url', 'headers', 'auth', 'fetch'] as const;

const longestMs = 2 ** 31 - 1;

export function invalid(message: string): never {
  throw new GuardloopError('CONFIG_INVALID', message);
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((text) => typeof text === 'string' && text !== '');

/** Neither a `Map` nor `Headers`: their entries are no fields. */
export const isTextsByName = (value: unknown): value is Readonly<Record<string, string>> =>
  isRecord(value) && !(Symbol.iterator in value) && Object.values(value).every((text) => typeof text === 'string');

/** Checks all options that can be checked without the server. Throws CONFIG_INVALID. Messages hold no value of `env`, `headers` or `url`. */
export function checkOptions(given: unknown): void {
  if (!isRecord(given)) invalid('mcpServer was given no options. Give an object with `name`, and `command` or `url`.');
  const { name } = given;
  if (typeof name !== 'string' || name.trim() === '' || name.length > 100 || /[\p{Cc}\p{Cf}]/u.test(name))
    invalid('An MCP server has no `name` that can be shown. Give it one of 1 to 100 characters: it stands before the names of its tools.');
  const owner = `MCP server ${name}`;
  const isLocal = given.command !== undefined;
  if (isLocal === (given.url !== undefined))
    invalid(
      `${owner} needs either \`command\` (a program of this machine) or \`url\` (a remote server), not ${isLocal ? 'both' : 'neither'}.`,
    );
  const known = [...shared, ...(isLocal ? local : remote)];
  for (const key of Object.keys(given)) {
    if ((known as readonly string[]).includes(key)) continue;
    const elsewhere = ([...local, ...remote] as readonly string[]).includes(key);
    const hint = elsewhere ? `It belongs to a server with \`${isLocal ? 'url' : 'command'}\`. ` : suggest(key, known);
    invalid(`${owner} has an option \`${showName(key)}\`, which it does not take. ${hint}The options are ${known.join(', ')}.`);
  }
  checkShared(given, owner);
  if (isLocal) checkLocal(given, owner);
  else checkRemote(given, owner);
}

function checkShared(given: Readonly<Record<string, unknown>>, owner: string): void {
  const { allow, flow, approval, hints, onUnavailable } = given;
  if (allow !== undefined && !isTexts(allow)) invalid(`${owner} has \`allow\` that is no list of names or patterns of tools.`);
  if (approval !== undefined && typeof approval !== 'boolean' && !isTexts(approval))
    invalid(`${owner} has \`approval\` that is neither true, false nor a list of names or patterns of tools.`);
  if (flow !== undefined && (!isRecord(flow) || !Object.values(flow).every(isRecord)))
    invalid(`${owner} has \`flow\` that does not say \`{ effect, results, authority }\` by the name or pattern of tools.`);
  for (const value of isRecord(flow) ? Object.values(flow) : []) checkFlow(value as Readonly<Record<string, unknown>>, owner);
  choice(owner, { name: 'hints', value: hints, of: ['ignore', 'trust'] });
  choice(owner, { name: 'onUnavailable', value: onUnavailable, of: ['throw', 'skip'] });
  for (const key of ['connectTimeoutMs', 'requestTimeoutMs', 'maxMessageBytes', 'maxDescriptionChars']) {
    const value = given[key];
    if (value !== undefined && !(Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= longestMs))
      invalid(`${owner} has \`${key}\` that is no whole number from 1 to ${longestMs}.`);
  }
  checkChecks(given.checkDescription, owner);
  for (const key of ['onWarning', 'project'])
    if (given[key] !== undefined && typeof given[key] !== 'function') invalid(`${owner} has \`${key}\` that is no function.`);
  if (given.guardrails !== undefined && !Array.isArray(given.guardrails)) invalid(`${owner} has \`guardrails\` that are no list.`);
}

function checkChecks(given: unknown, owner: string): void {
  for (const check of Array.isArray(given) ? (given as readonly unknown[]) : [given])
    if (check !== undefined && typeof check !== 'function' && !(isRecord(check) && typeof check.find === 'function'))
      invalid(`${owner} has \`checkDescription\` that is neither a function nor a search, nor a list of these.`);
}

function choice(
  owner: string,
  { name, value, of }: { readonly name: string; readonly value: unknown; readonly of: readonly string[] },
): void {
  if (value === undefined || (typeof value === 'string' && of.includes(value))) return;
  const hint = typeof value === 'string' ? suggest(value, of) : '';
  invalid(`${owner} has \`${name}\` that is not ${of.map((word) => `'${word}'`).join(' or ')}. ${hint}`.trimEnd());
}

function checkFlow(flow: Readonly<Record<string, unknown>>, owner: string): void {
  for (const key of Object.keys(flow))
    if (!['effect', 'results', 'authority'].includes(key))
      invalid(
        `${owner} has \`flow\` with a field \`${showName(key)}\`. ${suggest(key, ['effect', 'results', 'authority'])}The fields are effect, results, authority.`,
      );
  choice(owner, { name: 'flow.effect', value: flow.effect, of: ['none', 'read', 'write', 'send'] });
  choice(owner, { name: 'flow.results', value: flow.results, of: ['trusted', 'untrusted'] });
  if (flow.authority !== undefined && !isTexts(flow.authority)) {
    if (!(Array.isArray(flow.authority) && flow.authority.length === 0))
      invalid(`${owner} has \`flow.authority\` that is no list of names of arguments.`);
  }
}

function checkLocal({ command, args, env, cwd, stderr }: Readonly<Record<string, unknown>>, owner: string): void {
  if (typeof command !== 'string' || command.trim() === '')
    invalid(`${owner} has \`command\` that is no text. Give the program, and its arguments in \`args\`.`);
  if (args !== undefined && !(Array.isArray(args) && args.every((text) => typeof text === 'string')))
    invalid(`${owner} has \`args\` that are no list of texts.`);
  if (env !== undefined && !isTextsByName(env)) invalid(`${owner} has \`env\` that does not give texts by name.`);
  if (cwd !== undefined && typeof cwd !== 'string') invalid(`${owner} has \`cwd\` that is no text.`);
  // What no system takes in a command, its arguments or its environment.
  const texts = [command, ...((args as readonly string[] | undefined) ?? []), cwd ?? '', ...Object.entries(env ?? {}).flat()];
  if (texts.some((text) => typeof text === 'string' && text.includes('\0')) || Object.keys(env ?? {}).some((name) => name.includes('=')))
    invalid(
      `${owner} has a \`command\`, \`args\`, \`env\` or \`cwd\` with a zero character, or a name in \`env\` with =. No program can be given those.`,
    );
  if (stderr !== undefined && stderr !== 'ignore' && stderr !== 'inherit' && typeof stderr !== 'function')
    invalid(`${owner} has \`stderr\` that is neither 'ignore', 'inherit' nor a function.`);
}

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** A name of this machine, as a URL has it. */
export const isLoopback = (hostname: string): boolean => loopback.test(hostname);

function readUrl(url: unknown, owner: string): URL {
  try {
    return new URL(String(url));
  } catch {
    return invalid(`${owner} has \`url\` that is no URL. Give the whole address of its endpoint, for example https://host/mcp.`);
  }
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function checkRemote({ url, headers, auth, fetch }: Readonly<Record<string, unknown>>, owner: string): void {
  const parsed = readUrl(url, owner);
  if (parsed.protocol !== 'https:' && parsed.protocol !== 'http:') invalid(`${owner} has \`url\` that begins with neither https nor http.`);
  const hasCredentials = headers !== undefined || auth !== undefined || parsed.username !== '' || parsed.password !== '';
  if (parsed.protocol === 'http:' && hasCredentials && !isLoopback(parsed.hostname))
    invalid(`${owner} would send its credentials over http, where others on the way read them. Use https.`);
  if (!isDecodable(parsed.username) || !isDecodable(parsed.password))
    invalid(
      `${owner} has \`url\` with a user or password in it that is not written as URLs want it. Write % as %25, and other signs so too.`,
    );
  if (headers !== undefined && typeof headers !== 'function' && !isTextsByName(headers))
    invalid(`${owner} has \`headers\` that are neither texts by name nor a function.`);
  if (auth !== undefined && !isRecord(auth)) invalid(`${owner} has \`auth\` that is no provider. Make one with \`oauth({ … })\`.`);
  if (fetch !== undefined && typeof fetch !== 'function') invalid(`${owner} has \`fetch\` that is no function.`);
}
