import { defineAgent, defineTool, handoff } from '@guardloop/core';
import { callTool, say } from '@guardloop/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { run, scriptedModel, stream } from './audited.js';
import { callEnds, eventsOf, observationsIn, textOf, watch } from './reading.js';

const tool = (name: string) =>
  defineTool({ name, description: 'Works.', input: z.object({}), flow: { effect: 'read' }, execute: () => `${name} done` });

it('B33: A handoff switches the active agent and its tools for the next call, and is announced in the stream', async () => {
  const model = scriptedModel([callTool('transfer_to_billing')]);
  const other = scriptedModel([say('unused'), callTool('bill'), say('Billed.')]);
  const billing = defineAgent({
    name: 'billing',
    instructions: 'You bill.',
    model: other,
    tools: [tool('bill')],
    settings: { temperature: 0.1 },
  });
  const triage = defineAgent({ name: 'triage', instructions: 'You route.', model, tools: [tool('route')], handoffs: [billing] });
  const { result, events } = await watch(stream(triage, 'hi'));
  expect(result).toMatchObject({ status: 'completed', agent: 'billing', output: 'Billed.' });
  expect(model.requests.map(({ system, tools }) => [system, ...tools.map(({ name }) => name)])).toEqual([
    ['You route.', 'route', 'transfer_to_billing'],
  ]);
  expect(other.requests.map(({ system, tools, settings }) => [system, settings.temperature, ...tools.map(({ name }) => name)])).toEqual([
    ['You bill.', 0.1, 'bill'],
    ['You bill.', 0.1, 'bill'],
  ]);
  const announced = events.findIndex(({ type }) => type === 'handoff');
  expect(events[announced]).toMatchObject({ from: 'triage', to: 'billing' });
  expect(events.slice(announced + 1).every(({ agent }) => agent === 'billing')).toBe(true);
  expect(events.slice(announced + 1).some(({ type }) => type === 'model.start')).toBe(true);
});

it('B34: Of several handoffs in one answer the first counts, and the others are answered', async () => {
  const model = scriptedModel({
    triage: [[callTool('route'), callTool('transfer_to_b'), callTool('transfer_to_c')]],
    b: [say('I am b.')],
  });
  const b = defineAgent({ name: 'b', instructions: '', model });
  const c = defineAgent({ name: 'c', instructions: '', model });
  const triage = defineAgent({ name: 'triage', instructions: '', model, tools: [tool('route')], handoffs: [c, b] });
  const result = await run(triage, 'hi');
  expect(result).toMatchObject({ status: 'completed', agent: 'b' });
  expect(eventsOf(result.log, 'handoff')).toMatchObject([{ callId: '1.1', to: 'b' }]);
  expect(result.messages.slice(1, 5)).toMatchObject([
    { role: 'assistant', calls: [{ name: 'route' }, { name: 'transfer_to_b' }, { name: 'transfer_to_c' }] },
    { callId: '1.0', content: 'route done', isError: false },
    { callId: '1.1', content: 'Handed off to b.', isError: false },
    { callId: '1.2', isError: true },
  ]);
  expect(observationsIn(result.messages)).toMatchObject([{ status: 'aborted', summary: expect.stringContaining('first handoff') }]);
});

it('B34: If the first handoff is refused, the others are not tried in its place', async () => {
  const model = scriptedModel({
    triage: [[callTool('to_b', { n: 'x' }), callTool('transfer_to_c')], say('I stay.')],
  });
  const b = defineAgent({ name: 'b', instructions: '', model });
  const c = defineAgent({ name: 'c', instructions: '', model });
  const toB = handoff(b, { name: 'to_b', input: z.object({ n: z.number() }) });
  const triage = defineAgent({ name: 'triage', instructions: '', model, handoffs: [toB, c] });
  const result = await run(triage, 'hi');
  expect(result).toMatchObject({ status: 'completed', agent: 'triage', output: 'I stay.' });
  expect(callEnds(result.log)).toEqual(['to_b error', 'transfer_to_c aborted']);
});

it('B35: A handoff’s own history filter goes before the run’s', async () => {
  const seenByView: string[][] = [];
  const model = scriptedModel({ b: [say('I am b.')] });
  const b = defineAgent({ name: 'b', instructions: '', model });
  const triage = defineAgent({
    name: 'triage',
    instructions: '',
    model: scriptedModel([callTool('route'), callTool('transfer_to_b')]),
    tools: [tool('route')],
    handoffs: [handoff(b, { history: async (messages) => messages.filter(({ role }) => role === 'user') })],
  });
  await run(triage, 'hi', {
    history: [{ role: 'user', text: 'before' }],
    view: (messages, { agent }) => {
      if (agent !== 'b') return messages;
      seenByView.push(messages.map(textOf));
      return messages.slice(1);
    },
  });
  expect(seenByView).toEqual([['before', 'hi', 'Handed off from triage.']]);
  expect(model.requests.map(({ messages }) => messages.map(textOf))).toEqual([['hi', 'Handed off from triage.']]);
});

it('B36: Disabled tools and handoffs are not offered', async () => {
  let ran = 0;
  const gated = defineTool({
    name: 'gated',
    description: 'Works from turn 2 on.',
    input: z.object({}),
    enabled: ({ turn }) => turn > 1,
    execute: () => {
      ran += 1;
      return 'done';
    },
  });
  const never = defineTool({ name: 'never', description: 'Never.', input: z.object({}), enabled: false, execute: () => 'done' });
  const model = scriptedModel([
    [callTool('gated'), callTool('never'), callTool('transfer_to_c')],
    [callTool('gated'), callTool('transfer_to_c')],
    say('Done.'),
  ]);
  const b = defineAgent({ name: 'b', instructions: '', model });
  const c = defineAgent({ name: 'c', instructions: '', model });
  const agent = defineAgent({
    name: 'a',
    instructions: '',
    model,
    tools: [gated, never],
    handoffs: [handoff(b, { enabled: ({ turn }) => turn > 1 }), handoff(c, { enabled: () => false })],
  });
  const result = await run(agent, 'hi');
  expect(result).toMatchObject({ status: 'completed', agent: 'a', output: 'Done.' });
  expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
    [],
    ['gated', 'transfer_to_b'],
    ['gated', 'transfer_to_b'],
  ]);
  expect(ran).toBe(1);
  expect(observationsIn(result.messages).map(({ error_class }) => error_class)).toEqual(Array.from({ length: 4 }, () => 'unknown_tool'));
});
