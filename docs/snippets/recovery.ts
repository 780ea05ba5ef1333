import assert from 'node:assert/strict';
import { defineTool, toolError } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const readFile = defineTool({
  name: 'read_file',
  description: 'Reads a file.',
  input: z.object({ path: z.string() }),
  flow: { effect: 'read' },
  execute: ({ path }) => {
    if (path.endsWith('.md')) return 'Call Anna.';
    throw toolError('There is no such file.', { errorClass: 'not_found' });
  },
});
const model = scriptedModel([
  callTool('read_file', { path: 'notes.txt' }),
  callTool('read_file', { path: 'note.txt' }),
  callTool('read_file', { path: 'notes.text' }),
  callTool('read_file', { path: 'notes.md' }),
  say('Call Anna.'),
]);

// #region stuck
import { defineAgent, run } from '@guardloop/core';
import { stuck } from '@guardloop/reasoning';

const agent = defineAgent({
  name: 'clerk',
  instructions: 'Read the notes.',
  model,
  tools: [readFile],
  monitors: [stuck({ onStuck: 'nudge' })], // or 'ask', 'finalize', 'stop'
});
const result = await run(agent, 'What do the notes say?');
// #endregion
assert.equal(result.status === 'completed' && result.output, 'Call Anna.');
// #region alerts
const alerts = result.events.flatMap((event) => (event.type === 'monitor.alert' ? [`turn ${event.turn}: ${event.sign}`] : []));
// #endregion
assert.deepEqual(alerts, ['turn 3: near-equal-failures']);

// #region monitor
import { defineMonitor } from '@guardloop/core';

const patience = defineMonitor({
  name: 'patience',
  start: () => {
    let denied = 0;
    return (event) => {
      if (event.type !== 'tool.end' || event.status !== 'denied') return undefined;
      denied += 1;
      return denied === 3 ? { sign: 'denied', reason: 'Three calls were denied: say what you need them for.', then: 'note' } : undefined;
    };
  },
});
// #endregion
assert.equal(patience.name, 'patience');
