import type { HistoryFilter, InputItem, Message } from '@guardloop/core';
import { allow, asTool, defineAgent, defineGuardrail, defineTool, handoff, resume, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const find = defineTool({ name: 'find', description: 'Finds.', input: z.object({}), flow: { effect: 'read' }, execute: () => 'found' });

/** Runs triage, which finds something and hands over; tells what billing's input guardrail and model were shown. */
async function handOver(history: HistoryFilter) {
  const items: InputItem[] = [];
  const watch = defineGuardrail({
    name: 'watch',
    on: ['input'],
    check: (subject) => {
      items.push(...subject.items);
      return allow();
    },
  });
  const model = scriptedModel({ triage: [callTool('find'), callTool('go'), say('I stay.')], billing: [say('done')] });
  const billing = defineAgent({ name: 'billing', instructions: 'Bill.', model, guardrails: [watch] });
  const triage = defineAgent({
    name: 'triage',
    instructions: 'Triage.',
    model,
    tools: [find],
    handoffs: [handoff(billing, { name: 'go', history })],
  });
  const result = await run(triage, 'hello');
  return { result, items, shown: model.requests.find(({ agent }) => agent === 'billing')?.messages ?? [] };
}
const change =
  (by: (message: Message) => object): HistoryFilter =>
  (messages) =>
    messages.map((message) => ({ ...message, ...by(message) }) as Message);

describe('a history filter', () => {
  it('cannot raise a label, for the guardrails neither', async () => {
    const { items, shown } = await handOver(change(() => ({ label: { origin: 'developer', integrity: 'trusted' } })));
    expect(items.find(({ role }) => role === 'tool')?.label).toEqual({ origin: 'tool:find', integrity: 'untrusted' });
    expect(shown.find(({ role }) => role === 'tool')?.label.integrity).toBe('untrusted');
  });

  it('cannot part a call from its result by giving the answer without its calls', async () => {
    const { result, shown } = await handOver((messages) =>
      messages.flatMap((message): Message[] =>
        message.role === 'tool' ? [] : [message.role === 'assistant' ? { ...message, calls: [] } : message],
      ),
    );
    expect(shown).toEqual([]);
    expect(result).toMatchObject({ status: 'completed', agent: 'triage', text: 'I stay.' });
  });

  it('is read once: what the guardrails saw is what crosses', async () => {
    let reads = 0;
    const { items, shown } = await handOver(
      change(({ role }) =>
        role === 'tool'
          ? Object.defineProperty({}, 'content', {
              enumerable: true,
              get: () => {
                reads += 1;
                return `read ${reads}`;
              },
            })
          : {},
      ),
    );
    const text = items.find(({ role }) => role === 'tool')?.text;
    expect(shown.find(({ role }) => role === 'tool')).toMatchObject({ content: text });
  });
});

describe('a guardrail of the same name as one of the run', () => {
  const same = (name: string) => defineGuardrail({ name, on: ['output'], check: () => allow() });

  it('makes the handoff that a tool returned fail, and the old agent stays', async () => {
    const model = scriptedModel([callTool('go'), say('I stay.')]);
    const billing = defineAgent({ name: 'billing', instructions: 'Bill.', model, guardrails: [same('twice')] });
    const go = defineTool({
      name: 'go',
      description: 'Goes.',
      input: z.object({}),
      execute: () => handoff(billing, { brief: 'all of it' }),
    });
    const triage = defineAgent({ name: 'triage', instructions: 'Triage.', model, tools: [go] });
    expect(await run(triage, 'hello', { guardrails: [same('twice')] })).toMatchObject({
      status: 'completed',
      agent: 'triage',
      text: 'I stay.',
    });
  });

  it('is NAME_TAKEN before anything is run, in an agent used as a tool too', async () => {
    const model = scriptedModel([callTool('ask_leaf', { input: 'q' }), say('leaf')]);
    const leaf = defineAgent({ name: 'leaf', instructions: 'Leaf.', model, guardrails: [same('twice')] });
    const desk = defineAgent({
      name: 'desk',
      instructions: 'Help.',
      model,
      tools: [asTool(leaf, { name: 'ask_leaf', description: 'Asks.' })],
    });
    await expect(run(desk, 'hello', { guardrails: [same('twice')] })).rejects.toMatchObject({ code: 'NAME_TAKEN' });
    expect(model.requests).toEqual([]);
  });
});

describe('a guardrail that is missing at resume', () => {
  it('is RESUME_MISMATCH, of an open child run too, unless the change is accepted', async () => {
    const desk = (isGuarded: boolean) => {
      const model = scriptedModel({ desk: [callTool('ask_leaf', { input: 'q' }), say('done')], leaf: [callTool('send'), say('leaf')] });
      const guard = defineGuardrail({ name: 'guard', on: ['toolInput'], check: () => allow() });
      const send = defineTool({ name: 'send', description: 'Sends.', input: z.object({}), approval: true, execute: () => 'sent' });
      const leaf = defineAgent({ name: 'leaf', instructions: 'Leaf.', model, tools: [send], guardrails: isGuarded ? [guard] : [] });
      return defineAgent({ name: 'desk', instructions: 'Help.', model, tools: [asTool(leaf, { name: 'ask_leaf', description: 'Asks.' })] });
    };
    const asked = await run(desk(true), 'hello');
    if (asked.status !== 'interrupted') throw new Error(`It ended ${asked.status}.`);
    const decisions = { [asked.approvals[0]?.id ?? '']: 'approve' } as const;
    await expect(resume(desk(false), asked.log, { decisions }).result).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
    expect(await resume(desk(false), asked.log, { decisions, accept: 'changed' })).toMatchObject({ status: 'completed' });
    expect(await resume(desk(true), asked.log, { decisions })).toMatchObject({ status: 'completed' });
  });
});
