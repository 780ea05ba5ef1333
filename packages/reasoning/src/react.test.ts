import { allow, defineAgent, defineGuardrail, defineTool, deny, rewrite, run, stream } from '@guardloop/core';
import { auditLog, callTool, callUnparsable, say, scriptedModel, think } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { react } from './react.js';

const look = defineTool({
  name: 'look',
  description: 'Looks something up.',
  input: z.object({ what: z.string() }),
  flow: { effect: 'read' },
  execute: ({ what }) => `about ${what}: found`,
});
type Script = Parameters<typeof scriptedModel>[0];
function build(script: Script, more: object = {}, mode = react()) {
  const model = scriptedModel(script);
  return { model, agent: defineAgent({ name: 'a', instructions: 'Be brief.', model, tools: [look], mode, ...more }) };
}
const finish = (answer: string) => callTool('final_answer', { answer });
const ends = (log: { readonly events: readonly { readonly type: string }[] }) =>
  log.events.filter(({ type }) => type === 'model.end') as never as {
    readonly text: string;
    readonly thought?: string;
    readonly continues?: string;
    readonly reasoning?: string;
    readonly calls: readonly { readonly name: string; readonly input: object; readonly end?: { readonly status: string } }[];
  }[];

describe('a run under react', () => {
  it('goes from thought to action to observation, and ends with the call that ends it', async () => {
    const { agent, model } = build([
      [say('I need the date.'), callTool('look', { what: 'date' })],
      [say('Now I know.'), finish('In 1898.')],
    ]);
    const result = await run(agent, 'When?');
    expect(result).toMatchObject({ status: 'completed', output: 'In 1898.' });
    expect(auditLog(result.log)).toEqual([]);
    expect(ends(result.log)).toMatchObject([
      { text: 'I need the date.', thought: 'text', calls: [{ name: 'look' }] },
      { text: 'In 1898.', thought: 'text', reasoning: 'Now I know.', calls: [] },
    ]);
    expect(model.requests[0]?.system).toMatch(/^Be brief\.\n\nWork in turns/);
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['look', 'final_answer']);
    expect(result.messages.at(-1)).toMatchObject({ role: 'assistant', text: 'In 1898.', calls: [] });
  });

  it('does not run an action without a thought: the model is told, and the turn counts', async () => {
    const { agent, model } = build([
      callTool('look', { what: 'x' }),
      [say('To see.'), callTool('look', { what: 'x' })],
      finish('no'),
      [say('Done.'), finish('ok')],
    ]);
    const result = await run(agent, 'go');
    expect(result).toMatchObject({ status: 'completed', output: 'ok' });
    expect(result.events.filter(({ type }) => type === 'tool.start')).toHaveLength(1);
    expect(ends(result.log).map(({ thought }) => thought)).toEqual(['none', 'text', 'none', 'text']);
    expect(JSON.stringify(model.requests[1]?.messages)).toContain('no thought came before it');
    expect(auditLog(result.log)).toEqual([]);
    const limited = build([callTool('look', { what: 'x' }), [say('To see.'), callTool('look', { what: 'x' })]]);
    expect(await run(limited.agent, 'go', { limits: { turns: 2 } })).toMatchObject({ status: 'exhausted', limit: 'turns' });
  });

  it('goes on after a thought alone, which also stands for the next turn and no later one', async () => {
    const { agent, model } = build([
      say('Let me think.'),
      callTool('look', { what: 'x' }),
      callTool('look', { what: 'y' }),
      [say('Enough.'), finish('ok')],
    ]);
    const result = await run(agent, 'go');
    expect(result).toMatchObject({ status: 'completed', output: 'ok' });
    expect(ends(result.log).map(({ continues, calls }) => [continues, calls.map(({ end }) => end?.status)])).toEqual([
      ['final_answer', []],
      [undefined, [undefined]],
      [undefined, ['error']],
      [undefined, []],
    ]);
    expect(model.requests[1]?.note).toBe('Nothing was called. Call a tool, or final_answer with the answer.');
  });

  it('takes one thought for parallel calls, and the model’s own reasoning for a thought', async () => {
    const { agent } = build([
      [say('Both.'), callTool('look', { what: 'x' }), callTool('look', { what: 'y' })],
      [think('secret'), callTool('look', { what: 'z' })],
      [think('done'), finish('ok')],
    ]);
    const result = await run(agent, 'go');
    expect(result.events.filter(({ type }) => type === 'tool.start')).toHaveLength(3);
    expect(ends(result.log).map(({ thought, reasoning }) => [thought, reasoning])).toEqual([
      ['text', undefined],
      ['thinking', undefined],
      ['thinking', undefined],
    ]);
    expect(JSON.stringify(result.log)).not.toContain('secret');
  });

  it('does not take the final answer beside other calls, nor one that cannot be read', async () => {
    const { agent, model } = build([
      [say('Hasty.'), callTool('look', { what: 'x' }), finish('too early')],
      [say('Broken.'), callUnparsable('final_answer', '{"answer": ')],
      [say('Odd.'), callTool('final_answer', { text: 'x' })],
      [say('Well.'), finish('right')],
    ]);
    const result = await run(agent, 'go');
    expect(result).toMatchObject({ status: 'completed', output: 'right' });
    expect(JSON.stringify(result.log)).not.toContain('too early');
    expect(JSON.stringify(model.requests[1]?.messages)).toContain('it stood beside other calls');
    expect(JSON.stringify(model.requests[3]?.messages)).toContain('its arguments are not the answer');
    expect(auditLog(result.log)).toEqual([]);
  });

  it('has twelve turns unless it is told otherwise', async () => {
    const { agent } = build(Array.from({ length: 20 }, (_, index) => [say(`Step ${index}.`), callTool('look', { what: `${index}` })]));
    expect(await run(agent, 'go')).toMatchObject({ status: 'exhausted', limit: 'turns', events: expect.anything() });
    expect(ends((await run(agent, 'go')).log)).toHaveLength(12);
    expect(ends((await run(agent, 'go', { limits: { turns: 3 } })).log)).toHaveLength(3);
  });

  it('shows thoughts as reasoning where the run shows it, and never as text', async () => {
    const script: Script = [[say('I need it.'), callTool('look', { what: 'x' })], say('Hm.'), [say('Now.'), finish('The answer.')]];
    for (const guardrails of [[], [defineGuardrail({ name: 'g', on: ['output'], check: () => allow() })]])
      for (const reasoning of ['show', 'hide'] as const) {
        const shown = { text: '', reasoning: '' };
        const events = stream(build(script, { guardrails }).agent, 'go', { reasoning });
        for await (const event of events) {
          if (event.type === 'text.delta') shown.text += event.text;
          if (event.type === 'reasoning.delta') shown.reasoning += `${event.text}|`;
        }
        expect((await events.result).status).toBe('completed');
        expect(shown.text).toBe('The answer.');
        expect(shown.reasoning.replaceAll('|', '')).toBe(reasoning === 'show' ? 'I need it.Hm.Now.' : '');
      }
  });

  it('puts the answer to the guardrails once, as final, and thoughts as what they are', async () => {
    const seen: unknown[] = [];
    const watch = defineGuardrail({
      name: 'watch',
      on: ['output'],
      check: ({ content, final, kind }) => {
        seen.push([content, final, kind]);
        return content === 'bad' ? deny('no') : allow();
      },
    });
    const { agent } = build(
      [
        [say('I look.'), callTool('look', { what: 'x' })],
        [say('Now.'), finish('bad')],
        [say('Again.'), finish('good')],
      ],
      { guardrails: [watch] },
    );
    const result = await run(agent, 'go');
    expect(result).toMatchObject({ status: 'completed', output: 'good' });
    expect(seen).toEqual([
      ['I look.', false, 'answer'],
      ['Now.', true, 'reasoning'],
      ['bad', true, 'answer'],
      ['Again.', true, 'reasoning'],
      ['good', true, 'answer'],
    ]);
    expect(JSON.stringify(result.log)).not.toContain('"bad"');
    expect(auditLog(result.log)).toEqual([]);
  });

  it('gives a typed answer, and asks again for one that does not fit', async () => {
    const output = z.object({ year: z.number().int() });
    const { agent, model } = build(
      [
        [say('Now.'), callTool('final_answer', { year: 'late' })],
        [say('A number.'), callTool('final_answer', { year: 1898 })],
      ],
      { output },
    );
    const result = await run(agent, 'go');
    expect(result).toMatchObject({ status: 'completed', output: { year: 1898 } });
    expect(model.requests[0]?.output).toBeUndefined();
    expect(model.requests[0]?.tools.at(-1)?.schema).toMatchObject({ type: 'object', properties: { year: { type: 'integer' } } });
    const list = build([[say('Now.'), callTool('final_answer', { answer: [1, 2] })]], { output: z.array(z.number()) });
    expect(await run(list.agent, 'go')).toMatchObject({ status: 'completed', output: [1, 2] });
  });
});

describe('thoughts in arguments', () => {
  it('are asked for in each tool, taken off before parsing, and recorded as reasoning', async () => {
    const strict = defineTool({
      ...look,
      name: 'strict',
      description: 'S.',
      input: z.strictObject({ what: z.string() }),
      execute: ({ what }) => what,
    });
    const script: Script = [
      [callTool('look', { thought: 'To see.', what: 'x' }), callTool('strict', { thought: 'And that.', what: 'y' })],
      callTool('final_answer', { thought: 'I know.', answer: 'ok' }),
    ];
    const { agent, model } = build(script, { tools: [look, strict] }, react({ thought: 'argument' }));
    const result = await run(agent, 'go');
    expect(result).toMatchObject({ status: 'completed', output: 'ok' });
    expect(ends(result.log)).toMatchObject([
      { thought: 'argument', reasoning: 'To see.\nAnd that.', calls: [{ input: { what: 'x' } }, { input: { what: 'y' } }] },
      { thought: 'argument', reasoning: 'I know.', text: 'ok' },
    ]);
    for (const { schema } of model.requests[0]?.tools ?? [])
      expect(schema).toMatchObject({ properties: { thought: { type: 'string' } }, required: expect.arrayContaining(['thought']) });
    expect(auditLog(result.log)).toEqual([]);
  });

  it('are judged on output: one that is refused discards the answer, one that is rewritten is recorded rewritten', async () => {
    const mask = defineGuardrail({
      name: 'mask',
      on: ['output'],
      rewrite: ({ content, kind }) =>
        kind === 'reasoning' && content.includes('411-1') ? rewrite(content.replace('411-1', '####'), 'card') : allow(),
      check: ({ content }) => (content.includes('evil') ? deny('evil') : allow()),
    });
    const script: Script = [
      callTool('look', { thought: 'evil plan', what: 'x' }),
      callTool('look', { thought: 'card 411-1', what: 'x' }),
      callTool('final_answer', { thought: 'fine', answer: 'ok' }),
    ];
    const { agent } = build(script, { guardrails: [mask] }, react({ thought: 'argument' }));
    const result = await run(agent, 'go');
    expect(result).toMatchObject({ status: 'completed', output: 'ok' });
    const text = JSON.stringify(result.log);
    expect(text).not.toContain('evil plan');
    expect(text).not.toContain('411-1');
    expect(text).toContain('card ####');
    expect(auditLog(result.log)).toEqual([]);
  });
});

it.each<[object, string]>([
  [{ turn: 3 }, 'react(…): there is no option turn. Did you mean turns?'],
  [{ thought: 'arguments' }, "react(…): thought is neither 'said' nor 'argument'."],
  [{ contract: 7 }, 'react(…): contract is neither a text nor a function.'],
])('options %o of react are refused', (options, message) => {
  expect(() => react(options as never)).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) }),
  );
});
