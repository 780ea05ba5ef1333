// The same code on Node, Bun and Deno (and in a browser): core and its adapters import nothing of Node's own.
//
//   node examples/dist/runtimes/main.js
//   npm exec --yes --package=bun@1.4.5 -- bun examples/runtimes/main.ts
//   npm exec --yes --package=deno@2.9.6 -- deno run examples/dist/runtimes/main.js
import type { Log } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, deny, resume, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const runtime = 'Bun' in globalThis ? 'Bun' : 'Deno' in globalThis ? 'Deno' : 'process' in globalThis ? 'Node' : 'a browser';

const openDoor = defineTool({
  name: 'open_door',
  description: 'Opens a door.',
  input: z.object({ door: z.string() }),
  flow: { effect: 'write' },
  approval: true,
  execute: async ({ door }) => `The ${door} is open.`,
});
const noCellars = defineGuardrail({
  name: 'no-cellars',
  on: ['toolInput'],
  timeoutMs: 1_000,
  check: async ({ content }) => (content.includes('cellar') ? deny('cellars stay closed') : allow()),
});
const model = scriptedModel([
  [callTool('open_door', { door: 'gate' }), callTool('open_door', { door: 'cellar' })],
  say('The gate is open, the cellar stays closed.'),
]);
const porter = defineAgent({ name: 'porter', instructions: 'Open doors.', model, tools: [openDoor], guardrails: [noCellars] });

// An approval has a digest (sha256), and the run goes through JSON.
const asked = await run(porter, 'Open the gate and the cellar.');
if (asked.status !== 'interrupted') throw new Error(`The run is ${asked.status}, expected interrupted.`);
const decisions = Object.fromEntries(asked.approvals.map(({ id }) => [id, 'approve' as const]));
const result = await resume(porter, JSON.parse(JSON.stringify(asked.log)) as Log, { decisions });

const findings = auditLog(result.log);
if (result.status !== 'completed' || findings.length > 0)
  throw new Error(`On ${runtime} the run is ${result.status}. ${findings.join(' ')}`);
console.log(`${runtime}: ${result.text}`);
