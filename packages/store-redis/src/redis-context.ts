import { GuardloopError } from '@guardloop/core';
import type { Codec, Encoded } from '@guardloop/store/kit';
import { readName } from '@guardloop/store/kit';
import type { RedisConnection, Reply } from './redis-connection.js';

/** What all parts of a store work with. */
export interface RedisContext {
  readonly connection: RedisConnection;
  readonly codec: Codec;
  /** What all keys begin with. */
  readonly base: string;
  /** '' for ever. */
  readonly ttl: string;
}

/** The fields of a hash. */
export type Fields = Readonly<Record<string, string | undefined>>;

/** The fields of a hash as HGETALL of a script replies. */
export function fieldsOf(reply: Reply | undefined): Fields {
  const list = Array.isArray(reply) ? (reply as readonly string[]) : [];
  const fields: Record<string, string> = {};
  for (let at = 0; at + 1 < list.length; at += 2) fields[list[at] ?? ''] = list[at + 1] ?? '';
  return fields;
}

/** A value that is new with each call, for sessions that are made anew under an old id. */
export const newIncarnation = (): string => crypto.randomUUID();

/** The payloads of contents, as parameters of a script. */
export function payloadParameters({ payloads }: Pick<Encoded, 'payloads'>): readonly string[] {
  return payloads.flatMap(({ digest, text }) => [digest, text]);
}

/** Gets payloads of a session, for a codec. */
export function payloadReader({ connection, base }: RedisContext, session: string) {
  return async (digests: readonly string[]): Promise<ReadonlyMap<string, string>> => {
    const texts = await connection.read((client) => client.hmget(`${base}payloads:${session}`, ...digests));
    return new Map(digests.flatMap((digest, index) => (typeof texts[index] === 'string' ? [[digest, texts[index]] as const] : [])));
  };
}

/** What is told of a session whose keys do not fit one another. */
export function damaged(session: string): GuardloopError {
  return new GuardloopError(
    'STORE_FAILED',
    `Session ${readName(session)} is not whole: Redis has evicted part of it, or somebody has deleted keys. Set maxmemory-policy noeviction, and restore it from a backup, or delete it.`,
    { details: { session: readName(session) } },
  );
}
