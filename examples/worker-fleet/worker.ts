// One worker process: `node worker.js <SQLite file> <name>`. It works until it is told to stop, or dies.
import { durable, embeddedEngine } from '@guardloop/durable';
import { sqliteStore } from '@guardloop/store-sqlite';
import { agents } from './agents.js';

const [file = '', name = 'worker'] = process.argv.slice(2);
const store = sqliteStore({ file, pollMs: 50 });
const runs = durable({ store, engine: embeddedEngine({ pollMs: 100 }), agents, queues: { parcels: { concurrency: 6 } } });
await runs.worker({ name, concurrency: 2, leaseMs: 1_000 });
process.send?.('ready');

process.once('SIGTERM', async () => {
  // Runs that are under way stop before their next model call, and are handed back.
  await runs.close({ graceMs: 5_000 });
  await store.close();
  process.disconnect?.();
});
