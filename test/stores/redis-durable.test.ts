import { durableConformance } from '@guardloop/durable/conformance';
import { redisStore } from '@guardloop/store-redis';
import { afterAll, beforeAll, describe } from 'vitest';
import type { RedisServer } from '../servers/redis.js';
import { redisMissing, skipsRedis, startRedis } from '../servers/redis.js';

describe.skipIf(skipsRedis)(redisMissing ?? 'Redis', () => {
  let server: RedisServer;
  let harnesses = 0;
  beforeAll(async () => {
    server = await startRedis();
  }, 60_000);
  afterAll(() => server?.remove());

  durableConformance('the embedded engine over redisStore', () => {
    harnesses += 1;
    const prefix = `durable-${harnesses}`;
    return { openStore: () => redisStore({ url: server.url, prefix }) };
  });
});
