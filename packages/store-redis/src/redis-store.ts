import type { LogEvent } from '@guardloop/core';
import { checkOptionNames, optionFault } from '@guardloop/core/model';
import type { LiveText, Store } from '@guardloop/store';
import type { CodecOptions } from '@guardloop/store/kit';
import { checkTimers, checkTtl, makeCodec, placeOf, writeName } from '@guardloop/store/kit';
import type { Redis } from 'ioredis';
import { redisApprovals } from './redis-approvals.js';
import type { RedisConnection } from './redis-connection.js';
import { connect } from './redis-connection.js';
import type { RedisContext } from './redis-context.js';
import { payloadParameters, payloadReader } from './redis-context.js';
import { appendEvents, loadEvents, Stands } from './redis-log.js';
import { redisRuns } from './redis-runs.js';
import { redisSessions } from './redis-sessions.js';
import { nowOf } from './redis-time.js';

/** Options of {@link redisStore}. */
export interface RedisStoreOptions extends CodecOptions {
  /** `redis://` or `rediss://`, with user, password and database. Default `redis://127.0.0.1:6379`. Not with `client`. */
  readonly url?: string | undefined;
  /** A client of ioredis whose settings are used: the store makes connections of its own from them. No cluster. Not with `url`. */
  readonly client?: Redis | undefined;
  /** What all keys of this store begin with, in a hash tag: 1 to 100 letters, digits, `.`, `:`, `_` and `-`. Default `guardloop`. */
  readonly prefix?: string | undefined;
  /** How long a session stays after its last event, milliseconds. Default: for ever. */
  readonly ttlMs?: number | undefined;
  /** How long a call waits for a connection before it is rejected, milliseconds. Default 5,000. */
  readonly patienceMs?: number | undefined;
  /** Told once of settings of the server that may lose data. Default: `process.emitWarning`. */
  readonly onWarning?: ((message: string) => void) | undefined;
}

const names: { readonly [K in keyof RedisStoreOptions]-?: true } = {
  url: true,
  client: true,
  prefix: true,
  ttlMs: true,
  patienceMs: true,
  onWarning: true,
  blobChars: true,
  encryption: true,
};

/**
 * A store in Redis 7 or later, or a server that speaks as it does, such as Valkey. Every change is one script in the server, over all keys
 * of a session and what lists and claims need; so all keys are in one hash slot, and one server holds them. Connects with the first call.
 *
 * Throws CONFIG_INVALID. A call rejects with STORE_FAILED: where nothing was sent, the message says so; where the connection was lost
 * meanwhile, the outcome is open, and nothing is sent a second time.
 */
export function redisStore(options: RedisStoreOptions = {}): Store {
  const settings = readOptions(options);
  const base = `{${settings.prefix}}:`;
  const { patienceMs, onWarning: warn, ttlMs } = settings;
  const connection = connect(options, { base, patienceMs, warn });
  const context: RedisContext = { connection, base, codec: makeCodec(options), ttl: ttlMs === undefined ? '' : String(ttlMs) };
  const stands = new Stands();
  const { load, append, now, sweep } = counted(connection, {
    load: (id: string, afterSeq?: number) => loadEvents(context, id, afterSeq),
    append: (id: string, events: readonly LogEvent[], afterSeq: number) => appendEvents(context, stands, { id, events, afterSeq }),
    now: () => nowOf(context),
    sweep: () => sweepAll(connection),
  });
  return {
    load,
    append,
    sessions: counted(connection, redisSessions(context)),
    approvals: counted(connection, redisApprovals(context)),
    runs: counted(connection, redisRuns(context)),
    live: counted(connection, {
      put: (session: string, live: LiveText | undefined) => putLive(context, session, live),
      get: (session: string) => getLive(context, session),
    }),
    now,
    watch: (session, listener) => connection.watch(session, listener),
    sweep,
    close: () => connection.close(),
  };
}

/** The same methods, each call of which is let end by `close`. */
function counted<T extends object>(connection: RedisConnection, methods: T): T {
  const entries = Object.entries(methods).map(
    ([name, method]: readonly [string, (...parameters: readonly unknown[]) => Promise<unknown>]) => [
      name,
      (...parameters: readonly unknown[]) => connection.call(() => method(...parameters)),
    ],
  );
  return Object.fromEntries(entries) as T;
}

async function sweepAll(connection: RedisConnection): Promise<number> {
  let gone = 0;
  for (;;) {
    const swept = Number(await connection.script('sweep', []));
    gone += swept;
    if (swept < 100) return gone;
  }
}

async function putLive({ connection, codec }: RedisContext, id: string, live: LiveText | undefined): Promise<void> {
  const session = writeName(id);
  if (live === undefined) {
    await connection.script('putLive', [session, '', 0]);
    return;
  }
  const { rows, payloads } = await codec.encode([{ place: placeOf('live', session), value: live }]);
  await connection.script('putLive', [session, rows[0]?.text ?? '', payloads.length, ...payloadParameters({ payloads })]);
}

async function getLive(context: RedisContext, id: string): Promise<LiveText | undefined> {
  const session = writeName(id);
  const text = await context.connection.read((client) => client.get(`${context.base}live:${session}`));
  if (text === null) return undefined;
  const [live] = await context.codec.decode([{ place: placeOf('live', session), text }], payloadReader(context, session));
  return live as LiveText;
}

function readOptions(options: RedisStoreOptions) {
  const where = 'redisStore';
  checkOptionNames(where, options, names);
  const { url, client, prefix = 'guardloop', ttlMs, patienceMs = 5_000, onWarning = emitWarning } = options;
  if (url !== undefined && client !== undefined) throw optionFault(where, '`url` and `client` were given. Give one of them.');
  if (url !== undefined && !/^rediss?:\/\//.test(String(url)))
    throw optionFault(where, '`url` does not begin with redis:// or rediss://. Give the address of the server so.');
  if (client?.isCluster)
    throw optionFault(
      where,
      '`client` is a client of a Redis Cluster. Give a Redis of ioredis for one server: one script changes a session and its places in lists together, so all keys of a store have one hash slot, which one node holds. To divide sessions over servers, use several stores.',
    );
  if (client !== undefined && (client === null || typeof client.duplicate !== 'function'))
    throw optionFault(where, '`client` is no client of a server. Give a Redis of ioredis, or leave it out.');
  if (typeof prefix !== 'string' || !/^[\w.:-]{1,100}$/.test(prefix))
    throw optionFault(where, '`prefix` is no text of 1 to 100 letters, digits, ., :, _ and -. Leave it out for `guardloop`.');
  checkTtl(ttlMs);
  checkTimers(where, { patienceMs }, 1);
  if (typeof onWarning !== 'function') throw optionFault(where, '`onWarning` is no function from a message.');
  return { prefix, ttlMs, patienceMs, onWarning };
}

function emitWarning(message: string): void {
  process.emitWarning(message, 'GuardloopWarning');
}
