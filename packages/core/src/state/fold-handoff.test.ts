import { describe, expect, it } from 'vitest';
import { byAgent, event, idsIn, log, toolCall, untrusted, user } from '../../test/log-events.js';
import type { GuardEntry, HandoffEvent, LogEvent, Manifest } from './events.js';
import { fold } from './fold.js';
import type { LogState, RunState } from './state.js';
import { handoffHistory } from './turn.js';

const guard = (name: string): GuardEntry => ({ name, surfaces: ['input'], phases: ['check'] });
const native = { provider: 'p', message: 'raw' };
const transfer = toolCall('2.1', { name: 'transfer_to_b', kind: 'handoff', handoff: { to: 'b', brief: 'go on' } });
const item: HandoffEvent['item'] = { ...user('r/2.1/brief', 'go on'), via: 'handoff', label: byAgent };

/** A turn with a read, and one that reads again and hands over. */
const before: LogEvent[] = [
  event('run.start', { manifest: { run: [guard('r')], agent: [guard('a')], tools: {} } }),
  event('input.accept', { items: [user('r/i1', 'secret')] }),
  event('model.start'),
  event('model.end', { calls: [toolCall('1.0')], native }),
  event('tool.end', { label: untrusted }),
  event('model.start', { view: [user('r/2/v1')] }),
  event('model.end', { turn: 2, id: 'r/2', text: 'Over to b.', calls: [toolCall('2.0'), transfer], native }),
  event('tool.end', { callId: '2.0', id: 'r/2.0' }),
];
const manifest: Manifest = { run: [guard('not the one of the run')], agent: [guard('b')], tools: { look: [] } };
const swap = (more: Partial<HandoffEvent> = {}) => event('handoff', { callId: '2.1', item, manifest, ...more });

const after = (...events: LogEvent[]): LogState => fold(log(...before, ...events));
function runIn(state: LogState): RunState {
  const run = state.runs.get('r');
  if (run === undefined) throw new Error('No run was folded.');
  return run;
}

describe('a handoff', () => {
  it('gives the run another agent, whose stay begins with nothing to its account', () => {
    const run = runIn(after(swap()));
    expect(run).toMatchObject({
      agent: 'b',
      agentTurn: 2,
      turn: 2,
      usedTurns: 2,
      usedHandoffs: 1,
      openIndex: -1,
      repairs: 0,
      empties: 0,
      repeated: 0,
      note: undefined,
      viewItems: undefined,
      answer: undefined,
    });
    expect(run.calls.size).toBe(0);
    expect(run.repeats.size).toBe(0);
    expect(run.manifest).toEqual({ ...manifest, run: [guard('r')] });
  });

  it('takes what counted for the agent before from it', () => {
    const state = after(
      event('handoff.refused', { callId: '2.1' }),
      event('model.end', { turn: 3, id: 'r/3', empty: true }),
      event('model.end', { turn: 4, id: 'r/4', status: 'refused', misfit: 'n' }),
    );
    expect(runIn(state)).toMatchObject({ repairs: 1, empties: 1, repeated: 2 });
    const gone = fold(
      log(...before, event('handoff.refused', { callId: '2.1' }), event('model.end', { turn: 3, id: 'r/3', empty: true }), swap()),
    );
    expect(runIn(gone)).toMatchObject({ empties: 0, note: undefined, repeated: 0 });
    const refused = fold(log(...before, event('model.end', { turn: 3, id: 'r/3', status: 'refused', misfit: 'n' }), swap()));
    expect(runIn(refused)).toMatchObject({ repairs: 0, note: undefined });
  });

  it('records its call as done, after the others of its answer', () => {
    const { messages } = after(swap()).conversation;
    expect(idsIn(messages)).toEqual(['r/i1', 'r/1', 'r/1.0', 'r/2', 'r/2.0', 'r/2.1']);
    expect(messages[5]).toEqual({
      role: 'tool',
      id: 'r/2.1',
      callId: '2.1',
      tool: 'transfer_to_b',
      content: 'Handed off to b.',
      isError: false,
      label: { origin: 'developer', integrity: 'trusted' },
    });
    expect(messages[3]).toMatchObject({ native, calls: [{ id: '2.0' }, { id: '2.1' }] });
  });

  it('shows its target everything but the call that handed over and what only its maker may read', () => {
    const { conversation } = after(swap());
    expect(idsIn(conversation.view)).toEqual(['r/i1', 'r/1', 'r/1.0', 'r/2', 'r/2.0', 'r/2.1/brief']);
    expect(conversation.view[1]).not.toHaveProperty('native');
    expect(conversation.view[3]).toEqual({
      role: 'assistant',
      id: 'r/2',
      agent: 'a',
      text: 'Over to b.',
      calls: [{ id: '2.0', name: 'look', input: {} }],
      label: byAgent,
    });
    expect(conversation.view[5]).toEqual(item);
    expect(conversation.activations).toEqual([
      expect.objectContaining({ agent: 'a', end: 6 }),
      {
        agent: 'b',
        guards: new Set(['run:r@', 'agent:b:b@']),
        view: 'all',
        brief: 'r/2.1/brief',
        start: 6,
        isAccepted: true,
        end: undefined,
      },
    ]);
  });

  it('shows its target what was named, with the texts that it names', () => {
    const { conversation } = after(swap({ view: [{ id: 'r/i1', text: '***' }, 'r/2', 'r/2.0', 'r/2.1'] }));
    expect(idsIn(conversation.view)).toEqual(['r/i1', 'r/2', 'r/2.0', 'r/2.1/brief']);
    expect(conversation.view[0]).toMatchObject({ parts: [{ text: '***' }] });
    expect(conversation.view[1]).not.toHaveProperty('native');
    expect(conversation.activations[1]).toMatchObject({ view: new Set(['r/i1', 'r/2', 'r/2.0']), brief: 'r/2.1/brief' });
  });

  it('leaves a view untrusted for what its target sees alone, the brief included', () => {
    const all = after(swap()).conversation;
    expect(all).toMatchObject({ isUntrusted: true, untrustedReads: [{ tool: 'look', callId: '1.0' }] });
    expect(after(swap({ view: ['r/i1'] })).conversation).toMatchObject({ isUntrusted: false, untrustedReads: [] });
    const tainted = { ...item, label: { origin: 'agent:a', integrity: 'untrusted' } } as const;
    expect(after(swap({ view: ['r/i1'], item: tainted })).conversation).toMatchObject({ isUntrusted: true, untrustedReads: [] });
  });

  it('shows its target what was told to be the history before it', () => {
    const events = log(...before, swap());
    const history = handoffHistory(runIn(fold(events.slice(0, -1))), '2.1');
    expect(fold(events).conversation.view).toEqual([...history, item]);
  });

  it('ends what stands approved for its agent and those below, and nothing else', () => {
    const decide = (id: string, ...agentPath: string[]) =>
      event('approval.resolve', { id, standing: { agentPath, tool: 'look', when: {} } });
    const decided = [decide('p1', 'a'), decide('p2', 'a', 'x'), decide('p3', 'b')];
    expect(after(...decided, swap()).standing.map(({ id }) => id)).toEqual(['p3']);
  });

  it('in a child ends what stands approved for the path down to it', () => {
    const decide = (id: string, ...agentPath: string[]) =>
      event('approval.resolve', { id, standing: { agentPath, tool: 'look', when: {} } });
    const state = fold(
      log(
        event('run.start'),
        event('run.start', { run: 'x', agent: 'c', parent: 'r', call: '1.0' }),
        decide('p1', 'a'),
        decide('p2', 'a', 'c'),
        decide('p3', 'c'),
        event('handoff', { run: 'x', to: 'd' }),
      ),
    );
    expect(state.standing.map(({ id }) => id)).toEqual(['p1', 'p3']);
  });

  it('of a call that is not open swaps all the same', () => {
    const state = after(swap({ callId: '9.9' }));
    expect(runIn(state)).toMatchObject({ agent: 'b', usedHandoffs: 1 });
    expect(idsIn(state.conversation.messages)).toEqual(['r/i1', 'r/1', 'r/1.0', 'r/2', 'r/2.0']);
  });
});
