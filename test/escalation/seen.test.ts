// What a person is shown of what waits: enough to decide, and nothing that was refused or rewritten.
import type { Approval } from '@guardloop/core';
import { allow, ask, defineAgent, defineGuardrail, defineTool, handoff, readQuarantined, rewrite } from '@guardloop/core';
import { callTool, say, think } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { resume, run, scriptedModel } from '../behaviours/audited.js';
import { memoryQuarantine, reread } from '../behaviours/reading.js';
import { altered, only, payments, waiting } from './desk.js';

const card = '4111-canary';
const mask = defineGuardrail({
  name: 'mask',
  on: ['toolInput', 'handoff', 'output'],
  rewrite: ({ content }) => {
    const start = content.indexOf(card);
    return start < 0 ? allow() : rewrite([{ start, end: start + card.length, with: '####' }], 'a card number');
  },
});
const read = defineTool({
  name: 'read',
  description: 'Reads.',
  input: z.object({}),
  flow: { effect: 'read' },
  execute: () => 'from outside',
});
const known = defineTool({
  name: 'known',
  description: 'K.',
  input: z.object({}),
  flow: { effect: 'read', results: 'trusted' },
  execute: () => 'ours',
});

describe('of a call', () => {
  const send = defineTool({
    name: 'send',
    description: 'Sends.',
    input: z.object({ to: z.string(), text: z.string(), at: z.string().optional() }),
    flow: { effect: 'send', authority: ['to'] },
    approval: true,
    execute: () => 'sent',
  });
  const gate = defineGuardrail({
    name: 'gate',
    on: ['toolInput'],
    check: ({ content }) => (content.includes('all') ? ask('goes to all') : allow()),
  });

  it('who asks and why, the agent, the input that will run, what the tool does and which arguments decide it', async () => {
    const model = scriptedModel([callTool('send', { to: 'all', text: 'hi' }), say('x')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [send], guardrails: [gate] });
    const asked = waiting(await run(agent, 'hi', { runId: 'r' }));
    expect(only(asked)).toEqual({
      id: 'r/p1',
      surface: 'toolInput',
      run: 'r',
      agentPath: ['a'],
      subject: 'r/1.0',
      revision: 0,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      reason: 'goes to all; send needs an approval',
      asks: [
        { by: 'gate', reason: 'goes to all' },
        { by: 'approval', reason: 'send needs an approval' },
      ],
      label: { origin: 'agent:a', integrity: 'trusted' },
      untrustedFrom: [],
      tool: 'send',
      callId: '1.0',
      input: { to: 'all', text: 'hi' },
      flow: { effect: 'send', authority: ['to'], declared: true },
      mayHaveRun: false,
    });
  });

  it('a tool whose author says nothing is shown as the strictest', async () => {
    const { pay } = payments();
    const agent = defineAgent({
      name: 'a',
      instructions: '',
      model: scriptedModel([callTool('pay', { orderId: 'o', cents: 1 }), say('x')]),
      tools: [pay],
    });
    expect(only(waiting(await run(agent, 'hi')))).toMatchObject({ flow: { effect: 'write', authority: 'all', declared: false } });
  });

  it('whether it may depend on untrusted content, and where that came from, once for each tool', async () => {
    const shown = async (...before: readonly string[]) => {
      const steps = [...before.map((name) => callTool(name, {})), callTool('send', { to: 'all', text: 'hi' }), say('x')];
      const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel(steps), tools: [send, read, known] });
      const { label, untrustedFrom } = only(waiting(await run(agent, 'hi')));
      return [label.integrity, untrustedFrom];
    };
    expect(await shown()).toEqual(['trusted', []]);
    expect(await shown('known')).toEqual(['trusted', []]);
    expect(await shown('known', 'read', 'read')).toEqual(['untrusted', ['read']]);
  });

  it('what rewrites changed: by whom, why, in how many places, in which fields; never what stood there', async () => {
    const cut = defineGuardrail({
      name: 'cut',
      on: ['toolInput'],
      rewrite: ({ raw: { at: _at, ...rest } }) => rewrite({ ...rest, text: `${String(rest.text)}.` }, 'no time'),
    });
    const model = scriptedModel([callTool('send', { to: 'all', text: card, at: 'canary-time' }), say('x')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [send], guardrails: [mask, cut] });
    const asked = waiting(await run(agent, 'hi'));
    expect(only(asked)).toMatchObject({
      revision: 2,
      input: { to: 'all', text: '####.' },
      rewrites: [
        { by: 'mask', reason: 'a card number', places: 1 },
        { by: 'cut', reason: 'no time' },
      ],
      changedFields: ['text'],
    });
    expect(JSON.stringify(asked)).not.toMatch(/canary/);
    // An edit that nobody changed is the person's own.
    const anew = altered(reread(asked.log), 'none', () => undefined);
    const edited = await resume(agent, anew, { decisions: { [only(asked).id]: { edit: { to: 'one', text: card } } } });
    expect(only(waiting(edited))).toMatchObject({
      revision: 5,
      input: { to: 'one', text: '####.' },
      rewrites: [{ by: 'mask' }, { by: 'cut' }],
      changedFields: ['text'],
    });
    expect(JSON.stringify(edited)).not.toMatch(/canary/);
  });

  it('names in approvals what a rewrite before a cut left, once', async () => {
    const model = scriptedModel([callTool('send', { to: 'all', text: card }), say('x')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [send], guardrails: [mask] });
    const asked = waiting(await run(agent, 'hi'));
    const at = asked.log.events.findIndex(({ type }) => type === 'model.end');
    for (const length of [at, at + 1]) {
      const cut = { version: 1 as const, events: asked.log.events.slice(0, length) };
      const again = waiting(await resume(agent, reread(cut)));
      expect(only(again)).toMatchObject({ rewrites: [{ by: 'mask', reason: 'a card number', places: 1 }], changedFields: ['text'] });
    }
  });
});

it('of a handoff: from whom to whom, the brief that the target will get, and what was rewritten in it', async () => {
  const model = scriptedModel([callTool('read', {}), callTool('to_b', { topic: card }), say('x')]);
  const b = defineAgent({ name: 'b', instructions: '', model });
  const gate = defineGuardrail({ name: 'gate', on: ['handoff'], check: () => ask('may it?') });
  const over = handoff(b, { name: 'to_b', input: z.object({ topic: z.string() }), brief: ({ topic }) => `About ${topic}.` });
  const a = defineAgent({ name: 'a', instructions: '', model, tools: [read], handoffs: [over], guardrails: [mask, gate] });
  const asked = waiting(await run(a, 'hi', { runId: 'r' }));
  expect(only(asked)).toMatchObject({
    surface: 'handoff',
    agentPath: ['a'],
    tool: 'to_b',
    callId: '2.0',
    from: 'a',
    to: 'b',
    brief: 'About ####.',
    asks: [{ by: 'gate', reason: 'may it?' }],
    label: { origin: 'agent:a', integrity: 'untrusted' },
    untrustedFrom: ['read'],
    rewrites: [{ by: 'mask', reason: 'a card number', places: 1 }],
    revision: 1,
  });
  expect(JSON.stringify(asked)).not.toContain(card);
});

describe('of an answer', () => {
  const gate = defineGuardrail({
    name: 'gate',
    on: ['output'],
    check: ({ content }) => (content.includes('promise') ? ask('promise') : allow()),
  });
  const answer = `a promise of canary-words to ${card}`;

  it('its size, its calls and who asks; its text stands in quarantine alone', async () => {
    const quarantine = memoryQuarantine();
    const model = scriptedModel([callTool('read', {}), [think('canary-thought'), say(answer), callTool('read', {})], say('x')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [read], guardrails: [mask, gate] });
    const asked = waiting(await run(agent, 'hi', { quarantine, runId: 'r' }));
    const approval = only(asked);
    expect(approval).toMatchObject({
      surface: 'output',
      agentPath: ['a'],
      asks: [{ by: 'gate', reason: 'promise' }],
      key: 'r/2',
      chars: answer.length - card.length + 4,
      turn: 2,
      calls: 1,
      label: { origin: 'agent:a', integrity: 'untrusted' },
      untrustedFrom: ['read'],
      rewrites: [{ by: 'mask', reason: 'a card number', places: 1 }],
    });
    expect(JSON.stringify(asked)).not.toMatch(/canary/);
    if (approval.surface !== 'output') throw new Error(approval.surface);
    expect(await readQuarantined(quarantine, approval)).toEqual({
      text: 'a promise of canary-words to ####',
      reasoning: '',
      calls: [{ name: 'read', input: {} }],
    });
  });

  it('is read from quarantine only as it was put there', async () => {
    const quarantine = memoryQuarantine();
    const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say(answer), say('x')]), guardrails: [gate] });
    const approval = only(waiting(await run(agent, 'hi', { quarantine, runId: 'r' })));
    if (approval.surface !== 'output') throw new Error(approval.surface);
    const [key, held] = [...quarantine.kept][0] as [string, { readonly text: string }];
    quarantine.kept.set(key, { ...held, text: 'another promise' });
    await expect(readQuarantined(quarantine, approval)).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
    quarantine.kept.delete(key);
    await expect(readQuarantined(quarantine, approval)).rejects.toMatchObject({ code: 'STORE_FAILED' });
    const broken = { ...quarantine, get: () => Promise.reject(new Error('canary')) };
    await expect(readQuarantined(broken, approval)).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.not.stringContaining('canary') as string,
    });
  });
});

it('approvals of logs that do not say what they depend on are shown as the strictest', async () => {
  const { pay, paid } = payments();
  const agent = defineAgent({
    name: 'a',
    instructions: '',
    model: scriptedModel([callTool('pay', { orderId: 'o', cents: 1 }), say('x')]),
    tools: [pay],
  });
  const asked = waiting(await run(agent, 'hi', { runId: 'r' }));
  const old = altered(reread(asked.log), 'approval.request', (event) => {
    const {
      label: _label,
      untrustedFrom: _from,
      flow: _flow,
      ...approval
    } = event.approval as unknown as Extract<Approval, { surface: 'toolInput' }>;
    return { ...event, approval } as never;
  });
  const again = waiting(await resume(agent, old));
  expect(only(again)).toMatchObject({
    label: { integrity: 'untrusted' },
    untrustedFrom: [],
    flow: { effect: 'write', authority: 'all', declared: false },
  });
  expect((await resume(agent, old, { decisions: { 'r/p1': 'approve' } })).status).toBe('completed');
  expect(paid).toHaveLength(1);
});
