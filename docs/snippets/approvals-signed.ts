import assert from 'node:assert/strict';
import { auditLog } from '@guardloop/testing';

// #region signed

import { defineAgent, defineTool, resume, run, verifyApproval } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const deploy = defineTool({
  name: 'deploy',
  description: 'Deploy a service.',
  input: z.object({ service: z.string() }),
  approval: true,
  execute: ({ service }) => `${service} is live`,
});
const model = scriptedModel([callTool('deploy', { service: 'shop' }), say('It is live.')]);
const release = defineAgent({ name: 'release', instructions: 'Deploy services.', model, tools: [deploy] });
const key = crypto.getRandomValues(new Uint8Array(32)); // yours: from a secret store, the same in every process
const approvals = { key: [key], forMs: 24 * 60 * 60_000 };

const paused = await run(release, 'Deploy the shop.', { approvals });
if (paused.status !== 'interrupted') throw new Error(paused.status);
// #endregion
// #region show
const [approval] = paused.approvals; // it may have travelled as JSON
if (approval === undefined) throw new Error('nothing was asked');
const verified = await verifyApproval(approval.token ?? '', key, { approval });
if (!verified.valid) throw new Error(`not shown: ${verified.why}`);
// #endregion
const travelled: typeof approval = JSON.parse(JSON.stringify(approval));
assert.deepEqual(await verifyApproval(approval.token ?? '', key, { approval: travelled }), verified);
// #region decide
const { id, token } = approval;
const done = await resume(release, paused.log, { approvals, decisions: { [id]: { decision: 'approve', token } } });
// #endregion
assert.equal(done.status, 'completed');
assert.deepEqual(auditLog(done.log), []);
// #region refused
await assert.rejects(
  resume(release, paused.log, { approvals, decisions: { [id]: { decision: 'approve', token: `${token}0` } } }).result,
  /The token of the decision for .* is not valid: it was altered, or signed with another key/,
);
await assert.rejects(
  resume(release, done.log, { approvals, decisions: { [id]: { decision: 'approve', token } } }).result,
  /there is nothing to decide/,
);
// #endregion
