import { resume, run } from '@guardloop/core';
import type { Histogram } from '@opentelemetry/sdk-metrics';
import { describe, expect, it } from 'vitest';
import { desk, inMemory, scripts, tickingClock } from '../test/scene.js';

const start = async (name: keyof typeof scripts) => {
  const memory = inMemory({ provider: 'acme' });
  const result = await run(desk(scripts[name]), 'Where is o1?', { runId: 'r1', observers: [memory.telemetry], clock: tickingClock() });
  return { ...memory, result };
};
const ofModel = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'acme',
  'gen_ai.request.model': 'm1',
  'gen_ai.response.model': 'm1',
};

describe('the metrics', () => {
  it('count tokens, time and cost of model calls', async () => {
    const points = await (await start('tools')).points();
    expect(points['gen_ai.client.token.usage']).toMatchObject([
      { attributes: { ...ofModel, 'gen_ai.token.type': 'input' }, value: { count: 2, sum: 20 } },
      { attributes: { ...ofModel, 'gen_ai.token.type': 'output' }, value: { count: 2, sum: 10 } },
    ]);
    expect(points['gen_ai.client.operation.duration']).toMatchObject([{ attributes: ofModel, value: { count: 2 } }]);
    expect(points['guardloop.usage.cost']).toEqual([{ attributes: ofModel, value: 0.5 }]);
  });

  it('count verdicts by guardrail, surface and action', async () => {
    const points = await (await start('refused')).points();
    const verdict = (name: string, surface: string, action: string) => ({
      'guardloop.guardrail.name': name,
      'guardloop.guardrail.surface': surface,
      'guardloop.guardrail.action': action,
      'guardloop.guardrail.failed': false,
      'guardloop.guardrail.shadow': false,
    });
    expect(points['guardloop.guardrail.verdicts']).toEqual([
      { attributes: verdict('hush', 'input', 'allow'), value: 1 },
      { attributes: verdict('manners', 'output', 'deny'), value: 1 },
      { attributes: verdict('manners', 'output', 'allow'), value: 1 },
    ]);
    expect(points['guardloop.guardrail.duration']).toMatchObject([{ value: { count: 1 } }, { value: { count: 2 } }]);
  });

  it('time runs, their parts and their child runs by how they ended, and calls', async () => {
    const { points, telemetry, result } = await start('approval');
    await resume(desk(scripts.approval), result.log, {
      decisions: { 'r1/p1': 'approve' },
      observers: [telemetry],
      clock: tickingClock(2_000_000),
    });
    const all = await points();
    const run = (status: string) => ({ 'gen_ai.agent.name': 'desk', 'guardloop.run.status': status, 'guardloop.run.child': false });
    expect(all['guardloop.run.duration']).toMatchObject([
      { attributes: run('interrupted'), value: { count: 1 } },
      { attributes: run('completed'), value: { count: 1 } },
    ]);
    expect(all['guardloop.tool.duration']).toMatchObject([
      { attributes: { 'gen_ai.tool.name': 'look_up', 'guardloop.call.status': 'ok' }, value: { count: 1 } },
      { attributes: { 'gen_ai.tool.name': 'refund', 'guardloop.call.status': 'ok' }, value: { count: 1 } },
    ]);
    const [wait, ...more] = all['guardloop.approval.wait'] ?? [];
    expect(more).toEqual([]);
    expect(wait?.attributes).toEqual({
      'guardloop.approval.decision': 'approve',
      'guardloop.approval.surface': 'toolInput',
      'gen_ai.tool.name': 'refund',
    });
    const waited = wait?.value as Histogram | undefined;
    expect([waited?.count, waited?.sum]).toEqual([1, expect.closeTo(1_000, 0)]);
  });

  it('have no ids, and no more values than the code has names', async () => {
    const memory = inMemory();
    for (let index = 0; index < 20; index += 1)
      for (const name of ['tools', 'child', 'handoff', 'approval'] as const)
        await run(desk(scripts[name]), `Where is o${index}?`, { runId: `run-${name}-${index}`, observers: [memory.telemetry] });
    const points = await memory.points();
    const values = Object.values(points).flatMap((each) => each.flatMap(({ attributes }) => Object.values(attributes).map(String)));
    expect(values.filter((value) => /run-|\d\.\d|nothing_such/.test(value))).toEqual([]);
    for (const [name, each] of Object.entries(points)) expect(each.length, name).toBeLessThanOrEqual(10);
  });
});
