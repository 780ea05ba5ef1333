import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../define/agent.js';
import { asTool } from '../define/as-tool.js';
import { defineTool } from '../define/tool.js';
import type { Model, ModelCall } from '../model/types.js';
import { run } from '../run/run.js';
import { replay } from './replay-run.js';

type Said = string | readonly ModelCall[];

/** Says one thing in each turn, by agent. */
function speaking(turns: { readonly [agent: string]: readonly Said[] }): Model {
  return {
    id: 'm',
    provider: 'test',
    async *stream({ agent, turn }) {
      const said = turns[agent]?.[turn - 1] ?? 'Done.';
      if (typeof said === 'string') yield { type: 'text.delta', text: said };
      else for (const call of said) yield { type: 'tool.call', call };
      yield {
        type: 'end',
        stopReason: typeof said === 'string' ? 'stop' : 'tools',
        usage: { requests: 1, inputTokens: 7, outputTokens: 3 },
      };
    },
  };
}

const find = defineTool({
  name: 'find',
  description: 'Finds.',
  input: z.object({ id: z.string() }),
  flow: { effect: 'read' },
  execute: ({ id }) => `found ${id}`,
});
const send = defineTool({
  name: 'send',
  description: 'Sends.',
  input: z.object({ id: z.string() }),
  flow: { effect: 'send' },
  approval: () => true,
  execute: () => 'sent',
});

it('tells after each event how the run stood: its turn, calls, messages, usage and what is left of its limits', async () => {
  const model = speaking({ clerk: [[{ name: 'find', input: { id: 'o1' } }], 'It is there.'] });
  const agent = defineAgent({ name: 'clerk', instructions: '', model, tools: [find] });
  const { log } = await run(agent, 'Where is o1?', { runId: 'r', limits: { turns: 3, tokens: 100 } });
  const steps = [...replay(log)];
  expect(
    steps.map(({ event, run: { status, turn, messages, calls, left } }) => [
      event.type,
      status,
      turn,
      messages.length,
      calls[0]?.phase,
      left.turns,
      left.tokens,
    ]),
  ).toEqual([
    ['run.start', 'entering', 0, 0, undefined, 3, 100],
    ['input.accept', 'running', 0, 1, undefined, 3, 100],
    ['model.start', 'running', 0, 1, undefined, 2, 100],
    ['model.end', 'running', 1, 2, 'prepared', 2, 90],
    ['tool.start', 'running', 1, 2, 'started', 2, 90],
    ['tool.end', 'running', 1, 3, undefined, 2, 90],
    ['model.start', 'running', 1, 3, undefined, 1, 90],
    ['model.end', 'running', 2, 4, undefined, 1, 80],
    ['run.end', 'completed', 2, 4, undefined, 1, 80],
  ]);
  expect(steps[4]?.run.calls).toEqual([{ id: '1.0', tool: 'find', input: { id: 'o1' }, phase: 'started' }]);
  expect(steps[0]?.run.left.toolCalls).toBe(Number.POSITIVE_INFINITY);
});

it('tells what people are asked', async () => {
  const model = speaking({ clerk: [[{ name: 'send', input: { id: 'o1' } }]] });
  const agent = defineAgent({ name: 'clerk', instructions: '', model, tools: [send] });
  const result = await run(agent, 'Send o1.', { runId: 'r' });
  const last = [...replay(result.log)].at(-1);
  expect(last?.run.status).toBe('waiting');
  expect(last?.run.approvals).toEqual(result.status === 'interrupted' ? result.approvals : []);
});

it('tells of a child run what is left of the limits that it shares', async () => {
  const model = speaking({ clerk: [[{ name: 'ask_leaf', input: { input: 'Look.' } }], 'Done.'], leaf: ['Seen.'] });
  const leaf = defineAgent({ name: 'leaf', instructions: '', model });
  const tool = asTool(leaf, { name: 'ask_leaf', description: 'Asks.' });
  const agent = defineAgent({ name: 'clerk', instructions: '', model, tools: [tool] });
  const { log } = await run(agent, 'Look.', { runId: 'r', limits: { tokens: 50 } });
  const child = [...replay(log)].filter(({ run: { parent } }) => parent === 'r');
  expect(child.map(({ event, run: { id, left } }) => [event.type, id, left.tokens])).toEqual([
    ['run.start', 'r/1.0', 40],
    ['input.accept', 'r/1.0', 40],
    ['model.start', 'r/1.0', 40],
    ['model.end', 'r/1.0', 30],
    ['run.end', 'r/1.0', 30],
  ]);
});

it('gives a state that does not change when the replay goes on, and begins anew each time', async () => {
  const model = speaking({ clerk: [[{ name: 'find', input: { id: 'o1' } }], 'It is there.'] });
  const agent = defineAgent({ name: 'clerk', instructions: '', model, tools: [find] });
  const { log } = await run(agent, 'Where is o1?');
  const replayed = replay(log);
  const [first] = replayed;
  const before = JSON.stringify(first);
  expect([...replayed]).toEqual([...replayed]);
  expect(JSON.stringify(first)).toBe(before);
});

it('refuses what is no log, and a damaged event, before the first step', () => {
  expect(() => replay({ version: 2, events: [] } as never)).toThrow(/reads version 1/);
  expect([...replay({ version: 1, events: [] })]).toEqual([]);
  expect(() => replay({ version: 1, events: [{ type: 'run.start', seq: 1, at: 1, run: 'r' } as never] })).toThrow(
    /^Event 1 of the log \(run\.start\) is damaged: `agent` is missing, and a text was expected\./,
  );
});
