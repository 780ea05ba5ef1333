// Who decided is in the log, as `resume` was told, and nowhere else.
import type { Log, ResumeOptions } from '@guardloop/core';
import { ask, defineAgent, defineGuardrail, defineTool, handoff } from '@guardloop/core';
import { callTool, say } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { resume, run, scriptedModel } from '../behaviours/audited.js';
import { memoryQuarantine, reread } from '../behaviours/reading.js';
import { only, waiting } from './desk.js';

const key = 'a key that nobody else can know: 1';
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({ cents: z.number() }),
  approval: true,
  execute: () => 'paid',
});
const build = () => {
  const model = scriptedModel([callTool('pay', { cents: 1 }), say('Done.')]);
  return { model, agent: defineAgent({ name: 'a', instructions: '', tools: [pay], model }) };
};
const decided = ({ events }: Log) => events.flatMap((event) => (event.type === 'approval.resolve' ? [event] : []));

describe('who decided', () => {
  it.each([
    ['approve', 'approve'],
    ['approve', { approve: 'standing', forMs: 1000 }],
    ['reject', { reject: 'no' }],
    ['edit', { edit: { cents: 2 } }],
    ['result', { result: 'paid by hand' }],
  ] as const)('is recorded with a decision to %s, and the model is not told (%j)', async (kind, decision) => {
    const { agent, model } = build();
    const asked = waiting(await run(agent, 'hi'));
    const done = await resume(agent, reread(asked.log), { decisions: { [only(asked).id]: { decision, by: 'anna@desk' } } });
    expect(done.status).toBe('completed');
    expect(decided(done.log)).toMatchObject([{ decision: kind, decidedBy: 'anna@desk' }]);
    expect(JSON.stringify(model.requests)).not.toContain('anna@desk');
  });

  it('is recorded for a handoff and for an answer too', async () => {
    const target = defineAgent({ name: 'b', instructions: '', model: scriptedModel({ b: [say('Hello.')] }) });
    const gate = defineGuardrail({ name: 'gate', on: ['handoff', 'output'], check: () => ask('look') });
    const quarantine = memoryQuarantine();
    const from = defineAgent({
      name: 'a',
      instructions: '',
      model: scriptedModel({ a: [callTool('transfer_to_b', { brief: 'go' })] }),
      handoffs: [handoff(target)],
    });
    const options = { quarantine, guardrails: [gate] };
    const first = waiting(await run(from, 'hi', options));
    const second = waiting(
      await resume(from, first.log, { ...options, decisions: { [only(first).id]: { decision: 'approve', by: 'one' } } }),
    );
    const done = await resume(from, second.log, { ...options, decisions: { [only(second).id]: { decision: 'approve', by: 'two' } } });
    expect(done.status).toBe('completed');
    expect(decided(done.log).map(({ decidedBy }) => decidedBy)).toEqual(['one', 'two']);
  });

  it('goes beside the token where approvals are signed, and does not stand for it', async () => {
    const { agent } = build();
    const options = { approvals: { key } };
    const asked = waiting(await run(agent, 'hi', options));
    const { id, token } = only(asked);
    const by = 'anna';
    const without = { ...options, decisions: { [id]: { decision: 'approve', by } } } as unknown as ResumeOptions;
    await expect(resume(agent, asked.log, without).result).rejects.toThrow(/has no token/);
    const done = await resume(agent, asked.log, { ...options, decisions: { [id]: { decision: 'approve', by, token } } });
    expect(decided(done.log)).toMatchObject([{ decidedBy: by }]);
  });

  it.each([[''], ['x'.repeat(201)], [7], ['\ud800'], [{ name: 'anna' }], [null]])('refuses %j as a name, before any event', async (by) => {
    const { agent } = build();
    const asked = waiting(await run(agent, 'hi'));
    const decisions = { [only(asked).id]: { decision: 'approve', by } } as never;
    await expect(resume(agent, asked.log, { decisions }).result).rejects.toThrow(/does not say who decided/);
  });

  it('is nothing of a decision itself: with another field, or without a decision, it is refused', async () => {
    const { agent } = build();
    const asked = waiting(await run(agent, 'hi'));
    for (const given of [
      { approve: 'standing', by: 'anna' },
      { by: 'anna' },
      { decision: 'approve', by: 'anna', at: 1 },
      { decision: undefined },
    ])
      await expect(resume(agent, asked.log, { decisions: { [only(asked).id]: given } as never }).result).rejects.toThrow(/does not fit/);
  });
});
