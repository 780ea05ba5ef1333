import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { ProgressCallback } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { Implementation, Request, ServerCapabilities } from '@modelcontextprotocol/sdk/types.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import type { core, ZodType } from 'zod';
import { failureOf, RequestFailure } from './failure.js';
import type { WatchedTransport } from './watched-transport.js';

export interface Opened {
  readonly transport: WatchedTransport;
  /** Says goodbye to a server that keeps a session. May fail, and takes as long as it takes. */
  readonly leave?: (() => Promise<void>) | undefined;
}

export interface ConnectionSettings {
  readonly serverName: string;
  readonly clientInfo: Implementation;
  readonly connectTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly open: () => Promise<Opened>;
  /** After each connection but the first, before anything is asked of it. */
  readonly onRenewed: () => void;
  /** A list of the server has changed: `tools`, `resources` or `prompts`. */
  readonly onListChanged: (list: string) => void;
  /** The server asked for something that this client refuses. */
  readonly onRefused: (method: string) => void;
}

export interface RequestSettings {
  readonly signal?: AbortSignal | undefined;
  readonly onprogress?: ProgressCallback | undefined;
  /** Default: the connection's. */
  readonly timeoutMs?: number | undefined;
  /** It does no harm to send it twice: so it is also where it is not certain that it did not run, but the session is over. */
  readonly isRepeatable?: boolean | undefined;
  /** Called when the request is about to be sent once more over a new session; what it throws is the request's end. */
  readonly beforeRetry?: (() => Promise<void>) | undefined;
}

type Schema = ZodType | core.$ZodType;
const longestMs = 2 ** 31 - 1;
const leaveMs = 1_000;
const refusals: Readonly<Record<string, string>> = {
  'sampling/createMessage': 'This client lends its model to no server.',
  'elicitation/create': 'This client asks people nothing on behalf of a server.',
  'roots/list': 'This client tells no server about its folders.',
};

/** One connected client of the SDK, until it is retired or breaks. */
class Session {
  readonly client: Client;
  private readonly transport: WatchedTransport;
  private readonly leave: (() => Promise<void>) | undefined;
  private isRetired = false;

  constructor(client: Client, { transport, leave }: Opened) {
    this.client = client;
    this.transport = transport;
    this.leave = leave;
  }

  get isUsable(): boolean {
    return !this.isRetired && !this.transport.isOver;
  }

  /** Takes no more requests; closes when those under way are over. */
  retire(): void {
    if (this.isRetired) return;
    this.isRetired = true;
    const close = (): void => void this.transport.close().catch(() => undefined);
    if (this.transport.open === 0) close();
    else this.transport.onidle = close;
  }

  async close(): Promise<void> {
    this.isRetired = true;
    if (!this.transport.isOver && this.leave) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, leaveMs);
      });
      await Promise.race([this.leave().catch(() => undefined), late]);
      clearTimeout(timer);
    }
    await this.transport.close().catch(() => undefined);
  }
}

/**
 * The way to one server over all its connections. Connects when something is asked of it, once for all who wait; a request that certainly did
 * not run because the session had ended is sent once more over a new one. Everything else is the caller's to know of.
 */
export class Connection {
  private readonly settings: ConnectionSettings;
  private session: Session | undefined;
  private opening: Promise<Session> | undefined;
  private wasOpen = false;
  private isClosed = false;
  /** Gives up what is being opened. */
  private giveUp: (() => void) | undefined;

  constructor(settings: ConnectionSettings) {
    this.settings = settings;
  }

  /** Of the server, as it last said; undefined before it was connected. */
  get about():
    | { readonly info: Implementation | undefined; readonly capabilities: ServerCapabilities; readonly instructions: string | undefined }
    | undefined {
    const client = this.session?.client;
    const capabilities = client?.getServerCapabilities();
    return client && capabilities ? { info: client.getServerVersion(), capabilities, instructions: client.getInstructions() } : undefined;
  }

  /** Rejects with a {@link RequestFailure}. */
  async connect(signal?: AbortSignal): Promise<void> {
    await this.ready(signal);
  }

  /** Rejects with a {@link RequestFailure}, with an `McpError` that the server answered, or with the schema's own error. */
  async request<S extends Schema>(request: Request, schema: S, settings: RequestSettings = {}): Promise<core.output<S>> {
    const session = await this.ready(settings.signal);
    try {
      return await this.ask(session, { request, schema, settings });
    } catch (thrown) {
      const failure = failureOf(thrown);
      if (failure?.kind !== 'expired') throw failure ?? thrown;
      this.retire(session);
      if (failure.ran !== 'no' && settings.isRepeatable !== true) throw failure;
    }
    const next = await this.ready(settings.signal);
    await settings.beforeRetry?.();
    try {
      return await this.ask(next, { request, schema, settings });
    } catch (thrown) {
      if (failureOf(thrown)?.kind === 'expired') this.retire(next);
      throw failureOf(thrown) ?? thrown;
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
    const opening = this.opening;
    const session = this.session;
    this.session = undefined;
    this.giveUp?.();
    await session?.close();
    await opening?.catch(() => undefined);
  }

  private retire(session: Session): void {
    if (this.session === session) this.session = undefined;
    session.retire();
  }

  private async ready(signal: AbortSignal | undefined): Promise<Session> {
    const { serverName } = this.settings;
    if (this.isClosed) throw new RequestFailure('closed', `Server ${serverName} was closed by this program.`);
    if (signal?.aborted) throw new RequestFailure('aborted', 'The call was stopped.', 'no');
    if (this.session?.isUsable) return this.session;
    this.opening ??= this.start().finally(() => {
      this.opening = undefined;
    });
    return signal === undefined ? this.opening : whileWanted(this.opening, signal);
  }

  private async start(): Promise<Session> {
    const { serverName, connectTimeoutMs, onRenewed } = this.settings;
    let opened: Opened | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isLate = false;
    const late = new Promise<never>((_resolve, reject) => {
      this.giveUp = () => {
        isLate = true;
        reject(new RequestFailure('closed', `Server ${serverName} was closed by this program.`));
      };
      timer = setTimeout(() => {
        isLate = true;
        reject(new RequestFailure('unreachable', `Server ${serverName} did not get ready within ${connectTimeoutMs} ms.`));
      }, connectTimeoutMs);
    });
    const connecting = (async () => {
      opened = await this.settings.open();
      if (isLate) {
        await opened.transport.close();
        throw new RequestFailure('unreachable', `Server ${serverName} was late.`);
      }
      const client = this.makeClient();
      await client.connect(opened.transport, { timeout: longestMs });
      return new Session(client, opened);
    })();
    // It may fail after the deadline, when nobody waits any more.
    connecting.catch(() => undefined);
    try {
      const session = await Promise.race([connecting, late]);
      this.session = session;
      if (this.wasOpen) onRenewed();
      this.wasOpen = true;
      return session;
    } catch (thrown) {
      void opened?.transport.close().catch(() => undefined);
      throw asUnreachable(thrown, serverName);
    } finally {
      clearTimeout(timer);
      this.giveUp = undefined;
    }
  }

  private makeClient(): Client {
    const { clientInfo, onListChanged, onRefused } = this.settings;
    // No capabilities: a server is told that there is nothing to ask this client for.
    const client = new Client({ name: clientInfo.name, version: clientInfo.version }, { capabilities: {} });
    client.fallbackRequestHandler = ({ method }) => {
      onRefused(method);
      return Promise.reject(new McpError(ErrorCode.MethodNotFound, refusals[method] ?? 'This client takes no such request.'));
    };
    client.fallbackNotificationHandler = ({ method }) => {
      const list = /^notifications\/(tools|resources|prompts)\/list_changed$/.exec(method)?.[1];
      if (list !== undefined) onListChanged(list);
      return Promise.resolve();
    };
    return client;
  }

  private async ask<S extends Schema>(
    { client }: Session,
    { request, schema, settings }: { readonly request: Request; readonly schema: S; readonly settings: RequestSettings },
  ): Promise<core.output<S>> {
    const { signal, onprogress, timeoutMs = this.settings.requestTimeoutMs } = settings;
    // The SDK keeps its listener on the signal for as long as that lives, and would still send a cancellation then: it gets one of its own.
    const controller = new AbortController();
    const stop = (): void => controller.abort(new RequestFailure('aborted', 'The call was stopped.'));
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, { once: true });
    const timer = setTimeout(
      () => controller.abort(new RequestFailure('timeout', `Server ${this.settings.serverName} did not answer within ${timeoutMs} ms.`)),
      timeoutMs,
    );
    try {
      return (await client.request(request, schema as ZodType, {
        signal: controller.signal,
        timeout: longestMs,
        ...(onprogress === undefined ? {} : { onprogress }),
      })) as core.output<S>;
    } catch (thrown) {
      if (controller.signal.aborted) throw controller.signal.reason;
      if (thrown instanceof Error && thrown.message === 'Not connected')
        throw new RequestFailure('unreachable', `The connection to server ${this.settings.serverName} is gone.`);
      throw thrown;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    }
  }
}

/** What a connection attempt came to. Whatever was thrown, its own words are not told: they may hold URLs, commands or bodies. */
function asUnreachable(thrown: unknown, serverName: string): RequestFailure {
  const failure = failureOf(thrown);
  // Nothing of a call was sent yet, whatever happened to the greeting.
  if (failure)
    return new RequestFailure(
      failure.kind === 'unauthorized' || failure.kind === 'closed' ? failure.kind : 'unreachable',
      failure.message,
      'no',
    );
  const { code } = (thrown ?? {}) as { readonly code?: unknown };
  if (code === 'ENOENT') return new RequestFailure('unreachable', `Server ${serverName} cannot be started: there is no such command.`);
  if (code === 'EACCES') return new RequestFailure('unreachable', `Server ${serverName} cannot be started: its command may not be run.`);
  return new RequestFailure('unreachable', `Server ${serverName} cannot be connected: it does not greet as the protocol wants it.`);
}

function whileWanted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(new RequestFailure('aborted', 'The call was stopped.', 'no'));
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
