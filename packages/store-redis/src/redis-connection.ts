import { GuardloopError } from '@guardloop/core';
import { readName, Watchers } from '@guardloop/store/kit';
import { Redis } from 'ioredis';
import type { ScriptName } from './redis-scripts.js';
import { scripts } from './redis-scripts.js';

/** What a script replies: texts, numbers, lists of them, or nothing. */
export type Reply = string | number | null | readonly Reply[];

/** Scripts that change nothing. */
const reading: ReadonlySet<ScriptName> = new Set(['load', 'readRuns']);

/** Of the form in which keys hold what is stored. */
const formVersion = 1;

interface Settings {
  readonly base: string;
  readonly patienceMs: number;
  warn(message: string): void;
}

const failed = (message: string, options: { readonly cause?: unknown; readonly isRetryable: boolean }): GuardloopError =>
  new GuardloopError('STORE_FAILED', message, options);

/**
 * The connections of one store: one for commands, and one for changes once somebody watches. Nothing is sent twice: what was on its way
 * when a connection was lost is rejected, since nobody knows whether it was done.
 */
export class RedisConnection {
  readonly watchers = new Watchers();
  readonly #client: Redis;
  #subscriber: Redis | undefined;
  readonly #shas = new Map<ScriptName, Promise<string>>();
  #checked: Promise<void> | undefined;
  readonly #underWay = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(
    client: Redis,
    private readonly settings: Settings,
  ) {
    this.#client = client;
    // Without a listener a lost connection would end the process; every call is told of it by itself.
    this.#client.on('error', () => undefined);
    this.#client.setMaxListeners(0);
  }

  /** Runs a script in the server. Rejects with STORE_FAILED. */
  script(name: ScriptName, parameters: readonly (string | number)[]): Promise<Reply> {
    const work = async (client: Redis): Promise<Reply> => {
      const call = async (): Promise<Reply> => (await client.evalsha(await this.#sha(name), 1, this.settings.base, ...parameters)) as Reply;
      try {
        return await call();
      } catch (error) {
        // The server was started anew, and has run nothing.
        if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
        this.#shas.delete(name);
        return await call();
      }
    };
    return reading.has(name) ? this.read(work) : this.#send(work);
  }

  /** One call of the store, with all that it sends: `close` lets it end. Rejects with STORE_FAILED once the store is closed. */
  call<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isClosed)
      return Promise.reject(failed('The Redis store was closed. Make a new one with redisStore.', { isRetryable: false }));
    const running = work();
    this.#underWay.add(running);
    const end = (): void => void this.#underWay.delete(running);
    running.then(end, end);
    return running;
  }

  /** Sends commands that change nothing, and sends them again where the connection was lost meanwhile. Rejects with STORE_FAILED. */
  async read<T>(work: (client: Redis) => Promise<T>): Promise<T> {
    const deadline = Date.now() + this.settings.patienceMs;
    for (;;) {
      try {
        return await this.#send(work);
      } catch (error) {
        if (!(error instanceof LostConnection)) throw error;
        if (Date.now() > deadline)
          throw failed('The connection to Redis was lost again and again while reading. Look at the server and the network.', {
            isRetryable: true,
          });
        // The client may not know yet that its connection is gone.
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  async #send<T>(work: (client: Redis) => Promise<T>): Promise<T> {
    if (this.#client.status !== 'ready') await this.#waitUntilReady();
    try {
      await this.#checkOnce();
      return await work(this.#client);
    } catch (error) {
      if (GuardloopError.is(error)) throw error;
      throw told(error);
    }
  }

  /** As `Store.watch`. */
  watch(session: string | undefined, listener: (session: string | undefined) => void): () => void {
    if (this.#isClosed) return () => undefined;
    this.#subscriber ??= this.#subscribe();
    return this.watchers.add(session, listener);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.watchers.clear();
    await Promise.allSettled([...this.#underWay]);
    this.#client.disconnect();
    this.#subscriber?.disconnect();
  }

  /** Waits for a connection: nothing was sent yet. */
  async #waitUntilReady(): Promise<void> {
    const client = this.#client;
    const { patienceMs } = this.settings;
    if (client.status === 'wait' || client.status === 'end') client.connect().catch(() => undefined);
    let cause: unknown;
    const isReady = await new Promise<boolean>((resolve) => {
      const settle = (ready: boolean): void => {
        clearTimeout(timer);
        client.off('ready', onReady);
        client.off('error', onError);
        resolve(ready);
      };
      const onReady = (): void => settle(true);
      const onError = (error: unknown): void => {
        cause = error;
        if (/NOAUTH|WRONGPASS|NOPERM/.test(String(error))) settle(false);
      };
      const timer = setTimeout(() => settle(client.status === 'ready'), patienceMs);
      client.on('ready', onReady);
      client.on('error', onError);
    });
    if (isReady) return;
    throw failed(
      `Redis could not be reached within ${patienceMs} ms; nothing was sent. Look whether the server runs, whether its address and password are right, or give a larger \`patienceMs\`.`,
      { cause, isRetryable: true },
    );
  }

  #checkOnce(): Promise<void> {
    this.#checked ??= this.#check().catch((error: unknown) => {
      this.#checked = undefined;
      throw error;
    });
    return this.#checked;
  }

  /** Looks at what the server is, and how it keeps data. */
  async #check(): Promise<void> {
    const info = await this.#client.info();
    const read = (name: string): string => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1] ?? '';
    await this.#checkVersion();
    const [major = 0] = read('redis_version').split('.').map(Number);
    if (major < 7)
      throw failed(`The server is Redis ${read('redis_version')}, and the store needs 7.0 or later. Use a newer one.`, {
        isRetryable: false,
      });
    const policy = read('maxmemory_policy');
    if (policy !== '' && policy !== 'noeviction')
      this.settings.warn(
        `Redis evicts keys when its memory is full (maxmemory-policy ${policy}), and would lose logs. Set maxmemory-policy noeviction.`,
      );
    if (read('aof_enabled') === '0')
      this.settings.warn(
        'Redis loses the last events when it is ended or crashes (appendonly no). Set appendonly yes, with appendfsync always where none may be lost.',
      );
  }

  async #checkVersion(): Promise<void> {
    const key = `${this.settings.base}version`;
    const found = await this.#client.get(key);
    // Where this cannot be written, nothing else can be, and says so.
    if (found === null) await this.#client.set(key, formVersion, 'NX').catch(() => undefined);
    else if (Number(found) > formVersion)
      throw new GuardloopError(
        'STORE_FAILED',
        `These keys are of version ${found}, but this release of Guardloop knows versions up to ${formVersion}. They were written by a newer release: update Guardloop here, or give this release a \`prefix\` of its own. Nothing was changed.`,
        { details: { found: Number(found), known: formVersion } },
      );
  }

  #sha(name: ScriptName): Promise<string> {
    const known = this.#shas.get(name);
    if (known !== undefined) return known;
    const loading = this.#client.script('LOAD', scripts[name]) as Promise<string>;
    this.#shas.set(name, loading);
    loading.catch(() => this.#shas.delete(name));
    return loading;
  }

  #subscribe(): Redis {
    // It subscribes below, with each connection: what ioredis does by itself rejects where nobody can catch it.
    const subscriber = this.#client.duplicate({
      lazyConnect: false,
      enableOfflineQueue: true,
      maxRetriesPerRequest: null,
      autoResubscribe: false,
    });
    subscriber.on('error', () => undefined);
    const channel = `${this.settings.base}changes`;
    subscriber.on('message', (_, session: string) => this.watchers.tell(readName(session)));
    // What happened before, and while there was no connection, nobody has told.
    const listen = (): void => {
      subscriber.subscribe(channel).then(
        () => this.watchers.tell(undefined),
        () => undefined,
      );
    };
    subscriber.on('ready', listen);
    return subscriber;
  }
}

class LostConnection extends GuardloopError {
  constructor(cause: unknown) {
    super(
      'STORE_FAILED',
      'The connection to Redis was lost while a command was on its way: nobody knows whether it was done. Look at what is stored.',
      { cause, isRetryable: true },
    );
  }
}

/** Holds no content: ioredis hangs the whole command on its errors. */
function told(error: unknown): GuardloopError {
  const message = error instanceof Error ? error.message : '';
  const [code = ''] = /^[A-Z]{2,20}(?= )/.exec(message) ?? [];
  switch (code) {
    case 'OOM':
      return failed('Redis has no memory left for this; nothing was stored. Give it more (maxmemory), or delete sessions.', {
        isRetryable: true,
      });
    case 'MISCONF':
      return failed('Redis does not take writes, since it cannot save to its disk; nothing was stored. Free the disk.', {
        isRetryable: true,
      });
    case 'READONLY':
      return failed('This Redis is a replica and takes no writes; nothing was stored. Connect to the primary.', { isRetryable: true });
    case 'MOVED':
    case 'CLUSTERDOWN':
      return failed(
        `The server is a node of a Redis Cluster that does not hold this store's hash slot (${code}); nothing was stored. All keys of a store have one hash slot, since one script changes a session and its places in lists together: connect to the node that has it, or better to a server without a cluster.`,
        { isRetryable: false },
      );
    case 'LOADING':
    case 'BUSY':
    case 'TRYAGAIN':
      return failed(`Redis is busy (${code}); nothing was stored. Try again.`, { isRetryable: true });
    case '':
      return new LostConnection(error);
    default:
      return failed(
        `Redis refused a command (${code}). Look at the server's log, at its version, and at what the user of the connection may do.`,
        {
          isRetryable: false,
        },
      );
  }
}

/** Settings that all connections have, whatever they were made of. */
export const connectionSettings = {
  lazyConnect: true,
  // A command waits here, in the store, until there is a connection; and is not sent a second time after one was lost.
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  retryStrategy: (times: number) => Math.min(50 * times, 1_000),
} as const;

/** The connection of a store. */
export function connect(
  from: { readonly url?: string | undefined; readonly client?: Redis | undefined },
  settings: Settings,
): RedisConnection {
  const { url, client } = from;
  const own = client ? client.duplicate({ ...connectionSettings }) : new Redis(url ?? 'redis://127.0.0.1:6379', { ...connectionSettings });
  return new RedisConnection(own, settings);
}
