import type { RunResult } from '@guardloop/core';
import { ask, asTool, defineAgent, defineTool, deny, halt, handoff, run, stream } from '@guardloop/core';
import { callTool, exploreOrders, say } from '@guardloop/testing';
import { expect, it, vi } from 'vitest';
import { z } from 'zod';
import { unhandled } from '../scenarios/sound.js';
import { inOrders } from './in-orders.js';
import { Scene, watched } from './scene.js';

vi.setConfig({ testTimeout: 60_000 });

const call = (name: string, id: string) => callTool(name, { id });
const ends = (result: RunResult): readonly string[] =>
  result.events.flatMap((event) => (event.type === 'tool.end' ? [`${event.callId} ${event.status}`] : [])).sort();

it('of tools that end the run the first in call order answers, whichever is faster', async () => {
  await inOrders(100, async (scene, scheduler) => {
    const answers = ['first', 'second', 'third'].map((name) => scene.tool(name, { endsRun: true }));
    const model = scene.model([[call('find', 'f'), call('first', '1'), call('second', '2'), call('third', '3')]]);
    const guardrails = [scene.guard('tone', ['toolOutput', 'output'])];
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [...answers, scene.tool('find')], guardrails });
    const result = await scheduler.run(() => watched(scene, stream(agent, 'go', scene.options)));
    expect(result).toMatchObject({ status: 'completed', output: 'first 1' });
    expect(scene.shown).toBe('first 1');
    return result;
  });
});

it('of handoffs the first in call order is tried, be they calls or what tools return', async () => {
  await inOrders(100, async (scene, scheduler) => {
    const targets = ['x', 'y', 'z'].map((name) =>
      defineAgent({ name, description: name, instructions: '', model: scene.model(() => say(`${name} here`)) }),
    );
    const [x, y, z_] = targets;
    const returns = (name: string, target: typeof x) =>
      defineTool({
        name,
        description: name,
        input: z.object({}),
        execute: async () => scheduler.settle(target ? handoff(target, { brief: name }) : 'none', name),
      });
    const model = scene.model({ a: [[callTool('to_x'), callTool('to_y'), callTool('transfer_to_z'), call('find', 'f')]] });
    const agent = defineAgent({
      name: 'a',
      instructions: '',
      model,
      tools: [returns('to_x', x), returns('to_y', y), scene.tool('find')],
      handoffs: z_ ? [z_] : [],
      guardrails: [scene.guard('border', ['handoff', 'toolOutput', 'input'])],
    });
    const result = await scheduler.run(() => run(agent, 'go', scene.options) as Promise<RunResult>);
    expect(result).toMatchObject({ status: 'completed', agent: 'x', output: 'x here' });
    return result;
  });
});

it('of verdicts the strictest wins, of equal ones the first declared', async () => {
  await inOrders(100, async (scene, scheduler) => {
    const guardrails = [
      scene.guard('asks', 'toolInput', { answer: () => ask('a person') }),
      scene.guard('broken', 'toolInput', {
        answer: () => {
          throw new Error('broken');
        },
      }),
      scene.guard('one', 'toolInput', { answer: () => deny('one says no') }),
      scene.guard('two', 'toolInput', { answer: () => deny('two says no') }),
      scene.guard('three', 'toolInput'),
    ];
    const model = scene.model([[call('find', 'f')], say('done')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [scene.tool('find')], guardrails });
    const result = await scheduler.run(() => run(agent, 'go', scene.options));
    expect(result).toMatchObject({ status: 'completed' });
    expect(JSON.stringify(result.messages)).toContain('one says no');
    expect(JSON.stringify(result.messages)).not.toContain('two says no');
    return result;
  });
});

it('of equal effects in one answer one happens, and both calls share its end', async () => {
  await inOrders(100, async (scene, scheduler) => {
    const model = scene.model([[call('send', 's'), call('find', 'f'), call('send', 's'), call('send', 't')], say('done')]);
    const guardrails = [scene.guard('all', ['toolInput', 'toolOutput'])];
    const agent = defineAgent({
      name: 'a',
      instructions: '',
      model,
      tools: [scene.tool('send', { effect: 'send' }), scene.tool('find')],
      guardrails,
    });
    const result = await scheduler.run(() => run(agent, 'go', scene.options));
    expect(scene.effects).toHaveLength(3);
    return result;
  });
});

it('of equal calls side by side each is told of its repeats by its place', async () => {
  await inOrders(100, async (scene, scheduler) => {
    const same = call('find', 'f');
    const tools = [scene.tool('find', { gives: () => 'always the same' })];
    const model = scene.model([[same, same], [same, call('find', 'g'), same], say('done')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools });
    return scheduler.run(() => run(agent, 'go', scene.options));
  });
});

it('of calls side by side the first in call order run under a limit', async () => {
  await inOrders(100, async (scene, scheduler) => {
    const model = scene.model([['1', '2', '3', '4', '5'].map((id) => call('find', id)), say('done')]);
    const guardrails = [scene.guard('all', ['toolInput', 'toolOutput'])];
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [scene.tool('find')], guardrails });
    const result = await scheduler.run(() => run(agent, 'go', { ...scene.options, limits: { toolCalls: 3 }, concurrency: 2 }));
    expect(result).toMatchObject({ status: 'exhausted', limit: 'toolCalls' });
    expect(ends(result)).toEqual(['1.0 ok', '1.1 ok', '1.2 ok', '1.3 aborted', '1.4 aborted']);
    return result;
  });
});

/** Scripts in which a halt may come before its siblings have answered: one outcome, though not one log. */
async function alwaysBlocked(script: (scene: Scene) => Promise<RunResult>): Promise<void> {
  const rejections = unhandled();
  const report = await exploreOrders({ orders: 100 }, async (scheduler) => {
    const scene = new Scene(scheduler);
    const result = await script(scene);
    await scene.look(result);
    expect(result).toMatchObject({ status: 'blocked', by: 'halts', reason: 'stop here' });
  });
  expect(report.different).toBeGreaterThan(10);
  expect(rejections).toEqual([]);
}

it('a halt goes before what others deny, ask or fail at, whoever answers first', async () => {
  await alwaysBlocked(async (scene) => {
    const guardrails = [
      scene.guard('denies', 'toolInput', { answer: () => deny('no') }),
      scene.guard('asks', 'toolInput', { answer: () => ask('a person') }),
      scene.guard('halts', 'toolInput', { answer: ({ content }) => (content.includes('bad') ? halt('stop here') : { action: 'allow' }) }),
      scene.guard('broken', 'toolInput', { answer: () => 'nonsense' }),
    ];
    const model = scene.model([[call('find', 'f'), call('find', 'bad'), call('find', 'g')], say('never')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [scene.tool('find')], guardrails });
    return scene.scheduler.run(() => run(agent, 'go', scene.options));
  });
});

it('a halt in one of three child runs stops the others and the parent', async () => {
  await alwaysBlocked(async (scene) => {
    const child = (name: string) =>
      defineAgent({
        name,
        instructions: '',
        model: scene.model(({ turn }) => (turn === 1 ? [call('find', `${name} 1`), call('find', `${name} 2`)] : say(`${name} is done`)), 3),
        tools: [scene.tool('find')],
        guardrails: name === 'b' ? [scene.guard('halts', 'toolOutput', { answer: () => halt('stop here') })] : [],
      });
    const tools = ['a', 'b', 'c'].map((name) => asTool(child(name), { name, description: name }));
    const model = scene.model([['a', 'b', 'c'].map((name) => callTool(name, { input: 'x' })), say('never')]);
    const agent = defineAgent({ name: 'top', instructions: '', model, tools, guardrails: [scene.guard('all', ['toolOutput', 'output'])] });
    return scene.scheduler.run(() => run(agent, 'go', scene.options));
  });
});
