import type { Interrupted, RunResult } from '@guardloop/core';
import { asTool, defineAgent, defineTool } from '@guardloop/core';
import { callTool, say } from '@guardloop/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { resume, run, scriptedModel } from './audited.js';
import { callEnds, eventsOf, observationsIn, reread, resultsIn } from './reading.js';

function payments() {
  const paid: number[] = [];
  const pay = (rejection?: string) =>
    defineTool({
      name: 'pay',
      description: 'Pays.',
      input: z.object({ cents: z.number() }),
      approval: true,
      ...(rejection === undefined ? {} : { rejection }),
      execute: ({ cents }) => {
        paid.push(cents);
        return `paid ${cents}`;
      },
    });
  return { paid, pay };
}
function waiting(result: RunResult): Interrupted {
  if (result.status !== 'interrupted') throw new Error(`the run ended ${result.status}`);
  return result;
}

it('B37: An approval pauses without running the tool; resume runs it without calling the model first', async () => {
  const { paid, pay } = payments();
  const model = scriptedModel([callTool('pay', { cents: 5 }), () => say(paid.length === 1 ? 'Paid.' : 'Not yet.')]);
  const agent = defineAgent({ name: 'a', instructions: '', model, tools: [pay()] });
  const asked = waiting(await run(agent, 'hi', { runId: 'r' }));
  expect(asked.approvals).toMatchObject([
    { id: 'r/p1', surface: 'toolInput', tool: 'pay', callId: '1.0', input: { cents: 5 }, agentPath: ['a'], asks: [{ by: 'approval' }] },
  ]);
  expect(paid).toEqual([]);
  expect(model.requests).toHaveLength(1);
  const done = await resume(agent, reread(asked.log), { decisions: { 'r/p1': 'approve' } });
  expect(done).toMatchObject({ status: 'completed', output: 'Paid.' });
  expect(paid).toEqual([5]);
  expect(resultsIn(model.requests[1]?.messages)).toEqual(['paid 5']);
});

it('B38: Part of the approvals may be given; the rest stay open', async () => {
  const { paid, pay } = payments();
  const model = scriptedModel([[1, 2, 3].map((cents) => callTool('pay', { cents })), say('Done.')]);
  const agent = defineAgent({ name: 'a', instructions: '', model, tools: [pay()] });
  const asked = waiting(await run(agent, 'hi', { runId: 'r' }));
  expect(asked.approvals.map(({ id }) => id)).toEqual(['r/p1', 'r/p2', 'r/p3']);
  const half = waiting(await resume(agent, reread(asked.log), { decisions: { 'r/p2': 'approve' } }));
  expect(half.approvals.map(({ id }) => id)).toEqual(['r/p1', 'r/p3']);
  expect(paid).toEqual([2]);
  const still = waiting(await resume(agent, reread(half.log)));
  expect(still.approvals.map(({ id }) => id)).toEqual(['r/p1', 'r/p3']);
  const done = await resume(agent, reread(still.log), { decisions: { 'r/p3': 'approve', 'r/p1': { reject: 'no' } } });
  expect(done).toMatchObject({ status: 'completed' });
  expect(paid).toEqual([2, 3]);
  expect(resultsIn(model.requests[1]?.messages).slice(1)).toEqual(['paid 2', 'paid 3']);
  expect(model.requests).toHaveLength(2);
});

it('B39: The text of a rejection is this call’s, else the tool’s, else the default', async () => {
  const { paid, pay } = payments();
  const model = scriptedModel([callTool('pay', { cents: 1 }), say('I see.')]);
  const summaryOf = async (rejection: string | undefined, words: string) => {
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [pay(rejection)] });
    const asked = waiting(await run(agent, 'hi', { runId: 'r' }));
    const done = await resume(agent, reread(asked.log), { decisions: { 'r/p1': { reject: words } } });
    expect(done).toMatchObject({ status: 'completed' });
    const [observation] = observationsIn(done.messages);
    expect(observation).toMatchObject({ status: 'rejected', error_class: 'rejected', retryable: false });
    return observation?.summary;
  };
  expect(await summaryOf('Payments are closed.', 'not to him')).toContain('not to him');
  expect(await summaryOf('Payments are closed.', '')).toContain('Payments are closed.');
  const standard = await summaryOf(undefined, '');
  expect(standard).toContain('pay');
  expect(standard).not.toContain('closed');
  expect(paid).toEqual([]);
});

it('B40: Approvals in nested agents surface outside and resume inside, through JSON, several levels deep', async () => {
  const { paid, pay } = payments();
  const model = scriptedModel({
    top: [[callTool('ask_middle', { input: 'go' }), callTool('pay', { cents: 1 })], say('All paid.')],
    middle: [callTool('ask_bottom', { input: 'go' }), say('Bottom paid.')],
    bottom: [callTool('pay', { cents: 7 }), callTool('pay', { cents: 8 }), say('Paid twice.')],
  });
  const bottom = defineAgent({ name: 'bottom', instructions: '', model, tools: [pay()] });
  const middle = defineAgent({
    name: 'middle',
    instructions: '',
    model,
    tools: [asTool(bottom, { name: 'ask_bottom', description: 'Asks.' })],
  });
  const top = defineAgent({
    name: 'top',
    instructions: '',
    model,
    tools: [asTool(middle, { name: 'ask_middle', description: 'Asks.' }), pay()],
  });
  const asked = waiting(await run(top, 'hi', { runId: 'r' }));
  expect(asked.approvals.map(({ id, agentPath }) => [id, ...agentPath]).sort()).toEqual([
    ['r/1.0/1.0/p1', 'top', 'middle', 'bottom'],
    ['r/p1', 'top'],
  ]);
  const first = waiting(await resume(top, reread(asked.log), { decisions: { 'r/1.0/1.0/p1': { edit: { cents: 70 } } } }));
  expect(paid).toEqual([70]);
  const second = waiting(await resume(top, reread(first.log), { decisions: { 'r/1.0/1.0/p2': 'approve' } }));
  expect(paid).toEqual([70, 8]);
  expect(second.approvals.map(({ id }) => id)).toEqual(['r/p1']);
  const done = await resume(top, reread(second.log), { decisions: { 'r/p1': 'approve' } });
  expect(done).toMatchObject({ status: 'completed', output: 'All paid.' });
  expect(paid).toEqual([70, 8, 1]);
  expect(model.requests.map(({ agent }) => agent)).toEqual(['top', 'middle', 'bottom', 'bottom', 'bottom', 'middle', 'top']);
  expect(resultsIn(model.requests.at(-1)?.messages)).toEqual(['Bottom paid.', 'paid 1']);
});

it('B41: A decision is for exactly one approval, by its id, survives JSON, and is used once', async () => {
  const { paid, pay } = payments();
  const model = scriptedModel([callTool('pay', { cents: 1 }), callTool('pay', { cents: 1 }), say('Done.')]);
  const agent = defineAgent({ name: 'a', instructions: '', model, tools: [pay()] });
  const asked = waiting(await run(agent, 'hi', { runId: 'r' }));
  const decisions = JSON.parse(JSON.stringify({ 'r/p1': 'approve' })) as { readonly 'r/p1': 'approve' };
  // An equal call later is another question.
  const again = waiting(await resume(agent, reread(asked.log), { decisions }));
  expect(again.approvals.map(({ id }) => id)).toEqual(['r/p2']);
  expect(paid).toEqual([1]);
  for (const id of ['r/p1', 'r/p3', 'pay'])
    await expect(resume(agent, reread(again.log), { decisions: { [id]: 'approve' } })).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
  expect(paid).toEqual([1]);
});

it('B42: Resuming records nothing twice', async () => {
  const { paid, pay } = payments();
  const model = scriptedModel([callTool('pay', { cents: 1 }), callTool('pay', { cents: 2 }), say('Done.')]);
  const agent = defineAgent({ name: 'a', instructions: '', model, tools: [pay()] });
  const asked = waiting(await run(agent, 'hi', { runId: 'r' }));
  const half = waiting(await resume(agent, reread(asked.log), { decisions: { 'r/p1': 'approve' } }));
  const done = await resume(agent, reread(half.log), { decisions: { 'r/p2': 'approve' } });
  expect(done).toMatchObject({ status: 'completed' });
  expect(done.log.events.slice(0, half.log.events.length)).toEqual(half.log.events);
  expect(half.log.events.slice(0, asked.log.events.length)).toEqual(asked.log.events);
  const { log } = done;
  expect(eventsOf(log, 'run.start', 'input.accept').map(({ type }) => type)).toEqual(['run.start', 'input.accept']);
  expect(eventsOf(log, 'model.end').map(({ turn }) => turn)).toEqual([1, 2, 3]);
  expect(eventsOf(log, 'tool.start').map(({ callId }) => callId)).toEqual(['1.0', '2.0']);
  expect(callEnds(log)).toEqual(['pay ok', 'pay ok']);
  const ids = done.messages.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const after = await resume(agent, reread(log));
  expect(after).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(after.log).toEqual(log);
  expect(paid).toEqual([1, 2]);
  expect(model.requests).toHaveLength(3);
});
