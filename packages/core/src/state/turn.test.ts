import { describe, expect, it } from 'vitest';
import { byAgent, event, idsIn, log, toolCall, trusted, user } from '../../test/log-events.js';
import type { Message } from '../model/types.js';
import type { RecordedCall } from './events.js';
import { fold } from './fold.js';
import type { CallState, RunState } from './state.js';
import { closeTurn, handoffHistory, settleTurn } from './turn.js';

const native = { provider: 'p', message: 'raw' };

/** A run whose latest answer has these calls, open. */
function open(...calls: RecordedCall[]): RunState {
  const events = [
    event('run.start'),
    event('input.accept', { items: [user('r/i1')] }),
    event('model.end', { text: 'I look.', calls, native }),
  ];
  const run = fold(log(...events)).runs.get('r');
  if (run === undefined) throw new Error('No run was folded.');
  return run;
}
function endOf(run: RunState, id: string, more: Partial<NonNullable<CallState['end']>> = {}): void {
  const call = run.calls.get(id);
  if (call === undefined) throw new Error(`There is no call ${id}.`);
  call.phase = 'ended';
  call.end = { id: `r/${id}`, status: 'ok', content: `saw ${id}`, label: trusted, ...more };
}
function edit(run: RunState, id: string): void {
  const call = run.calls.get(id);
  if (call === undefined) throw new Error(`There is no call ${id}.`);
  call.revision += 1;
  call.input = { q: 'edited' };
}
const result = (id: string, more: Partial<Extract<Message, { role: 'tool' }>> = {}) => ({
  role: 'tool',
  id: `r/${id}`,
  callId: id,
  tool: 'look',
  content: `saw ${id}`,
  isError: false,
  label: trusted,
  ...more,
});

describe('a turn', () => {
  it('stays open while one of its calls has not ended', () => {
    const run = open(toolCall('1.0'), toolCall('1.1'));
    endOf(run, '1.0', { answer: { text: 'Done.', revision: 0 } });
    closeTurn(run);
    expect(run).toMatchObject({ openIndex: 1, answer: undefined });
    expect(run.calls.size).toBe(2);
    expect(idsIn(run.conversation.messages)).toEqual(['r/i1', 'r/1']);
  });

  it('that closes records the results in call order, frozen, and leaves no call', () => {
    const run = open(toolCall('1.0'), toolCall('1.1', { name: 'send' }));
    endOf(run, '1.1', { status: 'denied', content: 'no', label: byAgent, note: 'Call 3.' });
    endOf(run, '1.0');
    closeTurn(run);
    expect(run.conversation.messages.slice(2)).toStrictEqual([
      result('1.0'),
      result('1.1', { tool: 'send', content: 'no', isError: true, label: byAgent, note: 'Call 3.' }),
    ]);
    expect(run.conversation.messages.every((message) => Object.isFrozen(message))).toBe(true);
    expect(run).toMatchObject({ openIndex: -1, answer: undefined });
    expect(run.calls.size).toBe(0);
  });

  it('keeps an answer as the model gave it where nobody edited a call', () => {
    const run = open(toolCall('1.0', { revision: 2 }));
    endOf(run, '1.0');
    const answer = run.conversation.messages[1];
    closeTurn(run);
    expect(run.conversation.messages[1]).toBe(answer);
    expect(answer).toMatchObject({ native });
  });

  it('takes the first answer that a tool gave, in call order', () => {
    const run = open(toolCall('1.0'), toolCall('1.1'), toolCall('1.2'));
    endOf(run, '1.2', { answer: { text: '3', value: 3, revision: 0 } });
    endOf(run, '1.0');
    endOf(run, '1.1', { answer: { text: '2', value: 2, revision: 0 } });
    closeTurn(run);
    expect(run.answer).toStrictEqual({ text: '2', value: 2, callId: '1.1' });
    const plain = open(toolCall('1.0'));
    endOf(plain, '1.0', { answer: { text: 'Done.', revision: 0 } });
    closeTurn(plain);
    expect(plain.answer).toStrictEqual({ text: 'Done.', callId: '1.0' });
  });

  it('leaves out a call of which no end is known', () => {
    const run = open(toolCall('1.0'), toolCall('1.1'));
    endOf(run, '1.1');
    settleTurn(run);
    expect(idsIn(run.conversation.messages)).toEqual(['r/i1', 'r/1', 'r/1.1']);
    const ended = open(toolCall('1.0'));
    for (const call of ended.calls.values()) call.phase = 'ended';
    closeTurn(ended);
    expect(ended).toMatchObject({ openIndex: -1, answer: undefined, conversation: { messages: [{ id: 'r/i1' }, { id: 'r/1' }] } });
  });
});

describe('an answer of which a person edited a call', () => {
  const settled = {
    role: 'assistant',
    id: 'r/1',
    agent: 'a',
    text: 'I look.',
    calls: [
      { id: '1.0', name: 'look', input: { q: 0 } },
      { id: '1.1', name: 'look', input: { q: 'edited' }, providerId: 'x' },
    ],
    label: byAgent,
  };
  const edited = (): RunState => {
    const run = open(toolCall('1.0', { input: { q: 0 } }), toolCall('1.1', { input: { q: 1 }, providerId: 'x' }));
    edit(run, '1.1');
    return run;
  };

  it('is recorded with the input that ran, and without the message of the provider', () => {
    const run = edited();
    endOf(run, '1.0');
    endOf(run, '1.1');
    closeTurn(run);
    expect(run.conversation.messages).toStrictEqual([user('r/i1'), settled, result('1.0'), result('1.1')]);
    expect(run.conversation.view).toBe(run.conversation.messages);
    expect(Object.isFrozen(run.conversation.messages[1])).toBe(true);
  });

  it('is seen so too by an agent that does not see everything', () => {
    const run = edited();
    const answer = run.conversation.messages[1];
    run.conversation.view = answer ? [answer] : [];
    settleTurn(run);
    expect(run.conversation.view).toEqual([settled]);
    expect(run.conversation.messages).toEqual([user('r/i1'), settled]);
  });

  it('does not come into a view that does not hold it', () => {
    const run = edited();
    run.conversation.view = [user('r/i1')];
    settleTurn(run);
    expect(Object.entries(run.conversation.view)).toEqual([['0', user('r/i1')]]);
  });
});

describe('the history of a handoff', () => {
  it('is everything with the results so far, without the call that hands over and what only its maker may read', () => {
    const run = open(toolCall('1.0'), toolCall('1.1', { name: 'transfer' }), toolCall('1.2'));
    endOf(run, '1.0');
    const history = handoffHistory(run, '1.1');
    expect(history).toStrictEqual([
      user('r/i1'),
      { role: 'assistant', id: 'r/1', agent: 'a', text: 'I look.', calls: [toolOf('1.0'), toolOf('1.2')], label: byAgent },
      result('1.0'),
    ]);
    expect(idsIn(run.conversation.messages)).toEqual(['r/i1', 'r/1']);
    expect(run.calls.size).toBe(3);
  });

  it('is without the end of a call that returned the handoff, too', () => {
    const run = open(toolCall('1.0'), toolCall('1.1'));
    endOf(run, '1.0');
    endOf(run, '1.1');
    expect(idsIn(handoffHistory(run, '1.1'))).toEqual(['r/i1', 'r/1', 'r/1.0']);
  });

  it('shows inputs as a person edited them', () => {
    const run = open(toolCall('1.0'), toolCall('1.1'));
    edit(run, '1.0');
    expect(handoffHistory(run, '1.1')[1]).toMatchObject({ calls: [{ id: '1.0', input: { q: 'edited' } }] });
  });

  it('is all that is recorded where no answer is open', () => {
    const run = open(toolCall('1.0'));
    endOf(run, '1.0');
    closeTurn(run);
    expect(idsIn(handoffHistory(run, '9.9'))).toEqual(['r/i1', 'r/1', 'r/1.0']);
  });

  const toolOf = (id: string) => ({ id, name: 'look', input: {} });
});
