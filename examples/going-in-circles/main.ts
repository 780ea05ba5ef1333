// A run in which each call is fine, and all together lead nowhere: nine nearly equal searches that fail. What sees it, and what may follow.
import assert from 'node:assert/strict';
import { defineAgent, defineTool, resume, run, toolError } from '@guardloop/core';
import type { StuckOptions } from '@guardloop/reasoning';
import { printSteps, stuck } from '@guardloop/reasoning';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const findFile = defineTool({
  name: 'find_file',
  description: 'Finds a file by its path.',
  input: z.object({ path: z.string() }),
  flow: { effect: 'read' },
  execute: ({ path }) => {
    throw toolError(`There is no file of that name in a folder of ${path.split('/').length} levels.`, { errorClass: 'not_found' });
  },
});

/** Tries nine names, whatever it is told; then gives up. With `finalize` it is asked for its last answer before that. */
const tries = Array.from({ length: 9 }, (_, index) => callTool('find_file', { path: `reports/2026/november-${index + 1}.txt` }));
const clerk = (onStuck: StuckOptions['onStuck']) =>
  defineAgent({
    name: 'clerk',
    instructions: 'Find the report.',
    model: scriptedModel([
      ...(onStuck === 'finalize' ? tries.slice(0, 3) : tries),
      say('I could not find the report. What is missing: its folder.'),
    ]),
    tools: [findFile],
    monitors: [stuck({ onStuck, errors: 20 })],
  });
const question = 'Where is the November report?';
const limits = { turns: 12 };

// Told once, it goes on all the same: a nudge is words.
const nudged = await run(clerk('nudge'), question, { limits });
assert.equal(nudged.status, 'completed');
const alerts = nudged.events.flatMap((event) => (event.type === 'monitor.alert' ? [`turn ${event.turn}: ${event.sign}`] : []));
assert.deepEqual(alerts, ['turn 3: near-equal-failures']);
console.log(`${printSteps(nudged.log).split('\n').slice(0, 8).join('\n')}\n…\n${alerts.join('\n')}`);

// One last answer of what it has, that names what is missing: the run is `exhausted`, never `completed`.
const finalized = await run(clerk('finalize'), question, { limits });
assert.equal(finalized.status, 'exhausted');
assert.match(String(finalized.output), /What is missing/);

// A person decides whether it may go on.
const asked = await run(clerk('ask'), question, { limits });
if (asked.status !== 'interrupted') throw new Error(`ended ${asked.status}`);
const [approval] = asked.approvals;
assert.match(approval?.reason ?? '', /nearly the same, and all failed/);
const rejected = await resume(clerk('ask'), asked.log, { decisions: { [approval?.id ?? '']: { reject: 'Stop guessing names.' } } });
assert.equal(rejected.status, 'completed');

// Or it ends there.
const stopped = await run(clerk('stop'), question, { limits });
assert.equal(stopped.status, 'exhausted');
for (const { log } of [nudged, finalized, rejected, stopped]) assert.deepEqual(auditLog(log), []);
console.log('nudge, finalize, ask and stop did what they say');
