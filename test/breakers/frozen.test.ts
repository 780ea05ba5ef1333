import type { ModelRequest, RunEvent } from '@guardloop/core';
import { allow, asTool, defineAgent, defineGuardrail, defineTool, resume, rewrite, run, withDetails } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';

/** The paths in a value at which something can be changed. */
function openPlaces(value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.entries(value).flatMap(([key, field]) => openPlaces(field, `${path}.${key}`));
  return Object.isFrozen(value) ? inner : [path, ...inner];
}

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ id: z.string() }),
  execute: () => withDetails({ found: { count: 1 } }, { rows: [{ id: 1 }] }),
});
const send = defineTool({
  name: 'send',
  description: 'Sends.',
  input: z.object({ id: z.string() }),
  approval: true,
  execute: () => 'sent',
});
const leaf = defineAgent({ name: 'leaf', instructions: 'Leaf.', model: scriptedModel([say('leaf')]) });
const billing = defineAgent({ name: 'billing', instructions: 'Bill.', model: scriptedModel([]) });
const shout = defineGuardrail({ name: 'shout', on: ['input'], rewrite: ({ content }) => rewrite(`${content}!`, 'louder') });
const triage = defineAgent({
  name: 'triage',
  instructions: 'Triage.',
  model: scriptedModel([]),
  tools: [look, send, asTool(leaf, { name: 'ask_leaf', description: 'Asks.' })],
  handoffs: [billing],
  guardrails: [shout],
});
const script = () =>
  scriptedModel(
    (request: ModelRequest) => {
      if (request.agent === 'leaf') return say('leaf');
      if (request.turn === 1)
        return [callTool('look', { id: 'a' }), callTool('ask_leaf', { input: 'q' }), callTool('nowhere'), callTool('send', { id: 'a' })];
      return request.turn === 2 && request.agent === 'triage' ? callTool(request.tools.at(-1)?.name ?? '') : say('done');
    },
    { native: true },
  );

it('shows observers no event that they could change, at any depth, and records messages that nobody can change', async () => {
  const open = new Set<string>();
  const observers = [
    (event: RunEvent) => {
      for (const place of openPlaces(event, event.type)) open.add(place);
    },
  ];
  const history = [
    { role: 'user', text: 'before' },
    { role: 'assistant', text: 'yes' },
  ] as const;
  const asked = await run(triage, [{ type: 'text', text: 'hello' }], {
    model: script(),
    observers,
    history,
    view: (messages) => [...messages, { text: 'sum' }],
  });
  if (asked.status !== 'interrupted') throw new Error(`It ended ${asked.status}.`);
  const decisions = Object.fromEntries(asked.approvals.map(({ id }) => [id, { edit: { id: 'b' } }]));
  const result = await resume(triage, JSON.parse(JSON.stringify(asked.log)), { model: script(), observers, decisions });
  expect(result).toMatchObject({ status: 'completed', agent: 'billing' });
  expect([...open]).toEqual([]);
  expect(result.messages.flatMap((message) => openPlaces(message, message.role))).toEqual([]);
});

it('keeps the messages that a guardrail is told of as they were, whatever it does to them', async () => {
  const tampering = defineGuardrail({
    name: 'tampering',
    on: ['toolOutput'],
    check: (_, { messages }) => {
      const given = messages as unknown as { text: string; parts: { text: string }[] }[];
      const tries = [
        () => Object.assign(given[1] ?? {}, { text: 'EVIL' }),
        () => Object.assign(given[0]?.parts[0] ?? {}, { text: 'EVIL' }),
        () => given.push({ text: 'EVIL', parts: [] }),
        () => Object.preventExtensions(given),
        () => Object.freeze(given),
        () => given.reverse(),
      ];
      for (const change of tries) expect(change).toThrow(TypeError);
      return allow();
    },
  });
  const model = scriptedModel([callTool('look', { id: 'a' }), say('done')]);
  const result = await run(triage, 'hello', { model, guardrails: [tampering] });
  expect(result.status).toBe('completed');
  expect(JSON.stringify([model.requests, result.log])).not.toContain('EVIL');
});

it('keeps the list of messages that a model is shown as it was, whatever the model does to it', async () => {
  const inner = scriptedModel([callTool('look', { id: 'a' }), say('done')]);
  const model = {
    ...inner,
    stream: (request: ModelRequest, options: { readonly signal: AbortSignal }) => {
      const events = inner.stream(request, options);
      expect(() => {
        (request.messages as unknown[]).length = 0;
      }).toThrow(TypeError);
      return events;
    },
  };
  const result = await run(triage, 'hello', { model });
  expect(result).toMatchObject({ status: 'completed' });
  expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  expect(inner.requests[1]?.messages).toHaveLength(3);
});
