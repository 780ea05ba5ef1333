import assert from 'node:assert/strict';
import { defineAgent, defineTool, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

// #region verdicts

import { allow, ask, defineGuardrail, deny, halt, rewrite } from '@guardloop/core';

const payments = defineGuardrail({
  name: 'payments',
  on: ['toolInput'],
  tools: ['pay'],
  // First `rewrite`, then `check` on what it made.
  rewrite: ({ raw }) => (raw.currency === undefined ? rewrite({ ...raw, currency: 'EUR' }, 'a currency was added') : allow()),
  check: ({ raw }) => {
    const cents = Number(raw.cents);
    if (raw.to === 'blocked') return halt('a payment to a blocked account was tried', { reply: 'This conversation was ended.' });
    if (cents > 1_000_00) return deny('payments above 1000.00 are not made here');
    if (cents > 100_00) return ask('payments above 100.00 need a person');
    return allow();
  },
});
// #endregion
const paid: unknown[] = [];
const pay = defineTool({
  name: 'pay',
  description: 'Pay.',
  input: z.object({ to: z.string(), cents: z.number(), currency: z.string().optional() }),
  execute: (input) => {
    paid.push(input);
    return 'paid';
  },
});
const teller = (input: { to: string; cents: number }) =>
  defineAgent({
    name: 'teller',
    instructions: '',
    model: scriptedModel([callTool('pay', input), say('Done.')]),
    tools: [pay],
    guardrails: [payments],
  });
const small = await run(teller({ to: 'a', cents: 10 }), 'Pay.');
assert.equal(small.status, 'completed');
assert.deepEqual(paid, [{ to: 'a', cents: 10, currency: 'EUR' }]);
const middle = await run(teller({ to: 'a', cents: 500_00 }), 'Pay.');
assert.equal(middle.status, 'interrupted');
assert.deepEqual(middle.status === 'interrupted' && middle.approvals[0]?.input, { to: 'a', cents: 500_00, currency: 'EUR' });
const large = await run(teller({ to: 'a', cents: 5_000_00 }), 'Pay.');
assert.equal(large.status, 'completed');
assert.match(JSON.stringify(large.messages), /payments above 1000.00 are not made here/);
const bad = await run(teller({ to: 'blocked', cents: 1 }), 'Pay.');
assert.deepEqual(bad.status === 'blocked' && { by: bad.by, surface: bad.surface, reply: bad.reply }, {
  by: 'payments',
  surface: 'toolInput',
  reply: 'This conversation was ended.',
});
assert.equal(paid.length, 1);

// #region surfaces
const secrets = defineGuardrail({
  name: 'no-secrets',
  on: ['input', 'toolInput', 'toolOutput', 'handoff', 'output'],
  check: (subject) => {
    if (!/sk-[a-z0-9]{16}/i.test(subject.content)) return allow();
    return subject.surface === 'input' ? halt('a secret was typed in') : deny(`a secret stood in the ${subject.surface}`);
  },
});
// #endregion
const key = 'sk-0123456789abcdef';
const leaking = defineAgent({
  name: 'leaking',
  instructions: '',
  model: scriptedModel([say(key), say(`again ${key}`)]),
  guardrails: [secrets],
});
const leak = await run(leaking, 'Tell me.');
assert.equal(leak.status === 'blocked' && leak.surface, 'output');
assert.ok(!JSON.stringify(leak).includes(key));
const typed = await run(leaking, `My key is ${key}`);
assert.equal(typed.status === 'blocked' && typed.surface, 'input');
assert.ok(!JSON.stringify(typed).includes(key));

// #region coverage
import { coverage } from '@guardloop/core';

const report = coverage(leaking, { guardrails: [payments] });
// [{ agent: 'leaking', agentPath: ['leaking'],
//    surfaces: { input: ['no-secrets'], handoff: ['no-secrets'], output: ['no-secrets'] }, unguarded: [] }]
// #endregion
assert.deepEqual(report, [
  {
    agent: 'leaking',
    agentPath: ['leaking'],
    surfaces: { input: ['no-secrets'], handoff: ['no-secrets'], output: ['no-secrets'] },
    unguarded: [],
  },
]);
await assert.rejects(
  run(teller({ to: 'a', cents: 1 }), 'Pay.', { strict: true }),
  /these surfaces have no guardrail: teller: input; teller: output; teller > pay: toolOutput/,
);
