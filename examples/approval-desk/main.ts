// A desk where people decide, apart from the process that runs the agent: what it shows is what was signed, and what it sends back decides
// nothing else. One decision stands for calls that come later.
import assert from 'node:assert/strict';
import type { ApprovalSigning, Log, OpenApproval, SignedDecision, StandingDecision } from '@guardloop/core';
import { assertCompleted, defineAgent, defineTool, GuardloopError, resume, run, verifyApproval } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const credited: string[] = [];
const credit = defineTool({
  name: 'credit',
  description: 'Credits an order, in cents.',
  input: z.object({ orderId: z.string(), cents: z.number().int().positive() }),
  flow: { effect: 'send', authority: ['orderId', 'cents'] },
  approval: true,
  execute: ({ orderId, cents }) => {
    credited.push(`${orderId} ${cents}`);
    return 'credited';
  },
});
const model = scriptedModel([
  callTool('credit', { orderId: 'o1', cents: 300 }),
  callTool('credit', { orderId: 'o1', cents: 200 }),
  callTool('credit', { orderId: 'o2', cents: 900 }),
  say('All credited.'),
]);
const clerk = defineAgent({ name: 'clerk', instructions: 'Credit what is due.', model, tools: [credit] });

// Both sides know the key; in life it comes from a secret store. The first of the list signs, the others are still taken.
const key = crypto.getRandomValues(new Uint8Array(32));
const approvals: ApprovalSigning = { key: [key], forMs: 60 * 60_000 };

/** What the desk gets: JSON that passed through a queue. It shows only what a run of ours has signed. */
async function show(message: string): Promise<OpenApproval> {
  const approval = JSON.parse(message) as OpenApproval;
  const verified = await verifyApproval(approval.token ?? '', key, { approval });
  if (!verified.valid) throw new Error(`The desk shows nothing that is ${verified.why}.`);
  assert.ok(approval.surface === 'toolInput');
  console.log(
    `${approval.agentPath.join(' > ')}: ${approval.tool} ${JSON.stringify(approval.input)} (${approval.flow.effect}, ${approval.label.integrity})`,
  );
  return approval;
}

const paused = await run(clerk, 'Credit orders o1 and o2.', { approvals });
assert.ok(paused.status === 'interrupted');
const [first] = paused.approvals;
assert.ok(first);
const message = JSON.stringify(first);

// Somebody changed the amount on the way: the desk does not show it.
await assert.rejects(show(message.replace('300', '3')), /nothing that is other/);

// This order may be credited for an hour: for other amounts too, for other orders not.
const shown = await show(message);
const standing: StandingDecision = { approve: 'standing', when: { orderId: 'o1' }, forMs: 60 * 60_000 };
const reply = JSON.stringify({ decision: standing, token: shown.token });

// In another process, with the log from a database.
const log = JSON.parse(JSON.stringify(paused.log)) as Log;
const next = await resume(clerk, log, { approvals, decisions: { [first.id]: JSON.parse(reply) as SignedDecision } });
assert.deepEqual(credited, ['o1 300', 'o1 200']);
assert.ok(next.status === 'interrupted');
const [second] = next.approvals;
assert.ok(second);
console.log(`credited ${credited.join(', ')}; ${JSON.stringify(second.input)} waits`);

// The reply was kept and is sent again, for the other order: a token is for one question.
const again = { [second.id]: JSON.parse(reply) as SignedDecision };
await assert.rejects(
  resume(clerk, next.log, { approvals, decisions: again }).result,
  (error) => GuardloopError.is(error) && error.code === 'RESUME_MISMATCH',
);

const { token } = await show(JSON.stringify(second));
const done = await resume(clerk, next.log, { approvals, decisions: { [second.id]: { decision: 'approve', token } } });
assertCompleted(done);
assert.deepEqual(credited, ['o1 300', 'o1 200', 'o2 900']);
