import { describe, expect, it } from 'vitest';
import { byAgent, event, log, outputApproval, toolCall, user } from '../../test/log-events.js';
import type { LogEvent, ModelEndEvent, RecordedError, Refusal } from './events.js';
import { apply, fold } from './fold.js';
import type { RunState } from './state.js';

const begun = [event('run.start'), event('input.accept', { items: [user('r/i1')] }), event('model.start')];

const after = (...events: LogEvent[]): RunState => runIn(fold(log(...begun, ...events)), 'r');
function runIn(state: ReturnType<typeof fold>, id: string): RunState {
  const run = state.runs.get(id);
  if (run === undefined) throw new Error(`No run ${id} was folded.`);
  return run;
}
const answered = (more: Partial<ModelEndEvent> = {}) => event('model.end', more);
const error: RecordedError = { code: 'MODEL_FAILED', message: 'down', isRetryable: true };
const refusal: Refusal = { action: 'deny', surface: 'output', by: 'g', reason: 'too rude' };

describe('an answer without calls', () => {
  it('is recorded as it came, and is the answer of the run', () => {
    const native = { provider: 'p', message: 'raw' };
    const run = after(answered({ text: 'Hello.', native }));
    expect(run.conversation.messages[1]).toEqual({
      role: 'assistant',
      id: 'r/1',
      agent: 'a',
      text: 'Hello.',
      calls: [],
      label: byAgent,
      native,
    });
    expect(run).toMatchObject({ turn: 1, openIndex: -1, ending: undefined });
    expect(run.answer).toStrictEqual({ text: 'Hello.' });
    expect(run.calls.size).toBe(0);
  });

  it('holds no `native` and no `value` where there is none, and its value where there is one', () => {
    const run = after(answered({ text: '7', value: 7 }));
    expect(run.conversation.messages[1]).not.toHaveProperty('native');
    expect(run.answer).toStrictEqual({ text: '7', value: 7 });
    expect(after(answered({ text: 'null', value: null })).answer).toStrictEqual({ text: 'null', value: null });
  });

  it('ends a row of repairs and empty answers, and clears the note', () => {
    const run = fold(log(...begun));
    const state = runIn(run, 'r');
    Object.assign(state, { repairs: 1, empties: 1, note: 'Give another.' });
    apply(run, { ...answered({ text: 'Hello.' }), seq: 4 });
    expect(state).toMatchObject({ repairs: 0, empties: 0, note: undefined });
  });
});

describe('an answer with calls', () => {
  it('is recorded with its calls, which are prepared, and is no answer of the run', () => {
    const call = toolCall('1.0', { providerId: 'x', input: { q: 1 }, revision: 2, changedFields: ['q'] });
    const run = after(answered({ text: 'Let me look.', calls: [call, toolCall('1.1')] }));
    expect(run.conversation.messages[1]).toStrictEqual({
      role: 'assistant',
      id: 'r/1',
      agent: 'a',
      text: 'Let me look.',
      calls: [
        { id: '1.0', providerId: 'x', name: 'look', input: { q: 1 } },
        { id: '1.1', name: 'look', input: {} },
      ],
      label: byAgent,
    });
    expect(run).toMatchObject({ openIndex: 1, turn: 1, answer: undefined });
    expect([...run.calls.keys()]).toEqual(['1.0', '1.1']);
    expect(run.calls.get('1.0')).toStrictEqual({
      call,
      input: { q: 1 },
      path: 'r/1.0',
      key: undefined,
      brief: undefined,
      revision: 2,
      givenRevision: 0,
      changedFields: ['q'],
      phase: 'prepared',
      approval: undefined,
      decision: undefined,
      asksAnew: undefined,
      wasStarted: false,
      isCounted: false,
      end: undefined,
      returned: undefined,
    });
  });

  it('ends the run where a guardrail halted one: the first that did tells why', () => {
    const ended = (id: string, action: Refusal['action'], reason: string) =>
      toolCall(id, { end: { status: 'denied', content: '', label: byAgent, refusal: { ...refusal, action, reason } } });
    const run = after(
      answered({ calls: [ended('1.0', 'deny', 'no'), toolCall('1.1'), ended('1.2', 'halt', 'stop'), ended('1.3', 'halt', 'late')] }),
    );
    expect(run.ending).toEqual({ status: 'blocked', refusal: { ...refusal, action: 'halt', reason: 'stop' } });
    expect(after(answered({ calls: [ended('1.0', 'deny', 'no')] })).ending).toBeUndefined();
    const unknown = toolCall('1.0', { kind: 'unknown', end: { status: 'error', content: 'no such tool', label: byAgent } });
    expect(after(answered({ calls: [unknown] })).ending).toBeUndefined();
  });
});

describe('a model call that gave no answer', () => {
  it('was aborted: what it used counts, and nothing else has happened', () => {
    expect(after(answered({ status: 'aborted', text: 'Hel' }))).toMatchObject({
      turn: 0,
      answer: undefined,
      ending: undefined,
      usage: { requests: 1, cost: 2 },
      conversation: { messages: [{ id: 'r/i1' }] },
    });
  });

  it('failed: that ends the run', () => {
    expect(after(answered({ status: 'failed', error }))).toMatchObject({ turn: 0, answer: undefined, ending: { status: 'failed', error } });
    expect(after(answered({ status: 'failed' })).ending).toBeUndefined();
  });

  it('was empty: the model is asked once more, and twice in a row ends the run', () => {
    const empty = answered({ empty: true });
    const once = after(empty);
    expect(once).toMatchObject({ turn: 1, empties: 1, note: 'Your last answer was empty. Answer, or call a tool.', ending: undefined });
    expect(once.conversation.messages).toHaveLength(1);
    expect(once.answer).toBeUndefined();
    const twice = after(empty, empty);
    expect(twice).toMatchObject({ empties: 2, note: undefined });
    expect(twice.ending).toEqual({
      status: 'failed',
      error: {
        code: 'MODEL_PROTOCOL',
        message: 'The model of agent a answered twice with neither text nor call.',
        isRetryable: true,
      },
    });
    expect(after(empty, answered({ text: 'Hello.' }), empty)).toMatchObject({ empties: 1, ending: undefined });
  });
});

describe('a refused answer', () => {
  const refused = answered({ status: 'refused', refusal });

  it('is asked for again with the reason, as often as `repairs` allows', () => {
    const once = after(refused);
    expect(once).toMatchObject({
      turn: 1,
      repairs: 1,
      note: 'Your last answer was refused: too rude. Give another answer.',
      ending: undefined,
      answer: undefined,
    });
    expect(once.conversation.messages).toHaveLength(1);
    expect(after(refused, refused)).toMatchObject({ repairs: 2, note: undefined, ending: { status: 'blocked', refusal } });
  });

  it.each<[string, Partial<Refusal>]>([
    ['a guardrail halted', { action: 'halt' }],
    ['a guardrail failed', { failed: true }],
    ['the model itself refused', { by: 'model' }],
  ])('is not repaired where %s', (_what, more) => {
    const run = after(answered({ status: 'refused', refusal: { ...refusal, ...more } }));
    expect(run).toMatchObject({ note: undefined, ending: { status: 'blocked', refusal: { ...refusal, ...more } } });
  });

  it('that does not fit its form is asked for again, and then fails the run', () => {
    const misfit = answered({ status: 'refused', misfit: 'n: expected a number' });
    expect(after(misfit)).toMatchObject({
      repairs: 1,
      note: 'Your last answer did not fit the wanted form: n: expected a number. Give the whole answer again in that form.',
      ending: undefined,
    });
    expect(after(misfit, misfit)).toMatchObject({
      repairs: 2,
      note: undefined,
      ending: {
        status: 'failed',
        error: {
          code: 'OUTPUT_INVALID',
          message: 'The answer of agent a did not fit its output schema: n: expected a number.',
          isRetryable: true,
        },
      },
    });
  });
});

describe('what model calls used', () => {
  const usage = { requests: 1, inputTokens: 3, outputTokens: 2, cost: 1 };

  it('adds up here and in every run above', () => {
    const child = [
      event('run.start', { run: 'x', parent: 'r', call: '1.0' }),
      event('run.start', { run: 'y', parent: 'x', call: '1.0' }),
      answered({ run: 'y', usage }),
      answered({ run: 'x', usage }),
    ];
    const state = fold(log(...begun, ...child, answered({ usage })));
    expect(['r', 'x', 'y'].map((id) => runIn(state, id).usage.cost)).toEqual([3, 2, 1]);
    expect(runIn(state, 'r').usage).toEqual({ requests: 3, inputTokens: 9, outputTokens: 6, cost: 3 });
  });

  it('counts what a view used, with the call that it was made for and with the end of the run', () => {
    const viewUsage = [
      { model: 'v', usage },
      { model: 'v', usage },
    ];
    const run = after(event('model.start', { viewUsage }), event('run.end', { status: 'blocked', viewUsage: [{ model: 'v', usage }] }));
    expect(run.usage).toEqual({ requests: 3, inputTokens: 9, outputTokens: 6, cost: 3 });
  });

  it('counts once for an answer that waited for a person, whatever its end tells', () => {
    const asked = event('approval.request', { approval: outputApproval(), usage });
    expect(after(asked, answered({ usage }), answered({ usage })).usage).toMatchObject({ requests: 2, cost: 2 });
  });

  it.each<[ModelEndEvent['status'], boolean]>([
    ['ok', true],
    ['refused', true],
    ['failed', false],
    ['aborted', false],
  ])('of a call that is %s names a model that tells no cost or tokens: %s', (status, isNamed) => {
    const child = event('run.start', { run: 'x', parent: 'r', call: '1.0' });
    const state = fold(
      log(...begun, child, event('model.start', { run: 'x', model: 'n' }), answered({ run: 'x', status, usage: { requests: 1 } })),
    );
    for (const id of ['r', 'x']) {
      const { unpriced, uncounted } = runIn(state, id);
      expect([unpriced, uncounted]).toEqual(isNamed ? ['n', 'n'] : [undefined, undefined]);
    }
  });

  it('names the model that answered, for what it does not tell alone', () => {
    expect(after(answered({ model: 'n', usage: { requests: 1, cost: 1 } }))).toMatchObject({ unpriced: undefined, uncounted: 'n' });
    expect(after(answered({ usage: { requests: 1, inputTokens: 1, outputTokens: 1 } }))).toMatchObject({
      unpriced: 'm',
      uncounted: undefined,
    });
    const waits = event('approval.request', { approval: outputApproval(), usage: { requests: 1 }, model: 'n' });
    expect(after(waits)).toMatchObject({ unpriced: 'n', uncounted: 'n' });
    expect(after(event('model.start', { viewUsage: [{ model: 'v', usage: { requests: 1 } }] }))).toMatchObject({
      unpriced: 'v',
      uncounted: 'v',
    });
    expect(after(answered({ usage }))).toMatchObject({ unpriced: undefined, uncounted: undefined });
  });
});
