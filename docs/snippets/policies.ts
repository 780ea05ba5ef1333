import assert from 'node:assert/strict';
// #region tool
import { defineAgent, defineTool, run, withContext } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const refundOrder = defineTool({
  name: 'refund_order',
  description: 'Refunds an order, in cents.',
  input: z.object({ orderId: z.string(), cents: z.number(), note: z.string().optional() }),
  flow: { effect: 'send', results: 'trusted', authority: ['orderId', 'cents'] },
  execute: ({ cents }) => ({ refunded: cents }),
});
// #endregion
const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order.',
  input: z.object({ orderId: z.string() }),
  flow: { effect: 'read', results: 'trusted' },
  execute: () => 'found',
});

// #region yaml
import { policyFrom } from '@guardloop/guardrails';

const text = `
name: refunds
rules:
  - tool: find_*
    then: allow
  - name: small
    tool: refund_order
    when:
      all:
        - { field: cents, atMost: 1000 }
        - { view: trusted }
    limit: { calls: 3, per: run }
    spend: { field: cents, atMost: 5000, per: P1D, by: userId, over: ask }
    then: allow
  - tool: refund_order
    then: ask
    reason: refunds above 10.00, or after something untrusted was read, need a person
otherwise: deny
`;
const policy = policyFrom(text, {
  context: (context: { readonly userId: string }) => ({ userId: context.userId }), // all that rules may see of it
});
// #endregion
const agentOf = (cents: readonly number[]) =>
  withContext<{ readonly userId: string }>().defineAgent({
    name: 'desk',
    instructions: '',
    model: scriptedModel([...cents.map((each) => callTool('refund_order', { orderId: `o${each}`, cents: each })), say('Done.')]),
    tools: [findOrder, refundOrder],
    guardrails: [policy],
  });
const statuses = async (...cents: readonly number[]) => {
  const { events } = await run(agentOf(cents), 'Go.', { context: { userId: 'u1' } });
  return events.flatMap((event) => (event.type === 'tool.end' ? [`${event.status} ${event.refusal?.reason ?? ''}`.trim()] : [])).sort();
};
assert.deepEqual(await statuses(100, 200, 300, 400), [
  'denied Rule small of policy refunds: there may be at most 3 calls in one run.',
  'ok',
  'ok',
  'ok',
]);

// #region data
import type { PolicyData } from '@guardloop/guardrails';
import { policySchema } from '@guardloop/guardrails';

const data: PolicyData = {
  name: 'mail',
  rules: [
    { tool: 'send_mail', when: { every: 'to[]', endsWith: '@shop.example', ignoreCase: true }, then: 'allow' },
    { tool: 'fetch_page', when: { field: 'url', url: { hosts: ['api.shop.example', '*.docs.example'] } }, then: 'allow' },
    { tool: ['read_file', 'write_file'], when: { field: 'path', within: { context: 'home' } }, then: 'allow' },
    { tool: '*', when: { all: [{ effect: ['write', 'send'] }, { untrustedReads: 'fetch_*' }] }, then: 'ask' },
    { tool: 'pay', during: { days: ['mon', 'tue', 'wed', 'thu', 'fri'], from: '09:00', to: '17:30', zone: 'Europe/Berlin' }, then: 'ask' },
  ],
  otherwise: { then: 'deny', reason: 'This desk does not do that.' },
};
const schemaForEditors = JSON.stringify(policySchema); // write it to a file, and name that in `$schema`
// #endregion
assert.ok(schemaForEditors.includes('"$defs"'));
const mail = policyFrom(data, { context: () => ({ home: '/home/u1' }) });

// #region explain
import { explainPolicy } from '@guardloop/guardrails';

const explanation = explainPolicy(mail, { tool: 'send_mail', input: { to: ['anna@shop.example', 'x@evil.example'] } });
// explanation.action 'deny', explanation.by 'otherwise', and explanation.text:
//
// send_mail: deny, by otherwise. This desk does not do that.
// rules[0] send_mail then allow: does not fit
//   false: every `to[]` a text that ends with "@shop.example" (in any case)
// rules[1] fetch_page then allow: not about this tool
// …
// #endregion
assert.deepEqual(explanation.text.split('\n').slice(0, 4), [
  'send_mail: deny, by otherwise. This desk does not do that.',
  'rules[0] send_mail then allow: does not fit',
  '  false: every `to[]` a text that ends with "@shop.example" (in any case)',
  'rules[1] fetch_page then allow: not about this tool',
]);

// #region cel
import { cel } from '@guardloop/guardrails/cel';

const written = policyFrom(
  {
    name: 'written',
    rules: [{ tool: 'pay', when: { cel: "input.cents <= 1000 && flow.effect != 'send' && !has(input.note)" }, then: 'allow' }],
    otherwise: 'ask',
  },
  { cel },
);
// #endregion
assert.equal(explainPolicy(written, { tool: 'pay', input: { cents: 5 } }).action, 'allow');
assert.equal(explainPolicy(written, { tool: 'pay', input: {} }).action, 'deny');

// #region dead
import { deadRules } from '@guardloop/guardrails';

const sloppy = policyFrom(
  {
    name: 'sloppy',
    rules: [
      { tool: '*', when: { view: 'untrusted' }, then: 'ask' },
      { tool: 'pay', when: { view: 'untrusted', field: 'cents', atMost: 500 }, then: 'allow' }, // rules[0] answers all of these
      { tool: 'pay', when: { field: 'cents', atMost: 5, atLeast: 10 }, then: 'allow' }, // nothing is both
    ],
    otherwise: 'deny',
  },
  { dead: 'report' }, // left out: CONFIG_INVALID
);
const found = deadRules(sloppy).map(({ path, kind, by }) => ({ path, kind, by }));
// #endregion
assert.deepEqual(found, [
  { path: 'rules[1]', kind: 'covered', by: 0 },
  { path: 'rules[2]', kind: 'contradiction', by: undefined },
]);

// #region store
import type { LimitStore } from '@guardloop/guardrails';
import { limitObserver, memoryLimits } from '@guardloop/guardrails';

const limits: LimitStore = memoryLimits(); // or yours, over a database: two functions
const hourly = policyFrom(
  { name: 'hourly', rules: [{ tool: 'refund_order', then: 'allow', limit: { calls: 2, per: 'PT1H' } }], otherwise: 'allow' },
  { limits },
);
const observers = [limitObserver(hourly)]; // for `run`: what does not run is given back at once
// #endregion
const hourlyAgent = defineAgent({
  name: 'desk',
  instructions: '',
  model: scriptedModel([
    callTool('refund_order', { orderId: 'o1', cents: 1 }),
    callTool('refund_order', { orderId: 'o2', cents: 1 }),
    callTool('refund_order', { orderId: 'o3', cents: 1 }),
    say('Done.'),
  ]),
  tools: [refundOrder],
  guardrails: [hourly],
});
const timed = await run(hourlyAgent, 'Go.', { observers });
assert.deepEqual(
  timed.events.flatMap((event) => (event.type === 'tool.end' ? [event.status] : [])),
  ['ok', 'ok', 'denied'],
);

// #region fields
import { checkFields } from '@guardloop/guardrails';

const answer = z.object({
  status: z.string(),
  orders: z.array(z.object({ id: z.string(), cents: z.number(), note: z.string().nullish() })),
  total: z.number(),
});
const fields = checkFields({
  schema: answer, // types the paths and the functions, and is checked
  fields: {
    status: { oneOf: ['open', 'closed'] },
    'orders[].cents': { atLeast: 0, atMost: 100_000 },
    'orders[].note': { optional: true, lengthAtMost: 200 },
    'orders[].id': { check: (id, whole) => whole.orders.filter((order) => order.id === id).length === 1, expects: 'unique' },
  },
  together: [
    {
      fields: ['total', 'orders[].cents'],
      expects: 'total is the sum of the orders',
      check: ({ total, orders }) => total === orders.reduce((sum, { cents }) => sum + cents, 0),
    },
  ],
});
// #endregion
const writer = defineAgent({
  name: 'writer',
  instructions: '',
  model: scriptedModel([
    say(JSON.stringify({ status: 'lost', orders: [{ id: 'o1', cents: -5 }], total: 5 })),
    say(JSON.stringify({ status: 'open', orders: [{ id: 'o1', cents: 5 }], total: 5 })),
  ]),
  output: answer,
  guardrails: [fields],
});
const written2 = await run(writer, 'Go.');
assert.equal(written2.status, 'completed');
assert.deepEqual(
  written2.events.flatMap((event) => (event.type === 'model.end' && event.refusal ? [event.refusal.reason] : [])),
  ['`status` must be one of "open", "closed"; `orders[0].cents` must be at least 0'],
);
