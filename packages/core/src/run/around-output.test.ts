import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../define/agent.js';
import { aroundTool } from '../define/around-tool.js';
import { withDetails } from '../define/detailed.js';
import { defineGuardrail } from '../define/guardrail.js';
import { handoff } from '../define/handoff.js';
import { partial } from '../define/partial.js';
import { defineTool } from '../define/tool.js';
import { toolError } from '../define/tool-error.js';
import type { AroundTool, ToolInfo } from '../define/types.js';
import { allow } from '../define/verdict.js';
import type { Model, ModelEvent } from '../model/types.js';
import { run, stream } from './run.js';

const usage = { requests: 1 };
/** Calls `act` with these inputs in its first turn, and then says something. */
const calling = (...inputs: readonly object[]): Model => ({
  id: 'm',
  provider: 'test',
  async *stream({ turn, agent }): AsyncGenerator<ModelEvent> {
    if (turn === 1 && agent === 'a') {
      for (const input of inputs) yield { type: 'tool.call', call: { name: 'act', input: input as never } };
      yield { type: 'end', stopReason: 'tools', usage };
      return;
    }
    yield { type: 'text.delta', text: 'Done.' };
    yield { type: 'end', stopReason: 'stop', usage };
  },
});
const secret = 'S3CRET';
const mask = async (text: string): Promise<string> => text.replaceAll(secret, '[hidden]').replaceAll('4111', '[card]');

interface Acting {
  readonly execute: (input: { word: string }, info: ToolInfo) => unknown;
  readonly around?: AroundTool;
  readonly options?: object;
}
async function act({ execute, around = { text: mask }, options = {} }: Acting) {
  const seen: unknown[] = [];
  const watching = defineGuardrail({
    name: 'watching',
    on: ['toolInput', 'toolOutput'],
    check: (subject) => {
      seen.push(subject);
      return allow();
    },
  });
  const plain = defineTool({
    name: 'act',
    description: 'Acts.',
    input: z.object({ word: z.string() }),
    flow: { effect: 'read' },
    execute,
    ...options,
  });
  const other = defineAgent({ name: 'b', instructions: '', model: calling() });
  const agent = defineAgent({
    name: 'a',
    instructions: '',
    model: calling({ word: 'w' }),
    tools: [aroundTool(plain, around)],
    guardrails: [watching],
    handoffs: [other],
  });
  const events: unknown[] = [];
  const result = await stream(agent, 'go', { observers: [(event) => void events.push(event)] });
  const end = result.events.find((event) => event.type === 'tool.end');
  return { result, end, seen, everything: JSON.stringify([result, events, seen]) };
}

describe('what is put around a tool', () => {
  it.each<[string, () => unknown, unknown]>([
    ['text', () => `It is ${secret}.`, 'It is [hidden].'],
    [
      'an object',
      () => ({ code: secret, deep: [{ [secret]: [secret, 1, null, true] }] }),
      '{"code":"[hidden]","deep":[{"[hidden]":["[hidden]",1,null,true]}]}',
    ],
    ['numbers', () => ({ card: 4111, other: 12 }), '{"card":"[card]","other":12}'],
    ['a map', () => new Map([['code', secret]]), '{"code":"[hidden]"}'],
    ['a class with its own JSON', () => ({ toJSON: () => ({ code: secret }) }), '{"code":"[hidden]"}'],
    ['bytes', () => new TextEncoder().encode(secret), '[hidden]'],
    ['an error that is returned', () => toolError(`no ${secret}`), { error_class: 'failed' }],
    [
      'a part of a result',
      () => partial([secret], { summary: `One of ${secret}.` }),
      '{"completeness":"partial","summary":"One of [hidden].","result":["[hidden]"]}',
    ],
    [
      'parts',
      () => [
        { type: 'text', text: secret },
        { type: 'image', url: 'https://example.org/x.png' },
      ],
      [
        { type: 'text', text: '[hidden]' },
        { type: 'image', url: 'https://example.org/x.png' },
      ],
    ],
    ['text and media in one', () => ({ note: secret, file: new Uint8Array([0x25, 0x50, 0x44, 0x46, 0x2d, 0x31]) }), undefined],
  ])('makes the texts of %s into others before anybody sees them', async (_, give, content) => {
    const { end, everything, seen } = await act({ execute: give });
    expect(everything).not.toContain(secret);
    expect(JSON.stringify(seen)).toMatch(/\[hidden\]|\[card\]/);
    if (typeof content === 'string') expect(end?.content).toBe(content);
    else if (Array.isArray(content)) expect(end?.content).toEqual(content);
    expect(end).toBeDefined();
  });

  it('makes words of failure, details and briefs into others', async () => {
    const throwing = await act({
      execute: () => {
        throw toolError(`no ${secret}`, { errorClass: 'not_found' });
      },
    });
    expect(throwing.end).toMatchObject({ status: 'error' });
    expect(JSON.stringify(throwing.end)).toContain('act failed: no [hidden]');
    expect(throwing.everything).not.toContain(secret);
    const detailed = await act({ execute: () => withDetails('fine', { code: secret }) });
    expect(detailed.end).toMatchObject({ content: 'fine', details: { code: '[hidden]' } });
    expect(detailed.everything).not.toContain(secret);
    const target = defineAgent({ name: 'b', instructions: '', model: calling() });
    const leaving = await act({ execute: () => handoff(target, { brief: `Go on with ${secret}.` }) });
    expect(leaving.end).toMatchObject({ handoff: { brief: 'Go on with [hidden].' } });
    expect(leaving.everything).not.toContain(secret);
  });

  it('leaves words of progress out, and steps in', async () => {
    const { everything } = await act({
      execute: (_, { progress }) => {
        progress(`at ${secret}`);
        progress(3);
        return 'fine';
      },
    });
    expect(everything).not.toContain(secret);
    expect(everything).toContain('"step":3');
  });

  it('withholds a result on which it fails', async () => {
    for (const text of [
      () => {
        throw new Error(secret);
      },
      () => undefined as unknown as string,
      () => Promise.reject(new Error(secret)),
    ]) {
      for (const execute of [
        () => secret,
        () => ({ code: secret }),
        () => withDetails('fine', secret),
        () => Promise.reject(new Error(secret)),
      ]) {
        const { end, everything } = await act({ execute, around: { text } });
        expect(end).toMatchObject({ status: 'error' });
        expect(JSON.stringify(end?.content)).toContain('act ran; its result was withheld');
        expect(everything).not.toContain(secret);
      }
    }
  });

  it('makes what is executed of what was recorded, and the record stays', async () => {
    const got: unknown[] = [];
    const { end, everything, seen } = await act({
      execute: (input) => {
        got.push(input);
        return `sent ${input.word}`;
      },
      around: { input: async (input) => ({ ...(input as object), word: secret }), text: mask },
    });
    expect(got).toEqual([{ word: secret }]);
    expect(end?.content).toBe('sent [hidden]');
    expect(seen).toMatchObject([
      { surface: 'toolInput', input: { word: 'w' } },
      { surface: 'toolOutput', input: { word: 'w' } },
    ]);
    expect(everything).not.toContain(secret);
  });

  it('fails the call where it fails on the input, and nothing is executed', async () => {
    for (const input of [
      () => {
        throw toolError('no such word', { errorClass: 'invalid_input' });
      },
      () => Promise.reject(toolError('no such word', { errorClass: 'invalid_input' })),
    ]) {
      let ran = 0;
      const { end } = await act({ execute: () => (ran += 1), around: { input } });
      expect(ran).toBe(0);
      expect(JSON.stringify(end?.content)).toContain('act failed: no such word');
    }
  });

  it('executes nothing once the call is over', async () => {
    let ran = 0;
    let open: (() => void) | undefined;
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { end } = await act({
      execute: () => (ran += 1),
      around: { input: (input) => opened.then(() => input) },
      options: { timeoutMs: 20 },
    });
    open?.();
    await new Promise((resolve) => setImmediate(resolve));
    expect(end).toMatchObject({ status: 'error' });
    expect(ran).toBe(0);
  });

  it('is told of the call', async () => {
    const told: unknown[] = [];
    const tell = <T>(value: T, info: unknown): T => {
      told.push(info);
      return value;
    };
    await act({ execute: () => 'fine', around: { text: tell, input: tell } });
    expect(told).toMatchObject([
      { agent: 'a', callId: '1.0' },
      { agent: 'a', callId: '1.0' },
    ]);
  });

  it('stands outside of what was put around before', async () => {
    const order: string[] = [];
    const note = <T>(words: string, value: T): T => {
      order.push(words);
      return value;
    };
    const step = (name: string): AroundTool => ({
      input: (input) => note(`${name} in`, input),
      text: (text) => note(`${name} out`, text),
    });
    const plain = defineTool({ name: 'act', description: 'Acts.', input: z.object({ word: z.string() }), execute: () => 'x' });
    const tool = aroundTool(aroundTool(plain, step('inner')), step('outer'));
    await run(defineAgent({ name: 'a', instructions: '', model: calling({ word: 'w' }), tools: [tool] }), 'go');
    expect(order).toEqual(['outer in', 'inner in', 'inner out', 'outer out']);
  });

  it('surrounds the call and is told of it, what was put around last outermost, after what is made of the input', async () => {
    const order: unknown[] = [];
    const step = (name: string): AroundTool => ({
      input: (input) => {
        order.push(`${name} in`);
        return input;
      },
      within: (execute, { callId, agent }) => {
        order.push(`${name} begins ${agent} ${callId}`);
        const given = execute();
        order.push(`${name} is back`);
        return given;
      },
    });
    const execute = async (): Promise<string> => {
      order.push('execute');
      return 'x';
    };
    const plain = defineTool({ name: 'act', description: 'Acts.', input: z.object({ word: z.string() }), execute });
    const tool = aroundTool(aroundTool(plain, { within: step('inner').within }), step('outer'));
    const { log } = await run(defineAgent({ name: 'a', instructions: '', model: calling({ word: 'w' }), tools: [tool] }), 'go');
    expect(order).toEqual(['outer in', 'outer begins a 1.0', 'inner begins a 1.0', 'execute', 'inner is back', 'outer is back']);
    expect(log.events.find(({ type }) => type === 'tool.end')).toMatchObject({ status: 'ok', content: 'x' });
  });

  it('fails the call where what surrounds it throws', async () => {
    const within = () => {
      throw new Error('no room');
    };
    const { end } = await act({ execute: () => 'fine', around: { within } });
    expect(end).toMatchObject({ status: 'error' });
  });

  it('does not change what the output schema is asked about', async () => {
    const options = { output: z.object({ code: z.literal(secret) }) };
    const { end } = await act({ execute: () => ({ code: secret }), options });
    expect(end).toMatchObject({ status: 'ok', content: '{"code":"[hidden]"}' });
  });
});
