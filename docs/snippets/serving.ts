import assert from 'node:assert/strict';
import { memoryStore } from '@guardloop/store';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const model = scriptedModel([callTool('refund', { orderId: 'o1', cents: 500 }), say('Refunded.')]);
const store = memoryStore(); // stands for sqliteStore or postgresStore
interface Account {
  readonly name: string;
  readonly shop: string;
  readonly role: 'customer' | 'supervisor';
}
const accounts: Readonly<Record<string, Account>> = {
  'session=1': { name: 'anna', shop: 'north', role: 'customer' },
  'session=2': { name: 'sue', shop: 'north', role: 'supervisor' },
};
const accountOf = async (cookie: string | null): Promise<Account | undefined> => accounts[cookie ?? ''];
const failures: unknown[] = [];

// #region server
import { defineAgent, defineTool } from '@guardloop/core';
import { durable } from '@guardloop/durable';
import type { Caller } from '@guardloop/server';
import { guardloopServer } from '@guardloop/server';

const refund = defineTool({
  name: 'refund',
  description: 'Refund an order, in cents.',
  input: z.object({ orderId: z.string(), cents: z.number().int() }),
  flow: { effect: 'send' },
  approval: true,
  execute: ({ cents }) => `refunded ${cents}`,
});
const desk = defineAgent({ name: 'desk', instructions: 'Handle orders.', model, tools: [refund] });
const runs = durable({ store, agents: { desk } });
const worker = await runs.worker(); // in this process, or in others

interface Person extends Caller {
  readonly role: 'customer' | 'supervisor';
}
const app = guardloopServer<Person>({
  runs,
  agents: { desk: {} },
  authenticate: async (request) => {
    const account = await accountOf(request.headers.get('cookie'));
    return account && { user: account.name, tenant: account.shop, role: account.role };
  },
  onError: (error) => failures.push(error),
});

// #endregion

// #region node
import { serve } from '@hono/node-server';

const listening = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 });
// #endregion
await new Promise<void>((resolve) => listening.once('listening', () => resolve()));
const bound = listening.address();
assert(typeof bound === 'object' && bound !== null);
const address = `http://127.0.0.1:${bound.port}/v1`;
const asAnna = { cookie: 'session=1', 'content-type': 'application/json' };

// #region start
const started = await fetch(`${address}/runs`, {
  method: 'POST',
  headers: { ...asAnna, 'idempotency-key': 'order-1-refund' },
  body: JSON.stringify({ agent: 'desk', input: 'Refund order o1.', session: 'chat-1' }),
});
const { id } = await started.json(); // 201; the same key again: 200 and the same run
// #endregion
assert.equal(started.status, 201);
await runs.result(id, { until: 'wait' });

// #region decide
const { items } = await (await fetch(`${address}/approvals?state=open`, { headers: asAnna })).json();
const [asked] = items; // asked.approval is what the log asks, word for word: show it
const decided = await fetch(`${address}/approvals/${encodeURIComponent(asked.id)}/decision`, {
  method: 'POST',
  headers: asAnna,
  body: JSON.stringify({ decision: 'approve', digest: asked.approval.digest }),
});
// #endregion
assert.equal(decided.status, 200);

// #region stream
const stream = await fetch(`${address}/runs/${id}/events`, { headers: asAnna }); // or an EventSource
const text = await stream.text(); // until the run has ended
// #endregion
assert.match(text, /event: text\.delta\nid: \S+\ndata: \{"type":"text\.delta","turn":2,"text":"Refunded\."\}\n\n/);
assert.match(text, /event: run\.end\n/);

// #region authorize
const supervised = guardloopServer<Person>({
  runs,
  agents: { desk: {} },
  authenticate: () => ({ user: 'sue', tenant: 'north', role: 'supervisor' }),
  authorize: (question, { role }) => {
    if (question.action === 'approval.decide' && question.approval.approval.tool === 'refund') return role === 'supervisor';
    if (question.action === 'tenant.list' || question.action.endsWith('.read')) return role === 'supervisor' ? true : undefined;
    return undefined; // the rule that stands
  },
});
// #endregion
const ofTenant = await (await supervised.request('http://localhost/v1/approvals?scope=tenant')).json();
assert.equal(ofTenant.items.length, 1);

// #region show
const internal = guardloopServer<Person>({
  runs,
  agents: { desk: {} },
  authenticate: () => ({ user: 'anna', tenant: 'north', role: 'customer' }),
  show: ({ role }) => (role === 'supervisor' ? 'internal' : { tools: ['refund'] }),
});
// #endregion
const shown = await (await internal.request(`http://localhost/v1/runs/${id}/events`)).text();
assert.match(shown, /"input":\{"orderId":"o1","cents":500\}/);

// #region local
import { anonymous } from '@guardloop/server';

const local = guardloopServer({ runs, agents: { desk: {} }, authenticate: anonymous(), protocols: ['ag-ui', 'ai-sdk'] });
// #endregion
assert.equal((await local.request('http://localhost/v1/runs')).status, 200);
assert.equal((await local.request('http://elsewhere.example/v1/runs')).status, 421);

assert.deepEqual(failures, []);
await new Promise<void>((resolve) => {
  listening.close(() => resolve());
  if ('closeAllConnections' in listening) listening.closeAllConnections();
});
await worker.stop();
await runs.close();
