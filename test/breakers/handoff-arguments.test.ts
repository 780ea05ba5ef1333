import { allow, defineAgent, defineGuardrail, defineTool, deny, rewrite, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';

const find = defineTool({
  name: 'find',
  description: 'Finds.',
  input: z.object({ card: z.string() }),
  flow: { effect: 'read' },
  execute: () => 'found',
});

function desk(guardrail: ReturnType<typeof defineGuardrail>) {
  const model = scriptedModel({
    triage: [[say('Let me look.'), callTool('find', { card: '411-1' })], callTool('transfer_to_billing', {}), say('I stay.')],
    billing: [say('Done.')],
  });
  const billing = defineAgent({ name: 'billing', instructions: '', model, guardrails: [guardrail as never] });
  const triage = defineAgent({ name: 'triage', instructions: '', model, tools: [find], handoffs: [billing] });
  return { triage, model };
}

it('the arguments of earlier calls are shown to the input guardrails of the agent that will see them', async () => {
  const { triage, model } = desk(
    defineGuardrail({ name: 'no-cards', on: ['input'], check: ({ content }) => (content.includes('411-1') ? deny('a card') : allow()) }),
  );
  const result = await run(triage, 'hi');
  expect(result).toMatchObject({ status: 'completed', agent: 'triage', output: 'I stay.' });
  expect(model.requests.every(({ agent }) => agent === 'triage')).toBe(true);
  expect(auditLog(result.log)).toEqual([]);
});

it('arguments that a rewrite touched are left out of what the target sees, and stay in the record', async () => {
  const mask = defineGuardrail({
    name: 'mask',
    on: ['input'],
    rewrite: ({ content }) => {
      const start = content.indexOf('411-1');
      return start < 0 ? allow() : rewrite([{ start, end: start + 5, with: '####' }], 'a card');
    },
  });
  const { triage, model } = desk(mask);
  const result = await run(triage, 'hi');
  expect(result).toMatchObject({ status: 'completed', agent: 'billing', output: 'Done.' });
  const seen = model.requests.at(-1)?.messages ?? [];
  expect(JSON.stringify(seen)).not.toContain('411-1');
  expect(seen.find(({ role }) => role === 'assistant')).toMatchObject({ text: 'Let me look.', calls: [{ name: 'find', input: {} }] });
  expect(result.messages.find(({ role }) => role === 'assistant')).toMatchObject({ calls: [{ input: { card: '411-1' } }] });
  expect(auditLog(result.log)).toEqual([]);
});

it('a rewrite of the text alone leaves the arguments as they were', async () => {
  const polite = defineGuardrail({
    name: 'polite',
    on: ['input'],
    rewrite: ({ content }) => (content.startsWith('Let me') ? rewrite([{ start: 0, end: 6, with: 'I will' }], 'polite') : allow()),
  });
  const { triage, model } = desk(polite);
  await run(triage, 'hi');
  expect(model.requests.at(-1)?.messages.find(({ role }) => role === 'assistant')).toMatchObject({
    text: 'I will look.',
    calls: [{ input: { card: '411-1' } }],
  });
});
