import { allow, defineAgent, defineGuardrail } from '@guardloop/core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ModelServer } from './model-server.js';
import { modes, settle, textOf } from './settle.js';
import type { Seen } from './shop.js';
import { findOrder, noCards, witness } from './shop.js';
import { messages1, sides } from './sides.js';
import type { WireRequest } from './wire-request.js';

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

const weather = z.object({ city: z.string(), degrees: z.number(), note: z.string() });
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

interface BodyMessage {
  readonly role: string;
  readonly content: readonly unknown[];
}

function bodyMessages(request: WireRequest | undefined): readonly BodyMessage[] {
  return (request?.body.messages ?? request?.body.input ?? []) as readonly BodyMessage[];
}

describe.each(sides)('$name', (side) => {
  it.each(modes)('a structured answer is asked for in the form of the API, checked, rewritten, and given as a value (%s)', async (mode) => {
    server.turns(
      { toolCalls: [{ id: 'call_a', name: 'find_order', arguments: { orderId: 'o1' } }] },
      { content: { city: 'Ulm', degrees: 21, note: 'paid with 4111 1111 1111 1111' } },
    );
    const seen: Seen[] = [];
    const agent = defineAgent({
      name: 'weather',
      instructions: 'Tell.',
      model: side.model(server),
      tools: [findOrder],
      output: weather,
      guardrails: [noCards],
    });

    const { result, events } = await settle(mode, agent, { input: 'Ulm?', guardrails: [witness(seen)] });

    expect(result).toMatchObject({ status: 'completed', output: { city: 'Ulm', degrees: 21, note: 'paid with [card]' } });
    for (const { body } of server.requests) {
      const { response_format: chat, text: responses, output_config: messages } = body as Readonly<Record<string, { format?: unknown }>>;
      const format = { chat, responses: responses?.format, messages: messages?.format }[side.dialect];
      expect(format).toMatchObject({ type: 'json_schema' });
      expect(JSON.stringify(format)).toContain('"degrees"');
    }
    expect(JSON.stringify([result, events, seen])).not.toMatch(/4111[ -]?1111/);
    if (mode === 'stream') expect(JSON.parse(textOf(events))).toEqual({ city: 'Ulm', degrees: 21, note: 'paid with [card]' });
  });

  it.each(modes)(
    'S165: an answer that does not fit is asked for once more in words that name the field, not its value; then it is a failure (%s)',
    async (mode) => {
      const agent = defineAgent({ name: 'weather', instructions: 'Tell.', model: side.model(server), output: weather });
      server.inOrder({ content: { city: 'Ulm', degrees: 'secret warm', note: '' } }, { content: { city: 'Ulm', degrees: 21, note: '' } });
      const { result } = await settle(mode, agent, { input: 'Ulm?', guardrails: [witness([])] });
      expect(result).toMatchObject({ status: 'completed', output: { degrees: 21 } });
      expect(server.requests[1]?.messages.at(-1)).toMatchObject({ role: 'user', text: expect.stringContaining('degrees') });
      expect(server.requests[1]?.json).not.toContain('secret warm');

      server.forget();
      server.inOrder({ content: 'It is warm.' }, { content: 'Really.' }, { content: 'never asked for' });
      const again = await settle(mode, agent, { input: 'Ulm?', guardrails: [witness([])] });
      expect(again.result).toMatchObject({ status: 'failed', error: { code: 'OUTPUT_INVALID' } });
      expect(server.requests).toHaveLength(2);
      expect(JSON.stringify(again)).not.toContain('It is warm');
    },
  );

  it('an image and a document reach the API in its own form, and the input guardrail sees them as parts', async () => {
    server.on({}, { content: 'One pixel.' });
    const parts: unknown[] = [];
    const looks = defineGuardrail({
      name: 'looks',
      on: ['input'],
      check: ({ items }) => {
        parts.push(...items.flatMap((item) => item.parts.map(({ type }) => type)));
        return allow();
      },
    });
    const agent = defineAgent({ name: 'desk', instructions: '', model: side.model(server), guardrails: [looks] });

    const { result } = await settle('stream', agent, {
      input: [
        { type: 'text', text: 'What is this?' },
        { type: 'image', mediaType: 'image/png', data: pixel },
        { type: 'file', mediaType: 'application/pdf', data: 'JVBERi0xLjQK', name: 'a.pdf' },
      ],
      guardrails: [witness([])],
    });

    expect(result).toMatchObject({ status: 'completed', output: 'One pixel.' });
    expect(parts).toEqual(['text', 'image', 'file']);
    const first = bodyMessages(server.requests[0]).find(({ role }) => role === 'user');
    const url = `data:image/png;base64,${pixel}`;
    const expected = {
      chat: [{ type: 'text' }, { type: 'image_url', image_url: { url } }, { type: 'file', file: { filename: 'a.pdf' } }],
      responses: [{ type: 'input_text' }, { type: 'input_image', image_url: url }, { type: 'input_file', filename: 'a.pdf' }],
      messages: [
        { type: 'text' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
        { type: 'document', source: { media_type: 'application/pdf' } },
      ],
    };
    expect(first?.content).toMatchObject(expected[side.dialect]);
  });

  it('at the limit of turns one last answer is asked for without tools', async () => {
    server.inOrder(
      { toolCalls: [{ name: 'find_order', arguments: { orderId: 'o1' } }] },
      { toolCalls: [{ name: 'find_order', arguments: { orderId: 'o2' } }] },
      { content: 'That is all I found.' },
    );
    const agent = defineAgent({ name: 'desk', instructions: '', model: side.model(server), tools: [findOrder] });

    const { result } = await settle('stream', agent, {
      input: 'Where?',
      guardrails: [witness([])],
      limits: { turns: 2 },
      onLimit: 'finalize',
    });

    expect(result).toMatchObject({ status: 'exhausted', limit: 'turns', text: 'That is all I found.' });
    expect(server.requests).toHaveLength(3);
    const choice = server.requests[2]?.body.tool_choice;
    expect(side.dialect === 'messages' ? (choice as { type: string }).type : choice).toBe('none');
  });
});

it.each(modes)(
  'S013: signed thinking goes back byte for byte with its turn, is shown only when asked for, and only after its guardrail (%s)',
  async (mode) => {
    server.turns(
      {
        reasoning: 'I should look.',
        reasoningSignature: 'c2lnbmVk',
        content: 'Looking.',
        toolCalls: [{ id: 'call_a', name: 'find_order', arguments: { orderId: 'o1' } }],
      },
      { reasoning: 'Good.', reasoningSignature: 'c2lnbmVkMg==', content: 'Found.' },
    );
    const seen: Seen[] = [];
    const agent = defineAgent({
      name: 'desk',
      instructions: '',
      model: messages1.model(server),
      settings: { reasoning: 'high' },
      tools: [findOrder],
    });

    const { result, events } = await settle(mode, agent, { input: 'Where?', guardrails: [witness(seen)], reasoning: 'show' });

    expect(result).toMatchObject({ status: 'completed', output: 'Found.' });
    const [, assistant] = bodyMessages(server.requests[1]);
    expect(assistant?.content[0]).toEqual({ type: 'thinking', thinking: 'I should look.', signature: 'c2lnbmVk' });
    expect(seen.filter(({ surface }) => surface === 'output').map(({ content }) => content)).toEqual([
      'I should look.',
      'Looking.',
      'Good.',
      'Found.',
    ]);
    if (mode === 'stream') {
      expect(events.flatMap((event) => (event.type === 'reasoning.delta' ? [event.text] : [])).join('')).toBe('I should look.Good.');
      expect(textOf(events)).toBe('Looking.Found.');
    }
  },
);
