import { allow, defineAgent, defineGuardrail, deny, handoff } from '@guardloop/core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ModelServer } from './model-server.js';
import { modes, passed, settle } from './settle.js';
import type { Seen } from './shop.js';
import { findOrder, noCards, witness } from './shop.js';
import { crossings, sides } from './sides.js';

let server: ModelServer;
beforeAll(async () => {
  server = await ModelServer.start();
});
afterEach(() => {
  const { problems } = server;
  expect(problems).toEqual([]);
  server.forget();
});
afterAll(() => server.stop());

const pairs = [...sides.map((side) => ({ from: side, to: side })), ...crossings];

describe.each(pairs.map(({ from, to }) => ({ from, to, title: `${from.name} to ${to.name}` })))('$title', ({ from, to }) => {
  it.each(modes)(
    'S122: a handoff after a tool round hands over history and brief in requests that both APIs take, and back (%s)',
    async (mode) => {
      server.on(
        { systemMessage: 'You are triage', predicate: () => server.requests.length === 1 },
        {
          content: 'One moment, 4111 1111 1111 1111.',
          toolCalls: [{ id: 'call_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefgh', name: 'find_order', arguments: { orderId: 'o1' } }],
        },
      );
      server.on(
        { systemMessage: 'You are triage', predicate: () => server.requests.length === 2 },
        { toolCalls: [{ id: 'h1', name: 'to_billing', arguments: { reason: 'refund o1' } }] },
      );
      server.on(
        { systemMessage: 'You are billing', predicate: () => server.requests.length === 3 },
        {
          content: 'I looked.',
          toolCalls: [{ id: 'h:2', name: 'transfer_to_triage', arguments: {} }],
        },
      );
      server.on({ systemMessage: 'You are triage', predicate: () => server.requests.length === 4 }, { content: 'It is settled.' });

      const seen: Seen[] = [];
      const ofBilling: string[] = [];
      const reader = defineGuardrail({
        name: 'billing-reader',
        on: ['input', 'handoff'],
        check: ({ surface, content }) => {
          ofBilling.push(`${surface}: ${content}`);
          return allow();
        },
      });
      const billing = defineAgent({
        name: 'billing',
        description: 'Refunds.',
        instructions: 'You are billing.',
        model: to.model(server),
        handoffs: ['triage'],
        guardrails: [reader],
      });
      const toBilling = handoff(billing, {
        name: 'to_billing',
        input: z.object({ reason: z.string() }),
        brief: ({ reason }) => `Please ${reason}.`,
      });
      const triage = defineAgent({
        name: 'triage',
        instructions: 'You are triage.',
        model: from.model(server),
        tools: [findOrder],
        handoffs: [toBilling],
        guardrails: [noCards],
      });

      const { result, events } = await settle(mode, triage, {
        input: 'Refund o1, paid with 4222 2222 2222 2222',
        guardrails: [witness(seen)],
      });

      expect(result).toMatchObject({ status: 'completed', agent: 'triage', output: 'It is settled.' });
      expect(server.requests.map(({ dialect, system }) => [dialect, system])).toEqual([
        [from.dialect, 'You are triage.'],
        [from.dialect, 'You are triage.'],
        [to.dialect, 'You are billing.'],
        [from.dialect, 'You are triage.'],
      ]);

      const [, second, third, fourth] = server.requests;
      expect(second?.results).toHaveLength(1);
      expect(third?.tools).toEqual(['transfer_to_triage']);
      expect(third?.calls.map(({ name, input }) => ({ name, input }))).toEqual([{ name: 'find_order', input: { orderId: 'o1' } }]);
      expect(third?.results.map(({ id }) => id)).toEqual(third?.calls.map(({ id }) => id));
      expect(third?.messages.at(-1)?.text).toContain('Please refund o1.');
      expect(third?.json).not.toContain('to_billing');
      expect(fourth?.messages.at(-1)?.text).toContain('Handed off from billing.');
      expect(fourth?.json).toContain('I looked.');

      for (const where of [server.requests.map(({ json }) => json), result, events])
        expect(JSON.stringify(where)).not.toMatch(/4111 1111|4222 2222/);
      expect(ofBilling[0]).toBe('handoff: Please refund o1.');
      expect(ofBilling.join('\n')).toContain('Refund o1, paid with [card]');
      expect(ofBilling.join('\n')).toContain('o1 is on its way');
      expect(new Set(seen.map(({ surface }) => surface))).toEqual(new Set(['input', 'toolInput', 'toolOutput', 'handoff', 'output']));
      if (mode === 'stream')
        expect(events.filter(({ type }) => type === 'handoff')).toMatchObject([
          { from: 'triage', to: 'billing' },
          { from: 'billing', to: 'triage' },
        ]);
    },
  );

  it('a handoff that the target refuses, and one with bad arguments, cost a turn each; the old agent answers', async () => {
    server.inOrder(
      { toolCalls: [{ id: 'h1', name: 'to_billing', arguments: { reason: 'war' } }] },
      { toolCalls: [{ id: 'h2', name: 'to_billing', arguments: { cause: 1 } }] },
      { content: 'I keep it.' },
    );
    const pacifist = defineGuardrail({
      name: 'pacifist',
      on: ['handoff'],
      check: ({ content }) => (content.includes('war') ? deny('not for us') : allow()),
    });
    const billing = defineAgent({ name: 'billing', instructions: 'You are billing.', model: to.model(server), guardrails: [pacifist] });
    const toBilling = handoff(billing, {
      name: 'to_billing',
      input: z.object({ reason: z.string() }),
      brief: ({ reason }) => `Make ${reason}.`,
    });
    const triage = defineAgent({ name: 'triage', instructions: 'You are triage.', model: from.model(server), handoffs: [toBilling] });

    const { result } = await settle('stream', triage, { input: 'Go on.', guardrails: [witness([])] });

    expect(passed(result)).toMatchObject({ status: 'completed', agent: 'triage', output: 'I keep it.' });
    expect(new Set(server.requests.map(({ dialect }) => dialect))).toEqual(new Set([from.dialect]));
    expect(server.requests[2]?.results.map(({ text }) => (JSON.parse(text) as { error_class: string }).error_class)).toEqual([
      'denied',
      'invalid_input',
    ]);
    expect(server.requests[2]?.json).not.toContain('war');
  });

  it('of two handoffs in one answer the first counts, and a tool beside them still runs before the swap', async () => {
    server.on(
      { systemMessage: 'You are triage' },
      {
        toolCalls: [
          { id: 'h1', name: 'transfer_to_billing', arguments: {} },
          { id: 'call_a', name: 'find_order', arguments: { orderId: 'o9' } },
          { id: 'h2', name: 'transfer_to_stock', arguments: {} },
        ],
      },
    );
    server.on({ systemMessage: 'You are billing' }, { content: 'Billing here.' });
    const billing = defineAgent({ name: 'billing', instructions: 'You are billing.', model: to.model(server) });
    const stock = defineAgent({ name: 'stock', instructions: 'You are stock.', model: to.model(server) });
    const triage = defineAgent({
      name: 'triage',
      instructions: 'You are triage.',
      model: from.model(server),
      tools: [findOrder],
      handoffs: [billing, stock],
    });

    const { result } = await settle('run', triage, { input: 'Go on.', guardrails: [witness([])] });

    expect(result).toMatchObject({ status: 'completed', agent: 'billing', output: 'Billing here.' });
    expect(server.requests).toHaveLength(2);
    expect(server.requests[1]?.calls.map(({ name }) => name)).not.toContain('transfer_to_billing');
    expect(server.requests[1]?.results.map(({ text }) => text).join()).toContain('o9 is on its way');
  });
});
