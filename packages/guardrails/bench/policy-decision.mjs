// `node packages/guardrails/bench/policy-decision.mjs`, after a build: what one decision of a policy of data costs, microseconds.
import { memoryLimits, policyFrom } from '../dist/index.js';
import { cel } from '../dist/policy/cel.js';

const spec = Symbol.for('guardloop.spec');
const label = { origin: 'agent:desk', integrity: 'trusted' };
const raw = {
  orderId: 'o123',
  cents: 900,
  to: 'anna@shop.example',
  url: 'https://api.shop.example/orders/o123',
  items: [{ sku: 'a1' }, { sku: 'b2' }],
};
const call = {
  surface: 'toolInput',
  content: JSON.stringify(raw),
  label,
  tool: 'refund_order',
  callId: '9.0',
  input: raw,
  raw,
  flow: { effect: 'send', results: 'trusted', authority: ['orderId', 'cents'], declared: true },
};
const infoWith = (calls) => ({
  context: { userId: 'u1' },
  run: 'r1',
  agent: 'desk',
  agentPath: ['desk'],
  messages: [],
  labels: { subject: label, view: label },
  untrustedReads: [{ tool: 'fetch_page', callId: '1.0' }],
  calls: Array.from({ length: calls }, (_, index) => ({
    run: 'r1',
    callId: `${index}.0`,
    tool: 'refund_order',
    input: { cents: 1 },
    isStarted: true,
  })),
});
const others = Array.from({ length: 20 }, (_, index) => ({ tool: `tool_${index}_*`, when: { field: 'x', atMost: index }, then: 'deny' }));
const fields = {
  all: [
    { field: 'cents', atMost: 1_000 },
    { field: 'to', endsWith: '@shop.example' },
    { every: 'items[].sku', oneOf: ['a1', 'b2', 'c3'] },
    { view: 'trusted' },
    { any: [{ effect: 'read' }, { untrustedReads: 'fetch_*' }] },
  ],
};
const rows = [
  ['fields and labels, 22 rules', { when: fields }, 0],
  [
    'the same, calls and spend of a run that has 100 calls',
    { when: fields, limit: { calls: 1_000, per: 'run' }, spend: { field: 'cents', atMost: 100_000, per: 'run' } },
    100,
  ],
  ['the same, calls by user over time', { when: fields, limit: { calls: 1e6, per: 'PT1H', by: 'userId' } }, 0],
  ['an expression of RE2', { when: { field: 'orderId', matches: 'o[0-9]+' } }, 0],
  ['a URL', { when: { field: 'url', url: { hosts: ['*.shop.example'] } } }, 0],
  ['a time window', { during: { from: '00:00', to: '23:59', zone: 'Europe/Berlin' } }, 0],
  ['CEL', { when: { cel: "input.cents <= 1000 && input.to.endsWith('@shop.example') && labels.view == 'trusted'" } }, 0],
];
for (const [name, rule, calls] of rows) {
  const policy = policyFrom(
    { name: 'p', rules: [...others, { tool: 'refund_order', ...rule, then: 'allow' }], otherwise: 'deny' },
    { cel, context: ({ userId }) => ({ userId }), limits: memoryLimits() },
  );
  const { check } = policy[spec];
  const info = infoWith(calls);
  for (let index = 0; index < 2_000; index += 1) check(call, info);
  const took = [];
  for (let index = 0; index < 5_000; index += 1) {
    const began = performance.now();
    check(call, info);
    took.push((performance.now() - began) * 1_000);
  }
  took.sort((left, right) => left - right);
  const at = (share) => (took[Math.floor(took.length * share)] ?? 0).toFixed(1).padStart(7);
  process.stdout.write(`${name.padEnd(58)} p50 ${at(0.5)} µs, p99 ${at(0.99)} µs\n`);
}
