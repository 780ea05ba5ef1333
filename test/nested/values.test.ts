import type { Decision, Log, RunResult } from '@guardloop/core';
import { allow, ask, asTool, defineAgent, defineGuardrail, defineTool, resume, run } from '@guardloop/core';
import { auditLog, callTool, cutAnywhere, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openQuarantine } from '../canaries/kit.js';
import { makeTree, ofType } from './tree.js';

const ended = async (running: PromiseLike<RunResult>): Promise<RunResult> => {
  const result = await running;
  expect(auditLog(result.log)).toEqual([]);
  return result;
};
const json = (log: Log): Log => JSON.parse(JSON.stringify(log)) as Log;
const approveAll = (result: RunResult): Record<string, Decision> =>
  result.status === 'interrupted' ? Object.fromEntries(result.approvals.map(({ id }) => [id, 'approve' as const])) : {};

it('a child’s structured answer is the same result for its parent, whether its run went on or was cut and taken up by another process', async () => {
  const model = () =>
    scriptedModel({
      front: [callTool('ask_inner', { input: 'x' }), say('Done.')],
      inner: [callTool('look', {}), say('{"count":"7"}')],
    });
  const build = () => {
    const given = model();
    const look = defineTool({ name: 'look', description: 'Looks.', input: z.object({}), flow: { effect: 'read' }, execute: () => 'seen' });
    const inner = defineAgent({
      name: 'inner',
      instructions: 'Inner.',
      model: given,
      tools: [look],
      output: z.object({ count: z.string().transform(Number), unit: z.string().default('pieces') }),
    });
    return defineAgent({
      name: 'front',
      instructions: 'Front.',
      model: given,
      tools: [asTool(inner, { name: 'ask_inner', description: 'Asks.' })],
    });
  };
  const whole = await ended(run(build(), 'go', { runId: 'r' }));
  expect(ofType(whole.log.events, 'tool.end').find(({ tool }) => tool === 'ask_inner')?.content).toBe('{"count":7,"unit":"pieces"}');
  const report = await cutAnywhere(whole.log, (prefix) => resume(build(), json(prefix), { input: 'go' }).result);
  expect(report.differences).toEqual([]);
  expect(report.same).toBe(report.cuts);
});

describe('an answer in quarantine two levels down', () => {
  const asks = defineGuardrail({
    name: 'asks',
    on: ['output'],
    check: ({ content }) => (content === 'Clerk is done.' ? ask('look at it') : allow()),
  });
  const script = {
    front: [callTool('ask_desk', { input: 'x' }), say('Front is done.')],
    desk: [callTool('ask_clerk', { input: 'x' }), say('Desk is done.')],
    clerk: [say('Clerk is done.'), say('Clerk says something else.')],
  };
  it.each(['approve', { reject: 'not this' }] as const)('waits for the root’s caller, and follows the decision: %j', async (decision) => {
    const quarantine = openQuarantine();
    const tree = makeTree({ script });
    const first = await ended(run(tree.agent, 'go', { guardrails: [asks], quarantine, runId: 'r' }));
    if (first.status !== 'interrupted') throw new Error(first.status);
    expect(first.approvals).toMatchObject([
      { surface: 'output', agentPath: ['front', 'desk', 'clerk'], run: 'r/1.0/1.0', key: 'r/1.0/1.0/1' },
    ]);
    expect(JSON.stringify(first)).not.toContain('Clerk is done.');
    const other = makeTree({ script });
    const decisions = { [first.approvals[0]?.id ?? '']: decision };
    const last = await ended(resume(other.agent, json(first.log), { guardrails: [asks], quarantine, decisions }));
    expect(last).toMatchObject({ status: 'completed', output: 'Front is done.' });
    expect(quarantine.kept.size).toBe(0);
    const told = ofType(last.log.events, 'tool.end').find(({ tool }) => tool === 'ask_clerk')?.content;
    expect(told).toBe(decision === 'approve' ? 'Clerk is done.' : 'Clerk says something else.');
    expect(last.usage.requests).toBe(decision === 'approve' ? 5 : 6);
  });
});

it('an edit reaches a tool of the agent that a child two levels down has handed over to', async () => {
  const paid: string[] = [];
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ cents: z.number() }),
    approval: true,
    execute: ({ cents }) => {
      paid.push(`${cents}`);
      return 'paid';
    },
  });
  const model = scriptedModel({
    front: [callTool('ask_desk', { input: 'x' }), say('Front is done.')],
    desk: [callTool('ask_clerk', { input: 'x' }), say('Desk is done.')],
    clerk: [callTool('transfer_to_cashier', {})],
    cashier: [callTool('pay', { cents: 5 }), say('Cashier is done.')],
  });
  const cashier = defineAgent({ name: 'cashier', instructions: 'C.', model, tools: [pay] });
  const clerk = defineAgent({ name: 'clerk', instructions: 'C.', model, handoffs: [cashier] });
  const desk = defineAgent({
    name: 'desk',
    instructions: 'D.',
    model,
    tools: [asTool(clerk, { name: 'ask_clerk', description: 'Asks.' })],
  });
  const front = defineAgent({
    name: 'front',
    instructions: 'F.',
    model,
    tools: [asTool(desk, { name: 'ask_desk', description: 'Asks.' })],
  });
  const first = await ended(run(front, 'go'));
  if (first.status !== 'interrupted') throw new Error(first.status);
  expect(first.approvals[0]?.agentPath).toEqual(['front', 'desk', 'cashier']);
  const id = first.approvals[0]?.id ?? '';
  await expect(resume(front, json(first.log), { decisions: { [id]: { edit: { cents: 'many' } } } }).result).rejects.toMatchObject({
    code: 'RESUME_MISMATCH',
  });
  const last = await ended(resume(front, json(first.log), { decisions: { [id]: { edit: { cents: 3 } } } }));
  expect(last).toMatchObject({ status: 'completed', output: 'Front is done.' });
  expect(paid).toEqual(['3']);
});

it.each([1, 2, Number.POSITIVE_INFINITY])(
  'children side by side under a cap of %d calls never wait for each other',
  async (concurrency) => {
    const script = {
      front: [[1, 2, 3].map((id) => callTool('ask_desk', { input: `${id}` })), say('Front is done.')],
      desk: [[1, 2, 3].map((id) => callTool('ask_clerk', { input: `${id}` })), say('Desk is done.')],
      clerk: [[1, 2, 3].map((id) => callTool('look', { id: `${id}` })), say('Clerk is done.')],
    };
    const tree = makeTree({ script });
    const result = await ended(run(tree.agent, 'go', { concurrency, guardrails: [tree.ofRun] }));
    expect(result).toMatchObject({ status: 'completed', output: 'Front is done.' });
    expect(ofType(result.log.events, 'tool.end')).toHaveLength(3 + 9 + 27);
  },
);

it('a fault two levels down is a result above, and the run goes on; what was thrown is not told', async () => {
  const broken = defineAgent({
    name: 'clerk',
    instructions: () => {
      throw new Error('the secret of the clerk');
    },
    model: scriptedModel([]),
  });
  const model = scriptedModel({
    front: [callTool('ask_desk', { input: 'x' }), say('Front is done.')],
    desk: [callTool('ask_clerk', { input: 'x' }), say('Desk is done.')],
  });
  const desk = defineAgent({
    name: 'desk',
    instructions: 'D.',
    model,
    tools: [asTool(broken, { name: 'ask_clerk', description: 'Asks.' })],
  });
  const front = defineAgent({
    name: 'front',
    instructions: 'F.',
    model,
    tools: [asTool(desk, { name: 'ask_desk', description: 'Asks.' })],
  });
  const result = await ended(run(front, 'go'));
  expect(result).toMatchObject({ status: 'completed', output: 'Front is done.' });
  expect(ofType(result.log.events, 'run.end').map(({ agent, status }) => `${agent} ${status}`)).toEqual([
    'clerk failed',
    'desk completed',
    'front completed',
  ]);
  expect(JSON.stringify(result)).not.toContain('secret of the clerk');
});

it('many approvals of several children of one agent are told apart, and each goes to its own', async () => {
  const script = {
    front: [[1, 2, 3].map((id) => callTool('ask_desk', { input: `${id}` })), say('Front is done.')],
    desk: [[callTool('ask_clerk', { input: 'x' }), callTool('ask_clerk', { input: 'x' })], say('Desk is done.')],
    clerk: [callTool('pay', { id: 'same' }), say('Clerk is done.')],
  };
  const tree = makeTree({ script });
  const first = await ended(run(tree.agent, 'go', { runId: 'r' }));
  if (first.status !== 'interrupted') throw new Error(first.status);
  expect(new Set(first.approvals.map(({ id }) => id)).size).toBe(6);
  const [one] = first.approvals;
  const second = await ended(resume(tree.agent, json(first.log), { decisions: { [one?.id ?? '']: 'approve' } }));
  expect(tree.effects).toEqual([`pay same ${one?.subject}`]);
  const last = await ended(resume(tree.agent, json(second.log), { decisions: approveAll(second) }));
  expect(last).toMatchObject({ status: 'completed', output: 'Front is done.' });
  expect(new Set(tree.effects).size).toBe(6);
});

it('an edit for one child is followed although the run was cut before the input of the child beside it was accepted', async () => {
  const build = () => {
    const paid: string[] = [];
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      input: z.object({ id: z.string() }),
      approval: true,
      execute: ({ id }) => {
        paid.push(id);
        return 'paid';
      },
    });
    const model = scriptedModel({
      front: [[callTool('ask_inner', { words: ['quick'] }), callTool('ask_inner', { words: ['slow'] })], say('Front is done.')],
      inner: [callTool('pay', { id: 'x' }), say('Inner is done.')],
    });
    const slow = defineGuardrail({
      name: 'slow',
      on: ['input'],
      check: async ({ content }) => {
        if (content === 'slow') await new Promise((resolve) => setTimeout(resolve, 20));
        return allow();
      },
    });
    const inner = defineAgent({ name: 'inner', instructions: 'Inner.', model, tools: [pay], guardrails: [slow] });
    const ask_inner = asTool(inner, {
      name: 'ask_inner',
      description: 'Asks.',
      input: z.object({ words: z.array(z.string()) }),
      brief: ({ words }) => words.join(' '),
    });
    return { agent: defineAgent({ name: 'front', instructions: 'Front.', model, tools: [ask_inner] }), paid };
  };
  const whole = await ended(run(build().agent, 'go'));
  const asked = ofType(whole.log.events, 'approval.request')[0];
  const prefix = { version: 1 as const, events: whole.log.events.slice(0, asked?.seq) };
  expect(ofType(prefix.events, 'run.start')).toHaveLength(3);
  expect(ofType(prefix.events, 'input.accept')).toHaveLength(2);
  const { agent, paid } = build();
  const second = await ended(resume(agent, json(prefix), { decisions: { [asked?.approval.id ?? '']: { edit: { id: 'edited' } } } }));
  expect(paid).toEqual(['edited']);
  const last = await ended(resume(agent, json(second.log), { decisions: approveAll(second) }));
  expect(last).toMatchObject({ status: 'completed', output: 'Front is done.' });
  expect(paid).toEqual(['edited', 'x']);
});
