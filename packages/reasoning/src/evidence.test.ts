import { defineAgent, defineTool, memorySession, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Evidence } from './evidence.js';
import { evidence } from './evidence.js';
import { react } from './react.js';
import { steps } from './steps.js';

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ what: z.string() }),
  flow: { effect: 'read' },
  execute: ({ what }) => {
    if (what === 'broken') throw new Error('down');
    return `about ${what}`;
  },
});
type Script = Parameters<typeof scriptedModel>[0];
const build = (script: Script, needed: readonly Evidence[] = ['look'], more: object = {}) => {
  const model = scriptedModel(script);
  return { model, agent: defineAgent({ name: 'a', instructions: '', model, tools: [look], guardrails: [evidence(needed)], ...more }) };
};

describe('evidence', () => {
  it('refuses an answer before the results are there, says what is missing, and stands in the log', async () => {
    const { agent, model } = build([say('From memory.'), callTool('look', { what: 'x' }), say('I looked.')]);
    const result = await run(agent, 'go');
    expect(result).toMatchObject({ status: 'completed', output: 'I looked.' });
    expect(model.requests[1]?.note).toContain('the answer is premature, this is missing: a result of look');
    expect(result.events.find((event) => event.type === 'guard.verdict' && event.action === 'deny')).toMatchObject({
      guardrail: 'evidence',
    });
    expect(steps(result.log)[0]).toMatchObject({ status: 'refused', fault: { slot: 'stop', why: expect.stringContaining('premature') } });
    expect(auditLog(result.log)).toEqual([]);
  });

  it('takes no failed result for one, and ends blocked when the model will not look', async () => {
    const { agent } = build([callTool('look', { what: 'broken' }), say('Trust me.'), say('Really.')]);
    expect(await run(agent, 'go')).toMatchObject({ status: 'blocked', by: 'evidence' });
  });

  it('holds for the call that ends a run, not for thoughts', async () => {
    const finish = (answer: string) => callTool('final_answer', { answer });
    const script: Script = [
      say('Hm.'),
      [say('Early.'), finish('guess')],
      [say('Look.'), callTool('look', { what: 'x' })],
      [say('Now.'), finish('known')],
    ];
    const { agent } = build(script, ['look'], { mode: react() });
    expect(await run(agent, 'go')).toMatchObject({ status: 'completed', output: 'known' });
  });

  it('counts results of this run alone', async () => {
    const session = { store: memorySession(), id: 's' };
    expect((await run(build([callTool('look', { what: 'x' }), say('One.')]).agent, 'go', { session })).status).toBe('completed');
    expect((await run(build([say('Two.'), say('Two.')]).agent, 'again', { session })).status).toBe('blocked');
  });

  it('asks a predicate about the answer and what was found; one that throws is missing', async () => {
    const cited: Evidence = {
      what: 'the words of a result',
      holds: ({ answer, results }) => results.some(({ content }) => answer.includes(String(content))),
    };
    const { agent, model } = build([callTool('look', { what: 'x' }), say('It is so.'), say('It says: about x')], [cited]);
    expect(await run(agent, 'go')).toMatchObject({ status: 'completed', output: 'It says: about x' });
    expect(model.requests[2]?.note).toContain('the words of a result');
    const broken = build(
      [say('x'), say('y')],
      [
        {
          what: 'more',
          holds: () => {
            throw new Error('no');
          },
        },
      ],
    );
    expect((await run(broken.agent, 'go')).status).toBe('blocked');
  });
});

it.each<[unknown, string]>([
  ['find_order', 'it is given no list of what is needed.'],
  [[], 'it is given no list of what is needed.'],
  [['find_order', ''], 'entry 2 is neither the name of a tool nor { what, holds }'],
  [[{ what: 'the date' }], 'entry 1 is neither the name of a tool nor { what, holds }'],
])('evidence of %o is refused', (needed, message) => {
  expect(() => evidence(needed as never)).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(`evidence(…): ${message}`) }),
  );
});
