// The third process: a worker of the same agent. It finds the decision in the store, and takes the run to its end.
import { durable } from '@guardloop/durable';
import { billing, openStore } from './desk.js';

const [, , , id = ''] = process.argv;
const store = openStore();
const runs = durable({ store, agents: { billing } });
await runs.worker();
const result = await runs.result(id, { until: 'end' });
console.log(result.status === 'completed' ? result.text : result.status);
await runs.close();
await store.close();
