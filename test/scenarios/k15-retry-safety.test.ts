import type { RunEvent } from '@guardloop/core';
import { defineAgent, defineTool, memorySession, resume, run, stream } from '@guardloop/core';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { WireStep } from './provider-server.js';
import { chatAnswer, chatChunk, messagesAnswer, messagesEvent, serve } from './provider-server.js';
import { ofType, readAll, shownText, sound } from './sound.js';

const messageStart = messagesAnswer({}).steps[0] ?? '';
const toolStart = messagesEvent('content_block_start', {
  index: 0,
  content_block: { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} },
});
const toolPart = (text: string) =>
  messagesEvent('content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json: text } });
const chatTool = (fields: object) => chatChunk({ tool_calls: [{ index: 0, ...fields }] });

/** What came before the connection broke. */
const cuts: {
  readonly [D in 'chat' | 'claude']: { readonly [K in 'nothing' | 'text' | 'part of a call' | 'a whole call']: readonly WireStep[] };
} = {
  chat: {
    nothing: [chatChunk({ role: 'assistant', content: '' }), 'cut'],
    text: [chatChunk({ content: 'half of' }), 'cut'],
    'part of a call': [chatTool({ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"x":' } }), 'cut'],
    'a whole call': [chatTool({ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }), 'cut'],
  },
  claude: {
    nothing: [messageStart, 'cut'],
    text: [
      messageStart,
      messagesEvent('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      messagesEvent('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'half of' } }),
      'cut',
    ],
    'part of a call': [messageStart, toolStart, toolPart('{"x":'), 'cut'],
    'a whole call': [messageStart, toolStart, toolPart('{"x":1}'), messagesEvent('content_block_stop', { index: 0 }), 'cut'],
  },
};

describe('K15', () => {
  const cases = (['chat', 'claude'] as const).flatMap((dialect) =>
    (['nothing', 'text', 'part of a call', 'a whole call'] as const).map((what) => ({ dialect, what })),
  );

  it.each(cases)(
    'S162: a stream that breaks after $what ($dialect) runs no call, records nothing of it, and is asked again as a whole',
    async ({ dialect, what }) => {
      let calls = 0;
      const f = defineTool({
        name: 'f',
        description: 'F.',
        input: z.object({ x: z.number().optional() }),
        execute: () => {
          calls += 1;
          return 'ok';
        },
      });
      const answer = dialect === 'chat' ? chatAnswer : messagesAnswer;
      const server = await serve({ steps: cuts[dialect][what] }, answer({ text: 'whole answer' }));
      const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server[dialect](), tools: [f] });
      const session = { store: memorySession(), id: 's' };
      const first = await readAll(stream(agent, 'go', { session }));
      await sound(Promise.resolve(first.result));
      const events: RunEvent[] = [...first.events];
      let { result } = first;
      if (result.status !== 'completed') {
        expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_FAILED', details: { delivered: what === 'text' } } });
        // Where something was passed on, no program repeats it unseen; where nothing was, it may.
        if (result.status === 'failed') expect(result.error.isRetryable).toBe(what !== 'text');
        const again = await readAll(resume(agent, session));
        events.push(...again.events);
        result = again.result;
      }
      await sound(Promise.resolve(result));
      expect(result).toMatchObject({ status: 'completed', output: 'whole answer' });
      expect(calls).toBe(0);
      expect(server.bodies).toHaveLength(2);
      expect(server.bodies[1]).toEqual(server.bodies[0]);
      expect(server.problems).toEqual([]);
      // What had been shown is taken back, so that no text stands twice.
      const retracted = ofType(events, 'text.retract').reduce((sum, { chars }) => sum + chars, 0);
      expect(retracted).toBe(what === 'text' ? 'half of'.length : 0);
      expect(shownText(events).slice(retracted)).toBe('whole answer');
      expect(JSON.stringify(await session.store.load('s'))).not.toContain('half of');
      expect(ofType(events, 'tool.delta')).toEqual([]);
    },
  );

  it('S162: attempts before the answer begins are made by one layer, and reported', async () => {
    const busy = { status: 503, headers: { 'retry-after-ms': '1' }, steps: ['{}'] };
    const server = await serve(busy, chatAnswer({ text: 'ok' }), busy, busy, busy, busy);
    const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server.chat({ maxRetries: 1 }) });
    const { events, result } = await readAll(stream(agent, 'go'));
    expect(result).toMatchObject({ status: 'completed', output: 'ok', usage: { requests: 2 } });
    expect(ofType(events, 'model.retry').map(({ attempt }) => attempt)).toEqual([1]);
    const failed = await sound(run(agent, 'go'));
    expect(failed).toMatchObject({ status: 'failed', error: { details: { status: 503, attempts: 2 } } });
    expect(server.bodies).toHaveLength(4);
  });
});
