import { defineAgent } from '@guardloop/core';
import { say, scriptedModel } from '@guardloop/testing';

const model = scriptedModel([say('Done.')]); // stands for yours
const desk = defineAgent({ name: 'desk', instructions: 'Help.', model });

// #region dbos
import { durable } from '@guardloop/durable';
import { dbosEngine } from '@guardloop/durable/dbos';
import { postgresStore } from '@guardloop/store-postgres';

const database = process.env.DATABASE_URL ?? 'postgresql://guardloop@127.0.0.1/guardloop';
const store = postgresStore({ connectionString: database });
const runs = durable({
  store,
  agents: { desk },
  queues: { mail: { concurrency: 20, tenantConcurrency: 2 } }, // over all workers: the store counts
  engine: dbosEngine({ databaseUrl: database }),
});
// then, as ever: await runs.worker(); await runs.submit('desk', 'Hello.');
// #endregion
await runs.close();

// #region restate
import { restateEngine } from '@guardloop/durable/restate';

const engine = restateEngine({
  ingressUrl: 'http://127.0.0.1:8080', // takes kicks
  adminUrl: 'http://127.0.0.1:9070', // workers register here
  host: '0.0.0.0',
  port: 9080, // where this worker listens
  advertiseUrl: 'http://workers.internal:9080', // how Restate reaches it: a load balancer's address, the same for all workers
});
// #endregion
await engine.close();
await store.close();
