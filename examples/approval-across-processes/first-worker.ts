// The first process: takes a run on until it waits for a person, and is killed.
import { durable } from '@guardloop/durable';
import { billing, openStore } from './desk.js';

const runs = durable({ store: openStore(), agents: { billing } });
await runs.worker();
const { run } = await runs.submit('billing', 'Refund order o1.', { owner: 'anna', tenant: 'shop' });
const { status } = await runs.result(run.id, { until: 'wait' });
console.log(`${status} ${run.id}`);
process.kill(process.pid, 'SIGKILL');
