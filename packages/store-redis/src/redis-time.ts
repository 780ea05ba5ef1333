import type { RedisContext } from './redis-context.js';

/** The server's now, milliseconds since 1970. */
export async function nowOf({ connection }: Pick<RedisContext, 'connection'>): Promise<number> {
  const [seconds, microseconds] = await connection.read((client) => client.time());
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}
