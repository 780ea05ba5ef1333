import { expect, it } from 'vitest';
import { z } from 'zod';
import { resume, run, stream } from '../run/run.js';
import { defineAgent } from './agent.js';
import { asTool } from './as-tool.js';
import { defineGuardrail } from './guardrail.js';
import { defineTool } from './tool.js';
import type { Agent } from './types.js';
import { allow } from './verdict.js';

const model = {
  id: 'm',
  provider: 'test',
  async *stream() {
    yield* [];
    throw new Error('never asked');
  },
};
const agent: Agent<unknown, { readonly agent: 'a'; readonly output: string }> = defineAgent({ name: 'a', instructions: '', model });
const given = (name: string): never => ({ [name]: 1 }) as never;

const makers = {
  run: (option: string) => run(agent, 'hi', given(option)),
  stream: async (option: string) => stream(agent, 'hi', given(option)).result,
  resume: async (option: string) => resume(agent, { version: 1, events: [] }, given(option)).result,
  defineAgent: async (option: string) => defineAgent({ name: 'a', instructions: '', model, ...(given(option) as object) }),
  defineTool: async (option: string) =>
    defineTool({ name: 't', description: '', input: z.object({}), execute: () => '', ...(given(option) as object) }),
  defineGuardrail: async (option: string) =>
    defineGuardrail({ name: 'g', on: ['input'], check: () => allow(), ...(given(option) as object) }),
  asTool: async (option: string) => asTool(agent, { name: 't', description: '', ...(given(option) as object) }),
} as const;

it.each<[keyof typeof makers, string, string]>([
  ['run', 'maxTurns', 'Here that is `limits: { turns }`. '],
  ['run', 'max_turns', 'Here that is `limits: { turns }`. '],
  ['stream', 'maxSteps', 'Here that is `limits: { turns }`. '],
  ['resume', 'recursionLimit', 'Here that is `limits: { turns }`. '],
  ['asTool', 'maxTurns', 'Here that is `limits: { turns }`. '],
  ['run', 'toolChoice', 'Here that is `settings: { toolChoice }`. '],
  ['run', 'inputGuardrails', 'each of which says in `on` where it stands. '],
  ['run', 'threadId', 'Here that is `session: { store, id }`. '],
  ['run', 'messages', 'Here that is `history`. '],
  ['run', 'callbacks', 'Here that is `observers`. '],
  ['run', 'sesion', 'Did you mean session? '],
  ['stream', 'guardrail', 'Did you mean guardrails? '],
  ['resume', 'decision', 'Did you mean decisions? '],
  ['run', 'abortSignal', 'Did you mean signal? '],
  ['defineAgent', 'system', 'Here that is `instructions`. '],
  ['defineAgent', 'prompt', 'Here that is `instructions`. '],
  ['defineAgent', 'temperature', 'Here that is `settings: { temperature }`. '],
  ['defineAgent', 'outputType', 'Here that is `output`. '],
  ['defineAgent', 'outputGuardrails', 'each of which says in `on` where it stands. '],
  ['defineAgent', 'tool', 'Did you mean tools? '],
  ['defineTool', 'parameters', 'Here that is `input`. '],
  ['defineTool', 'inputSchema', 'Here that is `input`. '],
  ['defineTool', 'needsApproval', 'Here that is `approval`. '],
  ['defineTool', 'timeout', 'Did you mean timeoutMs? '],
  ['defineGuardrail', 'surfaces', 'Here that is `on`. '],
  ['defineGuardrail', 'onFailure', 'The options are name, on,'],
])('%s given %s says what is meant', async (maker, option, told) => {
  await expect((async () => makers[maker](option))()).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(
      new RegExp(`has an option "${option}", which does not exist\\. .*${told.replaceAll(/[.?{}]/g, '\\$&')}`),
    ),
  });
});

it('hints at no option that is not there', async () => {
  await expect(makers.defineGuardrail('maxTurns')).rejects.toMatchObject({ message: expect.not.stringContaining('Here that is') });
  await expect(makers.run('__proto__x')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});
