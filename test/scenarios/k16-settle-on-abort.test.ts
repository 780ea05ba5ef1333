import { getEventListeners } from 'node:events';
import type { Approval, RunResult } from '@guardloop/core';
import { defineAgent, defineTool, memorySession, resume, run, stream } from '@guardloop/core';
import { callTool, say, scriptedModel, wait } from '@guardloop/testing';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { chatAnswer, chatChunk, serve } from './provider-server.js';
import { ends, gate, ofType, sleep, sound, unhandled, unpaired } from './sound.js';

const approvalsOf = (result: RunResult): readonly Approval[] => (result.status === 'interrupted' ? result.approvals : []);

describe('K16', () => {
  describe('S052: a tool that takes too long', () => {
    it.each([
      [true, 'error'],
      [false, 'unknown'],
    ] as const)(
      'S052: repeatable %s: it ends %s at its deadline, its late result changes nothing, and its sibling is kept',
      async (repeatable, status) => {
        const rejections = unhandled();
        const effects: string[] = [];
        const late = gate();
        let signal: AbortSignal | undefined;
        const slow = (name: string, fails: boolean) =>
          defineTool({
            name,
            description: 'S.',
            input: z.object({}),
            timeoutMs: 20,
            repeatable,
            execute: async (_, info) => {
              signal = info.signal;
              await late.opened;
              effects.push(name);
              if (fails) throw new Error('late');
              return 'late result';
            },
          });
        const fast = defineTool({ name: 'fast', description: 'F.', input: z.object({}), execute: async () => 'fast result' });
        const model = scriptedModel([[callTool('slow', {}, 'c1'), callTool('fast', {}, 'c2'), callTool('failing', {}, 'c3')], say('ok')]);
        const session = { store: memorySession(), id: 's' };
        const agent = defineAgent({ name: 'a', instructions: '', model, tools: [slow('slow', false), slow('failing', true), fast] });
        const result = await sound(run(agent, 'go', { session }));
        expect(effects).toEqual([]);
        expect(result).toMatchObject({ status: 'completed', output: 'ok' });
        expect(signal?.aborted).toBe(true);
        late.open();
        await vi.waitUntil(() => effects.length === 2);
        await sleep(5);
        const log = await session.store.load('s');
        expect(log).toEqual(result.log.events);
        const results = ofType(log, 'tool.end').filter(({ tool }) => tool !== 'fast');
        expect(results.map((end) => [end.callId, end.status, end.errorClass])).toEqual([
          ['1.0', status, 'timeout'],
          ['1.2', status, 'timeout'],
        ]);
        if (status === 'unknown') expect(String(results[0]?.content)).toContain('may have happened');
        expect(JSON.stringify([log, model.requests])).not.toContain('late result');
        expect(JSON.stringify(model.requests[1]?.messages)).toContain('fast result');
        expect(rejections).toEqual([]);
      },
    );
  });

  describe('S151: a run that waits for a person is stopped instead', () => {
    const setUp = () => {
      const paid: string[] = [];
      const pay = defineTool({
        name: 'pay',
        description: 'Pays.',
        input: z.object({}),
        approval: true,
        execute: () => {
          paid.push('paid');
          return 'paid';
        },
      });
      const model = scriptedModel(({ messages }) => (messages.length === 1 ? callTool('pay', {}, 'c1') : say('hello')));
      return {
        paid,
        model,
        session: { store: memorySession(), id: 's' },
        agent: defineAgent({ name: 'a', instructions: '', model, tools: [pay] }),
      };
    };

    it('S151: by a new message: its call has an end, the old approval fits nothing any more, and the new run is legal', async () => {
      const { agent, session, model, paid } = setUp();
      const first = await sound(run(agent, 'go', { session }));
      const id = approvalsOf(first)[0]?.id ?? '';
      await expect(run(agent, 'never mind', { session })).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
      const next = await sound(run(agent, 'never mind', { session, unfinished: 'abandon' }));
      expect(next).toMatchObject({ status: 'completed', output: 'hello' });
      expect(ends(next.log.events)).toEqual(['1.0 aborted']);
      expect(unpaired(model.requests.at(-1)?.messages ?? [])).toEqual([]);
      await expect(resume(agent, session, { decisions: { [id]: 'approve' } }).result).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
      expect(paid).toEqual([]);
    });

    it('S151: by its signal, from within whoever is told of the approval', async () => {
      const { agent, session, paid } = setUp();
      const stop = new AbortController();
      const observers = [{ 'approval.request': () => stop.abort(new Error('stopped by the user')) }];
      const result = await sound(run(agent, 'go', { session, signal: stop.signal, observers }));
      expect(result).toMatchObject({ status: 'cancelled', cause: { name: 'Error' } });
      expect(ends(result.events)).toEqual(['1.0 aborted']);
      const id = ofType(result.events, 'approval.request')[0]?.approval.id ?? '';
      await expect(resume(agent, session, { decisions: { [id]: 'approve' } }).result).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
      expect(paid).toEqual([]);
      expect(await sound(run(agent, 'hello', { session }))).toMatchObject({ status: 'completed' });
    });

    it('S151: by resuming it with a signal that is aborted', async () => {
      const { agent, session, paid } = setUp();
      await sound(run(agent, 'go', { session }));
      const result = await sound(resume(agent, session, { signal: AbortSignal.abort() }).result);
      expect(result.status).toBe('cancelled');
      expect(ends(result.log.events)).toEqual(['1.0 aborted']);
      expect(paid).toEqual([]);
    });
  });

  describe('S155: one signal for many runs', () => {
    it('S155: no run leaves a listener on it, whatever its end and its door', async () => {
      const warnings: string[] = [];
      const warn = (warning: Error): void => void warnings.push(warning.name);
      process.on('warning', warn);
      const shutDown = new AbortController();
      const { signal } = shutDown;
      const server = await serve(...Array.from({ length: 20 }, () => chatAnswer({ text: 'ok' })));
      const uses = defineTool({
        name: 'uses',
        description: 'U.',
        input: z.object({}),
        execute: async (_, info) => String(info.signal.aborted),
      });
      const scripted = defineAgent({ name: 'a', instructions: '', model: scriptedModel([callTool('uses'), say('ok')]), tools: [uses] });
      const wired = defineAgent({ name: 'a', instructions: 'Help.', model: server.chat() });
      for (let round = 0; round < 300; round += 1) {
        await (round % 2 === 0 ? run(scripted, 'go', { signal }) : stream(scripted, 'go', { signal }).result);
        expect(getEventListeners(signal, 'abort')).toHaveLength(0);
      }
      for (let round = 0; round < 20; round += 1) {
        await (round % 2 === 0 ? run(wired, 'go', { signal }) : stream(wired, 'go', { signal }).result);
        expect(getEventListeners(signal, 'abort')).toHaveLength(0);
      }
      const together = Promise.all(Array.from({ length: 30 }, () => run(scripted, 'go', { signal })));
      expect(getEventListeners(signal, 'abort').length).toBeLessThanOrEqual(1);
      await together;
      expect(getEventListeners(signal, 'abort')).toHaveLength(0);
      await sleep(5);
      process.off('warning', warn);
      expect(warnings).toEqual([]);
    });

    it('S155: aborted, it stops all of them, once', async () => {
      const shutDown = new AbortController();
      const rejections = unhandled();
      const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([[wait(5_000), say('never')]]) });
      const running = Array.from({ length: 12 }, () => run(agent, 'go', { signal: shutDown.signal }));
      await sleep(10);
      shutDown.abort(new Error('shutting down'));
      for (const result of await Promise.all(running)) expect(result).toMatchObject({ status: 'cancelled', cause: { name: 'Error' } });
      expect(getEventListeners(shutDown.signal, 'abort')).toHaveLength(0);
      expect(rejections).toEqual([]);
    });

    it('S155: aborted before, nothing is asked', async () => {
      const model = scriptedModel([say('never')]);
      const result = await sound(run(defineAgent({ name: 'a', instructions: '', model }), 'go', { signal: AbortSignal.abort() }));
      expect(result.status).toBe('cancelled');
      expect(model.requests).toHaveLength(0);
    });
  });

  describe('S156: the client of a stream goes away', () => {
    const setUp = async () => {
      const server = await serve({
        steps: [chatChunk({ content: 'a' }), { waitMs: 1_000 }, chatChunk({ content: 'b' }), chatChunk({}, 'stop'), 'data: [DONE]\n\n'],
      });
      return { server, agent: defineAgent({ name: 'a', instructions: 'Help.', model: server.chat() }) };
    };

    it('S156: cancelling a web stream made of it ends the run as cancelled, aborts the request, and may be done twice', async () => {
      const rejections = unhandled();
      const { server, agent } = await setUp();
      const session = { store: memorySession(), id: 's' };
      const watched = stream(agent, 'go', { session });
      const iterator = watched[Symbol.asyncIterator]();
      const body = new ReadableStream<string>({
        async pull(controller) {
          for (;;) {
            const { value, done } = await iterator.next();
            if (done) return;
            if (value.type === 'text.delta') return controller.enqueue(value.text);
          }
        },
        async cancel() {
          await iterator.return?.();
        },
      });
      const reader = body.getReader();
      expect((await reader.read()).value).toBe('a');
      const began = performance.now();
      await reader.cancel();
      await reader.cancel();
      await iterator.return?.();
      const result = await sound(watched.result);
      expect(performance.now() - began).toBeLessThan(15_000);
      expect(result).toMatchObject({ status: 'cancelled', cause: { name: 'AbortError' } });
      expect((await session.store.load('s')).at(-1)).toMatchObject({ type: 'run.end', status: 'cancelled' });
      await expect.poll(() => server.closedEarly).toBe(1);
      expect(rejections).toEqual([]);
    });

    it('S156: a second reader is told so, and changes nothing for the first', async () => {
      const { agent } = await setUp();
      const watched = stream(agent, 'go');
      const seen: string[] = [];
      for await (const event of watched) {
        expect(() => watched[Symbol.asyncIterator]()).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
        if (event.type === 'text.delta') seen.push(event.text);
        if (seen.length > 0) break;
      }
      expect(seen).toEqual(['a']);
      expect((await sound(watched.result)).status).toBe('cancelled');
    });

    it('S156: tools under way are waited for, and what they gave is recorded before the end', async () => {
      let isOver = false;
      const slow = defineTool({
        name: 'slow',
        description: 'S.',
        input: z.object({}),
        execute: async () => {
          await sleep(40);
          isOver = true;
          return 'written';
        },
      });
      const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([callTool('slow'), say('never')]), tools: [slow] });
      const watched = stream(agent, 'go');
      for await (const event of watched) if (event.type === 'tool.start') break;
      const result = await sound(watched.result);
      expect(result.status).toBe('cancelled');
      expect(isOver).toBe(true);
      expect(ends(result.events)).toEqual(['1.0 ok']);
    });
  });
});
