// An agent used as a tool: a run within the run, with its own guardrails and the outer run's. The outer agent stays in charge.
import assert from 'node:assert/strict';
import { allow, assertCompleted, asTool, defineAgent, defineGuardrail, defineTool, halt, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const readReviews = defineTool({
  name: 'read_reviews',
  description: 'Reads what customers wrote about an item.',
  input: z.object({ item: z.string() }),
  flow: { effect: 'read', results: 'untrusted' },
  execute: ({ item }) => [`The ${item} kept us dry.`, 'Poles bend in wind.'],
});

const model = scriptedModel({
  // Each agent has its own script; the child's run begins at its step 1.
  advisor: [callTool('ask_researcher', { input: 'Is the tent good?' }), say('Dry, but not for storms.')],
  researcher: [callTool('read_reviews', { item: 'tent' }), say('Dry inside; poles bend in wind.')],
});

const researcher = defineAgent({ name: 'researcher', instructions: 'Sum up reviews.', model, tools: [readReviews] });
const advisor = defineAgent({
  name: 'advisor',
  instructions: 'Advise customers.',
  model,
  tools: [asTool(researcher, { name: 'ask_researcher', description: 'Finds out what is known about an item.', limits: { turns: 3 } })],
});

const noSecrets = defineGuardrail({
  name: 'no-secrets',
  on: ['toolOutput', 'output'],
  check: ({ content }) => (content.includes('sk-') ? halt('a key was found') : allow()),
});

// The run's guardrail stands in the child's run too: no way around it.
const result = await run(advisor, 'Should I buy the tent?', { guardrails: [noSecrets] });
assertCompleted(result);
console.log(result.text);

// The child's events stand in the same log, under a run of their own.
const [child] = result.events.filter((event) => event.type === 'run.start' && event.parent !== undefined);
console.log(`child run ${child?.run.split('/').slice(1).join('/')} of agent ${child?.agent}`);
const guarded = result.events.flatMap((event) => (event.type === 'guard.verdict' ? [`${event.agent} ${event.surface}`] : []));
console.log(guarded.join(', '));
assert.deepEqual(guarded, ['researcher toolOutput', 'researcher output', 'advisor toolOutput', 'advisor output']);
assert.deepEqual(auditLog(result.log), []);
