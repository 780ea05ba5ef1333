import { defineAgent, defineTool, jsonFields, run, toolError } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { printSteps } from './print-steps.js';
import { react } from './react.js';
import { checkInvariant, steps } from './steps.js';

const finish = (answer: string) => callTool('final_answer', { answer });

describe('the observation of a step', () => {
  const rows = { rows: [{ id: 1, note: 'x' }] };
  const build = (execute: () => unknown, more: object = {}) => {
    const look = defineTool({ name: 'look', description: 'Looks.', input: z.object({}), flow: { effect: 'read' }, execute, ...more });
    const model = scriptedModel([
      [say('To see.'), callTool('look')],
      [say('So.'), finish('ok')],
    ]);
    return defineAgent({ name: 'a', instructions: '', model, tools: [look], mode: react() });
  };
  const first = async (execute: () => unknown, more: object = {}) => {
    const { log } = await run(build(execute, more), 'go');
    expect(auditLog(log)).toEqual([]);
    return { step: steps(log)[0], printed: printSteps(log) };
  };

  it('is whole, and no fault, where all of the result is seen', async () => {
    const { step, printed } = await first(() => rows);
    expect(step).toMatchObject({ status: 'ok', observation: { completeness: 'full' } });
    expect(step?.fault).toBeUndefined();
    expect(printed).not.toContain('(partial)');
  });

  it('is marked as a part where one is seen', async () => {
    const { step, printed } = await first(() => rows, { project: jsonFields({ keep: [] }) });
    expect(step).toMatchObject({ observation: { completeness: 'partial', note: '[left out: 1 field]' } });
    expect(step?.fault).toBeUndefined();
    expect(printed).toContain('observation: {"rows":[{"id":1}]} (partial)');
  });

  it.each([
    ['null', null],
    ['an empty list', []],
    ['an empty text', ''],
    ['nothing', undefined],
  ])('is a fault in its slot where it is %s', async (_what, output) => {
    const { step, printed } = await first(() => output);
    expect(step).toMatchObject({
      status: 'ok',
      observation: { completeness: 'empty' },
      fault: { slot: 'observation', why: 'it is empty' },
    });
    expect(printed).toMatch(/! observation: .* <- it is empty/);
  });

  it('is empty where the call came to no result, and its fault stays what it was', async () => {
    const { step } = await first(() => Promise.reject(toolError('away', { errorClass: 'unavailable' })));
    expect(step).toMatchObject({
      status: 'error',
      observation: { completeness: 'empty' },
      fault: { slot: 'observation', why: 'error, unavailable' },
    });
  });

  it('is read from logs that say nothing of completeness', async () => {
    const { log } = await run(
      build(() => rows),
      'go',
    );
    const events = log.events.map((event) => {
      if (event.type !== 'tool.end') return event;
      const { completeness: _, ...old } = event;
      return old;
    });
    expect(steps({ version: 1, events })[0]).toMatchObject({ observation: { completeness: 'full' } });
  });
});

describe('a lookup that gives no identifier, where the next action needs it', () => {
  const asked: string[] = [];
  const findPerson = (given: unknown) =>
    defineTool({
      name: 'find_person',
      description: 'Finds a person by name.',
      input: z.object({ name: z.string() }),
      output: z.object({ personId: z.string(), name: z.string() }) as never,
      flow: { effect: 'read' },
      execute: ({ name }) => (name === 'Curie' ? given : { personId: 'p-7', name }) as never,
    });
  const birthplace = defineTool({
    name: 'birthplace',
    description: 'Where a person was born.',
    input: z.object({ personId: z.string() }),
    flow: { effect: 'read' },
    execute: ({ personId }) => {
      asked.push(personId);
      return { city: 'Warsaw' };
    },
  });
  const plan = 'Plan: 1. find the person, 2. ask for the birthplace with the id.';

  it.each([
    ['null', { personId: null, name: 'Curie' }],
    ['missing', { name: 'Curie' }],
    ['another kind', { personId: 7, name: 'Curie' }],
  ])('names the field that is %s and what was expected, and the plan goes on', async (_what, given) => {
    asked.length = 0;
    const model = scriptedModel([
      [say(plan), callTool('find_person', { name: 'Curie' })],
      (request) => {
        const seen = request.messages.at(-1);
        const told = JSON.parse(seen?.role === 'tool' ? String(seen.content) : '{}') as { readonly summary?: string };
        // The model works with what it was told: the field by its name.
        return told.summary?.includes('personId: expected string')
          ? [say('Step 1 gave no personId. The full name may find it.'), callTool('find_person', { name: 'Marie Curie' })]
          : [say('Go on.'), callTool('birthplace', { personId: 'made-up' })];
      },
      [say('Step 2.'), callTool('birthplace', { personId: 'p-7' })],
      [say('Both steps are done.'), finish('Warsaw')],
    ]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [findPerson(given), birthplace], mode: react() });
    const result = await run(agent, 'Where was Curie born?');
    expect(result).toMatchObject({ status: 'completed', output: 'Warsaw' });
    expect(asked).toEqual(['p-7']);
    const all = steps(result.log);
    expect(all[0]).toMatchObject({ status: 'error', observation: { errorClass: 'bad_result' }, fault: { slot: 'observation' } });
    expect(all[0]?.observation?.text).not.toContain('Curie');
    // The plan stands in what the model is shown, to the end.
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain(plan);
    expect(checkInvariant(result.log)).toEqual([]);
    expect(auditLog(result.log)).toEqual([]);
  });
});
