import type { JsonValue, RunEvent } from '@guardloop/core';
import { allow, ask, defineAgent, defineGuardrail, defineTool, deny, resume, rewrite, run } from '@guardloop/core';
import { callTool, say, scriptedModel, think } from '@guardloop/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';

function keep() {
  const kept = new Map<string, JsonValue>();
  return {
    kept,
    put: async (key: string, value: JsonValue) => void kept.set(key, value),
    get: async (key: string) => kept.get(key),
    delete: async (key: string) => void kept.delete(key),
  };
}
const redact = defineGuardrail({
  name: 'redact',
  on: ['output'],
  rewrite: ({ content }) => (content.includes('CANARY') ? rewrite(content.replaceAll('CANARY', '[name]'), 'a name') : allow()),
});
const look = defineGuardrail({ name: 'look', on: ['output'], check: ({ kind }) => (kind === 'answer' ? ask('look at it') : allow()) });

it('records the reasoning of an approved answer as the guardrails rewrote it', async () => {
  const model = scriptedModel([[think('the CANARY thought'), say('hello')]], { native: () => ({ thought: 'the CANARY thought' }) });
  const agent = defineAgent({ name: 'desk', instructions: 'Help.', model, guardrails: [redact, look] });
  const quarantine = keep();
  const shown: RunEvent[] = [];
  const shared = { quarantine, reasoning: 'show', observers: [(event: RunEvent) => shown.push(event)] } as const;
  const asked = await run(agent, 'hi', shared);
  if (asked.status !== 'interrupted') throw new Error(`It ended ${asked.status}.`);
  expect(shown.filter(({ type }) => type === 'reasoning.delta')).toEqual([]);
  const [approval] = asked.approvals;
  const result = await resume(agent, asked.log, { ...shared, decisions: { [approval?.id ?? '']: 'approve' } });
  expect(result).toMatchObject({ status: 'completed', text: 'hello' });
  expect(shown.flatMap((event) => (event.type === 'reasoning.delta' ? [event.text] : []))).toEqual(['the [name] thought']);
  expect(JSON.stringify([result.log, shown])).not.toContain('CANARY');
});

it('keeps no reasoning in quarantine that is not shown', async () => {
  const agent = defineAgent({
    name: 'desk',
    instructions: 'Help.',
    model: scriptedModel([[think('CANARY'), say('hello')]]),
    guardrails: [look],
  });
  const quarantine = keep();
  expect((await run(agent, 'hi', { quarantine })).status).toBe('interrupted');
  expect(JSON.stringify([...quarantine.kept])).not.toContain('CANARY');
});

it('refuses an approved answer of which anything was changed in the quarantine', async () => {
  const send = defineTool({ name: 'send', description: 'Sends.', input: z.object({ to: z.string() }), execute: () => 'sent' });
  const model = scriptedModel([[say('hello'), callTool('send', { to: 'ann' })], say('bye')]);
  const agent = defineAgent({ name: 'desk', instructions: 'Help.', model, tools: [send], guardrails: [look] });
  const quarantine = keep();
  const asked = await run(agent, 'hi', { quarantine });
  if (asked.status !== 'interrupted') throw new Error(`It ended ${asked.status}.`);
  const [approval] = asked.approvals;
  for (const [key, value] of quarantine.kept) quarantine.kept.set(key, JSON.parse(JSON.stringify(value).replaceAll('ann', 'eve')));
  const result = await resume(agent, asked.log, { quarantine, decisions: { [approval?.id ?? '']: 'approve' } });
  expect(result).toMatchObject({ status: 'failed', error: { code: 'RESUME_MISMATCH' } });
});

it('runs no call of a last answer that a person approved after the limit', async () => {
  let ran = 0;
  const count = (): number => {
    ran += 1;
    return ran;
  };
  const send = defineTool({ name: 'send', description: 'Sends.', input: z.object({}), execute: () => String(count()) });
  const model = scriptedModel([callTool('send'), [say('last'), callTool('send')], say('never')]);
  const agent = defineAgent({ name: 'desk', instructions: 'Help.', model, tools: [send], guardrails: [look] });
  const quarantine = keep();
  const asked = await run(agent, 'hi', { quarantine, limits: { turns: 1 }, onLimit: 'finalize' });
  if (asked.status !== 'interrupted') throw new Error(`It ended ${asked.status}.`);
  const [approval] = asked.approvals;
  const result = await resume(agent, asked.log, { quarantine, decisions: { [approval?.id ?? '']: 'approve' } });
  expect(result).toMatchObject({ status: 'exhausted', limit: 'turns', output: 'last' });
  expect(ran).toBe(1);
});

it('shows no reasoning of an answer that is refused', async () => {
  const refuse = defineGuardrail({ name: 'refuse', on: ['output'], check: ({ content }) => (content === 'bad' ? deny('no') : allow()) });
  const model = scriptedModel([
    [think('first'), say('bad')],
    [think('second'), say('good')],
  ]);
  const agent = defineAgent({ name: 'desk', instructions: 'Help.', model, guardrails: [refuse] });
  const shown: RunEvent[] = [];
  const result = await run(agent, 'hi', { reasoning: 'show', observers: [(event) => shown.push(event)] });
  expect(result).toMatchObject({ status: 'completed', text: 'good' });
  expect(shown.flatMap((event) => (event.type === 'reasoning.delta' ? [event.text] : []))).toEqual(['second']);
});
