// What odd models could do with modes and monitors.
import type { RunEvent } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineMonitor, defineTool, deny } from '@guardloop/core';
import { react, steps, textReact } from '@guardloop/reasoning';
import { callTool, endWith, say, think } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { resume, run, scriptedModel, stream } from '../behaviours/audited.js';

const look = defineTool({
  name: 'look',
  description: 'L.',
  input: z.object({ what: z.string() }),
  flow: { effect: 'read' },
  execute: ({ what }) => `about ${what}`,
});
const sent: string[] = [];
const send = defineTool({
  name: 'send',
  description: 'S.',
  input: z.object({ to: z.string() }),
  flow: { effect: 'send' },
  execute: ({ to }) => {
    sent.push(to);
    return 'sent';
  },
});
/** Wants a person to look after the first result. */
const wary = defineMonitor({
  name: 'wary',
  start: () => {
    let told = false;
    return (event) => {
      if (event.type !== 'tool.end' || told) return undefined;
      told = true;
      return { sign: 'odd', reason: 'It looks odd.', then: 'ask' };
    };
  },
});
const finish = (answer: unknown) => callTool('final_answer', { answer: answer as string });

describe('a monitor that wants a person to look', () => {
  it.each([
    ['refused', [say('bad')]],
    ['empty', [say('')]],
  ] as const)('is heeded although the next answer was %s', async (_what, turn) => {
    const no = defineGuardrail({ name: 'no', on: ['output'], check: ({ content }) => (content === 'bad' ? deny('no') : allow()) });
    const model = scriptedModel([callTool('look', { what: 'x' }), [...turn], callTool('send', { to: 'all' }), say('Done.')]);
    const result = await run(
      defineAgent({ name: 'a', instructions: '', model, tools: [look, send], guardrails: [no], monitors: [wary] }),
      'go',
    );
    expect(result).toMatchObject({ status: 'interrupted', approvals: [{ tool: 'send', asks: [{ by: 'core', reason: 'It looks odd.' }] }] });
    expect(sent).toEqual([]);
  });

  it('is heeded after a thought alone, and for a handoff', async () => {
    const thinking = scriptedModel([[say('I look.'), callTool('look', { what: 'x' })], say('Hm.'), callTool('send', { to: 'all' })]);
    const one = await run(
      defineAgent({ name: 'a', instructions: '', model: thinking, tools: [look, send], monitors: [wary], mode: react() }),
      'go',
    );
    expect(one.status).toBe('interrupted');
    const target = defineAgent({ name: 'b', instructions: '', model: scriptedModel({ b: [say('Here.')] }) });
    const model = scriptedModel({ a: [callTool('look', { what: 'x' }), callTool('transfer_to_b'), say('Done.')] });
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [look], handoffs: [target], monitors: [wary] });
    const two = await run(agent, 'go');
    expect(two).toMatchObject({ status: 'interrupted', approvals: [{ surface: 'handoff' }] });
    if (two.status !== 'interrupted') throw new Error(two.status);
    expect(await resume(agent, two.log, { decisions: { [two.approvals[0]?.id ?? '']: 'approve' } })).toMatchObject({
      status: 'completed',
      agent: 'b',
    });
  });
});

describe('a thought that is no text', () => {
  it('is judged like any', async () => {
    const no = defineGuardrail({ name: 'no', on: ['output'], check: ({ content }) => (content.includes('CANARY') ? deny('no') : allow()) });
    const odd = callTool('look', { thought: { x: 'CANARY' }, what: 'x' });
    const model = scriptedModel([
      [say('I look.'), odd, endWith({ native: { kept: 'CANARY' } })],
      callTool('final_answer', { thought: 'So.', answer: 'ok' }),
    ]);
    const agent = defineAgent({
      name: 'a',
      instructions: '',
      model,
      tools: [look],
      guardrails: [no],
      mode: react({ thought: 'argument' }),
    });
    const result = await run(agent, 'go');
    expect(result).toMatchObject({ status: 'completed', output: 'ok' });
    expect(JSON.stringify([result.log, model.requests[1]])).not.toContain('CANARY');
  });

  it('alone in the reasoning is judged where it is shown, and recorded', async () => {
    const no = defineGuardrail({ name: 'no', on: ['output'], check: () => allow() });
    const model = scriptedModel([think('I wonder.'), [say('So.'), finish('ok')]]);
    const shown: RunEvent[] = [];
    const events = stream(defineAgent({ name: 'a', instructions: '', model, guardrails: [no], mode: react() }), 'go', {
      reasoning: 'show',
    });
    for await (const event of events) if (event.type === 'reasoning.delta') shown.push(event);
    const result = await events.result;
    expect(result.status).toBe('completed');
    expect(shown.map((event) => event.type === 'reasoning.delta' && event.text)).toEqual(['I wonder.', 'So.']);
    expect(steps(result.log)[0]?.thought).toEqual({ place: 'thinking', text: 'I wonder.' });
  });
});

describe('the call that ends a run', () => {
  it.each([
    [z.object({ answer: z.string() }), { answer: 'x' }],
    [z.object({ answer: z.object({ year: z.number() }) }), { answer: { year: 1898 } }],
    [z.record(z.string(), z.string()), { answer: 'x' }],
    [z.object({ year: z.number() }), { year: 1898 }],
  ])('gives an answer whose own field is `answer`', async (output, value) => {
    const model = scriptedModel([[say('So.'), callTool('final_answer', value as never)]]);
    expect(await run(defineAgent({ name: 'a', instructions: '', model, output: output as never, mode: react() }), 'go')).toMatchObject({
      status: 'completed',
      output: value,
    });
  });

  it('is not made of a form that holds no answer, in the last call of a limit', async () => {
    const model = scriptedModel([say('Thought: x\nAction: look[a]'), say('Thought: CANARY\nAction: look[a]\nObservation: made up')]);
    const shown: string[] = [];
    const events = stream(defineAgent({ name: 'a', instructions: '', model, tools: [look], mode: textReact() }), 'go', {
      limits: { turns: 1 },
      onLimit: 'finalize',
    });
    for await (const event of events) if (event.type === 'text.delta') shown.push(event.text);
    const result = await events.result;
    expect(result).toMatchObject({ status: 'exhausted' });
    expect(JSON.stringify([shown, result.log])).not.toContain('CANARY');
  });
});

it('a note is told again where the call that had it was cut', async () => {
  const no = defineGuardrail({ name: 'no', on: ['output'], check: ({ content }) => (content === 'bad' ? deny('not that') : allow()) });
  const controller = new AbortController();
  const model = scriptedModel([say('bad'), say('good')]);
  const agent = defineAgent({ name: 'a', instructions: '', model, guardrails: [no] });
  const cut = await run(agent, 'go', {
    signal: controller.signal,
    observers: [
      (event) => {
        if (event.type === 'model.start' && event.turn === 2) controller.abort();
      },
    ],
  });
  expect(cut.status).toBe('cancelled');
  expect(await resume(agent, cut.log)).toMatchObject({ status: 'completed', output: 'good' });
  expect(model.requests.at(-1)?.note).toContain('not that');
});
