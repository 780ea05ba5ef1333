// What guardrails and tools are given leads to nothing of the engine.
import { inspect } from 'node:util';
import { allow, defineAgent, defineGuardrail, defineTool, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';

it('their second argument holds no handle of the run, however it is looked at', async () => {
  const given: object[] = [];
  const look = defineGuardrail({
    name: 'look',
    on: ['input', 'toolInput', 'toolOutput', 'output'],
    rewrite: (_subject, info) => {
      given.push(info);
      return allow();
    },
    check: (_subject, info) => {
      given.push(info);
      return allow();
    },
  });
  const tool = defineTool({
    name: 'find',
    description: 'Finds.',
    input: z.object({}),
    execute: (_input, info) => {
      given.push(info);
      return 'found';
    },
  });
  const model = scriptedModel([callTool('find'), say('Done.')]);
  const result = await run(defineAgent({ name: 'a', instructions: '', model, tools: [tool], guardrails: [look] }), 'hi');
  expect(result.status).toBe('completed');
  expect(given.length).toBeGreaterThan(8);
  for (const info of given) {
    expect(Object.values({ ...info }).filter((value) => typeof value === 'object' && value !== null)).toEqual([]);
    expect(inspect(info, { depth: 4, showHidden: true })).not.toMatch(/RunHandle|writer|Observers/);
  }
});
