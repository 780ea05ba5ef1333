import type { LogEvent } from '@guardloop/core';
import { defineAgent, defineTool, resume, run, toolError } from '@guardloop/core';
import { auditLog, callTool, cutAnywhere, normalLog, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { StuckOptions } from './stuck.js';
import { stuck } from './stuck.js';

const pad = defineTool({
  name: 'pad',
  description: 'P.',
  input: z.object({ path: z.string() }),
  flow: { effect: 'read' },
  execute: ({ path }) => {
    if (path.startsWith('bad')) throw toolError(`No file there, try ${path.length}.`, { errorClass: 'not_found' });
    return path.startsWith('same') ? 'the same' : `content of ${path}`;
  },
});
const look = defineTool({
  name: 'look',
  description: 'L.',
  input: z.object({ at: z.string() }),
  flow: { effect: 'read' },
  execute: ({ at }) => (at === 'x' ? 'one' : 'two'),
});
type Script = Parameters<typeof scriptedModel>[0];
const padding = (path: string) => callTool('pad', { path });
function build(script: Script, options: StuckOptions = {}) {
  const model = scriptedModel(script);
  return { model, agent: defineAgent({ name: 'a', instructions: '', model, tools: [pad, look], monitors: [stuck(options)] }) };
}
const alerts = (events: readonly LogEvent[]) =>
  events.flatMap((event) => (event.type === 'monitor.alert' ? [[event.turn, event.sign, event.then]] : []));
const eventsOf = async (script: Script, options: StuckOptions = {}) => {
  const { agent } = build(script, options);
  const result = await run(agent, 'Find the file with the numbers.', { limits: { turns: 30, repeats: 50 } });
  expect(auditLog(result.log)).toEqual([]);
  return alerts(result.log.events);
};

describe('a run that goes in circles', () => {
  it('is seen by equal calls with equal results, whatever the order of the fields', async () => {
    expect(await eventsOf([padding('same'), padding('same'), padding('same'), padding('same'), say('x')])).toEqual([
      [3, 'same-calls', 'note'],
    ]);
    expect(await eventsOf([padding('a'), padding('b'), padding('c'), padding('d'), say('x')])).toEqual([]);
  });

  it('is seen by nine failing calls in other words', async () => {
    const nine = Array.from({ length: 9 }, (_, index) => padding(`bad/folder/file-${index}.txt`));
    const found = await eventsOf([...nine, say('x')], { errors: 100 });
    expect(found).toEqual([[3, 'near-equal-failures', 'note']]);
  });

  it('is seen by failures in a row, of different tools and inputs', async () => {
    expect(await eventsOf([padding('bad1'), callTool('fly', {}), callTool('look', { no: 1 }), padding('badxyzw'), say('x')])).toEqual([
      [4, 'errors', 'note'],
    ]);
    expect(
      await eventsOf([padding('bad1'), callTool('fly', {}), padding('good'), callTool('look', { no: 1 }), padding('bad2'), say('x')]),
    ).toEqual([]);
  });

  it('is seen by results that bring nothing new', async () => {
    const there = callTool('look', { at: 'x' });
    const back = callTool('look', { at: 'y' });
    expect(await eventsOf([there, back, there, back, there, back, say('x')])).toEqual([[6, 'nothing-new', 'note']]);
  });

  it('is told by thoughts that repeat themselves, or only restate the task, as a signal alone', async () => {
    const thought = 'I should look at the folder again to be sure.';
    const found = await eventsOf(
      [
        [say(thought), padding('a')],
        [say('I should look at the folder again, to be sure!'), padding('b')],
        [say('i should look at the folder AGAIN to be sure'), padding('c')],
        [say('Find the file with the numbers!'), padding('d')],
        [say('content of d'), padding('e')],
        say('x'),
      ],
      { similarity: 0.8 },
    );
    expect(found).toEqual([
      [3, 'same-thoughts', 'nothing'],
      [4, 'restating', 'nothing'],
    ]);
  });

  it('is told again once it had got out', async () => {
    const script = [
      ...Array.from({ length: 3 }, () => padding('same')),
      padding('other'),
      ...Array.from({ length: 3 }, () => padding('same')),
      say('x'),
    ];
    expect((await eventsOf(script, { nothingNew: 50 })).map(([turn]) => turn)).toEqual([3, 7]);
  });
});

describe('what follows', () => {
  const circle = [padding('same'), padding('same'), padding('same')];

  it('nudge: the model is told with its next request, and goes on', async () => {
    const { agent, model } = build([...circle, say('Right.')]);
    expect(await run(agent, 'go')).toMatchObject({ status: 'completed', output: 'Right.' });
    expect(model.requests[3]?.note).toContain('pad was called 3 times in a row');
    expect(model.requests[2]?.note).toBeUndefined();
  });

  it('stop: the run is exhausted', async () => {
    const { agent, model } = build([...circle, say('never')], { onStuck: 'stop' });
    expect(await run(agent, 'go', { onLimit: 'finalize' })).toMatchObject({ status: 'exhausted', limit: 'repeats' });
    expect(model.requests).toHaveLength(3);
  });

  it('finalize: one last answer without calls, and the run is exhausted with it', async () => {
    const { agent, model } = build([...circle, say('As far as I know: the same.')], { onStuck: 'finalize' });
    const result = await run(agent, 'go');
    expect(result).toMatchObject({ status: 'exhausted', output: 'As far as I know: the same.' });
    expect(model.requests[3]).toMatchObject({ toolChoice: 'none' });
    expect(auditLog(result.log)).toEqual([]);
  });

  it('ask: a person decides about the next calls, and about no later ones', async () => {
    const { agent } = build([...circle, padding('same'), padding('new'), say('Done.')], { onStuck: 'ask' });
    const asked = await run(agent, 'go');
    if (asked.status !== 'interrupted') throw new Error(asked.status);
    expect(asked.approvals).toMatchObject([{ tool: 'pad', asks: [{ by: 'core' }] }]);
    const done = await resume(agent, asked.log, { decisions: { [asked.approvals[0]?.id ?? '']: 'approve' } });
    expect(done).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(auditLog(done.log)).toEqual([]);
  });

  it('is the same in a run that was cut anywhere and resumed', async () => {
    const script = [...circle, padding('same'), padding('new'), say('Done.')];
    const { log } = await run(build(script).agent, 'go', { runId: 'r' });
    const findings = await cutAnywhere(log, (cut) => resume(build(script).agent, cut, { input: 'go' } as never).result as never);
    expect(findings).toMatchObject({ differences: [], asked: 0 });
    expect(alerts(normalLog(log) as never)).toHaveLength(1);
  });
});

it('refuses options that cannot be', () => {
  for (const options of [
    { sameCalls: 1 },
    { errors: 2.5 },
    { similarity: 0 },
    { similarity: 2 },
    { onStuck: 'panic' },
    { sameCall: 3 },
    null,
    'ask',
  ])
    expect(() => stuck(options as never)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  expect(() => stuck({ onstuck: 'ask' } as never)).toThrow('stuck(…): there is no option onstuck. Did you mean onStuck?');
});
