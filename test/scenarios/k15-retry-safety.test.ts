import type { allow, Clock, RunEvent, RunResult } from '@guardloop/core';
import {
  asTool,
  defineAgent,
  defineGuardrail,
  defineTool,
  deny,
  GuardloopError,
  halt,
  memorySession,
  resume,
  run,
  stream,
  withRetry,
} from '@guardloop/core';
import { callTool, failWith, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { WireStep } from './provider-server.js';
import { chatAnswer, chatChunk, messagesAnswer, messagesEvent, serve } from './provider-server.js';
import { gate, ofType, readAll, shownText, sound } from './sound.js';

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

  describe('S158: what comes while a model waits to be asked again', () => {
    type Answer = ReturnType<typeof allow> | ReturnType<typeof deny> | ReturnType<typeof halt>;
    const setUp = (check?: () => Answer) => {
      const asked = gate();
      const waiting = gate();
      const clock: Clock = {
        now: () => 0,
        after: () => {
          waiting.open();
          return () => undefined;
        },
      };
      const inner = scriptedModel(() => {
        asked.open();
        return failWith(new GuardloopError('MODEL_FAILED', 'Status 503.', { isRetryable: true }));
      });
      const beside = (answer: () => Answer) =>
        defineGuardrail({
          name: 'beside',
          on: ['input'],
          beside: 'model',
          check: async () => {
            await asked.opened;
            return answer();
          },
        });
      const kid = defineAgent({
        name: 'kid',
        instructions: '',
        model: withRetry(inner, { attempts: 5, jitter: 'none', clock }),
        guardrails: check === undefined ? [] : [beside(check)],
        refusal: 'Not here.',
      });
      const tools = [asTool(kid, { name: 'kid', description: 'K.' })];
      const main = defineAgent({
        name: 'main',
        instructions: '',
        model: scriptedModel([callTool('kid', { input: 'x' }), say('end')]),
        tools,
      });
      return { inner, waiting, agents: { direct: kid, 'in a child run': main } };
    };

    it.each(['direct', 'in a child run'] as const)(
      'S158: the caller’s signal ends the run, and nothing is asked again (%s)',
      async (where) => {
        const stop = new AbortController();
        const { inner, waiting, agents } = setUp();
        void waiting.opened.then(() => stop.abort(new Error('enough')));
        const result = await sound<RunResult>(run(agents[where] as typeof agents.direct, 'go', { signal: stop.signal }));
        expect(result.status).toBe('cancelled');
        expect(inner.requests).toHaveLength(1);
      },
    );

    it.each([
      ['direct', 'deny', { status: 'blocked', by: 'beside', reply: 'Not here.' }],
      ['direct', 'halt', { status: 'blocked', by: 'beside', reply: 'Not here.' }],
      ['in a child run', 'deny', { status: 'completed', output: 'end' }],
      ['in a child run', 'halt', { status: 'blocked', by: 'beside' }],
    ] as const)('S158: a check beside it ends the wait: %s, %s', async (where, action, came) => {
      const { inner, agents } = setUp(() => (action === 'deny' ? deny('not this') : halt('not this')));
      const result = await sound<RunResult>(run(agents[where] as typeof agents.direct, 'go'));
      expect(result).toMatchObject(came);
      expect(inner.requests).toHaveLength(1);
      expect(ofType(result.events, 'model.end').find(({ agent }) => agent === 'kid')?.status).toBe('aborted');
    });
  });
});
