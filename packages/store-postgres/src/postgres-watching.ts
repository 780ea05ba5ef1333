import { Watchers } from '@guardloop/store/kit';
import type { Watching } from '@guardloop/store/sql';
import type { ClientBase, Pool, PoolConfig } from 'pg';

/** Changes of one moment are made known together, at most so often, milliseconds. */
const noticeMs = 10;
/** While notifications come, a look is only a net. */
const looksLeftOut = 10;
/** Most bytes that PostgreSQL takes in a notification are 7,999; a character has at most three in UTF-8. */
const mostChars = 2_500;

interface ListeningClient extends ClientBase {
  end(): Promise<void>;
}

/**
 * Own changes are told at once, those of others by LISTEN and NOTIFY, and now and then everything is told, in case a notification was lost;
 * more often where none come, as behind a pooler.
 */
export class PostgresWatching implements Watching {
  readonly #watchers = new Watchers();
  readonly #writer = crypto.randomUUID();
  readonly #channel: string;
  #listening: Listening | undefined;
  #unsent = new Set<string | undefined>();
  #sending: Promise<void> | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly options: { readonly schema: string; readonly pollMs: number },
  ) {
    this.#channel = `guardloop_${options.schema}`.slice(0, 60);
  }

  announce(session: string | undefined): void {
    this.#watchers.tell(session);
    this.#unsent.add(session);
    this.#sending ??= this.#send();
  }

  watch(session: string | undefined, listener: (session: string | undefined) => void): () => void {
    const leave = this.#watchers.add(session, listener);
    this.#listening ??= new Listening(this.pool, {
      channel: this.#channel,
      pollMs: this.options.pollMs,
      hear: (payload) => this.#hear(payload),
      ring: () => this.#notify([JSON.stringify([this.#writer])]),
    });
    return () => {
      leave();
      if (this.#watchers.size === 0) void this.#stopListening();
    };
  }

  async close(): Promise<void> {
    this.#watchers.clear();
    await this.#sending;
    await this.#stopListening();
  }

  async #stopListening(): Promise<void> {
    const listening = this.#listening;
    this.#listening = undefined;
    await listening?.stop();
  }

  /** Undefined: anything may have changed. */
  #hear(payload: string | undefined): void {
    const [writer, session] = payload === undefined ? [] : readNotice(payload);
    if (writer !== this.#writer) this.#watchers.tell(session);
  }

  async #send(): Promise<void> {
    await pause(0);
    while (this.#unsent.size > 0) {
      const notices = [...this.#unsent].map((session) => this.#notice(session));
      this.#unsent = new Set();
      await this.#notify(notices);
      await pause(noticeMs);
    }
    this.#sending = undefined;
  }

  async #notify(notices: readonly string[]): Promise<void> {
    try {
      await this.pool.query('select pg_notify($1, notice) from unnest($2::text[]) as notice', [this.#channel, notices]);
    } catch {
      // Others find the changes when they look.
    }
  }

  #notice(session: string | undefined): string {
    const isTold = session !== undefined && session.length <= mostChars;
    return JSON.stringify(isTold ? [this.#writer, session] : [this.#writer]);
  }
}

function readNotice(payload: string): readonly [string | undefined, string | undefined] {
  try {
    const [writer, session]: readonly unknown[] = JSON.parse(payload);
    return [typeof writer === 'string' ? writer : undefined, typeof session === 'string' ? session : undefined];
  } catch {
    return [undefined, undefined];
  }
}

interface ListeningOptions {
  readonly channel: string;
  readonly pollMs: number;
  /** A payload; undefined where some may have been missed. */
  hear(payload: string | undefined): void;
  /** Notifies all who listen, over another connection. Never rejects. */
  ring(): Promise<void>;
}

/**
 * A connection of its own that listens, and comes back when it is lost. It counts as listening once it has heard something: a pooler that
 * gives each transaction another connection takes `listen`, and lets nothing through.
 */
class Listening {
  #client: ListeningClient | undefined;
  #hasHeard = false;
  #isStopped = false;
  #looks = 0;
  readonly #timer: ReturnType<typeof setInterval>;
  #connecting: Promise<void> | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly options: ListeningOptions,
  ) {
    this.#connecting = this.#connect();
    this.#timer = setInterval(() => this.#look(), options.pollMs);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#connecting;
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => {});
  }

  #look(): void {
    this.#looks += 1;
    if (this.#client === undefined) {
      this.options.hear(undefined);
      this.#connecting ??= this.#connect();
    } else if (!this.#hasHeard || this.#looks % looksLeftOut === 0) this.options.hear(undefined);
  }

  async #connect(): Promise<void> {
    const client = this.#makeClient();
    const lose = (): void => {
      if (this.#client !== client) return;
      this.#client = undefined;
      // What was made known since is not told any more.
      this.options.hear(undefined);
      if (!this.#isStopped) this.#connecting ??= this.#connect();
    };
    client.on('error', lose);
    client.on('end', lose);
    client.on('notification', ({ payload }) => {
      this.#hasHeard = true;
      this.options.hear(payload ?? '');
    });
    try {
      await client.connect();
      await client.query(`listen "${this.options.channel.replaceAll('"', '""')}"`);
      this.#client = client;
      // What comes while it sends something itself, comes through a pooler too.
      this.#hasHeard = false;
      this.options.hear(undefined);
      void this.options.ring();
    } catch {
      // The next look tries again.
      await client.end().catch(() => {});
    } finally {
      this.#connecting = undefined;
    }
  }

  /** Beside the pool: a connection that listens is never given back. */
  #makeClient(): ListeningClient {
    const { Client, options } = this.pool as unknown as {
      readonly Client: new (config: PoolConfig) => ListeningClient;
      readonly options: PoolConfig;
    };
    return new Client(options);
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
