import type { Guardrail } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, resume, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const input = z.object({ to: z.string() });

describe('a guardrail that stands on less at resume', () => {
  const whole = { name: 'g', on: ['toolInput', 'output'] as const, check: () => allow() };
  const agentWith = (guardrail: Guardrail<unknown>) =>
    defineAgent({
      name: 'a',
      instructions: '',
      model: scriptedModel([callTool('send', { to: 'x' }), say('ok')]),
      tools: [defineTool({ name: 'send', description: 'Sends.', input, approval: true, execute: () => 'sent' })],
      guardrails: [guardrail],
    });

  it.each([
    ['on fewer surfaces', defineGuardrail({ ...whole, on: ['toolInput'] })],
    ['in shadow', defineGuardrail({ ...whole, shadow: true })],
    ['for fewer tools', defineGuardrail({ ...whole, tools: ['send'] })],
  ])('%s is RESUME_MISMATCH, unless changes are accepted', async (_, changed) => {
    const { log } = await run(agentWith(defineGuardrail(whole)), 'go');
    await expect(resume(agentWith(changed), log).result).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
    expect((await resume(agentWith(changed), log, { accept: 'changed' })).status).toBe('interrupted');
    expect((await resume(agentWith(defineGuardrail(whole)), log)).status).toBe('interrupted');
  });
});

it('a send that a person ran counts as run: an equal call later asks', async () => {
  const send = defineTool({ name: 'send', description: 'Sends.', input, flow: { effect: 'send' } });
  const model = scriptedModel([callTool('send', { to: 'x' }), callTool('send', { to: 'x' }), say('ok')]);
  const agent = defineAgent({ name: 'a', instructions: '', model, tools: [send] });
  const first = await run(agent, 'go');
  if (first.status !== 'interrupted') throw new Error(first.status);
  const second = await resume(agent, first.log, { decisions: { [first.approvals[0]?.id ?? '']: { result: 'sent' } } });
  if (second.status !== 'interrupted') throw new Error(second.status);
  expect(second.approvals[0]?.reason).toContain('has run before');
  expect(auditLog(second.log)).toEqual([]);
});
