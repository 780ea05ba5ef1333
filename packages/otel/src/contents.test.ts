import { defineAgent, defineGuardrail, defineTool, deny, resume, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { desk, guardrails, inMemory, scripts, secret, spanNamed } from '../test/scene.js';
import type { OtelOptions } from './options.js';

const everything = (spans: readonly ReadableSpan[]): string =>
  JSON.stringify(
    spans.map(({ name, attributes, events, links, status }) => [name, attributes, events, links.map((link) => link.attributes), status]),
  );
const start = async (name: keyof typeof scripts, options: OtelOptions, input = 'Where is o1?') => {
  const memory = inMemory(options);
  const result = await run(desk(scripts[name]), input, { runId: 'r1', observers: [memory.telemetry] });
  return { ...memory, result };
};
const plain = { redact: (text: string) => text };

describe('what was said', () => {
  it('is in no span and no metric by default, whatever was said', async () => {
    const word = fc.stringMatching(/^ZZ[a-z]{6}$/);
    await fc.assert(
      fc.asyncProperty(fc.tuple(word, word, word, word, word), async ([input, argument, answer, tool, reason]) => {
        const { telemetry, spans, points } = inMemory();
        const model = scriptedModel([
          [say(answer), callTool('look_up', { order: argument })],
          callTool(tool, { order: argument }),
          say(`damn ${answer}`),
          say(reason),
        ]);
        const agent = defineAgent({ name: 'desk', instructions: input, model, guardrails, tools: [] });
        await run(agent, `${input} ${secret}`, { observers: [telemetry] });
        const made = everything(spans()) + JSON.stringify(await points());
        for (const said of [input, argument, answer, tool, reason, secret]) expect(made).not.toContain(said);
      }),
      { numRuns: 30, seed: 11 },
    );
  });

  it('is recorded with `contents`: inputs, answers, arguments and results', async () => {
    const { spans } = await start('tools', { contents: plain });
    const root = spanNamed(spans(), 'invoke_agent desk').attributes;
    expect(JSON.parse(String(root['gen_ai.input.messages']))).toEqual([
      { role: 'user', parts: [{ type: 'text', content: 'Where is o1?' }] },
    ]);
    expect(JSON.parse(String(root['gen_ai.output.messages']))).toEqual([
      { role: 'assistant', parts: [{ type: 'text', content: 'It comes.' }], finish_reason: 'stop' },
    ]);
    const answer = JSON.parse(String(spanNamed(spans(), 'chat m1', 1).attributes['gen_ai.output.messages']));
    expect(answer).toEqual([{ role: 'assistant', parts: [{ type: 'text', content: 'It comes.' }], finish_reason: 'stop' }]);
    expect(spanNamed(spans(), 'execute_tool look_up').attributes).toMatchObject({
      'gen_ai.tool.call.arguments': '{"order":"o1"}',
      'gen_ai.tool.call.result': 'o1 is on its way',
    });
  });

  it('is recorded as it passed: no secret that was rewritten, no answer that was refused, no reason', async () => {
    const { spans } = await start('refused', { contents: plain }, `My code is ${secret}.`);
    const made = everything(spans());
    expect(made).toContain('My code is [hidden].');
    expect(made).toContain('Sorry then.');
    for (const word of [secret, 'damn', 'mind your words']) expect(made).not.toContain(word);
  });

  it('is no result that was withheld, nor why', async () => {
    const { telemetry, spans } = inMemory({ contents: plain });
    const tool = defineTool({
      name: 'look',
      description: 'Looks.',
      input: z.object({}),
      flow: { effect: 'read' },
      execute: () => 'the brown fox',
    });
    const strict = defineGuardrail({ name: 'strict', on: ['toolOutput'], check: () => deny('foxes are secret') });
    const model = scriptedModel([callTool('look'), say('Done.')]);
    await run(defineAgent({ name: 'a', instructions: '', model, guardrails: [strict], tools: [tool] }), 'hi', { observers: [telemetry] });
    expect(everything(spans())).not.toMatch(/fox/);
    const attributes = { 'guardloop.refusal.by': 'strict', 'guardloop.refusal.surface': 'toolOutput', 'guardloop.call.status': 'error' };
    expect(spanNamed(spans(), 'execute_tool look').attributes).toMatchObject(attributes);
  });

  it('is redacted text by text, told what and whose it is, cut, and left out where that fails', async () => {
    const places: unknown[] = [];
    const redact: NonNullable<OtelOptions['contents']>['redact'] = (text, place) => {
      places.push(place);
      if (place.what === 'result') throw new Error('no');
      return place.what === 'input' ? undefined : `${text.length} characters`;
    };
    const { spans } = await start('tools', { contents: { redact, maxChars: 6 } });
    expect(places).toContainEqual({ what: 'arguments', agent: 'desk', tool: 'look_up' });
    expect(places).toContainEqual({ what: 'output', agent: 'desk' });
    const call = spanNamed(spans(), 'execute_tool look_up').attributes;
    expect(call['gen_ai.tool.call.arguments']).toBe('14 cha');
    expect(call).not.toHaveProperty(['gen_ai.tool.call.result']);
    expect(spanNamed(spans(), 'invoke_agent desk').attributes['gen_ai.input.messages']).toBe('[{"role":"user","parts":[]}]');
  });

  it('is cut between characters, never inside of one', async () => {
    const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 12 }), async (said, maxChars) => {
        const { spans } = await start('tools', { contents: { redact: () => said, maxChars } });
        const recorded = spanNamed(spans(), 'execute_tool look_up').attributes['gen_ai.tool.call.arguments'];
        expect(recorded).toSatisfy((cut: string) => said.startsWith(cut) && cut.length >= Math.min(maxChars, said.length) - 1);
        expect(recorded).not.toMatch(/\p{Cs}/u);
      }),
      { numRuns: 60, seed: 7 },
    );
  });

  it('is not who decided, nor their words', async () => {
    const { telemetry, spans, result } = await start('approval', { contents: plain });
    const decisions = { 'r1/p1': { decision: { reject: 'too dear for us' }, by: 'ann@example.org' } };
    await resume(desk(scripts.approval), result.log, { decisions, observers: [telemetry] });
    for (const word of ['too dear', 'ann@']) expect(everything(spans())).not.toContain(word);
  });

  it('costs no call of `redact` where nothing is recorded', async () => {
    let asked = 0;
    const redact = (text: string): string => {
      asked += 1;
      return text;
    };
    const { telemetry } = inMemory({ contents: { redact } });
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00';
    await run(desk(scripts.tools), 'Where is o1?', { observers: [telemetry.under({ traceparent })] });
    expect(asked).toBe(0);
  });
});
