import type { Model } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, deny, memorySession, rewrite, run, stream } from '@guardloop/core';
import { callTool, say, scriptedModel, wait } from '@guardloop/testing';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { chatChunk, messagesEvent, serve } from './provider-server.js';
import { ofType, readAll, shownText, sleep, sound, unhandled } from './sound.js';

/** Denies after a while, beside the model. */
const lateDeny = (ms: number) =>
  defineGuardrail({
    name: 'late',
    on: ['input'],
    beside: 'model',
    check: async () => {
      await sleep(ms);
      return deny('off topic', { reply: 'Sorry.' });
    },
  });

describe('K5', () => {
  describe('S075: a refusal beside the model cancels the call', () => {
    it.each(['chat', 'claude'] as const)('S075: the request of a hanging provider is aborted (%s)', async (dialect) => {
      const rejections = unhandled();
      const first = dialect === 'chat' ? chatChunk({ content: 'secret' }) : messagesEvent('ping', {});
      const server = await serve({ steps: [first, { waitMs: 60_000 }] });
      const late = defineGuardrail({
        name: 'late',
        on: ['input'],
        beside: 'model',
        check: async () => {
          await vi.waitUntil(() => server.bodies.length > 0, { interval: 5, timeout: 15_000 });
          return deny('off topic', { reply: 'Sorry.' });
        },
      });
      const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server[dialect](), guardrails: [late] });
      const { events, result } = await readAll(stream(agent, 'bad input'));
      await sound(Promise.resolve(result));
      expect(result).toMatchObject({ status: 'blocked', surface: 'input', by: 'late', reply: 'Sorry.' });
      expect(shownText(events)).toBe('Sorry.');
      expect(ofType(events, 'model.end')).toMatchObject([{ status: 'aborted', text: '', calls: [] }]);
      await expect.poll(() => server.closedEarly).toBe(1);
      expect(rejections).toEqual([]);
    });

    it('S075: the run settles after the model call has, in run and in stream', async () => {
      const rejections = unhandled();
      for (const mode of ['run', 'stream'] as const) {
        let isOpen = false;
        let signal: AbortSignal | undefined;
        const model: Model = {
          id: 'm',
          provider: 'test',
          async *stream(_, options) {
            signal = options.signal;
            isOpen = true;
            try {
              await new Promise((_resolve, reject) => options.signal.addEventListener('abort', () => reject(options.signal.reason)));
            } finally {
              isOpen = false;
            }
            yield { type: 'text.delta', text: 'never' };
          },
        };
        const agent = defineAgent({ name: 'a', instructions: '', model, guardrails: [lateDeny(10)] });
        const result = await sound(mode === 'run' ? run(agent, 'bad') : stream(agent, 'bad').result);
        expect(result.status).toBe('blocked');
        expect(signal?.aborted).toBe(true);
        expect(isOpen).toBe(false);
      }
      expect(rejections).toEqual([]);
    });
  });

  it('S078: when a check that stands before the model refuses, nothing else was set up or asked', async () => {
    const touched: string[] = [];
    const touch = (name: string): void => void touched.push(name);
    const model = scriptedModel([say('never')]);
    const first = defineGuardrail({ name: 'first', on: ['input'], check: () => deny('no') });
    const beside = defineGuardrail({
      name: 'beside',
      on: ['input'],
      beside: 'model',
      check: async () => {
        touch('beside');
        return allow();
      },
    });
    const tool = defineTool({
      name: 't',
      description: 'T.',
      input: z.object({}),
      enabled: () => {
        touch('enabled');
        return true;
      },
      execute: () => 'ok',
    });
    const agent = defineAgent({
      name: 'a',
      instructions: () => {
        touch('instructions');
        return '';
      },
      model: () => {
        touch('model');
        return model;
      },
      settings: () => {
        touch('settings');
        return {};
      },
      tools: [tool],
      guardrails: [first, beside],
    });
    const view = () => {
      touch('view');
      return [];
    };
    const result = await sound(run(agent, 'bad', { view }));
    expect(result).toMatchObject({ status: 'blocked', by: 'first' });
    expect(touched).toEqual([]);
    expect(model.requests).toHaveLength(0);
    expect(ofType(result.events, 'guard.verdict').map(({ guardrail }) => guardrail)).toEqual(['first']);
  });

  describe('S097: a forbidden text is found however it is cut', () => {
    const pieces = ['code SEC', 'RET-', '42 end'];
    const cuts = [pieces, ['code SECRET-42 end'], [...'code SECRET-42 end'], ['code SECRET-4', '2 end'], ['code ', 'SECRET-42', ' end']];
    const held = defineGuardrail({
      name: 'held',
      on: ['output'],
      check: ({ content }) => (content.includes('SECRET-42') ? deny('a code') : allow()),
    });
    const windowed = defineGuardrail({
      name: 'windowed',
      on: ['output'],
      window: 9,
      rewrite: ({ content }) => {
        const at = content.indexOf('SECRET-42');
        return at < 0 ? allow() : rewrite([{ start: at, end: at + 9, with: '[code]' }], 'a code');
      },
    });

    it.each(cuts.map((cut) => [cut] as const))('S097: held back, nothing of it is shown: %j', async (cut) => {
      const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel(() => say(cut)), guardrails: [held] });
      const { events, result } = await readAll(stream(agent, 'go', { limits: { repairs: 0 } }));
      await sound(Promise.resolve(result));
      expect(result.status).toBe('blocked');
      expect(ofType(events, 'text.delta')).toEqual([]);
    });

    it.each(cuts.map((cut) => [cut] as const))('S097: in a window, only what is settled is shown: %j', async (cut) => {
      const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel(() => say(cut)), guardrails: [windowed] });
      const { events, result } = await readAll(stream(agent, 'go'));
      await sound(Promise.resolve(result));
      expect(shownText(events)).toBe('code [code] end');
      expect(result).toMatchObject({ status: 'completed', output: 'code [code] end' });
    });

    it('S097: the end of a stream is looked at too, and the next run of the conversation flows as usual', async () => {
      let turn = 0;
      const texts = [['the code is SECRET-', '42'], ['a clean answer that is long enough to flow']];
      const model = scriptedModel(() => say(texts[turn] ?? ''));
      const agent = defineAgent({ name: 'a', instructions: '', model, guardrails: [windowed] });
      const session = { store: memorySession(), id: 's' };
      const first = await readAll(stream(agent, 'go', { session }));
      expect(shownText(first.events)).toBe('the code is [code]');
      turn = 1;
      const second = await readAll(stream(agent, 'again', { session }));
      await sound(Promise.resolve(second.result));
      expect(shownText(second.events)).toBe(texts[1]?.join(''));
    });

    it('S097: over the wire, where the provider cuts inside the code', async () => {
      const server = await serve({
        steps: [...pieces.map((content) => chatChunk({ content })), chatChunk({}, 'stop'), 'data: [DONE]\n\n'],
      });
      const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server.chat(), guardrails: [windowed] });
      const { events } = await readAll(stream(agent, 'go'));
      expect(shownText(events)).toBe('code [code] end');
    });
  });

  describe('S102: a refused answer is not joined with the accepted one', () => {
    const check = defineGuardrail({
      name: 'g',
      on: ['output'],
      check: ({ content }) => (content.includes('wrong') ? deny('no') : allow()),
    });
    const script = [say(['wro', 'ng']), say(['ri', 'ght'])];

    it('S102: held back, only the accepted one is shown', async () => {
      const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel(script), guardrails: [check] });
      const session = { store: memorySession(), id: 's' };
      const { events, result } = await readAll(stream(agent, 'go', { session }));
      await sound(Promise.resolve(result));
      expect(shownText(events)).toBe('right');
      expect(JSON.stringify(await session.store.load('s'))).not.toContain('wrong');
    });

    it('S102: shown live, it is taken back before the next begins', async () => {
      const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel(script), guardrails: [check] });
      const { events, result } = await readAll(stream(agent, 'go', { release: 'live' }));
      await sound(Promise.resolve(result));
      const shown = events.filter((event) => event.type === 'text.delta' || event.type === 'text.retract');
      expect(shown.map((event) => (event.type === 'text.delta' ? `${event.turn} ${event.text}` : `${event.turn} -${event.chars}`))).toEqual(
        ['1 wro', '1 ng', '1 -5', '2 ri', '2 ght'],
      );
      expect(result).toMatchObject({ status: 'completed', output: 'right' });
      expect(JSON.stringify(result.log)).not.toContain('wrong');
    });
  });

  describe('S202: when one of many things at the start fails, the others are aborted and settled', () => {
    it('S202: checks together: one throws early, the others reject late', async () => {
      const rejections = unhandled();
      let active = 0;
      const reject = (name: string, ms: number) =>
        defineGuardrail({
          name,
          on: ['input'],
          check: async () => {
            active += 1;
            await sleep(ms);
            active -= 1;
            throw new Error(name);
          },
        });
      const model = scriptedModel([say('never')]);
      const agent = defineAgent({
        name: 'a',
        instructions: '',
        model,
        guardrails: [reject('early', 5), reject('late', 30), reject('later', 40)],
      });
      const result = await sound(run(agent, 'go'));
      expect(result).toMatchObject({ status: 'blocked', by: 'early', failed: true, reason: 'guardrail early failed' });
      expect(active).toBe(0);
      expect(model.requests).toHaveLength(0);
      await sleep(20);
      expect(rejections).toEqual([]);
    });

    it('S202: instructions that throw beside a slow check end the run as failed; the check is not left behind', async () => {
      const rejections = unhandled();
      let isChecking = false;
      const slow = defineGuardrail({
        name: 'slow',
        on: ['input'],
        beside: 'model',
        check: async () => {
          isChecking = true;
          await sleep(50);
          isChecking = false;
          throw new Error('late');
        },
      });
      const model = scriptedModel([say('never')]);
      const agent = defineAgent({
        name: 'a',
        instructions: async () => {
          await sleep(5);
          throw new Error('no instructions');
        },
        model,
        guardrails: [slow],
      });
      const result = await sound(run(agent, 'go'));
      expect(result).toMatchObject({ status: 'failed', error: { code: 'INTERNAL' } });
      expect(isChecking).toBe(false);
      expect(model.requests).toHaveLength(0);
      await sleep(60);
      expect(rejections).toEqual([]);
    });

    it('S202: a limit of time during the start stops instructions, checks and model alike', async () => {
      const rejections = unhandled();
      const signals: AbortSignal[] = [];
      const model = scriptedModel([[wait(200), say('never')]]);
      const slow = defineGuardrail({
        name: 'slow',
        on: ['input'],
        beside: 'model',
        check: async (_, { signal }) => {
          signals.push(signal);
          await sleep(40);
          throw new Error('late');
        },
      });
      const agent = defineAgent({
        name: 'a',
        instructions: async ({ signal }) => {
          signals.push(signal);
          return '';
        },
        model,
        guardrails: [slow],
      });
      const result = await sound(run(agent, 'go', { limits: { ms: 20 } }));
      expect(result).toMatchObject({ status: 'exhausted', limit: 'ms' });
      expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
      await sleep(60);
      expect(rejections).toEqual([]);
    });
  });

  it('S075: calls of an answer that came while the check was open start only after it', async () => {
    const order: string[] = [];
    const tool = defineTool({
      name: 't',
      description: 'T.',
      input: z.object({}),
      execute: () => {
        order.push('tool');
        return 'ok';
      },
    });
    const pass = defineGuardrail({
      name: 'pass',
      on: ['input'],
      beside: 'model',
      check: async () => {
        await sleep(20);
        order.push('check');
        return allow();
      },
    });
    const model = scriptedModel([callTool('t'), say('ok')]);
    const result = await sound(run(defineAgent({ name: 'a', instructions: '', model, tools: [tool], guardrails: [pass] }), 'go'));
    expect(result.status).toBe('completed');
    expect(order).toEqual(['check', 'tool']);
  });
});
