import { describe, expect, it } from 'vitest';
import {
  byAgent,
  callApproval,
  event,
  handoffApproval,
  idsIn,
  log,
  outputApproval,
  toolCall,
  trusted,
  user,
} from '../../test/log-events.js';
import type { ApprovalResolveEvent, LimitName, LogEvent, RecordedCall, Refusal, ToolEndEvent } from './events.js';
import { apply, fold } from './fold.js';
import { defaultLimits, recordLimits } from './limits.js';
import type { CallState, LogState, RunState } from './state.js';

const refusal: Refusal = { action: 'deny', surface: 'toolOutput', by: 'g', reason: 'no' };

function runIn(state: LogState, id = 'r'): RunState {
  const run = state.runs.get(id);
  if (run === undefined) throw new Error(`No run ${id} was folded.`);
  return run;
}
function callIn(run: RunState, id = '1.0'): CallState {
  const call = run.calls.get(id);
  if (call === undefined) throw new Error(`No call ${id} was folded.`);
  return call;
}
const calling = (...calls: RecordedCall[]) => [
  event('run.start'),
  event('input.accept', { items: [user('r/i1')] }),
  event('model.end', { calls: calls.length > 0 ? calls : [toolCall('1.0'), toolCall('1.1')] }),
];
const after = (...events: LogEvent[]): RunState => runIn(fold(log(...calling(), ...events)));

describe('a call that begins', () => {
  it('may have had its effect, and counts here and above, once however often it begins', () => {
    const started = event('tool.start');
    expect(callIn(after())).toMatchObject({ phase: 'prepared', wasStarted: false, isCounted: false });
    const run = after(started, started);
    expect(callIn(run)).toMatchObject({ phase: 'started', wasStarted: true, isCounted: true });
    expect(callIn(run, '1.1').phase).toBe('prepared');
    expect(run.usedToolCalls).toBe(1);
    expect(run.effects).toBeUndefined();
    const state = fold(
      log(
        ...calling(),
        event('run.start', { run: 'x', parent: 'r', call: '1.0' }),
        event('model.end', { run: 'x', calls: [toolCall('1.0')] }),
        event('tool.start', { run: 'x' }),
      ),
    );
    expect([runIn(state).usedToolCalls, runIn(state, 'x').usedToolCalls]).toEqual([1, 1]);
  });

  it('of a tool that runs once for an input is remembered with it', () => {
    const once = event('tool.start', { once: true, input: { to: 'x' } });
    const run = after(once, { ...once, callId: '1.1', input: { to: 'y' } }, { ...once, callId: '1.1', tool: 'send' });
    expect([...(run.effects ?? [])]).toEqual([
      [
        'look',
        [
          { callId: '1.0', input: { to: 'x' } },
          { callId: '1.1', input: { to: 'y' } },
        ],
      ],
      ['send', [{ callId: '1.1', input: { to: 'x' } }]],
    ]);
  });

  it('and that the latest answer does not hold, changes nothing', () => {
    const run = after(event('tool.start', { callId: '9.9', once: true }), event('tool.end', { callId: '9.9', limit: 'toolCalls' }));
    expect(run).toMatchObject({ usedToolCalls: 0, effects: undefined, limitHit: undefined, openIndex: 1 });
  });
});

describe('a call that ends', () => {
  const ended = (callId: string, more: Partial<ToolEndEvent> = {}) => event('tool.end', { callId, id: `r/${callId}`, ...more });

  it('keeps its result back until all of its answer have ended, and then all stand in call order', () => {
    const one = after(ended('1.1', { content: 'later' }));
    expect(callIn(one, '1.1')).toMatchObject({ phase: 'ended', end: { content: 'later' }, returned: undefined });
    expect(idsIn(one.conversation.messages)).toEqual(['r/i1', 'r/1']);
    const run = after(ended('1.1', { content: 'later' }), ended('1.0'));
    expect(idsIn(run.conversation.messages)).toEqual(['r/i1', 'r/1', 'r/1.0', 'r/1.1']);
    expect(run).toMatchObject({ openIndex: -1, answer: undefined });
    expect(run.calls.size).toBe(0);
  });

  it('with a handoff stays open for the swap', () => {
    const handoff = { to: 'b', brief: 'go on', filtered: true } as const;
    const run = after(ended('1.0', { handoff }), ended('1.1'));
    expect(callIn(run)).toMatchObject({ phase: 'handoff', returned: handoff });
    expect(idsIn(run.conversation.messages)).toEqual(['r/i1', 'r/1']);
  });

  it('by a guardrail that halts ends the run, which had not ended before', () => {
    const halt = { ...refusal, action: 'halt', reason: 'first' } as const;
    expect(after(ended('1.0', { refusal })).ending).toBeUndefined();
    expect(after(ended('1.0', { refusal: halt }), ended('1.1', { refusal: { ...halt, reason: 'second' } })).ending).toEqual({
      status: 'blocked',
      refusal: halt,
    });
  });

  it('with an answer is the answer of the run', () => {
    expect(after(ended('1.0'), ended('1.1', { answer: { text: 'Done.', revision: 0 } })).answer).toStrictEqual({
      text: 'Done.',
      callId: '1.1',
    });
  });
});

describe('equal calls with equal results', () => {
  const turns = (count: number, more: Partial<ToolEndEvent> = {}, repeats = 3): RunState => {
    const limits = { ...recordLimits(defaultLimits), repeats };
    const events: LogEvent[] = [event('run.start', { limits }), event('input.accept')];
    for (let turn = 1; turn <= count; turn += 1)
      events.push(
        event('model.end', { id: `r/${turn}`, calls: [toolCall(`${turn}.0`)] }),
        event('tool.end', { callId: `${turn}.0`, ...more }),
      );
    return runIn(fold(log(...events)));
  };

  it('are counted, and twice `repeats` of them end the run', () => {
    expect(turns(5)).toMatchObject({ repeated: 5, ending: undefined });
    expect(turns(6)).toMatchObject({ repeated: 6, ending: { status: 'exhausted', limit: 'repeats' } });
    expect(turns(2, {}, 1)).toMatchObject({ ending: { status: 'exhausted', limit: 'repeats' } });
    expect(turns(1, {}, 1)).toMatchObject({ repeated: 1, ending: undefined });
  });

  it('do not end a run for that which ends for another reason', () => {
    const halt = { ...refusal, action: 'halt' } as const;
    expect(turns(6, { refusal: halt })).toMatchObject({ repeated: 6, ending: { status: 'blocked', refusal: halt } });
  });

  it.each<[string, Partial<ToolEndEvent>]>([
    ['of a tool that is polled', { polling: true }],
    ['that never started', { status: 'aborted' }],
    ['that share the end of another', { copyOf: '1.1' }],
  ])('%s are not counted', (_what, more) => {
    const run = turns(6, more);
    expect(run).toMatchObject({ repeated: 0, ending: undefined });
    expect(run.repeats.size).toBe(0);
  });

  it('keep the highest count while other calls are made', () => {
    const run = turns(4);
    const state = fold(log());
    state.runs.set('r', run);
    apply(state, { ...event('model.end', { id: 'r/5', calls: [toolCall('5.0', { name: 'other' })] }), seq: 11 });
    apply(state, { ...event('tool.end', { callId: '5.0', tool: 'other' }), seq: 12 });
    expect(run.repeated).toBe(4);
  });
});

describe('a limit that kept a call from running', () => {
  const nested = (toolCalls: { readonly [run: string]: number }, limit: LimitName) => {
    const limits = (run: string) => ({ ...recordLimits(defaultLimits), toolCalls: toolCalls[run] ?? null });
    const begin = (run: string, parent?: string) => [
      event('run.start', { run, limits: limits(run), parent, call: parent === undefined ? undefined : '1.0' }),
      event('model.end', { run, id: `${run}/1`, calls: [toolCall('1.0'), toolCall('1.1')] }),
    ];
    const state = fold(log(...begin('r'), ...begin('x', 'r'), ...begin('y', 'x'), event('tool.end', { run: 'y', limit })));
    return ['r', 'x', 'y'].map((id) => runIn(state, id).limitHit);
  };

  it('is hit in that run', () => {
    expect(nested({}, 'toolCalls')).toEqual([undefined, undefined, 'toolCalls']);
    expect(nested({ y: 0, x: 1 }, 'toolCalls')).toEqual([undefined, undefined, 'toolCalls']);
  });

  it('is hit in every run up to the highest whose calls are used up', () => {
    expect(nested({ x: 0 }, 'toolCalls')).toEqual([undefined, 'toolCalls', 'toolCalls']);
    expect(nested({ r: 0 }, 'toolCalls')).toEqual(['toolCalls', 'toolCalls', 'toolCalls']);
    expect(nested({ r: 0, x: 0 }, 'toolCalls')).toEqual(['toolCalls', 'toolCalls', 'toolCalls']);
  });

  it('is hit in that run alone where it is another than `toolCalls`', () => {
    expect(nested({ r: 0, x: 0 }, 'handoffs')).toEqual([undefined, undefined, 'handoffs']);
  });

  it('stays hit when later calls end for other reasons', () => {
    const ended = event('tool.end', { limit: 'toolCalls' });
    expect(after(ended, event('tool.end', { callId: '1.1' })).limitHit).toBe('toolCalls');
    const refused = event('handoff.refused', { callId: '1.1', limit: 'handoffs' });
    expect(after(refused, event('handoff.refused')).limitHit).toBe('handoffs');
  });

  it('counts calls that have run above against it', () => {
    const limits = { ...recordLimits(defaultLimits), toolCalls: 2 };
    const state = fold(
      log(
        event('run.start', { limits }),
        event('model.end', { calls: [toolCall('1.0'), toolCall('1.1')] }),
        event('tool.start', { callId: '1.0' }),
        event('tool.start', { callId: '1.1' }),
        event('run.start', { run: 'x', parent: 'r', call: '1.1' }),
        event('model.end', { run: 'x', calls: [toolCall('1.0')] }),
        event('tool.end', { run: 'x', limit: 'toolCalls' }),
      ),
    );
    expect([runIn(state).limitHit, runIn(state, 'x').limitHit]).toEqual(['toolCalls', 'toolCalls']);
  });
});

describe('a question about a call', () => {
  it('leaves it waiting for a person', () => {
    const approval = callApproval({ revision: 4 });
    const run = after(event('approval.request', { approval }));
    expect(run).toMatchObject({ approvals: 1, quarantine: undefined });
    expect(callIn(run)).toMatchObject({ phase: 'waiting', approval, asksAnew: undefined, brief: undefined, revision: 0 });
    expect(callIn(run, '1.1')).toMatchObject({ phase: 'prepared', approval: undefined });
  });

  it('about a handoff keeps the brief in the form that is asked about', () => {
    const approval = handoffApproval({ brief: 'go on, ***', revision: 3 });
    expect(callIn(after(event('approval.request', { approval })))).toMatchObject({
      phase: 'waiting',
      approval,
      brief: 'go on, ***',
      revision: 3,
    });
  });

  it('about a call that the latest answer does not hold counts, and changes nothing else', () => {
    const run = after(event('approval.request', { approval: callApproval({ callId: '9.9' }) }));
    expect(run.approvals).toBe(1);
    expect([...run.calls.values()].map(({ phase }) => phase)).toEqual(['prepared', 'prepared']);
  });
});

describe('a decision about a call', () => {
  const other = callApproval({ id: 'p0', callId: '1.1' });
  const asked = callApproval({ revision: 1, asks: [{ by: 'g', reason: 'odd' }] });
  const decide = (more: Partial<ApprovalResolveEvent>, ...before: LogEvent[]): RunState =>
    after(
      ...before,
      event('approval.request', { approval: other }),
      event('approval.request', { approval: asked }),
      event('approval.resolve', more),
    );

  it.each<ApprovalResolveEvent['decision']>(['approve', 'reject', 'void'])('to %s stands on it', (decision) => {
    const run = decide({ decision });
    expect(callIn(run)).toMatchObject({
      phase: 'decided',
      decision: { id: 'p1', decision },
      approval: undefined,
      asksAnew: undefined,
      wasStarted: false,
      revision: 0,
      input: {},
      givenRevision: 0,
    });
    expect(callIn(run, '1.1')).toMatchObject({ phase: 'waiting', approval: other, decision: undefined });
  });

  it('about nothing that is open changes nothing', () => {
    const run = decide({ id: 'p9' });
    expect([...run.calls.values()].map(({ phase, decision }) => [phase, decision])).toEqual([
      ['waiting', undefined],
      ['waiting', undefined],
    ]);
  });

  it('beside a quarantined answer is about the call', () => {
    const run = decide({}, event('approval.request', { approval: outputApproval({ id: 'p5' }) }));
    expect(callIn(run).phase).toBe('decided');
    expect(run.quarantine?.decision).toBeUndefined();
  });

  it('to edit gives it another input, of which nothing before holds', () => {
    const edit = event('approval.resolve', { decision: 'edit', input: { q: 2 }, revision: 2, changedFields: [] });
    const state = fold(log(...calling(), event('approval.request', { approval: asked })));
    const call = callIn(runIn(state));
    call.key = '{}';
    apply(state, { ...edit, seq: 5 });
    expect(call).toMatchObject({
      phase: 'decided',
      decision: { decision: 'edit' },
      input: { q: 2 },
      key: undefined,
      revision: 2,
      givenRevision: 2,
      changedFields: [],
      asksAnew: undefined,
    });
  });

  it('to edit that a rewrite changed is asked anew: for what the rewrite asks, or for what was asked', () => {
    const edit = { decision: 'edit', input: { q: '***' }, revision: 3, changed: true, changedFields: ['q'] } as const;
    expect(callIn(decide(edit))).toMatchObject({
      phase: 'prepared',
      decision: undefined,
      approval: undefined,
      input: { q: '***' },
      revision: 3,
      givenRevision: 2,
      changedFields: ['q'],
      asksAnew: asked.asks,
    });
    const asks = [{ by: 'h', reason: 'new' }];
    expect(callIn(decide({ ...edit, asks })).asksAnew).toEqual(asks);
    expect(callIn(decide(edit, event('tool.start'))).phase).toBe('started');
  });

  it('to edit that was refused has come to nothing, unless the call ends next', () => {
    expect(callIn(decide({ decision: 'edit' }))).toMatchObject({
      phase: 'prepared',
      decision: undefined,
      asksAnew: asked.asks,
      input: {},
      revision: 0,
      givenRevision: 0,
    });
  });

  it('with a result means that its effect has happened, and has come to nothing unless the call ends next', () => {
    const run = decide({ decision: 'result' });
    expect(callIn(run)).toMatchObject({ phase: 'started', wasStarted: true, isCounted: false, decision: undefined, asksAnew: asked.asks });
    expect(callIn(run, '1.1').wasStarted).toBe(false);
    expect(run.effects).toBeUndefined();
    expect(run.usedToolCalls).toBe(0);
  });

  it('with a result of a tool that runs once for an input remembers the input, once', () => {
    const run = decide({ decision: 'result', once: true });
    expect([...(run.effects ?? [])]).toEqual([['look', [{ callId: '1.0', input: {} }]]]);
    const started = event('tool.start', { once: true });
    expect(decide({ decision: 'result', once: true }, started).effects?.get('look')).toHaveLength(1);
    expect(decide({ decision: 'approve', once: true }).effects).toBeUndefined();
  });

  it('with a new question takes back what was to be asked anew', () => {
    const run = after(
      event('approval.request', { approval: asked }),
      event('approval.resolve', { decision: 'edit' }),
      event('approval.request', { approval: { ...asked, id: 'p2' } }),
    );
    expect(callIn(run)).toMatchObject({ phase: 'waiting', asksAnew: undefined, approval: { id: 'p2' } });
  });

  it('that is to stand is kept with the others, under the id of its approval', () => {
    const standing = { agentPath: ['a'], tool: 'look', when: { q: 1 }, expiresAt: 9 };
    const state = fold(
      log(
        ...calling(),
        event('approval.request', { approval: asked }),
        event('approval.resolve', { standing }),
        event('approval.resolve', { id: 'p7', standing: { ...standing, when: {} } }),
      ),
    );
    expect(state.standing).toEqual([
      { ...standing, id: 'p1', seq: 5 },
      { ...standing, when: {}, id: 'p7', seq: 6 },
    ]);
    expect(fold(log(...calling(), event('approval.resolve'))).standing).toEqual([]);
  });
});

describe('a handoff that a tool returned and that was refused', () => {
  const returned = event('tool.end', { handoff: { to: 'b', brief: 'go on' } });
  const other = event('tool.end', { callId: '1.1', id: 'r/1.1' });

  it('ends its call with what the model is told', () => {
    const run = after(
      other,
      returned,
      event('handoff.refused', { status: 'error', content: 'No agent b.', label: byAgent, note: 'Stay.' }),
    );
    expect(run.conversation.messages.slice(2)).toEqual([
      { role: 'tool', id: 'r/1.0', callId: '1.0', tool: 'look', content: 'No agent b.', isError: true, label: byAgent, note: 'Stay.' },
      { role: 'tool', id: 'r/1.1', callId: '1.1', tool: 'look', content: 'seen', isError: false, label: trusted },
    ]);
    expect(run).toMatchObject({ agent: 'a', openIndex: -1, limitHit: undefined, ending: undefined });
  });

  it('waits for the other calls of the answer', () => {
    const run = after(returned, event('handoff.refused'));
    expect(callIn(run)).toMatchObject({ phase: 'ended', end: { content: 'no', id: 'r/1.0' } });
    expect(run.conversation.messages).toHaveLength(2);
  });

  it('hits its limit, and ends the run where a guardrail halted', () => {
    const halt = { ...refusal, action: 'halt', surface: 'handoff' } as const;
    const run = after(returned, event('handoff.refused', { limit: 'handoffs', refusal: { ...halt, action: 'deny' } }));
    expect(run).toMatchObject({ limitHit: 'handoffs', ending: undefined });
    expect(after(returned, event('handoff.refused', { refusal: halt })).ending).toEqual({ status: 'blocked', refusal: halt });
    const halted = after(
      event('tool.end', { callId: '1.1', refusal: { ...halt, reason: 'first' } }),
      returned,
      event('handoff.refused', { refusal: halt }),
    );
    expect(halted.ending).toMatchObject({ refusal: { reason: 'first' } });
  });

  it('and that the latest answer does not hold, still counts', () => {
    expect(after(event('handoff.refused', { callId: '9.9', limit: 'handoffs' }))).toMatchObject({ limitHit: 'handoffs', openIndex: 1 });
  });
});
