// Functions that are to answer at once, and give a promise that rejects.
import type { RunResult } from '@guardloop/core';
import { asTool, defineAgent, defineMonitor, definePolicy, defineTool, handoff, run } from '@guardloop/core';
import { planAndExecute, planSchema } from '@guardloop/reasoning';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { ends, sleep, unhandled } from '../scenarios/sound.js';

const later = (async () => {
  throw new Error('late');
}) as never;
const kid = defineAgent({ name: 'kid', instructions: '', model: scriptedModel([say('from below')]) });
const target = defineAgent({ name: 'target', instructions: '', model: scriptedModel({ target: [say('there')] }) });
const look = { name: 'look', description: 'L.', input: z.object({}), execute: () => 'seen' };
const start = (more: object, steps = [callTool('look'), say('end')], tools = [defineTool(look)] as object[]) =>
  run(defineAgent({ name: 'desk', instructions: '', model: scriptedModel(steps), tools, ...more } as never) as typeof kid, 'go');

const planner = defineAgent({
  name: 'planner',
  instructions: '',
  model: scriptedModel([say(JSON.stringify({ steps: [{ id: 's', goal: 'g', needs: [] }] }))]),
  output: planSchema,
});
const policy = (then: 'allow' | 'deny') => definePolicy({ name: 'p', rules: [{ tool: 'look', when: later, then }], otherwise: 'allow' });
const wrong = (text: string) => ({ status: 'failed', error: { code: 'CONFIG_INVALID', message: expect.stringContaining(text) } });

it.each<{ readonly what: string; readonly play: () => Promise<RunResult>; readonly came: object; readonly calls?: readonly string[] }>([
  {
    what: 'the `when` of a policy that allows',
    play: () => start({ guardrails: [policy('allow')] }),
    came: { output: 'end' },
    calls: ['1.0 denied'],
  },
  {
    what: 'the `when` of a policy that denies',
    play: () => start({ guardrails: [policy('deny')] }),
    came: { output: 'end' },
    calls: ['1.0 denied'],
  },
  { what: 'the model of an agent', play: () => start({ model: later }), came: wrong('`model`') },
  { what: 'the settings of an agent', play: () => start({ settings: later }), came: wrong('`settings` of agent desk gave a promise.') },
  {
    what: 'whether a tool is enabled',
    play: () => start({}, undefined, [defineTool({ ...look, enabled: later })]),
    came: wrong('`enabled` of look, of agent desk, gave a promise.'),
  },
  {
    what: 'whether a handoff is enabled',
    play: () => start({ handoffs: [handoff(target, { enabled: later })] }),
    came: wrong('`enabled` of transfer_to_target, of agent desk, gave a promise.'),
  },
  {
    what: 'the brief of a handoff',
    play: () => start({ handoffs: [handoff(target, { brief: later })] }, [callTool('transfer_to_target'), say('end')]),
    came: { output: 'end' },
    calls: ['1.0 error'],
  },
  {
    what: 'the brief of an agent that is a tool',
    play: () => start({}, [callTool('kid', { input: 'x' }), say('end')], [asTool(kid, { name: 'kid', description: 'K.', brief: later })]),
    came: { output: 'end' },
    calls: ['1.0 error'],
  },
  {
    what: 'a monitor as it starts',
    play: () => start({ monitors: [defineMonitor({ name: 'm', start: later })] }),
    came: { output: 'end' },
  },
  {
    what: 'a monitor as it looks',
    play: () => start({ monitors: [defineMonitor({ name: 'm', start: () => later })] }),
    came: { output: 'end' },
  },
  {
    what: 'the stream of a model',
    play: () => start({ model: { id: 'm', provider: 'p', stream: later } }),
    came: { status: 'failed', error: { code: 'MODEL_FAILED' } },
  },
  {
    what: 'the check of a plan’s step',
    play: () => run(planAndExecute({ name: 'desk', planner, executor: kid, check: later, replan: { max: 0 } }), 'go'),
    came: { status: 'failed', error: { code: 'MODEL_FAILED' } },
  },
])('$what: refuses or is told, and ends no process', async ({ play, came, calls }) => {
  const rejections = unhandled();
  const result = await play();
  await sleep(1);
  expect(result).toMatchObject(came);
  if (calls) expect(ends(result.events)).toEqual(calls);
  expect(auditLog(result.log)).toEqual([]);
  expect(rejections).toEqual([]);
});

it('a monitor that gives a promise is told as one that throws', async () => {
  const told: unknown[] = [];
  const monitors = [defineMonitor({ name: 'm', start: () => (async () => ({ sign: 's', reason: 'r', then: 'stop' })) as never })];
  const agent = defineAgent({
    name: 'desk',
    instructions: '',
    model: scriptedModel([callTool('look'), say('end')]),
    tools: [defineTool(look)],
    monitors,
  });
  const result = await run(agent, 'go', { observers: [{ 'observer.error': ({ cause }) => told.push(cause) }] });
  expect(result.status).toBe('completed');
  expect(told).toContainEqual({ name: 'TypeError' });
});
