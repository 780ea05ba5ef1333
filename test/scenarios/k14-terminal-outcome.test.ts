import type { RunEvent } from '@guardloop/core';
import { allow, asTool, defineAgent, defineGuardrail, defineTool, rewrite, stream } from '@guardloop/core';
import { callTool, failWith, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { chatAnswer, chatChunk, serve } from './provider-server.js';
import { ends, gate, ofType, readAll, shownText, sleep, sound } from './sound.js';

const f = defineTool({ name: 'f', description: 'F.', input: z.object({}), execute: () => 'ok' });

describe('K14', () => {
  describe('S069: a stream ends once, after all that happened', () => {
    it('S069: at a limit', async () => {
      const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([callTool('f'), callTool('f')]), tools: [f] });
      const watched = stream(agent, 'go', { limits: { turns: 2 } });
      const { events, result } = await readAll(watched);
      await sound(Promise.resolve(result));
      expect(result).toMatchObject({ status: 'exhausted', limit: 'turns' });
      expect(ends(events)).toEqual(['1.0 ok', '2.0 ok']);
      expect(ofType(events, 'run.end')).toHaveLength(1);
      expect(events.at(-1)).toMatchObject({ type: 'run.end', status: 'exhausted' });
    });

    it('S069: with a rewritten answer and an agent as a tool', async () => {
      const model = scriptedModel({ main: [callTool('ask', { input: 'x' }), say('the secret word')], helper: [say('helped')] });
      const helper = defineAgent({ name: 'helper', instructions: '', model });
      const mask = defineGuardrail({
        name: 'mask',
        on: ['output'],
        rewrite: ({ content }) => (content.includes('secret') ? rewrite(content.replace('secret', '***'), 'a secret') : allow()),
      });
      const agent = defineAgent({
        name: 'main',
        instructions: '',
        model,
        tools: [asTool(helper, { name: 'ask', description: 'A.' })],
        guardrails: [mask],
      });
      const { events, result } = await readAll(stream(agent, 'go'));
      await sound(Promise.resolve(result));
      expect(result).toMatchObject({ status: 'completed', output: 'the *** word' });
      expect(shownText(events)).toBe('the *** word');
      expect(events.filter((event) => event.type === 'run.end' && event.parent === undefined)).toHaveLength(1);
      expect(events.at(-1)?.type).toBe('run.end');
    });

    it('S069: over HTTP, in every kind of end; neither a late nor a slow reader changes it', async () => {
      const kinds = {
        completed: [chatAnswer({ text: 'fine' })],
        failed: [{ status: 500, steps: ['{}'] }],
        cut: [{ steps: [chatChunk({ content: 'fi' }), 'cut' as const] }],
        length: [chatAnswer({ text: 'fi', finish: 'length' })],
        refusal: [chatAnswer({ finish: 'content_filter' })],
      };
      for (const [kind, answers] of Object.entries(kinds)) {
        const server = await serve(...answers, ...answers);
        const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server.chat() });
        const early = await readAll(stream(agent, 'go', { runId: 'r' }));
        const late = stream(agent, 'go', { runId: 'r' });
        await sound(late.result);
        const events: RunEvent[] = [];
        for await (const event of late) {
          events.push(event);
          await sleep(1);
        }
        expect(
          events.map(({ type }) => type),
          kind,
        ).toEqual(early.events.map(({ type }) => type));
        expect(
          events.filter(({ type }) => type === 'run.end'),
          kind,
        ).toHaveLength(1);
        expect(events.at(-1)?.type === 'run.end' || events.at(-2)?.type === 'run.end', kind).toBe(true);
      }
    });

    it('S069: an answer that was shown and then failed is taken back before the end', async () => {
      const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([[say('half of'), failWith(new Error('lost'))]]) });
      const { events, result } = await readAll(stream(agent, 'go'));
      await sound(Promise.resolve(result));
      expect(events.map(({ type }) => type).slice(-4)).toEqual(['text.delta', 'text.retract', 'model.end', 'run.end']);
      expect(ofType(events, 'text.retract')[0]?.chars).toBe('half of'.length);
      expect(result.status).toBe('failed');
    });
  });

  describe('S229: what was said before a call is there before the call runs', () => {
    const wire = () =>
      serve(
        {
          steps: [
            chatChunk({ content: 'Let me look' }),
            chatChunk({ tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'slow', arguments: '{}' } }] }),
            chatChunk({}, 'tool_calls'),
            'data: [DONE]\n\n',
          ],
        },
        chatAnswer({ text: 'Found' }),
      );

    it.each([0, 10])('S229: for a reader that takes %i ms for each event', async (ms) => {
      const server = await wire();
      const delivered = gate();
      const slow = defineTool({
        name: 'slow',
        description: 'S.',
        input: z.object({}),
        execute: async () => {
          // Runs until the reader has been told of it.
          await delivered.opened;
          return 'found';
        },
      });
      const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server.chat(), tools: [slow] });
      const seen: string[] = [];
      for await (const event of stream(agent, 'go')) {
        if (event.type === 'text.delta') seen.push(event.text);
        if (event.type === 'tool.delta' || event.type === 'tool.start' || event.type === 'tool.end') seen.push(event.type);
        if (event.type === 'tool.start') delivered.open();
        if (ms > 0) await sleep(ms);
      }
      expect(seen).toEqual(['Let me look', 'tool.delta', 'tool.start', 'tool.end', 'Found']);
    });
  });

  it.each([
    ['finish stop', [chatChunk({}, 'stop'), 'data: [DONE]\n\n'], 'completed'],
    ['no finish, but the end of the stream', ['data: [DONE]\n\n'], 'completed'],
    ['neither', [], 'failed'],
  ] as const)('S045: a whole call with %s', async (_, tail, status) => {
    const call = chatChunk({ tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }] });
    const server = await serve({ steps: [call, ...tail] }, chatAnswer({ text: 'ok' }));
    const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server.chat(), tools: [f] });
    const { events, result } = await readAll(stream(agent, 'go'));
    await sound(Promise.resolve(result));
    expect(result.status).toBe(status);
    expect(ends(events)).toEqual(status === 'completed' ? ['1.0 ok'] : []);
  });
});
