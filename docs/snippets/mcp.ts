import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { assertCompleted, resume } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';

const program = { command: process.execPath, args: [fileURLToPath(new URL('notes-server.mjs', import.meta.url))] };
const model = scriptedModel([
  callTool('notes__read_note', { title: 'shopping' }),
  callTool('notes__write_note', { title: 'shopping', body: 'Milk.' }),
  say('Done.'),
]);

// #region connect
import { defineAgent, run } from '@guardloop/core';
import { mcpServer } from '@guardloop/mcp';

const notes = await mcpServer({
  name: 'notes',
  ...program, // command: 'npx', args: ['-y', 'some-notes-server']
  allow: ['read_*', 'write_note'],
  flow: {
    'read_*': { effect: 'read' },
    write_note: { effect: 'write', authority: ['title'] },
  },
  approval: ['write_*'],
});
const keeper = defineAgent({ name: 'keeper', instructions: 'Keep the notes.', model, tools: [...notes.tools] });
const paused = await run(keeper, 'Tidy my shopping list.');
// #endregion
if (paused.status !== 'interrupted') throw new Error(paused.status);
assert.deepEqual(
  notes.tools.map(({ name }) => name),
  ['notes__read_note', 'notes__write_note'],
);
assert.deepEqual(
  paused.approvals.map((approval) => 'tool' in approval && approval.tool),
  ['notes__write_note'],
);
const read = paused.events.flatMap((event) => (event.type === 'tool.end' ? [event.label.integrity] : []));
assert.deepEqual(read, ['untrusted']);
const done = await resume(keeper, paused.log, { decisions: { [paused.approvals[0]?.id ?? '']: 'approve' } });
assertCompleted(done);
assert.deepEqual(auditLog(done.log), []);

// #region names
import { definePolicy } from '@guardloop/core';
import { mcpToolName } from '@guardloop/mcp';

const policy = definePolicy({
  name: 'notes-policy',
  rules: [
    { tool: 'notes__read_*', then: 'allow' }, // all that the server `notes` reads
    { tool: mcpToolName('notes', 'write_note'), then: 'ask' },
  ],
  otherwise: 'deny',
});
const original = notes.originalName('notes__read_note'); // read_note
// #endregion
assert.equal(original, 'read_note');
void policy;

// #region several
import { mcpTools } from '@guardloop/mcp';

const other = await mcpServer({ name: 'old-notes', ...program, onUnavailable: 'skip' });
const both = defineAgent({ name: 'both', instructions: 'Keep all notes.', model, tools: mcpTools([notes, other]) });
// #endregion
void both;

// #region descriptions
import { allow, deny } from '@guardloop/core';
import { findInjection } from '@guardloop/guardrails';

const checked = await mcpServer({
  name: 'notes',
  ...program,
  checkDescription: [
    (text, where) => (/\bpasswords?\b/i.test(text) ? deny(`${where} asks for passwords`) : allow()),
    findInjection(), // heuristics: never the only barrier
  ],
  onWarning: ({ server, tool, message }) => console.log(server, tool, message),
});
const refused = checked.refused; // [{ tool, why: 'description', reason: '…' }]
// #endregion
assert.deepEqual(refused, []);

// #region close
await Promise.all([notes, other, checked].map((server) => server.close()));
// #endregion
