import { describe, expect, it } from 'vitest';
import { event, idsIn, log, outputApproval, trusted, user } from '../../test/log-events.js';
import type { GuardEntry, LogEvent, Manifest, RunEndEvent } from './events.js';
import { apply, fold } from './fold.js';
import { defaultLimits, noUsage } from './limits.js';
import type { LogState, RunState } from './state.js';

const manifestWith = (name: string): Manifest => ({
  run: [{ name, surfaces: ['input'], phases: ['check'] } satisfies GuardEntry],
  agent: [],
  tools: {},
});

const after = (...events: LogEvent[]): LogState => fold(log(...events));
function runOf(state: LogState, id = 'r'): RunState {
  const run = state.runs.get(id);
  if (run === undefined) throw new Error(`No run ${id} was folded.`);
  return run;
}

describe('the start of a run', () => {
  it('makes a run in which nothing has happened', () => {
    const manifest = manifestWith('g');
    const state = after(event('run.start', { at: 7, manifest, onLimit: 'finalize' }));
    expect(runOf(state)).toEqual({
      id: 'r',
      parent: undefined,
      parentCall: undefined,
      conversation: state.conversation,
      startSeq: 1,
      limits: defaultLimits,
      onLimit: 'finalize',
      manifest,
      agent: 'a',
      accepted: false,
      turn: 0,
      agentTurn: 0,
      calls: new Map(),
      openIndex: -1,
      quarantine: undefined,
      viewItems: undefined,
      answer: undefined,
      note: undefined,
      hasThought: false,
      steers: 0,
      suspicion: undefined,
      suspected: undefined,
      forced: undefined,
      ending: undefined,
      ended: undefined,
      usage: noUsage,
      model: '',
      unpriced: undefined,
      uncounted: undefined,
      usedTurns: 0,
      usedToolCalls: 0,
      usedHandoffs: 0,
      repairs: 0,
      empties: 0,
      limitHit: undefined,
      finalizing: undefined,
      hasLastAnswer: false,
      repeated: 0,
      repeats: new Map(),
      effects: undefined,
      approvals: 0,
      activeMs: 0,
      lastAt: 7,
      children: undefined,
    });
    expect(state).toMatchObject({ seq: 1, writer: 'w1', root: runOf(state) });
    expect(runOf(after(event('run.start'))).onLimit).toBe('stop');
  });

  it('begins a stay of its agent that sees everything', () => {
    const { conversation } = after(event('run.start'));
    expect(conversation).toMatchObject({ agent: 'a', messages: [], view: [] });
    expect(conversation.activations).toEqual([
      { agent: 'a', guards: new Set(), view: 'all', brief: undefined, start: 0, isAccepted: false, end: undefined },
    ]);
  });

  it('goes on with the conversation of its session', () => {
    const state = after(
      event('run.start'),
      event('input.accept', { items: [user('r/i1')] }),
      event('run.end'),
      event('run.start', { run: 's', writer: 'w3' }),
      event('input.accept', { run: 's', items: [user('s/i1')] }),
    );
    expect(state).toMatchObject({ root: runOf(state, 's'), writer: 'w3', seq: 5 });
    expect(runOf(state, 's').startSeq).toBe(4);
    expect(idsIn(state.conversation.messages)).toEqual(['r/i1', 's/i1']);
    expect(state.conversation.view).toBe(state.conversation.messages);
    expect(state.conversation.activations).toMatchObject([
      { view: 'all', start: 0, end: 1, isAccepted: true },
      { view: 'all', start: 1, end: undefined, isAccepted: true },
    ]);
  });

  it('names what its agent sees where that is not everything', () => {
    const { conversation } = after(
      event('run.start'),
      event('input.accept', { items: [user('r/i1')] }),
      event('handoff', { to: 'b', view: [] }),
      event('run.end', { agent: 'b' }),
      event('run.start', { run: 's', agent: 'b' }),
    );
    expect(conversation.activations.at(-1)).toMatchObject({ agent: 'b', view: new Set(['r/1.0/brief']), brief: undefined });
  });

  it('of another agent than the last shows it everything, without what only its maker may read', () => {
    const native = { provider: 'p', message: 'raw' };
    const begun = [
      event('run.start'),
      event('input.accept', { items: [user('r/i1')] }),
      event('model.end', { id: 'r/1', text: 'Hello.', native }),
      event('run.end'),
    ];
    const same = after(...begun, event('run.start', { run: 's' }));
    expect(same.conversation.view).toBe(same.conversation.messages);
    expect(same.conversation.view[1]).toMatchObject({ native });
    const other = after(...begun, event('run.start', { run: 's', agent: 'b' }));
    expect(idsIn(other.conversation.view)).toEqual(['r/i1', 'r/1']);
    expect(other.conversation.view[1]).not.toHaveProperty('native');
    expect(other.conversation.messages[1]).toMatchObject({ native });
    expect(other.conversation.activations.at(-1)).toMatchObject({ agent: 'b', view: new Set(['r/i1', 'r/1']) });
  });

  it('ends what stands approved for the agent before, where it is another', () => {
    const standing = { tool: 'look', when: {} };
    const begun = [
      event('run.start'),
      event('approval.resolve', { standing: { ...standing, agentPath: ['a'] } }),
      event('approval.resolve', { id: 'p2', standing: { ...standing, agentPath: ['c', 'a'] } }),
      event('run.end'),
    ];
    expect(after(...begun, event('run.start', { run: 's' })).standing).toEqual([
      { ...standing, agentPath: ['a'], id: 'p1', seq: 2 },
      { ...standing, agentPath: ['c', 'a'], id: 'p2', seq: 3 },
    ]);
    expect(after(...begun, event('run.start', { run: 's', agent: 'b' })).standing.map(({ id }) => id)).toEqual(['p2']);
  });

  it('of a child has its own conversation, and hangs on the call that made it', () => {
    const state = after(
      event('run.start'),
      event('input.accept', { items: [user('r/i1')] }),
      event('run.start', { run: 'r/1.0', agent: 'b', parent: 'r', call: '1.0', at: 5 }),
      event('run.start', { run: 'r/1.1', agent: 'c', parent: 'r', call: '1.1', at: 8 }),
    );
    const [root, first, second] = [runOf(state), runOf(state, 'r/1.0'), runOf(state, 'r/1.1')];
    expect(state.root).toBe(root);
    expect([...(root.children ?? [])]).toEqual([
      ['1.0', first],
      ['1.1', second],
    ]);
    expect(first.parent).toBe(root);
    expect(first.parentCall).toBe('1.0');
    expect(first.conversation).not.toBe(state.conversation);
    expect(first.conversation).toMatchObject({ agent: 'b', messages: [], activations: [{ agent: 'b', view: 'all' }] });
    expect(state.conversation).toMatchObject({ agent: 'a', activations: [{ agent: 'a' }] });
    expect(root).toMatchObject({ activeMs: 8, lastAt: 8 });
  });

  it('of a child that names no call hangs on none', () => {
    expect(runOf(after(event('run.start'), event('run.start', { run: 'x', parent: 'r' }))).children).toBeUndefined();
  });
});

describe('the entry', () => {
  it('records its items once they are accepted, and not before', () => {
    const before = after(event('run.start'));
    expect(before.conversation.messages).toEqual([]);
    const state = after(event('run.start'), event('input.accept', { items: [user('r/i1'), user('r/i2')] }));
    expect(runOf(state).accepted).toBe(true);
    expect(idsIn(state.conversation.messages)).toEqual(['r/i1', 'r/i2']);
    expect(state.conversation.view).toBe(state.conversation.messages);
    expect(state.conversation.activations).toMatchObject([{ isAccepted: true, start: 0 }]);
  });

  it('changes texts of what its agent sees, and leaves what is recorded', () => {
    const state = after(
      event('run.start'),
      event('input.accept', { items: [user('r/i1', 'secret')] }),
      event('run.end'),
      event('run.start', { run: 's' }),
      event('input.accept', { run: 's', items: [user('s/i1')], changed: [{ id: 'r/i1', text: '***' }] }),
    );
    expect(idsIn(state.conversation.view)).toEqual(['r/i1', 's/i1']);
    expect(state.conversation.view[0]).toMatchObject({ parts: [{ text: '***' }] });
    expect(state.conversation.messages[0]).toMatchObject({ parts: [{ text: 'secret' }] });
  });

  it('of a run that the log does not hold, and a verdict, change nothing', () => {
    const begun = [event('run.start'), event('input.accept', { items: [user('r/i1')] })];
    const state = after(...begun);
    state.seq = 4;
    expect(after(...begun, event('guard.verdict'), event('input.accept', { run: 'x', items: [user('x/i1')] }))).toEqual(state);
  });
});

describe('active time', () => {
  it('is what passes between the events of a run, forwards alone', () => {
    const events = [event('run.start', { at: 100 }), event('guard.verdict', { at: 130 }), event('guard.verdict', { at: 135 })];
    expect(runOf(after(...events))).toMatchObject({ activeMs: 35, lastAt: 135 });
    const state = fold(log(...events).map((each) => (each.seq === 2 ? { ...each, at: 90 } : each)));
    expect(runOf(state)).toMatchObject({ activeMs: 45, lastAt: 135 });
  });

  it('counts in the runs above, and once where children run side by side', () => {
    const child = (run: string) => event('run.start', { run, parent: 'r', call: run });
    const state = after(
      event('run.start'),
      child('x'),
      child('y'),
      event('guard.verdict', { run: 'x', at: 10 }),
      event('guard.verdict', { run: 'y', at: 12 }),
      event('guard.verdict', { at: 15 }),
    );
    expect([runOf(state), runOf(state, 'x'), runOf(state, 'y')].map(({ activeMs }) => activeMs)).toEqual([15, 10, 12]);
  });

  it('is not spent while a run waits to be entered again, nor in its children', () => {
    const state = after(
      event('run.start'),
      event('run.start', { run: 'x', parent: 'r', call: '1.0', at: 5 }),
      event('run.resume', { at: 500 }),
      event('guard.verdict', { run: 'x', at: 503 }),
    );
    expect(runOf(state)).toMatchObject({ activeMs: 8, lastAt: 503 });
    expect(runOf(state, 'x')).toMatchObject({ activeMs: 3, lastAt: 503 });
  });
});

describe('a run that is entered again', () => {
  it('stands as its new process tells, and keeps what it does not tell', () => {
    const manifest = manifestWith('h');
    const begun = event('run.start', { onLimit: 'finalize' });
    const kept = after(begun, event('run.resume', { manifest }));
    expect(kept.writer).toBe('w2');
    expect(runOf(kept)).toMatchObject({ manifest, limits: defaultLimits, onLimit: 'finalize' });
    const limits = { ...defaultLimits, turns: 20, toolCalls: null, tokens: null, cost: null, ms: 9 };
    const changed = runOf(after(begun, event('run.resume', { limits, onLimit: 'stop' })));
    expect(changed.onLimit).toBe('stop');
    expect(changed.limits).toEqual({ ...defaultLimits, turns: 20, ms: 9 });
  });

  const reopened = (change: (run: RunState) => void): RunState => {
    const events = log(event('run.start'), event('input.accept'), event('run.end'), event('run.resume', { reopens: true }));
    const state = fold(events.slice(0, 3));
    const run = runOf(state);
    change(run);
    const [, , , resume] = events;
    if (resume) apply(state, resume);
    return run;
  };

  it('goes on where it was, unless it is reopened', () => {
    const ended = event('run.end', { status: 'cancelled' });
    const state = after(event('run.start'), ended, event('run.resume'));
    expect(runOf(state).ended).toMatchObject({ status: 'cancelled' });
    expect(state.conversation.activations).toMatchObject([{ end: 0 }]);
  });

  it('is reopened with its ends and counts taken back', () => {
    const run = reopened((each) => {
      each.ending = { status: 'exhausted', limit: 'turns' };
      each.limitHit = 'toolCalls';
      each.empties = 2;
      each.repairs = 3;
      each.repeated = 6;
      each.unpriced = 'm';
      each.uncounted = 'm';
    });
    expect(run).toMatchObject({
      ended: undefined,
      ending: undefined,
      limitHit: undefined,
      finalizing: undefined,
      empties: 0,
      repairs: 0,
      repeated: 0,
      unpriced: undefined,
      uncounted: undefined,
    });
    expect(run.conversation.activations).toMatchObject([{ agent: 'a', end: undefined }]);
  });

  it.each<[string, Partial<RunState>, boolean]>([
    ['a last one under a limit', { finalizing: 'turns' }, false],
    ['one that came too late for a limit', { ended: { status: 'exhausted' } as RunEndEvent }, false],
    ['any other', { ended: { status: 'failed' } as RunEndEvent }, true],
    ['one of a run that has no end', { ended: undefined }, true],
  ])('of its answers keeps: %s: %s', (_what, changes, isKept) => {
    const run = reopened((each) => Object.assign(each, { answer: { text: 'Done.' }, ...changes }));
    expect(run.answer).toEqual(isKept ? { text: 'Done.' } : undefined);
    expect(run.finalizing).toBeUndefined();
  });

  it('forgets what a view wrote for a call beside which its input was not accepted', () => {
    const asked = event('model.start', { view: [user('r/1/v1', 'So far: nothing.')], beside: true });
    expect(runOf(after(event('run.start'), asked)).viewItems?.size).toBe(1);
    expect(runOf(after(event('run.start'), asked, event('run.resume'))).viewItems).toBeUndefined();
    expect(runOf(after(event('run.start'), event('input.accept'), asked, event('run.resume'))).viewItems?.size).toBe(1);
  });
});

describe('the end of a run', () => {
  it('is remembered, and closes the stay of its agent', () => {
    const state = after(event('run.start'), event('input.accept', { items: [user('r/i1')] }), event('run.end', { text: 'Done.' }));
    expect(runOf(state).ended).toMatchObject({ type: 'run.end', status: 'completed', text: 'Done.' });
    expect(state.conversation.activations).toMatchObject([{ end: 1 }]);
    expect(idsIn(state.conversation.messages)).toEqual(['r/i1']);
  });

  it('records what its user was told in place of an answer', () => {
    const state = after(
      event('run.start'),
      event('input.accept', { items: [user('r/i1')] }),
      event('run.end', { status: 'blocked', reply: 'I cannot do that.' }),
    );
    expect(state.conversation.messages[1]).toEqual({
      role: 'assistant',
      id: 'r/reply',
      agent: 'a',
      text: 'I cannot do that.',
      calls: [],
      label: { origin: 'developer', integrity: 'trusted' },
    });
    expect(state.conversation.activations).toMatchObject([{ end: 2 }]);
  });

  it('records no reply to an input that was never accepted', () => {
    expect(after(event('run.start'), event('run.end', { status: 'blocked', reply: 'No.' })).conversation.messages).toEqual([]);
  });

  it('closes the stay in a child without touching the one above', () => {
    const state = after(
      event('run.start'),
      event('run.start', { run: 'x', parent: 'r', call: '1.0' }),
      event('run.end', { run: 'x', parent: 'r' }),
    );
    expect(runOf(state, 'x').conversation.activations).toMatchObject([{ end: 0 }]);
    expect(state.conversation.activations).toMatchObject([{ end: undefined }]);
  });
});

describe('a model call', () => {
  it('that begins counts as a turn, and voids the answer before', () => {
    const state = after(
      event('run.start'),
      event('input.accept'),
      event('model.end', { text: 'Draft.' }),
      event('model.start', { model: 'n' }),
    );
    expect(runOf(state)).toMatchObject({ usedTurns: 1, turn: 1, model: 'n', answer: undefined, finalizing: undefined });
    expect(runOf(after(event('run.start'), event('model.start', { final: 'turns' }), event('model.start'))).finalizing).toBe('turns');
  });

  it('keeps what a view wrote by its text, and no messages that the view chose', () => {
    const written = user('r/1/v1', 'So far: nothing.', { via: 'view' });
    const image = user('r/1/v2', '', { parts: [{ type: 'image', url: 'https://example.com/a.png' }] });
    const empty = user('r/1/v3', '', { parts: [] });
    const later = user('r/2/v1', 'So far: a lot.', { via: 'view' });
    const state = after(
      event('run.start'),
      event('input.accept', { items: [user('r/i1')] }),
      event('model.start', { view: ['r/i1', { id: 'r/i1', text: 'changed' }, image, empty, written] }),
      event('model.start', { view: [later] }),
    );
    expect([...(runOf(state).viewItems ?? [])]).toEqual([
      ['So far: nothing.', written],
      ['So far: a lot.', later],
    ]);
    expect(runOf(after(event('run.start'), event('model.start', { view: ['r/i1'] }))).viewItems).toBeUndefined();
  });
});

it('a quarantined answer is held with what it used until it ends', () => {
  const approval = outputApproval();
  const usage = { requests: 1, inputTokens: 5, outputTokens: 1, cost: 1 };
  const begun = [event('run.start'), event('input.accept'), event('model.start')];
  const asked = event('approval.request', { approval, turn: 1, usage, model: 'n' });
  const waiting = runOf(after(...begun, asked));
  expect(waiting.quarantine).toEqual({ approval, turn: 1, usage, model: 'n', decision: undefined });
  expect(waiting).toMatchObject({ approvals: 1, usage });
  const decided = event('approval.resolve');
  expect(runOf(after(...begun, asked, decided)).quarantine?.decision).toMatchObject({ id: 'p1', decision: 'approve' });
  expect(runOf(after(...begun, asked, event('approval.resolve', { id: 'p2' }))).quarantine?.decision).toBeUndefined();
  const ended = runOf(after(...begun, asked, decided, event('model.end', { text: 'Fine.', usage, label: trusted })));
  expect(ended).toMatchObject({ quarantine: undefined, usage, answer: { text: 'Fine.' }, turn: 1 });
});

it('a quarantined answer of which nothing is told has turn 0 and used nothing', () => {
  const run = runOf(after(event('run.start'), event('approval.request', { approval: outputApproval() })));
  expect(run.quarantine).toMatchObject({ turn: 0, usage: noUsage, model: undefined });
  expect(run).toMatchObject({ usage: noUsage, unpriced: undefined, uncounted: undefined });
});
