import type { Awaitable, JsonValue, QuarantineStore } from '@guardloop/core';
import { GuardloopError } from '@guardloop/core';
import { suggest } from '@guardloop/core/model';
import type { Authenticate, Authorize, Caller } from './caller.js';
import { isAnonymous } from './caller.js';
import type { RunsService } from './runs-service.js';
import type { Show } from './show.js';
import { internalShow } from './show.js';

/** How one agent is offered. Its name is the one that workers know it by. */
export interface OfferedAgent<U extends Caller = Caller> {
  /** Whether this caller may start it; where not, it is as if there were none. Default: everybody. */
  readonly allow?: ((caller: U) => Awaitable<boolean>) | undefined;
  /** The data that its runs are submitted with, plain JSON: made here, of who calls. Clients have no say in it. */
  readonly data?: ((caller: U, request: Request) => Awaitable<JsonValue>) | undefined;
  /** Where its runs are queued. Default: the queue that is the default of the runs. */
  readonly queue?: string | undefined;
  /** 0 is taken first. Default: that of the runs. */
  readonly priority?: number | undefined;
}
/** What `rateLimit` is asked, once for each request that was authenticated. */
export interface RateQuestion<U extends Caller = Caller> {
  readonly caller: U;
  /** The operation's name in the OpenAPI description, such as `startRun`. */
  readonly operation: string;
  readonly request: Request;
}
/** What `guardloopServer` takes. */
export interface ServerOptions<U extends Caller = Caller> {
  /** The runs, as `@guardloop/durable` makes them. */
  readonly runs: RunsService;
  /** Agents that clients may start, by name. Where `runs` knows agents, these must be among them, with `data` where they need it. */
  readonly agents: Readonly<Record<string, OfferedAgent<U>>>;
  /** Who calls. For this machine alone: `anonymous()`. What it gives that names nobody is told to `onError`, and is 401. */
  readonly authenticate: Authenticate<U>;
  /** Who may see and decide what, and list for a tenant. Default: owners see and decide their own, nobody lists for others. */
  readonly authorize?: Authorize<U> | undefined;
  /** Tells 429 where it gives a time to wait, milliseconds. What it throws, and what is no answer, is told to `onError` and refuses with 503. */
  readonly rateLimit?: ((question: RateQuestion<U>) => Awaitable<{ readonly retryAfterMs: number } | undefined>) | undefined;
  /** What is shown: `client` (default), `internal` (everything), the parts to show, or a function that says it for each caller. */
  readonly show?: 'client' | 'internal' | Show | ((caller: U) => 'client' | 'internal' | Show) | undefined;
  /** Protocols of front ends that are served too. Default none. */
  readonly protocols?: readonly ('ag-ui' | 'ai-sdk')[] | undefined;
  /**
   * Where answers wait that a person is asked about (`quarantine` of the agents' options): they are read from here for who may decide. Left
   * out: nobody sees such an answer over HTTP before it is approved.
   */
  readonly quarantine?: Pick<QuarantineStore, 'get'> | undefined;
  /** Before every path. Default `/v1`; `''` for none. */
  readonly prefix?: string | undefined;
  /** Names under which this server is reached, without ports. Default: any; with `anonymous()`, those of this machine. */
  readonly hosts?: readonly string[] | undefined;
  /** Origins whose pages may call, such as `https://app.example`, with cookies too. Default: the server's own alone, and no CORS. */
  readonly origins?: readonly string[] | undefined;
  /**
   * The W3C `traceparent` that a run is submitted with, for what traces it. It decides where the run's spans are and whether they are
   * sampled: of callers whom you trust give that of the request, `(_caller, request) => request.headers.get('traceparent')`, or
   * `activeTraceparent()` of `@guardloop/otel`. Malformed is none. Default: none; what clients send is left aside.
   */
  readonly traceparent?: ((caller: U, request: Request) => string | null | undefined) | undefined;
  /** Of a request. Default 1,000,000 bytes. */
  readonly maxBodyBytes?: number | undefined;
  /** Of a request of a protocol whose clients send the whole conversation each time. Default 8,000,000 bytes. */
  readonly maxHistoryBytes?: number | undefined;
  /** Levels of JSON. Default 32. */
  readonly maxDepth?: number | undefined;
  /** Parts of one input. Default 16. */
  readonly maxParts?: number | undefined;
  /** How long a body may take to arrive. Default 10,000 milliseconds. */
  readonly bodyTimeoutMs?: number | undefined;
  /** How long an answer may take that is no stream. Default 30,000 milliseconds. */
  readonly timeoutMs?: number | undefined;
  /** Silence on a stream after which a comment is sent. Default 15,000 milliseconds. */
  readonly heartbeatMs?: number | undefined;
  /** How long one stream lasts at most; a client goes on with the last number, and says again who it is. Default 3,600,000 milliseconds. */
  readonly maxStreamMs?: number | undefined;
  /** Streams of one caller at the same time in this process. Default 50. */
  readonly maxStreams?: number | undefined;
  /** Runs of one caller that wait for a worker; beyond it a start is refused with 503. Default 100. */
  readonly maxQueued?: number | undefined;
  /** Told of what went wrong here: clients are not. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const numbers = {
  maxBodyBytes: 1_000_000,
  maxHistoryBytes: 8_000_000,
  maxDepth: 32,
  maxParts: 16,
  bodyTimeoutMs: 10_000,
  timeoutMs: 30_000,
  heartbeatMs: 15_000,
  maxStreamMs: 3_600_000,
  maxStreams: 50,
  maxQueued: 100,
} as const;
const thisMachine: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** The options with their defaults. */
export interface Settings<U extends Caller> extends Readonly<Record<keyof typeof numbers, number>> {
  readonly runs: RunsService;
  readonly agents: ReadonlyMap<string, OfferedAgent<U>>;
  readonly authenticate: Authenticate<U>;
  readonly authorize: Authorize<U> | undefined;
  readonly rateLimit: ServerOptions<U>['rateLimit'];
  readonly traceparent: ServerOptions<U>['traceparent'];
  readonly protocols: ReadonlySet<'ag-ui' | 'ai-sdk'>;
  readonly quarantine: Pick<QuarantineStore, 'get'> | undefined;
  readonly prefix: string;
  readonly hosts: readonly string[] | undefined;
  readonly origins: readonly string[];
  readonly showFor: (caller: U) => Show;
  readonly onError: (error: unknown) => void;
}

const optionNames = [
  'runs',
  'agents',
  'authenticate',
  'authorize',
  'rateLimit',
  'show',
  'protocols',
  'quarantine',
  'prefix',
  'hosts',
  'origins',
  'traceparent',
  ...Object.keys(numbers),
  'onError',
];
const agentOptionNames = ['allow', 'data', 'queue', 'priority'];
const showNames = ['tools', 'reasons', 'agents', 'system'];

const refuse = (what: string): never => {
  throw new GuardloopError('CONFIG_INVALID', `guardloopServer ${what}`);
};
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
function checkNames(given: object, known: readonly string[], where: string): void {
  for (const name of Object.keys(given))
    if (!known.includes(name)) refuse(`${where} has no option \`${name}\`. ${suggest(name, known)}The options are ${known.join(', ')}.`);
}
function checkFunction(given: object, name: string, where = ''): void {
  const value = (given as Readonly<Record<string, unknown>>)[name];
  if (value !== undefined && typeof value !== 'function') refuse(`has \`${where}${name}\` that is no function.`);
}

/** Throws CONFIG_INVALID. */
export function readOptions<U extends Caller>(options: ServerOptions<U>): Settings<U> {
  if (!isObject(options)) refuse('needs options: { runs, agents, authenticate }.');
  checkNames(options, optionNames, '');
  const { runs, agents, authenticate } = options;
  if (!isObject(runs) || typeof runs.submit !== 'function' || typeof runs.events !== 'function' || !isObject(runs.approvals))
    refuse('needs `runs`: durable runs, as @guardloop/durable makes them.');
  if (typeof authenticate !== 'function')
    refuse('needs `authenticate`: a function from a request to { user }, or undefined. For this machine alone: anonymous().');
  checkAgents(agents);
  checkKnown(agents, runs);
  for (const name of ['authorize', 'rateLimit', 'traceparent', 'onError']) checkFunction(options, name);
  const onError = options.onError ?? (() => undefined);
  return {
    runs,
    agents: new Map(Object.entries(agents)),
    authenticate,
    authorize: options.authorize,
    rateLimit: options.rateLimit,
    traceparent: options.traceparent,
    protocols: readProtocols(options.protocols),
    quarantine: readQuarantine(options.quarantine),
    prefix: readPrefix(options.prefix),
    hosts: readHosts(options.hosts) ?? (isAnonymous(authenticate) ? thisMachine : undefined),
    origins: readOrigins(options.origins),
    showFor: readShow(options.show),
    ...readNumbers(options),
    onError: (error) => {
      // Who is told of faults must not make new ones, at once or later.
      void (async () => onError(error))().catch(() => undefined);
    },
  };
}

function readQuarantine(given: ServerOptions['quarantine']): ServerOptions['quarantine'] {
  if (given !== undefined && (!isObject(given) || typeof given.get !== 'function'))
    refuse('has `quarantine` that is no store. Give the one that the options of the agents have: { put, get, delete }, or leave it out.');
  return given;
}

function checkAgents(agents: object): void {
  if (!isObject(agents) || Array.isArray(agents) || Object.keys(agents).length === 0)
    refuse('needs `agents`: the agents that clients may start, by name, such as { desk: {} }.');
  for (const [name, agent] of Object.entries<object>(agents as Readonly<Record<string, object>>)) {
    if (!/^[A-Za-z0-9._~:@-]{1,200}$/.test(name))
      refuse('offers an agent whose name is not 1 to 200 letters, digits and . _ ~ : @ -. Register it with the workers under another.');
    if (!isObject(agent)) refuse(`has \`agents.${name}\` that is no object. Give {}, or its options.`);
    checkNames(agent, agentOptionNames, `\`agents.${name}\``);
    for (const option of ['allow', 'data']) checkFunction(agent, option, `agents.${name}.`);
  }
}

/** Where the runs know agents, what is offered must be among them, and get the data that it needs. */
function checkKnown<U extends Caller>(offered: ServerOptions<U>['agents'], { agents: known }: RunsService): void {
  if (known === undefined) return;
  for (const [name, { data }] of Object.entries(offered)) {
    const agent = known.get(name);
    if (agent === undefined)
      refuse(
        `offers the agent ${name}, which \`runs\` does not know. ${suggest(name, [...known.keys()])}It knows ${[...known.keys()].join(', ') || 'none'}.`,
      );
    else if (data === undefined && agent.needsData())
      refuse(`offers the agent ${name}, whose runs need data. Give \`agents.${name}.data\`: a function of who calls that makes it.`);
  }
}

function readNumbers(given: object): Readonly<Record<keyof typeof numbers, number>> {
  const read = { ...numbers } as Record<keyof typeof numbers, number>;
  for (const name of Object.keys(numbers) as readonly (keyof typeof numbers)[]) {
    const value = (given as Readonly<Record<string, unknown>>)[name];
    if (value === undefined) continue;
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1)
      refuse(`has \`${name}\` that is no whole number from 1${name.endsWith('Ms') ? ', in milliseconds' : ''}.`);
    // A timer takes no more than 2 ** 31 - 1, and fires at once beyond.
    if (name.endsWith('Ms') && Number(value) > 2_147_483_647) refuse(`has \`${name}\` above 2,147,483,647 milliseconds.`);
    if (name === 'maxQueued' && Number(value) > 1_000) refuse('has `maxQueued` above 1,000.');
    read[name] = value as number;
  }
  return read;
}

function readProtocols(protocols: unknown): ReadonlySet<'ag-ui' | 'ai-sdk'> {
  const known = ['ag-ui', 'ai-sdk'] as const;
  if (protocols === undefined) return new Set();
  if (!Array.isArray(protocols)) return refuse("has `protocols` that is no list. Give some of 'ag-ui' and 'ai-sdk'.");
  for (const name of protocols)
    if (!known.includes(name))
      refuse(`has a protocol that there is not. ${typeof name === 'string' ? suggest(name, known) : ''}There are 'ag-ui' and 'ai-sdk'.`);
  return new Set(protocols as ('ag-ui' | 'ai-sdk')[]);
}

function readPrefix(prefix: unknown = '/v1'): string {
  if (typeof prefix !== 'string' || !/^(?:\/[A-Za-z0-9._~-]+)*$/.test(prefix))
    return refuse("has `prefix` that is no path such as '/v1', without a slash at its end.");
  return prefix;
}

function readHosts(hosts: unknown): readonly string[] | undefined {
  if (hosts === undefined) return undefined;
  if (!Array.isArray(hosts) || hosts.length === 0 || !hosts.every((host) => typeof host === 'string' && /^[a-z0-9.[\]:-]+$/.test(host)))
    return refuse('has `hosts` that is no list of names in small letters, without ports.');
  return hosts as string[];
}

function readOrigins(origins: unknown = []): readonly string[] {
  const isOrigin = (origin: unknown): boolean => {
    try {
      return typeof origin === 'string' && new URL(origin).origin === origin;
    } catch {
      return false;
    }
  };
  if (!Array.isArray(origins) || !origins.every(isOrigin))
    return refuse("has `origins` that is no list of origins such as 'https://app.example': scheme and name, no path, no *.");
  return origins as string[];
}

function readShow<U extends Caller>(given: ServerOptions<U>['show'] = 'client'): (caller: U) => Show {
  if (typeof given !== 'function') {
    const show = showOf(given);
    return () => show;
  }
  return (caller) => showOf(given(caller));
}

function showOf(given: 'client' | 'internal' | Show): Show {
  if (given === 'client') return {};
  if (given === 'internal') return internalShow;
  if (!isObject(given))
    return refuse(
      `has \`show\` that is neither 'client', 'internal' nor the parts to show. ${typeof given === 'string' ? suggest(given, ['client', 'internal']) : ''}`.trimEnd(),
    );
  checkNames(given, showNames, '`show`');
  const { tools, ...flags } = given as Show;
  if (tools !== undefined && tools !== 'all' && !(Array.isArray(tools) && tools.every((tool) => typeof tool === 'string')))
    refuse("has `show.tools` that is neither 'all' nor a list of tools' names.");
  for (const [name, value] of Object.entries(flags))
    if (value !== undefined && typeof value !== 'boolean') refuse(`has \`show.${name}\` that is neither true nor false.`);
  return given as Show;
}
