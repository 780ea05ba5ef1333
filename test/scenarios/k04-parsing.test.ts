import { allow, defineAgent, defineGuardrail, defineTool, memorySession, run } from '@guardloop/core';
import { callTool, callUnparsable, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { chatAnswer, messagesAnswer, serve } from './provider-server.js';
import { ends, ofType, sound } from './sound.js';

describe('K4', () => {
  describe('S165: a structured answer is one JSON value, bare or in one fence, and misfits are repaired within a bound', () => {
    const output = z.object({ a: z.number() });
    const answerWith = async (text: string, repairs = 0) => {
      const model = scriptedModel(() => say(text));
      const agent = defineAgent({ name: 'a', instructions: '', model, output });
      return { model, result: await sound(run(agent, 'go', { limits: { repairs } })) };
    };

    it('S165: a single fence around the whole is taken off', async () => {
      const { result } = await answerWith('```json\n{"a":1}\n```');
      expect(result).toMatchObject({ status: 'completed', output: { a: 1 } });
    });

    it.each(['Here you go: {"a":2} thanks', '```json\n{"a":1}\n```\n```json\n{"a":2}\n```', '{"a":1} {"a":2}'])(
      'S165: prose around JSON is refused: %s',
      async (text) => {
        const { result } = await answerWith(text);
        expect(result).toMatchObject({ status: 'failed', error: { code: 'OUTPUT_INVALID' } });
      },
    );

    it('S165: the repair names the field, is sent once, is bounded, and neither error nor session hold the raw text', async () => {
      const { result, model } = await answerWith('{"a":"secret-x"}', 1);
      expect(model.requests).toHaveLength(2);
      expect(model.requests[1]?.note).toContain('a');
      expect(model.requests[1]?.note).toMatch(/number/);
      expect(result).toMatchObject({ status: 'failed', error: { code: 'OUTPUT_INVALID' } });
      expect(JSON.stringify([result.log, result.status === 'failed' && result.error.message])).not.toContain('secret-x');
      expect(ofType(result.events, 'model.end').map(({ status }) => status)).toEqual(['refused', 'refused']);
    });

    it('S165: a provider without schema support gets the same judgement over the wire', async () => {
      const server = await serve(chatAnswer({ text: '{"a":"x"}' }), chatAnswer({ text: '```json\n{"a":1}\n```' }));
      const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server.chat({ structuredOutput: 'instructions' }), output });
      const result = await sound(run(agent, 'go'));
      expect(result).toMatchObject({ status: 'completed', output: { a: 1 } });
      expect(server.problems).toEqual([]);
      expect(server.bodies[0]).not.toHaveProperty('response_format');
      expect(JSON.stringify(server.bodies[1]?.messages)).not.toContain('"x\\"');
    });
  });

  describe('S170: a bad escape is named as what it is', () => {
    const plan = { type: 'object', properties: { plan: { type: 'string', minLength: 10 } }, required: ['plan'] } as const;
    const finalOutput = defineTool({
      name: 'final_output',
      description: 'Gives the answer.',
      input: plan,
      endsRun: true,
      execute: (input) => String(input.plan),
    });

    it('S170: the observation tells the syntax error and its place, never "missing property", and a raw JSON Schema is checked as any other', async () => {
      const raw = '{"plan":"grep \\\\| x \\."}';
      const model = scriptedModel([
        callUnparsable('final_output', raw, 'c1'),
        callTool('final_output', { plan: 'test' }, 'c2'),
        callTool('final_output', { plan: 'grep for a dot' }, 'c3'),
      ]);
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [finalOutput] });
      const result = await sound(run(agent, 'go'));
      expect(result).toMatchObject({ status: 'completed', output: 'grep for a dot' });
      expect(ends(result.events)).toEqual(['1.0 error', '2.0 error', '3.0 ok']);
      const [first, second] = ofType(result.events, 'tool.end').map(({ content }) => String(content));
      expect(first).toContain('not valid JSON');
      expect(first).toContain(`position ${raw.indexOf('\\.')}`);
      expect(first).toContain('escape');
      expect(first).not.toContain('grep');
      expect(first).not.toMatch(/missing|required/);
      expect(second).toContain('plan');
      expect(second).toMatch(/10|short/);
    });

    it('S170: over the wire too, and the broken arguments are not replayed', async () => {
      const server = await serve(
        chatAnswer({ calls: [{ id: 'c1', name: 'final_output', args: '{"plan":"grep \\."}' }] }),
        chatAnswer({ calls: [{ id: 'c2', name: 'final_output', args: { plan: 'grep for a dot' } }] }),
      );
      const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server.chat(), tools: [finalOutput] });
      const result = await sound(run(agent, 'go'));
      expect(result).toMatchObject({ status: 'completed', output: 'grep for a dot' });
      expect(server.problems).toEqual([]);
      expect(JSON.stringify(server.bodies[1]?.messages)).not.toContain('grep');
    });
  });

  it('S026: arguments are parsed once, and one frozen value is shared by guardrails, approval rule and tool', async () => {
    let parses = 0;
    const count = (text: string) => {
      parses += 1;
      return { value: Number(text) };
    };
    const seen: unknown[] = [];
    const input = z.object({ n: z.string().transform((text) => count(text)) });
    const share = (value: unknown) => {
      seen.push(value);
      expect(Object.isFrozen(value)).toBe(true);
    };
    const tool = defineTool({
      name: 't',
      description: 'Takes a number.',
      input,
      approval: (given) => {
        share(given.n);
        return false;
      },
      execute: (given) => {
        share(given.n);
        return 'ok';
      },
    });
    const guard = defineGuardrail({
      name: 'g',
      on: ['toolInput'],
      check: (subject) => {
        share((subject.input as { n: unknown }).n);
        return allow();
      },
    });
    const model = scriptedModel([callTool('t', { n: '4' }), say('ok')]);
    await sound(run(defineAgent({ name: 'a', instructions: '', model, tools: [tool], guardrails: [guard] }), 'go'));
    expect(parses).toBe(1);
    expect(seen).toHaveLength(3);
    expect(new Set(seen).size).toBe(1);
  });

  describe('S038: an answer that was cut runs nothing', () => {
    const write = (written: string[]) =>
      defineTool({
        name: 'write',
        description: 'W.',
        input: z.object({ path: z.string(), content: z.string().optional() }),
        execute: ({ path }) => {
          written.push(path);
          return 'ok';
        },
      });
    const calls = [
      { id: 'c1', name: 'write', args: '{"path":"a.txt","content":"part one"}' },
      { id: 'c2', name: 'write', args: '{"path":"b.txt","cont' },
    ];

    it.each([
      ['chat', 'length', { status: 'failed', error: { code: 'MODEL_FAILED', details: { stopReason: 'length' } } }],
      ['chat', 'content_filter', { status: 'blocked', by: 'model' }],
      ['chat', 'error', { status: 'failed', error: { code: 'MODEL_FAILED' } }],
      ['claude', 'max_tokens', { status: 'failed', error: { code: 'MODEL_FAILED', details: { stopReason: 'length' } } }],
      ['claude', 'refusal', { status: 'blocked', by: 'model' }],
    ] as const)('S038: %s, %s: no call of it runs, whole or not, and nothing of it is recorded', async (dialect, finish, expected) => {
      const written: string[] = [];
      const answer = dialect === 'chat' ? chatAnswer : messagesAnswer;
      const server = await serve(answer({ text: 'I will write', calls, finish }), answer({ text: 'gave up' }));
      const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server[dialect](), tools: [write(written)] });
      const session = { store: memorySession(), id: 's' };
      const result = await sound(run(agent, 'write files', { session }));
      expect(result).toMatchObject(expected);
      expect(server.bodies).toHaveLength(1);
      expect(written).toEqual([]);
      expect(JSON.stringify(await session.store.load('s'))).not.toMatch(/I will write|part one|a\.txt/);
      expect(await sound(run(agent, 'again', { session }))).toMatchObject({ status: 'completed', output: 'gave up' });
      expect(server.problems).toEqual([]);
    });

    it('S039: hidden by a router, the broken call does not run, and is told as broken JSON; the whole one beside it runs', async () => {
      const written: string[] = [];
      const server = await serve(chatAnswer({ calls }), chatAnswer({ text: 'ok' }));
      const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server.chat(), tools: [write(written)] });
      const result = await sound(run(agent, 'write files'));
      expect(result.status).toBe('completed');
      expect(written).toEqual(['a.txt']);
      expect([...ends(result.events)].sort()).toEqual(['1.0 ok', '1.1 error']);
      const [broken] = ofType(result.events, 'tool.end').filter(({ callId }) => callId === '1.1');
      expect(String(broken?.content)).toMatch(/not valid JSON: a string that is not closed/);
      expect(server.problems).toEqual([]);
    });
  });
});
