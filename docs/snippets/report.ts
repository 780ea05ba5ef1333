import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { allow, defineAgent, defineGuardrail, defineTool, deny } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const refundOrder = defineTool({
  name: 'refund_order',
  description: 'Refund one order, in cents.',
  input: z.object({ orderId: z.string(), cents: z.number() }),
  flow: { effect: 'send' },
  execute: ({ orderId }) => `refunded ${orderId}`,
});
const smallRefunds = defineGuardrail({
  name: 'small-refunds',
  on: ['toolInput'],
  check: ({ raw }) => (Number(raw.cents) <= 5_000 ? allow() : deny('a person makes refunds above 50.00')),
});
const model = scriptedModel([callTool('refund_order', { orderId: 'o1', cents: 12_000 }), say('A colleague will see to it.')]);
const agent = defineAgent({ name: 'billing', instructions: 'Handle refunds.', model, tools: [refundOrder], guardrails: [smallRefunds] });
const folder = await mkdtemp(join(tmpdir(), 'guardloop-snippet-'));
const path = join(folder, 'run.html');

// #region page

import { writeFile } from 'node:fs/promises';
import { run } from '@guardloop/core';
import { guardReport, reportHtml, reportMarkdown } from '@guardloop/core/report';
import { auditLog } from '@guardloop/testing';

const result = await run(agent, 'Refund order o1, it cost 120.00.');
const report = guardReport(result.log, { findings: auditLog(result.log) });
await writeFile(path, reportHtml(report, { title: 'Refund of order o1', about: 'Asked for in chat 17.' }));
// #endregion

// #region markdown
console.log(reportMarkdown(report, { title: 'Refund of order o1' }));
// #endregion
assert.match(reportMarkdown(report), /✗ \*\*refused\*\* by `small-refunds`/);

// #region data
const refused = report.runs.flatMap(({ entries }) =>
  entries.flatMap(({ verdicts }) => verdicts.filter(({ action }) => action === 'deny' || action === 'halt')),
);
for (const { guardrail, surface, reason, ms } of refused) console.log(guardrail, surface, reason, ms);
console.log(report.counts.asked, report.counts.failed, report.guardrails.length);
// #endregion
assert.equal(refused.length, 1);
await rm(folder, { recursive: true });
