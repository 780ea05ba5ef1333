// The second process: HTTP alone. It knows no agent; it lists what people are asked, and takes their decisions.
import { durableClient } from '@guardloop/durable';
import type { Caller } from '@guardloop/server';
import { guardloopServer } from '@guardloop/server';
import { serve } from '@hono/node-server';
import { openStore } from './desk.js';

interface Person extends Caller {
  readonly isSupervisor: boolean;
}
const people = new Map<string, Person>([
  ['token-of-anna', { user: 'anna', tenant: 'shop', isSupervisor: false }],
  ['token-of-sue', { user: 'sue', tenant: 'shop', isSupervisor: true }],
  ['token-of-mallory', { user: 'mallory', tenant: 'elsewhere', isSupervisor: true }],
]);

const app = guardloopServer<Person>({
  runs: durableClient({ store: openStore() }),
  agents: { billing: {} },
  authenticate: (request) => people.get(request.headers.get('authorization')?.replace('Bearer ', '') ?? ''),
  // Supervisors see all of their tenant and decide; nobody approves what they asked for themselves.
  authorize: ({ action }, { isSupervisor }) => (action === 'approval.decide' ? isSupervisor : isSupervisor || undefined),
});
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => console.log(`http://127.0.0.1:${port}/v1`));
