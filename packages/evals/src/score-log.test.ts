import type { Guardrail, RunOptions } from '@guardloop/core';
import { allow, asTool, defineAgent, defineGuardrail, defineTool, deny, memorySession, run, toolError } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { scoreLog } from './score-log.js';
import type { EvalTask } from './task.js';

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ what: z.string() }),
  flow: { effect: 'read' },
  execute: ({ what }) => {
    if (what === 'broken') throw toolError('It is down.', { errorClass: 'unavailable', retryable: true });
    return `about ${what}`;
  },
});
type Script = Parameters<typeof scriptedModel>[0];
async function score(
  script: Script,
  task: Partial<EvalTask> = {},
  options: { readonly guardrails?: readonly Guardrail<unknown>[] } & RunOptions = {},
) {
  const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel(script), tools: [look] });
  const { log } = await run(agent, 'go', options);
  return scoreLog({ id: 't', input: 'go', ...task }, log);
}
const lookAt = (what: string) => callTool('look', { what });

describe('success', () => {
  it('needs the expected end and answer, and says which of them is missing without the answer', async () => {
    expect(await score([say('Yes.')], { answer: { contains: ['yes'] } })).toMatchObject({
      status: 'completed',
      answer: 'Yes.',
      scores: { success: 1 },
    });
    const wrong = await score([say('Secret.')], { answer: { contains: ['yes'] } });
    expect(wrong).toMatchObject({ scores: { success: 0 }, why: 'the answer is not the expected one' });
    expect(await score([lookAt('x')], {}, { limits: { turns: 1 } })).toMatchObject({
      status: 'exhausted',
      why: 'it ended exhausted, not completed',
    });
    expect((await score([lookAt('x')], { ends: 'exhausted' }, { limits: { turns: 1 } })).scores.success).toBe(1);
  });
});

describe('calls', () => {
  it('are precise as far as they were expected, and recalled as far as they were made', async () => {
    const task = {
      calls: [
        { tool: 'look', input: { what: 'x' } },
        { tool: 'look', input: { what: 'y' } },
      ],
    };
    const { scores } = await score([[lookAt('x'), lookAt('z')], lookAt('x'), say('Done.')], task);
    expect(scores).toMatchObject({ calls: 3, steps: 4, modelCalls: 3, precision: 1 / 3, recall: 1 / 2 });
  });

  it('that nobody expected are none that are precise; where none are named, none are scored', async () => {
    expect((await score([lookAt('x'), say('Done.')], { calls: [] })).scores).toMatchObject({ precision: 0 });
    const { scores } = await score([lookAt('x'), say('Done.')]);
    expect('precision' in scores || 'recall' in scores).toBe(false);
  });

  it('are redundant with equal tool, input and result, in any order of fields', async () => {
    const { scores } = await score([lookAt('x'), lookAt('x'), lookAt('y'), lookAt('x'), say('Done.')]);
    expect(scores.redundant).toBe(2 / 4);
    const [one, other] = [
      { what: 'x', and: { a: 1, b: [2] } },
      { and: { b: [2], a: 1 }, what: 'x' },
    ];
    const ordered = await score([callTool('look', one), callTool('look', other), say('Done.')]);
    expect(ordered.scores.redundant).toBe(1 / 2);
  });

  it('of child runs count, each within its run', async () => {
    const leaf = defineAgent({ name: 'leaf', instructions: '', model: scriptedModel([lookAt('x'), say('Seen.')]), tools: [look] });
    const ask = asTool(leaf, { name: 'ask', description: 'Asks.' });
    const model = scriptedModel([lookAt('x'), callTool('ask', { input: 'x' }), say('Done.')]);
    const { log } = await run(defineAgent({ name: 'a', instructions: '', model, tools: [look, ask] }), 'go');
    expect(scoreLog({ id: 't', input: 'go' }, log).scores).toMatchObject({ calls: 3, modelCalls: 5, redundant: 0, tokens: 75 });
  });
});

describe('recovery', () => {
  it('is a later turn in which a call went well, in a run that completed', async () => {
    expect((await score([lookAt('broken'), lookAt('x'), say('Done.')])).scores.recovery).toBe(1);
    expect((await score([lookAt('broken'), say('Sorry.')])).scores.recovery).toBe(0);
    expect((await score([[lookAt('broken'), lookAt('x')], say('Sorry.')])).scores.recovery).toBe(0);
    expect((await score([lookAt('broken'), lookAt('x')], {}, { limits: { turns: 2 } })).scores.recovery).toBe(0);
    expect('recovery' in (await score([say('Done.')])).scores).toBe(false);
  });
});

describe('justified', () => {
  it('is an answer before which the evidence was read, in its own run', async () => {
    const evidence = [{ tool: 'look', contains: 'ABOUT X' }];
    expect((await score([lookAt('x'), say('Done.')], { evidence })).scores.justified).toBe(1);
    expect((await score([lookAt('y'), say('Done.')], { evidence })).scores.justified).toBe(0);
    expect((await score([lookAt('broken'), say('Done.')], { evidence: ['look'] })).scores.justified).toBe(0);
    const session = { store: memorySession(), id: 's' };
    await score([lookAt('x'), say('Done.')], {}, { session });
    expect((await score([say('As before.')], { evidence }, { session })).scores.justified).toBe(0);
  });

  it('is never an answer under a limit', async () => {
    const options = { limits: { turns: 1 }, onLimit: 'finalize' } as const;
    const scored = await score([lookAt('x'), say('So far.')], { evidence: ['look'] }, options);
    expect(scored).toMatchObject({ status: 'exhausted', answer: 'So far.', scores: { justified: 0 } });
  });
});

describe('false blocks', () => {
  it('are what guardrails refuse in an innocent task, once for each subject, and not what only a shadow refuses', async () => {
    const no = (name: string, shadow: boolean) =>
      defineGuardrail({ name, on: ['toolInput'], shadow, check: ({ content }) => (content.includes('x') ? deny('no') : allow()) });
    const guardrails = [no('one', false), no('two', false), no('three', true)];
    const script = [lookAt('x'), lookAt('y'), say('Done.')];
    expect((await score(script, { innocent: true }, { guardrails })).scores.falseBlocks).toBe(1);
    expect((await score(script, { innocent: true }, { guardrails: [no('three', true)] })).scores.falseBlocks).toBe(0);
    expect('falseBlocks' in (await score(script, {}, { guardrails })).scores).toBe(false);
  });
});

it('counts tokens and the largest observation, and takes the last run of a session alone', async () => {
  const session = { store: memorySession(), id: 's' };
  await score([lookAt('a long thing indeed'), say('Done.')], {}, { session });
  expect((await score([lookAt('x'), say('Done.')], {}, { session })).scores).toMatchObject({
    tokens: 30,
    largest: 'about x'.length,
    steps: 2,
  });
});

it('scores every prefix of a log', async () => {
  const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([lookAt('x'), say('Done.')]), tools: [look] });
  const { log } = await run(agent, 'go');
  for (let length = 0; length < log.events.length; length += 1) {
    const { status, scores } = scoreLog({ id: 't', input: 'go', evidence: ['look'] }, { version: 1, events: log.events.slice(0, length) });
    expect([status, scores.success, 'justified' in scores]).toEqual(['interrupted', 0, false]);
  }
});
