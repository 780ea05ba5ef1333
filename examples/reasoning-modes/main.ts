// One task of two hops, in the three ways in which an agent can reason: who discovered radium, and what is the weather where they were born?
import assert from 'node:assert/strict';
import type { Mode } from '@guardloop/core';
import { defineAgent, defineTool, run } from '@guardloop/core';
import { checkInvariant, evidence, printSteps, react, steps, textReact } from '@guardloop/reasoning';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const findDiscoverer = defineTool({
  name: 'find_discoverer',
  description: 'Finds who discovered something, and where that person was born.',
  input: z.object({ what: z.string() }),
  flow: { effect: 'read' },
  execute: () => ({ person: 'Marie Curie', born: 'Warsaw' }),
});
const getWeather = defineTool({
  name: 'get_weather',
  description: 'Gets the weather in a city now.',
  input: z.object({ city: z.string() }),
  flow: { effect: 'read' },
  execute: ({ city }) => `${city}: 4 °C, rain`,
});

const answer = 'Marie Curie discovered radium. In Warsaw, where she was born, it is 4 °C and raining.';
const thoughts = [
  'I must know who discovered radium first.',
  'She was born in Warsaw: now the weather there.',
  'Nothing is missing.',
] as const;

/** What a model says in each mode; with a real one, the same agents run. */
const ways: readonly { readonly mode: Mode | undefined; readonly script: Parameters<typeof scriptedModel>[0] }[] = [
  {
    mode: undefined, // `tools`: an answer without calls is final, and thoughts are the model's own affair
    script: [callTool('find_discoverer', { what: 'radium' }), callTool('get_weather', { city: 'Warsaw' }), say(answer)],
  },
  {
    mode: react(),
    script: [
      [say(thoughts[0]), callTool('find_discoverer', { what: 'radium' })],
      callTool('get_weather', { city: 'Paris' }), // jumps to the call: it is not run, and the model is told
      [say(thoughts[1]), callTool('get_weather', { city: 'Warsaw' })],
      [say(thoughts[2]), callTool('final_answer', { answer })],
    ],
  },
  {
    mode: textReact(), // for a model that has no calls at all: it writes text, and is read strictly
    script: [
      say(`Thought 1: ${thoughts[0]}\nAction 1: find_discoverer[radium]`),
      say(`Thought 2: ${thoughts[1]}\nAction 2: get_weather\nAction Input 2: {"city": "Warsaw"}`),
      say(`Thought 3: ${thoughts[2]}\nAction 3: Finish[${answer}]`),
    ],
  },
];

for (const { mode, script } of ways) {
  const agent = defineAgent({
    name: 'researcher',
    instructions: 'Answer from what the tools say.',
    model: scriptedModel(script),
    tools: [findDiscoverer, getWeather],
    guardrails: [evidence(['find_discoverer', 'get_weather'])], // no answer before both are known
    mode,
  });
  const result = await run(agent, 'Who discovered radium, and what is the weather where they were born?', { runId: 'two-hops' });
  console.log(`\n== ${mode?.name ?? 'tools'} ==\n${printSteps(result.log)}`);

  assert.equal(result.status, 'completed');
  assert.equal(result.output, answer);
  assert.deepEqual(auditLog(result.log), []);
  const cities = steps(result.log).flatMap(({ action, status }) =>
    action.kind === 'call' && action.name === 'get_weather' && status === 'ok' ? [action.input.city] : [],
  );
  assert.deepEqual(cities, ['Warsaw']); // never where nobody had thought
  // In `tools` no action has a thought; in the others, each that ran.
  const thoughtless = checkInvariant(result.log).filter(({ status }) => status === 'ok').length;
  assert.equal(thoughtless, mode === undefined ? 2 : 0);
}
