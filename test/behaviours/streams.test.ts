import { getEventListeners } from 'node:events';
import type { Model, RunEvent } from '@guardloop/core';
import { defineAgent, defineTool, GuardloopError } from '@guardloop/core';
import { callTool, cutOff, failWith, say } from '@guardloop/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { resume, run, scriptedModel, stream } from './audited.js';
import { gate, reread, sleep, untilAborted, watch } from './reading.js';
import { chatWire, messagesWire } from './wire.js';

let rejections: unknown[] = [];
const keep = (reason: unknown): void => void rejections.push(reason);
beforeEach(() => {
  rejections = [];
  process.on('unhandledRejection', keep);
});
afterEach(async () => {
  await sleep(5);
  process.off('unhandledRejection', keep);
  expect(rejections).toEqual([]);
});

describe('what is shown', () => {
  it('B48: A call is announced before its tool ends', async () => {
    const released = gate();
    const slow = defineTool({
      name: 'slow',
      description: 'Is slow.',
      input: z.object({ n: z.number() }),
      execute: async (_, { progress }) => {
        progress('half way');
        await released.opened;
        return 'done';
      },
    });
    const agent = defineAgent({
      name: 'a',
      instructions: '',
      model: scriptedModel([callTool('slow', { n: 1 }), say('Done.')]),
      tools: [slow],
    });
    const types: string[] = [];
    for await (const event of stream(agent, 'hi')) {
      types.push(event.type);
      // Only a reader who was told of the running call can let it go on.
      if (event.type === 'tool.progress') released.open();
    }
    expect(types.filter((type) => type.startsWith('tool.'))).toEqual(['tool.delta', 'tool.start', 'tool.progress', 'tool.end']);
  });

  it('B49: Nothing is sent twice', async () => {
    const pay = defineTool({ name: 'pay', description: 'Pays.', input: z.object({}), approval: true, execute: () => 'paid' });
    const model = scriptedModel([[say('I pay.'), callTool('pay')], say('It is paid.')], { chunks: 4 });
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [pay] });
    const first = await watch(stream(agent, 'hi', { runId: 'r' }));
    const second = await watch(resume(agent, reread(first.result.log), { decisions: { 'r/p1': 'approve' } }));
    expect(first.shown).toBe('I pay.');
    expect(second.shown).toBe('It is paid.');
    const numbers = [...first.events, ...second.events].flatMap((event) => ('seq' in event ? [event.seq] : []));
    expect(numbers).toEqual(second.result.log.events.map(({ seq }) => seq));
    expect(second.events.filter((event) => 'seq' in event)).toEqual(second.result.log.events.slice(first.result.log.events.length));
  });
});

describe('streams that fail or are left', () => {
  const slowModel: Model = {
    id: 'slow',
    provider: 'test',
    async *stream(_, { signal }) {
      yield { type: 'text.delta', text: 'I begin' };
      await untilAborted(signal);
    },
  };

  it('B50: A stream that fails raises no unhandled rejection and leaves no listener', async () => {
    const failures = [failWith(new GuardloopError('MODEL_FAILED', 'down')), failWith('no error at all'), [say('I beg'), cutOff()]];
    for (const failure of failures) {
      const { signal } = new AbortController();
      const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([failure]) });
      const { result } = await watch(stream(agent, 'hi', { signal }));
      expect(result).toMatchObject({ status: 'failed' });
      expect(getEventListeners(signal, 'abort')).toEqual([]);
    }
    const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('Hello.')]) });
    const refused = stream(agent, 'hi', {
      runId: 'r',
      session: { store: { load: async () => Promise.reject(new Error('no')), append: async () => undefined }, id: 's' },
    });
    await expect(refused.result).rejects.toMatchObject({ code: 'STORE_FAILED' });
    void stream(agent, 'hi', {
      session: { store: { load: async () => Promise.reject(new Error('no')), append: async () => undefined }, id: 's' },
    });
  });

  it('B50: A stream that is left is cancelled, raises no unhandled rejection and leaves no listener', async () => {
    const { signal } = new AbortController();
    const agent = defineAgent({ name: 'a', instructions: '', model: slowModel });
    const left = stream(agent, 'hi', { signal });
    const seen: RunEvent[] = [];
    for await (const event of left) {
      seen.push(event);
      if (event.type === 'text.delta') break;
    }
    const result = await left.result;
    expect(result).toMatchObject({ status: 'cancelled' });
    expect(JSON.stringify(result)).not.toContain('I begin');
    expect(getEventListeners(signal, 'abort')).toEqual([]);

    const thrown = stream(agent, 'hi', { signal });
    const read = async (): Promise<void> => {
      for await (const event of thrown) if (event.type === 'text.delta') throw new Error('mine');
    };
    await expect(read()).rejects.toThrow('mine');
    expect(await thrown.result).toMatchObject({ status: 'cancelled' });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('B50: A stream that nobody reads runs to its end, and one that completes leaves no listener', async () => {
    const { signal } = new AbortController();
    const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('Hello.')]) });
    expect(await stream(agent, 'hi', { signal })).toMatchObject({ status: 'completed' });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('B51: Cancelling stops before the next model call; completion waits for the clean-up', async () => {
    const cancel = new AbortController();
    const cleaned: string[] = [];
    const work = defineTool({
      name: 'work',
      description: 'Works.',
      input: z.object({}),
      execute: async (_, { signal }) => {
        setTimeout(() => cancel.abort(), 5);
        return untilAborted(signal).catch(async () => {
          await sleep(30);
          cleaned.push('tool');
          return 'stopped';
        });
      },
    });
    const model = scriptedModel([callTool('work'), say('Done.')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [work] });
    const { result, events } = await watch(stream(agent, 'hi', { signal: cancel.signal }));
    expect(cleaned).toEqual(['tool']);
    expect(result).toMatchObject({ status: 'cancelled' });
    expect(model.requests).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ type: 'run.end', status: 'cancelled' });
    const before = AbortSignal.abort();
    expect(await run(agent, 'hi', { signal: before })).toMatchObject({ status: 'cancelled' });
    expect(model.requests).toHaveLength(1);
  });
});

describe.each([
  ['Chat Completions', chatWire],
  ['Messages', messagesWire],
] as const)('retries on %s', (_, serve) => {
  it('B52: There is no retry after the first visible event', async () => {
    const wire = await serve([{ text: 'The beginning of a long story', isCut: true }, { text: 'Again.' }], { maxRetries: 2 });
    const agent = defineAgent({ name: 'a', instructions: '', model: wire.model });
    const { result, events, shown } = await watch(stream(agent, 'hi'));
    expect(result).toMatchObject({ status: 'failed', error: { code: expect.stringMatching(/^MODEL_/) } });
    expect(wire.bodies).toHaveLength(1);
    expect(shown).toBe('The beginning of a long story');
    expect(events.filter(({ type }) => type === 'text.retract')).toMatchObject([{ chars: shown.length }]);
    expect(JSON.stringify(result)).not.toContain('long story');
  });

  it('B52: The server’s retry-after goes before backoff, and the retry is shown', async () => {
    const wire = await serve([{ failure: { status: 429, headers: { 'retry-after-ms': '600' } } }, { text: 'Hello.' }], { maxRetries: 1 });
    const agent = defineAgent({ name: 'a', instructions: '', model: wire.model });
    const { result, events } = await watch(stream(agent, 'hi'));
    expect(result).toMatchObject({ status: 'completed', output: 'Hello.', usage: { requests: 2 } });
    const [first = 0, second = 0] = wire.times;
    // The first backoff of both SDKs is at most 500 ms.
    expect(second - first).toBeGreaterThanOrEqual(590);
    expect(events.filter(({ type }) => type === 'model.retry')).toMatchObject([{ attempt: 1 }]);
  });

  it('B52: An abort ends the wait', async () => {
    const wire = await serve([{ failure: { status: 429, headers: { 'retry-after-ms': '30000' } } }, { text: 'Hello.' }], { maxRetries: 1 });
    const cancel = new AbortController();
    const agent = defineAgent({ name: 'a', instructions: '', model: wire.model });
    const begun = performance.now();
    setTimeout(() => cancel.abort(), 60);
    expect(await run(agent, 'hi', { signal: cancel.signal })).toMatchObject({ status: 'cancelled' });
    expect(performance.now() - begun).toBeLessThan(10_000);
    await sleep(20);
    expect(wire.bodies).toHaveLength(1);
  });
});
