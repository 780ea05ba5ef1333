import assert from 'node:assert/strict';

const failures: unknown[] = [];
const { error: writeError } = console;
console.error = (error: unknown) => failures.push(error);

// #region server
import { defineAgent, defineTool } from '@guardloop/core';
import { durable } from '@guardloop/durable';
import type { Caller } from '@guardloop/server';
import { guardloopServer } from '@guardloop/server';
import { memoryStore } from '@guardloop/store';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const refund = defineTool({
  name: 'refund',
  description: 'Refund an order, in cents.',
  input: z.object({ orderId: z.string(), cents: z.number().int() }),
  flow: { effect: 'send' },
  approval: true,
  execute: ({ cents }) => `refunded ${cents}`,
});
const model = scriptedModel([callTool('refund', { orderId: 'o1', cents: 500 }), say('Refunded.')]); // stands for openai('gpt-5')
const desk = defineAgent({ name: 'desk', instructions: 'Handle orders.', model, tools: [refund] });
const store = memoryStore(); // stands for sqliteStore or postgresStore
const runs = durable({ store, agents: { desk } });
const worker = await runs.worker(); // in this process, or in others

interface Person extends Caller {
  readonly role: 'customer' | 'supervisor';
}
/** Stands for your sessions. */
const people = new Map<string | null, Person>([
  ['session=1', { user: 'anna', tenant: 'north', role: 'customer' }],
  ['session=2', { user: 'sue', tenant: 'north', role: 'supervisor' }],
]);
const authenticate = async (request: Request) => people.get(request.headers.get('cookie'));

const app = guardloopServer<Person>({
  runs,
  agents: { desk: {} },
  authenticate,
  onError: (error) => console.error(error), // what went wrong here: clients are not told
});

// #endregion

// #region node
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';

const listening = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.env.PORT ?? 0) }); // 0: one that is free
await once(listening, 'listening');
const { port } = listening.address() as AddressInfo;
// #endregion

// #region start
const address = `http://127.0.0.1:${port}/v1`;
const asAnna = { cookie: 'session=1', 'content-type': 'application/json' };
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
  authenticate,
  authorize: (question, { role }) => {
    if (question.action === 'approval.decide' && question.approval.approval.tool === 'refund') return role === 'supervisor';
    if (question.action === 'tenant.list' || question.action.endsWith('.read')) return role === 'supervisor' ? true : undefined;
    return undefined; // the rule that stands
  },
});
// #endregion
const ofTenant = await (
  await supervised.request('http://localhost/v1/approvals?scope=tenant', { headers: { cookie: 'session=2' } })
).json();
assert.equal(ofTenant.items.length, 1);

// #region show
const internal = guardloopServer<Person>({
  runs,
  agents: { desk: {} },
  authenticate,
  show: ({ role }) => (role === 'supervisor' ? 'internal' : { tools: ['refund'] }),
});
// #endregion
const shown = await (await internal.request(`http://localhost/v1/runs/${id}/events`, { headers: asAnna })).text();
assert.match(shown, /"input":\{"orderId":"o1","cents":500\}/);

// #region local
import { anonymous } from '@guardloop/server';

const local = guardloopServer({ runs, agents: { desk: {} }, authenticate: anonymous(), protocols: ['ag-ui', 'ai-sdk'] });
// #endregion
assert.equal((await local.request('http://localhost/v1/runs')).status, 200);
assert.equal((await local.request('http://elsewhere.example/v1/runs')).status, 421);

// #region data
import { withContext } from '@guardloop/core';
import { durableAgent } from '@guardloop/durable';

const ofShop = withContext<{ readonly customer: string }>();
const clerk = ofShop.defineAgent({ name: 'clerk', instructions: ({ context }) => `You serve ${context.customer}.`, model });
const shop = durable({
  store,
  agents: { clerk: durableAgent(clerk, { data: z.object({ customer: z.string() }), context: ({ data }) => data }) },
});
const shopServer = guardloopServer<Person>({
  runs: shop,
  agents: {
    clerk: {
      allow: ({ role }) => role === 'customer', // for others it is not there
      data: ({ user }) => ({ customer: user }), // of who calls: a client has no say in it
    },
  },
  authenticate,
});
// #endregion
assert.throws(() => guardloopServer({ runs: shop, agents: { clerk: {} }, authenticate }), /`agents\.clerk\.data`/);
const ofOthers = await shopServer.request('http://localhost/v1/runs', {
  method: 'POST',
  headers: { ...asAnna, cookie: 'session=2' },
  body: JSON.stringify({ agent: 'clerk', input: 'Hello.' }),
});
assert.equal(ofOthers.status, 404);
assert.match(await ofOthers.text(), /"path":"agent"/);
await shop.close();

// #region stop
const stop = async () => {
  const closed = once(listening, 'close');
  listening.close(); // takes no new connection, and lets answers that are under way end
  const cut = setTimeout(() => 'closeAllConnections' in listening && listening.closeAllConnections(), 2_000); // breaks streams off
  await closed;
  clearTimeout(cut);
  await worker.stop({ graceMs: 10_000 }); // if it is of this process
  await runs.close();
  await store.close(); // one that you made is yours to close
};
process.once('SIGTERM', stop);
// #endregion
process.off('SIGTERM', stop);
const coming = await fetch(`${address}/runs/stream`, {
  method: 'POST',
  headers: asAnna,
  body: JSON.stringify({ agent: 'desk', input: 'Another one.' }),
});
assert.equal(coming.status, 200);
const stopping = stop();
await assert.rejects(coming.text());
await stopping;

assert.deepEqual(failures, []);
console.error = writeError;
