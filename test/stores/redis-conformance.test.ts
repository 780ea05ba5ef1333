import { storeConformance } from '@guardloop/store/conformance';
import { redisStore } from '@guardloop/store-redis';
import { afterAll, beforeAll, describe } from 'vitest';
import type { RedisServer } from '../servers/redis.js';
import { dumpRedis, redisMissing, skipsRedis, startRedis } from '../servers/redis.js';

describe.skipIf(skipsRedis)(redisMissing ?? 'Redis', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  }, 60_000);
  afterAll(() => server?.remove());

  storeConformance(
    'redisStore',
    ({ database, now: _, ...options }) => redisStore({ url: server.url, prefix: `the-${database}`, ...options }),
    { isLasting: true, hasCodec: true, raw: (database) => dumpRedis(server, `the-${database}`) },
  );
});
