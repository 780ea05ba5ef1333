import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineTool } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order.',
  input: z.object({ orderId: z.string() }),
  flow: { effect: 'read' },
  execute: ({ orderId }) => ({ orderId, status: 'shipped', carrier: 'c7' }),
});
const findCarrier = defineTool({
  name: 'find_carrier',
  description: 'Finds a carrier.',
  input: z.object({ carrier: z.string() }),
  flow: { effect: 'read' },
  execute: () => ({ name: 'Fast Parcels', phone: '555-0100' }),
});
const model = scriptedModel([
  callTool('find_order', { orderId: 'o1' }),
  callTool('find_carrier', { carrier: 'c7' }),
  say('Call Fast Parcels, 555-0100.'),
]);
const folder = await mkdtemp(join(tmpdir(), 'guardloop-snippet-'));
const path = join(folder, 'baseline.json');

// #region evaluate
import { defineAgent } from '@guardloop/core';
import { evalMarkdown, evaluate, readTasks } from '@guardloop/evals';

const tasks = readTasks([
  {
    id: 'carrier',
    input: 'Whom do I call about order o1?',
    calls: [{ tool: 'find_order', input: { orderId: 'o1' } }, { tool: 'find_carrier' }],
    answer: { contains: ['555-0100'] },
    evidence: [{ tool: 'find_carrier', contains: 'Fast Parcels' }],
    innocent: true,
    tags: ['two hops'],
  },
]); // or JSON.parse of a file
const agent = defineAgent({ name: 'clerk', instructions: 'Answer about orders.', model, tools: [findOrder, findCarrier] });
const result = await evaluate({ name: 'clerk', tasks, agent, trials: 3, seed: 1 });
console.log(evalMarkdown(result));
// #endregion
assert.equal(result.scores.success, 1);
assert.equal(result.scores.justified, 1);

// #region baseline
import { readFile, writeFile } from 'node:fs/promises';
import { baselineOf, compareToBaseline, describeComparison, readBaseline } from '@guardloop/evals';

await writeFile(path, JSON.stringify(baselineOf(result), undefined, 2)); // once, and whenever a change is wanted

const baseline = readBaseline(JSON.parse(await readFile(path, 'utf8')));
const comparison = compareToBaseline(result, baseline, { tokens: { share: 0.05 }, steps: 1 });
console.log(describeComparison(comparison)); // worse: success of task carrier (clerk) 1 → 0
process.exitCode = comparison.holds ? 0 : 1;
// #endregion
assert.equal(comparison.holds, true);

// #region logs
import { evaluateLogs, scoreLog } from '@guardloop/evals';

const [task] = tasks;
if (task === undefined) throw new Error('no task');
const logs: Parameters<typeof evaluateLogs>[1][number][] = [];
await evaluate({ tasks, agent, onTrial: ({ task: of, log }) => logs.push({ task: of, log }) });
const recorded = evaluateLogs('yesterday', logs);
const [one] = logs;
const { status, why, scores } = scoreLog(task, one?.log ?? { version: 1, events: [] });
// #endregion
assert.equal(recorded.scores.recall, 1);
assert.deepEqual([status, why, scores.calls], ['completed', undefined, 2]);

// #region hops
import { hopModel, hopTasks, hopTools } from '@guardloop/evals';
import { react } from '@guardloop/reasoning';

const hops = await evaluate({
  name: 'react',
  tasks: hopTasks,
  agent: () => defineAgent({ name: 'researcher', instructions: '', model: hopModel(), mode: react(), tools: hopTools() }),
});
// #endregion
assert.equal(hops.scores.success, 1);
await rm(folder, { recursive: true });
