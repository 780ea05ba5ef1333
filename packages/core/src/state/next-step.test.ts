import { describe, expect, it } from 'vitest';
import type { Label } from '../model/types.js';
import type { Approval, ApprovalResolveEvent, Ask, LimitName, LogEvent, OutputApproval, RecordedCall, RunEndEvent } from './events.js';
import { fold } from './fold.js';
import { defaultLimits, recordLimits } from './limits.js';
import { nextOfCall, nextStep } from './next-step.js';
import type { CallState, RunState } from './state.js';

const label: Label = { origin: 'developer', integrity: 'trusted' };
const manifest = { run: [], agent: [], tools: {} };

/** A run just begun, as the fold makes it. */
function begun(id = 'r', parent?: RunState): RunState {
  const start = {
    type: 'run.start',
    v: 1,
    seq: 1,
    at: 0,
    run: id,
    agent: 'a',
    writer: 'w',
    limits: recordLimits(defaultLimits),
    manifest,
  } as unknown as LogEvent;
  const run = fold([start]).runs.get(id);
  if (run === undefined) throw new Error('The fold made no run.');
  return parent === undefined ? run : { ...run, parent };
}

/** A run whose input was accepted. */
const accepted = (changes: Partial<RunState> = {}): RunState => ({ ...begun(), accepted: true, ...changes });

function callState(id: string, changes: Partial<Omit<CallState, 'call'>> & { readonly call?: Partial<RecordedCall> } = {}): CallState {
  const call: RecordedCall = { id, name: 'look', input: {}, kind: 'tool', revision: 0, label, ...changes.call } as RecordedCall;
  return {
    path: `r/${id}`,
    input: {},
    key: undefined,
    revision: 0,
    givenRevision: 0,
    changedFields: undefined,
    brief: undefined,
    phase: 'prepared',
    approval: undefined,
    decision: undefined,
    asksAnew: undefined,
    wasStarted: false,
    isCounted: false,
    end: undefined,
    returned: undefined,
    ...changes,
    call,
  };
}

const withCalls = (calls: readonly CallState[], changes: Partial<RunState> = {}): RunState =>
  accepted({ calls: new Map(calls.map((each) => [each.call.id, each])), ...changes });

const decision = (decided: ApprovalResolveEvent['decision']): ApprovalResolveEvent => ({ decision: decided }) as ApprovalResolveEvent;
const asks: readonly Ask[] = [{ by: 'g', reason: 'a person must look' }] as unknown as readonly Ask[];
const end = { status: 'error', content: 'no', label } as unknown as NonNullable<RecordedCall['end']>;
const quarantined = (decided?: ApprovalResolveEvent): NonNullable<RunState['quarantine']> => ({
  approval: {} as OutputApproval,
  turn: 1,
  usage: { requests: 1 },
  model: undefined,
  decision: decided,
});
const answer = { text: 'Done.' };

describe('the next step', () => {
  it('is none in a run that has ended, whatever else stands in it', () => {
    const run = begun();
    run.ended = { status: 'completed' } as unknown as RunEndEvent;
    run.ending = { status: 'exhausted', limit: 'turns' };
    expect(nextStep(run)).toEqual({ type: 'ended' });
  });

  it('is to judge the input until it was accepted', () => {
    expect(nextStep(begun())).toEqual({ type: 'guardInput' });
    expect(nextStep(accepted())).toEqual({ type: 'callModel' });
  });

  it('is the end that events have settled, before the input was accepted too', () => {
    const ending = { status: 'failed', error: { code: 'MODEL_FAILED', message: 'down', isRetryable: true } } as const;
    expect(nextStep({ ...begun(), ending })).toEqual({ type: 'end', ending });
    expect(nextStep(accepted({ ending, onLimit: 'finalize' }))).toEqual({ type: 'end', ending });
  });

  it('ends a run that repeats itself under `stop`, and lets one last call follow under `finalize`', () => {
    const ending = { status: 'exhausted', limit: 'repeats' } as const;
    expect(nextStep(accepted({ ending, onLimit: 'stop', repeated: 6 }))).toEqual({ type: 'end', ending });
    expect(nextStep(accepted({ onLimit: 'finalize', repeated: 6 }))).toEqual({ type: 'finalize', limit: 'repeats' });
  });

  it('runs calls as soon as one can go, beside those that wait', () => {
    const waiting = callState('c1', { phase: 'waiting' });
    expect(nextStep(withCalls([waiting, callState('c2')]))).toEqual({ type: 'runTools' });
    expect(nextStep(withCalls([waiting, callState('c2', { phase: 'handoff' })]))).toEqual({ type: 'wait' });
    expect(nextStep(withCalls([callState('c1', { phase: 'ended' }), waiting]))).toEqual({ type: 'wait' });
  });

  it('hands off to the first that was called, once nothing goes or waits', () => {
    const first = callState('c1', { phase: 'handoff' });
    const run = withCalls([callState('c0', { phase: 'ended' }), first, callState('c2', { phase: 'handoff' })], { answer });
    expect(nextStep(run)).toEqual({ type: 'handOff', call: first });
  });

  it('holds a quarantined answer until a person has decided', () => {
    expect(nextStep(accepted({ quarantine: quarantined() }))).toEqual({ type: 'wait' });
    expect(nextStep(accepted({ quarantine: quarantined(decision('approve')) }))).toEqual({ type: 'releaseQuarantine' });
    expect(nextStep(withCalls([callState('c1', { phase: 'handoff' })], { quarantine: quarantined() }))).toEqual({ type: 'wait' });
  });

  it('is over with the last call of a limit, then with the answer, and only then asks the model', () => {
    expect(nextStep(accepted({ finalizing: 'turns', answer }))).toEqual({ type: 'exhaust', limit: 'turns' });
    expect(nextStep(accepted({ answer, usedTurns: 99 }))).toEqual({ type: 'complete' });
    expect(nextStep(accepted({ calls: new Map([['c1', callState('c1', { phase: 'ended' })]]) }))).toEqual({ type: 'callModel' });
  });
});

describe('at a limit', () => {
  const last = (limit: LimitName): Partial<RunState> => ({ limitHit: limit });

  it.each<LimitName>(['turns', 'toolCalls', 'handoffs', 'repeats'])('one last call is made for %s under `finalize` alone', (limit) => {
    expect(nextStep(accepted({ ...last(limit), onLimit: 'finalize' }))).toEqual({ type: 'finalize', limit });
    expect(nextStep(accepted({ ...last(limit), onLimit: 'stop' }))).toEqual({ type: 'exhaust', limit });
  });

  it.each<LimitName>(['tokens', 'cost', 'ms', 'repairs'])('none is made for %s: it would go beyond what is spent', (limit) => {
    expect(nextStep(accepted({ ...last(limit), onLimit: 'finalize' }))).toEqual({ type: 'exhaust', limit });
  });

  it('a run whose model does not tell what it costs fails at that limit, with words that say so', () => {
    const limits = { ...defaultLimits, cost: 1 };
    const step = nextStep(accepted({ limits, unpriced: 'm', onLimit: 'finalize' }));
    expect(step).toMatchObject({ type: 'end', ending: { status: 'failed', error: { code: 'CONFIG_INVALID', isRetryable: false } } });
    expect(JSON.stringify(step)).toContain('an answer of model m cost is not known');
  });

  it('a run whose model does not tell its tokens fails at that limit', () => {
    const step = nextStep(accepted({ limits: { ...defaultLimits, tokens: 10 }, uncounted: 'm' }));
    expect(step).toMatchObject({ type: 'end', ending: { status: 'failed', error: { code: 'CONFIG_INVALID' } } });
  });

  it('another limit that is reached first is told as that limit, also where one cannot hold', () => {
    const run = accepted({ limits: { ...defaultLimits, cost: 1, turns: 1 }, unpriced: 'm', usedTurns: 1 });
    expect(nextStep(run)).toEqual({ type: 'exhaust', limit: 'turns' });
  });
});

describe('a call', () => {
  it.each([
    ['ended', 'ended'],
    ['waiting', 'wait'],
    ['handoff', 'handoff'],
  ] as const)('that is %s is taken for %s', (phase, next) => {
    expect(nextOfCall(accepted(), callState('c1', { phase }))).toBe(next);
  });

  it('that was started goes on, and waits where its child run waits', () => {
    const child = (state: Partial<RunState>): Map<string, RunState> => new Map([['c1', { ...begun('r/c1'), accepted: true, ...state }]]);
    const agentCall = callState('c1', { phase: 'started', call: { kind: 'agent' } });
    const waits = { quarantine: quarantined() };
    expect(nextOfCall(accepted(), agentCall)).toBe('go');
    expect(nextOfCall(accepted({ children: child({}) }), agentCall)).toBe('go');
    expect(nextOfCall(accepted({ children: child(waits) }), agentCall)).toBe('wait');
  });

  it('to a handoff that a person decided goes to the swap, unless it was rejected', () => {
    const decided = (kind: RecordedCall['kind'], by?: ApprovalResolveEvent): CallState =>
      callState('c1', { phase: 'decided', call: { kind }, decision: by });
    expect(nextOfCall(accepted(), decided('handoff', decision('approve')))).toBe('handoff');
    expect(nextOfCall(accepted(), decided('handoff'))).toBe('handoff');
    expect(nextOfCall(accepted(), decided('handoff', decision('reject')))).toBe('go');
    expect(nextOfCall(accepted(), decided('tool', decision('approve')))).toBe('go');
  });

  it('that was prepared goes: to its known end, to be asked about, or to run', () => {
    expect(nextOfCall(accepted(), callState('c1'))).toBe('go');
    expect(nextOfCall(accepted(), callState('c1', { call: { kind: 'handoff', end } }))).toBe('go');
    expect(nextOfCall(accepted(), callState('c1', { call: { kind: 'handoff', asks } }))).toBe('go');
    expect(nextOfCall(accepted(), callState('c1', { call: { kind: 'handoff', asks: [] } }))).toBe('handoff');
    expect(nextOfCall(accepted(), callState('c1', { call: { kind: 'handoff' } }))).toBe('handoff');
  });
});

describe('a call that shares the effect of an equal one', () => {
  const next = (original: CallState | undefined): string => {
    const copy = callState('c2', { call: { copyOf: 'c1' } });
    return nextOfCall(withCalls(original ? [original, copy] : [copy]), copy);
  };

  it('waits while that one waits for a person', () => {
    expect(next(callState('c1', { phase: 'waiting' }))).toBe('wait');
  });

  it.each<CallState['phase']>(['prepared', 'decided', 'started'])('goes where that one is %s', (phase) => {
    expect(next(callState('c1', { phase }))).toBe('go');
  });

  it('goes once that one has its end, or is not there', () => {
    expect(next(callState('c1', { phase: 'ended' }))).toBe('go');
    expect(next(undefined)).toBe('go');
  });

  it('does not wait for one that a person gave another input: it is equal no more', () => {
    const edited = callState('c1', { phase: 'waiting', revision: 2, approval: {} as Approval, call: { revision: 0 } });
    expect(next(edited)).toBe('go');
  });

  it('takes an original that goes to a handoff, as one that goes', () => {
    expect(next(callState('c1', { phase: 'handoff' }))).toBe('go');
  });
});
