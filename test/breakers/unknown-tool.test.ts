import { allow, defineAgent, defineGuardrail, deny, handoff, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { expect, it } from 'vitest';

const everywhere = defineGuardrail({
  name: 'everywhere',
  on: ['input', 'toolInput', 'toolOutput', 'handoff', 'output'],
  check: ({ content }) => (content.includes('CANARY') ? deny('no') : allow()),
});

it.each(['stop', 'finalize'] as const)('records and replays no name that a model made up for a tool (%s)', async (onLimit) => {
  const model = scriptedModel([callTool('CANARY_1'), [say('last'), callTool('CANARY_2')]]);
  const agent = defineAgent({ name: 'desk', instructions: 'Help.', model, guardrails: [everywhere] });
  const result = await run(agent, 'hello', { limits: { turns: 1 }, onLimit });
  expect(result.status).toBe('exhausted');
  expect(result.messages[1]).toMatchObject({ calls: [{ name: 'unknown_tool' }] });
  expect(JSON.stringify([result.log, model.requests])).not.toContain('CANARY');
});

it('keeps the name of what another agent is offered', async () => {
  const model = scriptedModel({ triage: [callTool('go')], billing: [callTool('go'), say('done')] });
  const billing = defineAgent({ name: 'billing', instructions: 'Bill.', model });
  const triage = defineAgent({ name: 'triage', instructions: 'Triage.', model, handoffs: [handoff(billing, { name: 'go' })] });
  expect(await run(triage, 'hello')).toMatchObject({ status: 'completed', agent: 'billing' });
  const calls = model.requests.at(-1)?.messages.flatMap((message) => (message.role === 'assistant' ? message.calls : []));
  expect(calls).toMatchObject([{ name: 'go' }]);
});
