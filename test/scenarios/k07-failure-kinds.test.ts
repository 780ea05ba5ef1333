import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Model } from '@guardloop/core';
import {
  allow,
  asTool,
  defineAgent,
  defineGuardrail,
  defineTool,
  deny,
  GuardloopError,
  halt,
  memorySession,
  run,
  stream,
} from '@guardloop/core';
import { callTool, failWith, say, scriptedModel, wait } from '@guardloop/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { chatAnswer, chatChunk, serve } from './provider-server.js';
import { ends, ofType, reaches, readAll, sleep, sound, unhandled, unpaired } from './sound.js';

const slowly =
  <T>(ms: number, answer: () => T) =>
  async (): Promise<T> => {
    await sleep(ms);
    return answer();
  };

describe('K7', () => {
  describe('S056: what happens to an agent that is used as a tool', () => {
    const script = { main: [callTool('ask_helper', { input: 'x' }, 'm1'), say('handled')], helper: [say('SECRET')] };
    const setUp = (kind: 'input' | 'output' | 'turns' | 'model', verdict: typeof deny | typeof halt = deny) => {
      const refuses = defineGuardrail({
        name: 'helper-guard',
        on: [kind === 'output' ? 'output' : 'input'],
        check: () => verdict('not this'),
      });
      const steps =
        kind === 'turns'
          ? [callTool('nothing'), say('never')]
          : kind === 'model'
            ? [failWith(new GuardloopError('MODEL_FAILED', '500'))]
            : script.helper;
      const model = scriptedModel({ main: script.main, helper: steps });
      const helper = defineAgent({
        name: 'helper',
        instructions: '',
        model: scriptedModel([]),
        guardrails: kind === 'input' || kind === 'output' ? [refuses] : [],
      });
      const tool = asTool(helper, { name: 'ask_helper', description: 'Asks.', limits: { turns: 1, repairs: 0 } });
      return { model, main: defineAgent({ name: 'main', instructions: '', model: scriptedModel([]), tools: [tool] }) };
    };

    it.each([
      ['input', 'helper-guard', 'denied'],
      ['output', 'helper-guard', 'denied'],
      ['turns', 'turns', 'failed'],
      ['model', 'MODEL_FAILED', 'unavailable'],
    ] as const)('S056: %s: an error for the parent that names %s, without the blocked text', async (kind, word, errorClass) => {
      const { main, model } = setUp(kind);
      // The child uses the parent's override of the model.
      const result = await sound(run(main, 'go', { model }));
      expect(result).toMatchObject({ status: 'completed', output: 'handled' });
      const [end] = ofType(result.events, 'tool.end').filter(({ parent }) => parent === undefined);
      expect(end).toMatchObject({ status: 'error', errorClass });
      expect(String(end?.content)).toContain(word);
      expect(String(end?.content)).toContain('ask_helper');
      expect(reaches(result, 'SECRET')).toBe(false);
      // Three requests, or two where the child's model was never asked.
      expect(result.usage.requests).toBe(kind === 'input' ? 2 : 3);
    });

    it('S056: a halt in the child halts the parent, and the log tells whose guardrail it was', async () => {
      const { main, model } = setUp('output', halt);
      const result = await sound(run(main, 'go', { model }));
      expect(result).toMatchObject({ status: 'blocked', surface: 'output', by: 'helper-guard', reason: 'not this' });
      const [verdict] = ofType(result.events, 'guard.verdict').filter(({ action }) => action === 'halt');
      expect(verdict).toMatchObject({ agent: 'helper', parent: result.runId });
      expect(reaches(result, 'SECRET')).toBe(false);
      expect(model.requests).toHaveLength(2);
    });

    it('S056: abort and context reach the child', async () => {
      const stop = new AbortController();
      let seen: unknown;
      const helper = defineAgent({
        name: 'helper',
        instructions: ({ context }) => {
          seen = context;
          return '';
        },
        model: scriptedModel([[wait(5_000), say('never')]]),
      });
      const main = defineAgent({
        name: 'main',
        instructions: '',
        model: scriptedModel(script.main),
        tools: [asTool(helper, { name: 'ask_helper', description: 'Asks.' })],
      });
      const context = { userId: 'u1' };
      setTimeout(() => stop.abort(), 20);
      const result = await sound(run(main, 'go', { signal: stop.signal, context } as never));
      expect(result.status).toBe('cancelled');
      expect(seen).toBe(context);
    });
  });

  describe('S079: a refusal of the input outranks a model error of the same turn', () => {
    it.each([
      ['run', 'not json'],
      ['stream', 'not json'],
      ['run', 'fails'],
      ['stream', 'fails'],
    ] as const)('S079: %s, the model %s', async (mode, kind) => {
      const rejections = unhandled();
      const late = defineGuardrail({ name: 'late', on: ['input'], beside: 'model', check: slowly(30, () => deny('off topic')) });
      const step = kind === 'fails' ? failWith(new Error('500')) : say('not json');
      const agent = defineAgent({
        name: 'a',
        instructions: '',
        model: scriptedModel([step]),
        output: z.object({ a: z.number() }),
        guardrails: [late],
      });
      const result = await sound(mode === 'run' ? run(agent, 'bad') : stream(agent, 'bad').result);
      expect(result).toMatchObject({ status: 'blocked', surface: 'input', by: 'late' });
      // The model call is recorded beside it.
      expect(ofType(result.events, 'model.end')).toHaveLength(1);
      await sleep(5);
      expect(rejections).toEqual([]);
    });
  });

  describe('S080: a guardrail that throws while others run', () => {
    const guard = (name: string, ms: number, answer: () => unknown) =>
      defineGuardrail({ name, on: ['input'], check: slowly(ms, answer) as never });

    it('S080: is a failure, not a refusal of its own; the others settle, and all are listed once in declared order', async () => {
      const agent = defineAgent({
        name: 'a',
        instructions: '',
        model: scriptedModel([say('x')]),
        guardrails: [
          guard('g1', 30, allow),
          guard('g2', 5, () => {
            throw new TypeError('the user said XYZ');
          }),
          guard('g3', 15, allow),
        ],
      });
      const result = await sound(run(agent, 'go'));
      expect(result).toMatchObject({ status: 'blocked', by: 'g2', failed: true, reason: 'guardrail g2 failed' });
      expect(ofType(result.events, 'guard.verdict').map(({ guardrail, action, failed }) => [guardrail, action, failed])).toEqual([
        ['g1', 'allow', undefined],
        ['g2', 'deny', true],
        ['g3', 'allow', undefined],
      ]);
      expect(reaches(result, 'XYZ')).toBe(false);
    });

    it('S080: where another refuses outright with more weight, that one is named, and the failure stands beside it', async () => {
      const agent = defineAgent({
        name: 'a',
        instructions: '',
        model: scriptedModel([say('x')]),
        guardrails: [
          guard('g2', 5, () => {
            throw new TypeError('no');
          }),
          guard('g3', 15, () => halt('a real reason')),
        ],
      });
      const result = await sound(run(agent, 'go'));
      expect(result).toMatchObject({ status: 'blocked', by: 'g3', reason: 'a real reason' });
      expect(result).not.toHaveProperty('failed');
      expect(ofType(result.events, 'guard.verdict').map(({ guardrail, failed }) => [guardrail, failed])).toEqual([
        ['g2', true],
        ['g3', undefined],
      ]);
    });

    it('S080: a plain deny outranks a failure too, whichever stands first', async () => {
      const failing = guard('g2', 5, () => {
        throw new TypeError('no');
      });
      const denying = guard('g3', 15, () => deny('a real reason'));
      for (const guardrails of [
        [failing, denying],
        [denying, failing],
      ]) {
        const result = await sound(run(defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('x')]), guardrails }), 'go'));
        expect(result).toMatchObject({ status: 'blocked', by: 'g3', reason: 'a real reason' });
        expect(result).not.toHaveProperty('failed');
      }
    });
  });

  describe('S087: a guardrail that answers after the model failed', () => {
    it.each([
      ['allows', () => allow(), { status: 'failed', error: { code: 'MODEL_FAILED' } }],
      [
        'throws',
        () => {
          throw new Error('late');
        },
        { status: 'blocked', by: 'late', failed: true },
      ],
    ] as const)('S087: %s', async (_, answer, expected) => {
      const rejections = unhandled();
      const server = await serve({ status: 500, steps: ['{}'] });
      let signal: AbortSignal | undefined;
      const late = defineGuardrail({
        name: 'late',
        on: ['input'],
        beside: 'model',
        check: async (__, info) => {
          signal = info.signal;
          await sleep(60);
          return answer() as never;
        },
      });
      const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server.chat(), guardrails: [late] });
      const result = await sound(run(agent, 'go'));
      expect(result).toMatchObject(expected);
      expect(signal).toBeInstanceOf(AbortSignal);
      await sleep(80);
      expect(rejections).toEqual([]);
    });

    it('S087: a guardrail that hangs is aborted at its deadline, and its later rejection is nobody’s', async () => {
      const rejections = unhandled();
      let signal: AbortSignal | undefined;
      const late = defineGuardrail({
        name: 'late',
        on: ['input'],
        timeoutMs: 10,
        check: async (_, info) => {
          signal = info.signal;
          await sleep(40);
          throw new Error('too late');
        },
      });
      const result = await sound(
        run(defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('x')]), guardrails: [late] }), 'go'),
      );
      expect(result).toMatchObject({ status: 'blocked', by: 'late', failed: true });
      expect(signal?.aborted).toBe(true);
      await sleep(50);
      expect(rejections).toEqual([]);
    });
  });

  describe('S103: one call refused, one halted, in a batch', () => {
    const amounts: number[] = [];
    const transfer = defineTool({
      name: 'transfer',
      description: 'Transfers.',
      input: z.object({ amount: z.number() }),
      execute: ({ amount }) => {
        amounts.push(amount);
        return 'done';
      },
    });
    const limit = defineGuardrail({
      name: 'limit',
      on: ['toolInput'],
      check: async ({ input }) => {
        const { amount } = input as { readonly amount: number };
        if (amount === 999) {
          await sleep(10);
          return halt('fraud');
        }
        return amount > 100 ? deny('amounts above 100 are not allowed') : allow();
      },
    });
    const go = async (second: number) => {
      amounts.length = 0;
      const model = scriptedModel((request) =>
        request.messages.length === 1
          ? [callTool('transfer', { amount: 50 }, 'c1'), callTool('transfer', { amount: second }, 'c2')]
          : say('partly done'),
      );
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [transfer], guardrails: [limit] });
      const session = { store: memorySession(), id: 's' };
      return { agent, model, session, result: await sound(run(agent, 'go', { session })) };
    };

    it('S103: a deny refuses its call alone', async () => {
      const { result } = await go(500);
      expect(result).toMatchObject({ status: 'completed', output: 'partly done' });
      expect(amounts).toEqual([50]);
      expect([...ends(result.events)].sort()).toEqual(['1.0 ok', '1.1 denied']);
      const refused = ofType(result.events, 'tool.end').find(({ callId }) => callId === '1.1');
      expect(String(refused?.content)).toContain('amounts above 100 are not allowed');
    });

    it('S103: a halt is known before any call of the batch starts; nothing ran, and the session stays legal', async () => {
      const { result, agent, session, model } = await go(999);
      expect(result).toMatchObject({ status: 'blocked', surface: 'toolInput', by: 'limit', reason: 'fraud' });
      expect(amounts).toEqual([]);
      expect(ofType(result.events, 'guard.verdict').find(({ action }) => action === 'halt')?.subject).toBe(`${result.runId}/1.1`);
      expect([...ends(result.events)].sort()).toEqual(['1.0 aborted', '1.1 denied']);
      await sound(run(agent, 'next', { session }));
      expect(unpaired(model.requests.at(-1)?.messages ?? [])).toEqual([]);
    });
  });

  describe('S227: three parties can fail in one place, and each is told apart', () => {
    /** A judge behind HTTP that answers with lines of JSON, in whatever pieces. */
    const openJudge = async (pieces: readonly string[], status = 200) => {
      const server: Server = createServer((_, response) => {
        response.writeHead(status);
        const next = (index: number): void => {
          const piece = pieces[index];
          if (piece === undefined) response.end();
          else response.write(piece, () => void setTimeout(() => next(index + 1), 2));
        };
        next(0);
      });
      await new Promise<void>((resolve) => {
        server.listen(0, '127.0.0.1', resolve);
      });
      onTestFinished(() => void server.close());
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    };
    const remote = (url: string, onError: 'deny' | 'allow') =>
      defineGuardrail({
        name: 'remote',
        on: ['output'],
        onError,
        check: async (_, { signal }) => {
          const response = await fetch(url, { signal });
          if (!response.ok || response.body === null) throw new Error(`status ${response.status}`);
          let rest = '';
          for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
            rest += piece;
            const lines = rest.split('\n');
            rest = lines.pop() ?? '';
            for (const line of lines) if (JSON.parse(line).flagged === true) return deny('the judge flagged it');
          }
          return allow();
        },
      });
    const halves = ['{"flagged":fal', 'se}\n{"flagged":false}\n{"fl', 'agged":', 'FLAG}\n'];
    const answers = (flag: boolean) => halves.map((piece) => piece.replace('FLAG', String(flag)));
    const good = chatAnswer({ text: 'ok text' });
    const broken = { steps: [chatChunk({ content: 'ok text' }), 'data: not-json\n\n', chatChunk({}, 'stop'), 'data: [DONE]\n\n'] };

    it.each([
      ['split records that allow', good, answers(false), 200, 'deny', { status: 'completed', output: 'ok text' }],
      ['split records that refuse', good, answers(true), 200, 'deny', { status: 'blocked', by: 'remote', reason: 'the judge flagged it' }],
      ['a service that fails, refusing', good, [], 500, 'deny', { status: 'blocked', by: 'remote', failed: true }],
      ['a service that fails, allowed to', good, [], 500, 'allow', { status: 'completed', output: 'ok text' }],
      [
        'a frame that is no JSON, judge allowing',
        broken,
        answers(false),
        200,
        'deny',
        { status: 'failed', error: { code: 'MODEL_PROTOCOL' } },
      ],
      ['a frame that is no JSON, judge failing', broken, [], 500, 'allow', { status: 'failed', error: { code: 'MODEL_PROTOCOL' } }],
    ] as const)('S227: %s', async (...[, answer, lines, status, onError, expected]) => {
      const server = await serve(answer);
      const judge = remote(await openJudge(lines, status), onError);
      const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server.chat(), guardrails: [judge] });
      const { result } = await readAll(stream(agent, 'go', { limits: { repairs: 0 } }));
      await sound(Promise.resolve(result));
      expect(result).toMatchObject(expected);
      if (result.status === 'blocked' && !('failed' in expected)) expect(result).not.toHaveProperty('failed');
      const failed = ofType(result.events, 'guard.verdict').filter((event) => event.failed);
      expect(failed).toHaveLength(status === 500 && answer === good ? 1 : 0);
    });
  });

  it('S087: a model that rejects after it was left is no unhandled rejection', async () => {
    const rejections = unhandled();
    const model: Model = {
      id: 'm',
      provider: 'test',
      async *stream() {
        await sleep(120);
        yield { type: 'text.delta', text: 'late' };
        throw new Error('late');
      },
    };
    const agent = defineAgent({ name: 'a', instructions: '', model });
    const result = await sound(run(agent, 'go', { signal: AbortSignal.timeout(10) }));
    expect(result.status).toBe('cancelled');
    await sleep(140);
    expect(rejections).toEqual([]);
  });
});
