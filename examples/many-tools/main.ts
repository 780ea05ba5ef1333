// An agent with sixty tools, of which the model sees the few that matter, and searches for another when it needs one.
import assert from 'node:assert/strict';
import { searchTools, selectTools } from '@guardloop/context';
import { defineAgent, definePolicy, defineTool, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const verbs = { get: 'read', search: 'read', create: 'write', update: 'write', delete: 'write' } as const;
const things = ['email', 'calendar event', 'contact', 'invoice', 'order', 'parcel', 'photo', 'playlist', 'task', 'note', 'room', 'lamp'];
const catalogue = things.flatMap((thing) =>
  Object.entries(verbs).map(([verb, effect]) =>
    defineTool({
      name: `${verb}_${thing.replace(' ', '_')}`,
      description: `To ${verb} the user's ${thing}.`,
      input: z.object({ what: z.string() }),
      flow: { effect },
      execute: ({ what }) => `${verb} ${thing} ${what}: done`,
    }),
  ),
);
// Not shown is not forbidden: this is what forbids.
const policy = definePolicy({
  name: 'nothing-is-deleted',
  rules: [{ tool: 'delete_*', then: 'deny', reason: 'nothing may be deleted' }],
  otherwise: 'allow',
});

const select = selectTools({ top: 4 });
const model = scriptedModel([
  callTool('search_calendar_event', { what: 'dentist' }),
  callTool('search_tools', { query: 'turn on a lamp' }), // none of those that it sees does it
  [callTool('update_lamp', { what: 'on' }), callTool('delete_photo', { what: 'all' })], // one was found, one was never shown
  say('The dentist is at nine, and the lamp is on.'),
]);
const agent = defineAgent({
  name: 'assistant',
  instructions: 'Help the user.',
  model: select(model),
  tools: [...catalogue, searchTools],
  guardrails: [policy],
});
const result = await run(agent, 'Search my calendar event for the dentist, then make it bright here.');

const shown = model.requests.map(({ tools }) => tools.map(({ name }) => name));
for (const [turn, names] of shown.entries())
  console.log(`turn ${turn + 1}: ${names.length} of ${catalogue.length + 1}: ${names.join(', ')}`);

assert.equal(result.status, 'completed');
assert.deepEqual(auditLog(result.log), []);
const [first = [], second, third = []] = shown;
assert.deepEqual(first.slice(0, 2), ['search_tools', 'search_calendar_event']);
assert.equal(first.length, 5);
assert.deepEqual(second, first); // what was called is shown already: the wire stays the same
assert.deepEqual(third.slice(0, first.length), first); // what comes in is put behind
assert.ok(third.includes('update_lamp'));
assert.deepEqual(result.events.flatMap((event) => (event.type === 'tool.end' ? [event.status] : [])).sort(), ['denied', 'ok', 'ok', 'ok']);
