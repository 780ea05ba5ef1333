import { allow, defineAgent, defineGuardrail, defineTool, deny, fork, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { diffRuns, printDiff } from './diff-runs.js';

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ what: z.string(), deep: z.boolean().optional() }),
  flow: { effect: 'read' },
  execute: ({ what }) => `about ${what}`,
});
type Script = Parameters<typeof scriptedModel>[0];
const agentOf = (script: Script) => defineAgent({ name: 'a', instructions: '', model: scriptedModel(script), tools: [look] });
const logOf = async (script: Script, options: object = {}) => (await run(agentOf(script), 'go', options)).log;
const lookAt = (what: string) => callTool('look', { what });

it('two runs in which the same happened are the same, whatever they are called', async () => {
  const script = [[say('First x.'), lookAt('x')], say('Done.')];
  const diff = diffRuns(await logOf(script, { runId: 'one' }), await logOf(script, { runId: 'two' }));
  expect(diff).toEqual({ same: true, calls: [], verdicts: [], answers: [] });
  expect(printDiff(diff)).toBe('The runs are the same.');
});

it('a fork with nothing changed is the same as the original', async () => {
  const script = [lookAt('x'), lookAt('y'), say('Done.')];
  const log = await logOf(script);
  for (const { seq } of log.events) {
    const forked = await fork(agentOf(script), log, { at: seq, input: 'go' });
    expect(diffRuns(log, forked.log)).toMatchObject({ same: true });
  }
});

it('tells the first difference, the calls and the end of a fork that took another way', async () => {
  const log = await logOf([lookAt('x'), lookAt('y'), say('It is y.')]);
  const forked = await fork(agentOf([say(''), lookAt('z'), say('It is z.')]), log, { at: { turn: 2 } });
  const diff = diffRuns(log, forked.log);
  expect(diff.first).toEqual({ run: 'r1', turn: 2, slot: 'action', a: 'look {"what":"y"}', b: 'look {"what":"z"}' });
  expect(diff.calls).toEqual([
    {
      kind: 'input',
      run: 'r1',
      tool: 'look',
      a: { id: '2.0', input: { what: 'y' }, status: 'ok', result: 'about y' },
      b: { id: '2.0', input: { what: 'z' }, status: 'ok', result: 'about z' },
    },
  ]);
  expect(diff.answers).toEqual([{ run: 'r1', a: { status: 'completed', text: 'It is y.' }, b: { status: 'completed', text: 'It is z.' } }]);
  expect(printDiff(diff).split('\n')).toEqual([
    'They part at turn 2 of r1, in the action:',
    '  - look {"what":"y"}',
    '  + look {"what":"z"}',
    'Call of look in r1, other input:',
    '  - {"what":"y"}',
    '  + {"what":"z"}',
    'End of r1:',
    '  - completed: It is y.',
    '  + completed: It is z.',
  ]);
});

it('tells calls that only one run made, and takes the order of fields for no difference', async () => {
  const a = await logOf([callTool('look', { what: 'x', deep: true }), lookAt('y'), say('Done.')]);
  const b = await logOf([callTool('look', { deep: true, what: 'x' }), say('Done.')]);
  const diff = diffRuns(a, b);
  expect(diff.calls.map(({ kind, a: one, b: other }) => [kind, one?.id, other?.id])).toEqual([['removed', '2.0', undefined]]);
  expect(diffRuns(b, a).calls.map(({ kind }) => kind)).toEqual(['added']);
});

it('tells verdicts that turned, and what came of them', async () => {
  const guard = (name: string, refuses: boolean) =>
    defineGuardrail({ name, on: ['toolInput'], check: () => (refuses ? deny('not now') : allow()) });
  const script = [lookAt('x'), say('Done.')];
  const a = await logOf(script, { guardrails: [guard('careful', false)] });
  const b = await logOf(script, { guardrails: [guard('careful', true)] });
  const diff = diffRuns(a, b);
  expect(diff.verdicts).toEqual([{ run: 'r1', guardrail: 'careful', surface: 'toolInput', subject: '1.0', a: 'allow', b: 'deny' }]);
  expect(diff.calls[0]).toMatchObject({ kind: 'result', a: { status: 'ok' }, b: { status: 'denied' } });
  expect(diff.first).toEqual({ run: 'r1', turn: 1, slot: 'status', a: 'ok', b: 'denied' });
  expect(printDiff(diff)).toContain('Verdict of careful on toolInput of 1.0 in r1: allow → deny');
  // A guardrail that stands on one side alone and allows is no difference.
  expect(diffRuns(a, await logOf(script)).same).toBe(true);
});

it('prints nothing said as a line of its own', async () => {
  const diff = diffRuns(await logOf([say('Yes.\nEnd of r1:\u2028x\u0007')]), await logOf([say('No.')]));
  expect(
    printDiff(diff)
      .split('\n')
      .filter((line) => line === 'End of r1:').length,
  ).toBe(1);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
  expect(printDiff(diff)).not.toMatch(/[\u0000-\u0009\u2028]/);
});
