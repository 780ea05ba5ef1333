import { defineAgent, defineTool, handoff, memorySession, run } from '@guardloop/core';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { chatAnswer, messagesAnswer, serve } from './provider-server.js';
import { ends, ofType, sound } from './sound.js';

const name = 'Müller 東京 😀';

/** The texts of the results in a request, each as the model reads it. */
function resultTexts(body: Readonly<Record<string, unknown>> | undefined): readonly string[] {
  const texts: string[] = [];
  const textOf = (content: unknown): string =>
    typeof content === 'string' ? content : ((content ?? []) as { text?: string }[]).map(({ text }) => text ?? '').join('');
  for (const message of (body?.messages ?? []) as { role: string; content: unknown }[]) {
    if (message.role === 'tool') texts.push(textOf(message.content));
    else if (Array.isArray(message.content))
      for (const block of message.content as { type: string; content?: unknown }[])
        if (block.type === 'tool_result') texts.push(textOf(block.content));
  }
  return texts;
}

describe('K23', () => {
  describe.each(['chat', 'claude'] as const)('%s', (dialect) => {
    const answer = dialect === 'chat' ? chatAnswer : messagesAnswer;
    const play = async (outputs: readonly unknown[]) => {
      const tools = outputs.map((output, index) =>
        defineTool({ name: `t${index}`, description: 'T.', input: z.object({}), execute: () => output as string }),
      );
      const server = await serve(
        answer({ calls: tools.map((tool, index) => ({ id: `c${index}`, name: tool.name })) }),
        answer({ text: 'ok' }),
      );
      const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server[dialect](), tools });
      const session = { store: memorySession(), id: 's' };
      const result = await sound(run(agent, 'go', { session }));
      expect(server.problems).toEqual([]);
      const events = await session.store.load('s');
      expect(JSON.parse(JSON.stringify(events))).toEqual(events);
      return { result, texts: resultTexts(server.bodies[1]) };
    };

    it('S206: characters arrive as themselves, under one layer of JSON at most', async () => {
      const { texts } = await play([{ name }, name, JSON.stringify({ name }), [name], 'say "hi"\nthere']);
      expect(texts).toEqual([JSON.stringify({ name }), name, JSON.stringify({ name }), JSON.stringify([name]), 'say "hi"\nthere']);
    });

    it('S206: bytes are text, or a file in base64 with its type and size, never an object of numbers', async () => {
      const { texts, result } = await play([
        new TextEncoder().encode(name),
        Buffer.from(name),
        new Uint8Array([0xff, 0x00, 0xfe]),
        { file: new Uint8Array([0xff, 0x00, 0xfe]) },
      ]);
      for (const text of texts) expect(text).not.toMatch(/"?0"?:/);
      expect(texts.slice(0, 2)).toEqual([name, name]);
      for (const text of texts.slice(2)) expect(text).toContain('application/octet-stream');
      expect(texts[3]).toContain('3 bytes');
      const files = ofType(result.events, 'tool.end').flatMap(({ content }) =>
        typeof content === 'string' ? [] : content.filter(({ type }) => type === 'file'),
      );
      expect(files).toMatchObject([{ data: '/wD+' }, { data: '/wD+' }]);
    });

    it('S206: no value that a tool can give breaks the run', async () => {
      const circle: { self?: unknown } = {};
      circle.self = circle;
      const odd: readonly unknown[] = [
        circle,
        10n,
        { big: 10n },
        undefined,
        null,
        Symbol('s'),
        () => 1,
        new Map([['k', 1]]),
        new Set([1]),
        new Date(Number.NaN),
        Number.NaN,
        new Error('inner'),
        /x/g,
        {
          toJSON() {
            throw new Error('no');
          },
        },
        {
          get bad() {
            throw new Error('no');
          },
        },
        new Proxy(
          {},
          {
            ownKeys() {
              throw new Error('no');
            },
          },
        ),
      ];
      const { result, texts } = await play(odd);
      expect(result.status).toBe('completed');
      expect(ends(result.events)).toHaveLength(odd.length);
      expect(texts).toHaveLength(odd.length);
    });

    it('S206: what is handed over keeps its characters too', async () => {
      const server = await serve(answer({ calls: [{ id: 'h1', name: 'transfer_to_b', args: { about: name } }] }), answer({ text: 'ok' }));
      const b = defineAgent({ name: 'b', instructions: 'B.', model: server[dialect]() });
      const brief = ({ about }: { readonly about: string }) => `It is about ${about}.`;
      const a = defineAgent({
        name: 'a',
        instructions: 'A.',
        model: server[dialect](),
        handoffs: [handoff(b, { input: z.object({ about: z.string() }), brief })],
      });
      const result = await sound(run(a, 'go'));
      expect(result).toMatchObject({ status: 'completed', agent: 'b' });
      expect(ofType(result.events, 'handoff')[0]?.brief).toBe(`It is about ${name}.`);
      expect(JSON.stringify(server.bodies[1])).toContain(`It is about ${name}.`);
    });

    it('S047: an image is an image where the provider takes one in a result, and is told of where not', async () => {
      const data = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
      const shot = defineTool({
        name: 'shot',
        description: 'S.',
        input: z.object({}),
        execute: () => [
          { type: 'text', text: 'the page' },
          { type: 'image', mediaType: 'image/png', data },
        ],
      });
      const server = await serve(answer({ calls: [{ id: 'c1', name: 'shot' }] }), answer({ text: 'ok' }));
      const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server[dialect](), tools: [shot] });
      const session = { store: memorySession(), id: 's' };
      await sound(run(agent, 'go', { session }));
      expect(server.problems).toEqual([]);
      const body = JSON.stringify(server.bodies[1]);
      expect(body).toContain('the page');
      // Once, wherever the dialect puts it, and in its own field rather than in text.
      expect(body.split(data)).toHaveLength(2);
      expect(resultTexts(server.bodies[1]).join()).not.toContain(data);
      const events = await session.store.load('s');
      expect(JSON.stringify(events).split(data)).toHaveLength(2);
    });
  });
});
