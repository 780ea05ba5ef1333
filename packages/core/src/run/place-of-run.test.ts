import { describe, expect, it } from 'vitest';
import { enterRun, modelOf, recordAnswer, recordedCall } from '../../test/enter-run.js';
import { defineAgent } from '../define/agent.js';
import { asTool } from '../define/as-tool.js';
import { defineTool } from '../define/tool.js';
import type { RecordedCall } from '../state/events.js';
import type { RunHandle } from './handle.js';
import { placeOfRun } from './place-of-run.js';

const model = modelOf();
const clerk = defineAgent({ name: 'clerk', instructions: '', model });
const desk = defineAgent({ name: 'desk', instructions: '', model, handoffs: [clerk] });
const office = defineAgent({
  name: 'office',
  instructions: '',
  model,
  tools: [
    asTool(desk, { name: 'ask_desk', description: 'Asks the desk.' }),
    defineTool({ name: 'look', description: 'Looks.', input: { type: 'object' }, execute: () => 'seen' }),
  ],
});
const front = defineAgent({ name: 'front', instructions: '', model });
const house = defineAgent({
  name: 'house',
  instructions: '',
  model,
  tools: [
    asTool(office, { name: 'ask_office', description: 'Asks the office.' }),
    asTool(front, { name: 'ask_front', description: 'Asks.' }),
  ],
  handoffs: [front],
});

function child(handle: RunHandle, run: string, given: { readonly agent: string; readonly parent: string; readonly call?: string }): void {
  const { root } = handle;
  handle.publish({
    type: 'run.start',
    seq: root.log.seq + 1,
    at: 0,
    run,
    ...given,
    writer: 'w',
    limits: { turns: 8, toolCalls: null, tokens: null, cost: null, ms: null, handoffs: 8, repairs: 1, repeats: 3 },
    manifest: { run: [], agent: [], tools: {} },
  });
}
function answer(handle: RunHandle, run: string, calls: readonly RecordedCall[]): void {
  handle.publish({
    type: 'model.end',
    seq: handle.root.log.seq + 1,
    at: 0,
    run,
    agent: 'x',
    turn: 1,
    status: 'ok',
    id: `${run}/1`,
    text: '',
    revision: 0,
    calls,
    label: { origin: 'agent:x', integrity: 'trusted' },
    usage: { requests: 1 },
  });
}

/** The run r of the house, with a child run at the office, and one of that at the desk. */
async function threeDeep(deskCalls: RecordedCall = recordedCall('ask_desk')): Promise<RunHandle> {
  const { handle } = await enterRun(house);
  recordAnswer(handle, [recordedCall('ask_front'), recordedCall('ask_office', { id: '1.1' })]);
  child(handle, 'r/1.1', { agent: 'office', parent: 'r', call: '1.1' });
  answer(handle, 'r/1.1', [deskCalls]);
  child(handle, 'r/1.1/1.0', { agent: 'desk', parent: 'r/1.1', call: '1.0' });
  return handle;
}
const place = (handle: RunHandle, run: string) => {
  const found = placeOfRun(handle, run);
  return found && { agent: found.agent.name, agents: [...found.agents.keys()] };
};

describe('the place of a run', () => {
  it('is at the active agent of the outermost run, with all that it can hand over to', async () => {
    const handle = await threeDeep();
    expect(place(handle, 'r')).toEqual({ agent: 'house', agents: ['house', 'front'] });
    handle.state.agent = 'front';
    expect(place(handle, 'r')).toEqual({ agent: 'front', agents: ['house', 'front'] });
  });

  it('is found in child runs by the agents that are tools, however deep', async () => {
    const handle = await threeDeep();
    expect(place(handle, 'r/1.1')).toEqual({ agent: 'office', agents: ['office'] });
    expect(place(handle, 'r/1.1/1.0')).toEqual({ agent: 'desk', agents: ['desk', 'clerk'] });
    const inner = handle.root.log.runs.get('r/1.1/1.0');
    if (inner) inner.agent = 'clerk';
    expect(place(handle, 'r/1.1/1.0')).toEqual({ agent: 'clerk', agents: ['desk', 'clerk'] });
  });

  it('is nowhere for a run that is not in the log', async () => {
    expect(place(await threeDeep(), 'other')).toBeUndefined();
  });

  it('is nowhere where an agent on the way cannot be reached', async () => {
    const handle = await threeDeep();
    const middle = handle.root.log.runs.get('r/1.1');
    if (middle) middle.agent = 'gone';
    expect(place(handle, 'r')).toBeDefined();
    expect(place(handle, 'r/1.1')).toBeUndefined();
    expect(place(handle, 'r/1.1/1.0')).toBeUndefined();
  });

  it('is nowhere where the call that began it is of no agent, or not known', async () => {
    expect(place(await threeDeep(recordedCall('ask_front')), 'r/1.1/1.0')).toBeUndefined();
    expect(place(await threeDeep(recordedCall('look')), 'r/1.1/1.0')).toBeUndefined();
    const handle = await threeDeep();
    child(handle, 'r/x', { agent: 'office', parent: 'r' });
    child(handle, 'r/y', { agent: 'office', parent: 'r', call: '9.9' });
    expect([place(handle, 'r/x'), place(handle, 'r/y')]).toEqual([undefined, undefined]);
  });
});
