import { describe, expect, it } from 'vitest';
import { answer, round, seen, user } from '../test/transcripts.js';
import { dropObservations } from './drop-observations.js';
import { lastTurns } from './last-turns.js';
import { summariseObservation } from './observation-summary.js';
import { summarise } from './summarise.js';
import { tokenBudget } from './token-budget.js';

/** A session of two runs; the second one has called twice. */
const session = [
  user('r1/i1'),
  ...round('r1/1', ['one']),
  answer('r1/2'),
  user('r2/i1'),
  ...round('r2/1', ['two', 'three']),
  ...round('r2/2', ['four']),
];
const upTo = (id: string) => session.slice(0, session.findIndex((message) => message.id === id) + 1);

describe('lastTurns', () => {
  // A turn is an answer with the results of its calls, and what was said before it.
  it.each([
    [0, ['[Left out here: messages 1 to 4 (4 messages) of this conversation.]', 'r2/i1', 'MARK 6 to 8 (3', 'r2/2', 'r2/2.0']],
    [1, ['[Left out here: messages 1 to 4 (4 messages) of this conversation.]', 'r2/i1', 'MARK 6 to 8 (3', 'r2/2', 'r2/2.0']],
    [2, ['[Left out here: messages 1 to 4 (4 messages) of this conversation.]', ...session.slice(4).map(({ id }) => id)]],
    [3, ['[Left out here: messages 1 to 3 (3 messages) of this conversation.]', ...session.slice(3).map(({ id }) => id)]],
    [4, session.map(({ id }) => id)],
    [9, session.map(({ id }) => id)],
  ])('%i: keeps them, the current turn, and what the run is for', async (n, expected) => {
    const given = await seen(lastTurns(n), session);
    expect(given).toEqual(
      expected.map((each) => each.replace(/^MARK (.*)$/, '[Left out here: messages $1 messages) of this conversation.]')),
    );
  });

  // S128: user, call, result, assistant, user2.
  it.each([
    [0, ['user2']],
    [1, ['assistant', 'user2']],
    [2, ['user', 'call', 'result', 'assistant', 'user2']],
  ])('S128: a window of %i over a session starts at no result, and 0 is no history', async (n, expected) => {
    const names = new Map([
      ['r1/i1', 'user'],
      ['r1/1', 'call'],
      ['r1/1.0', 'result'],
      ['r1/2', 'assistant'],
      ['r2/i1', 'user2'],
    ]);
    const given = await seen(lastTurns(n), upTo('r2/i1'));
    expect(given.flatMap((id) => names.get(id) ?? [])).toEqual(expected);
  });

  it('S128: keeps what this turn has just given, whatever the window', async () => {
    const given = await seen(lastTurns(0), upTo('r2/1.1'));
    expect(given.slice(1)).toEqual(['r2/i1', 'r2/1', 'r2/1.0', 'r2/1.1']);
  });

  it('keeps what the user said while the run was under way', async () => {
    const steered = [...session, user('r2/s1'), ...round('r2/3', ['five']), ...round('r2/4', ['six'])];
    expect(await seen(lastTurns(1), steered)).toEqual([
      expect.stringContaining('1 to 4'),
      'r2/i1',
      expect.stringContaining('6 to 10'),
      'r2/s1',
      expect.stringContaining('12 to 13'),
      'r2/4',
      'r2/4.0',
    ]);
  });

  it('keeps the last brief of a handoff', async () => {
    const handed = [user('r1/i1'), user('r1/1.0/brief', 'Do this.', 'handoff'), ...round('r1/2', ['a']), ...round('r1/3', ['b'])];
    expect(await seen(lastTurns(1), handed)).toEqual(['r1/i1', 'r1/1.0/brief', expect.stringContaining('3 to 4'), 'r1/3', 'r1/3.0']);
  });

  it('moves in steps, so that the beginning stays the same between them', async () => {
    const view = lastTurns(2, { step: 3 });
    const messages = [user('r1/i1')];
    const starts: (string | undefined)[] = [];
    const live: Parameters<typeof view>[0][number][] = messages;
    for (let turn = 1; turn <= 9; turn += 1) {
      live.push(...round(`r1/${turn}`, ['x']));
      starts.push((await seen(view, live))[1]);
    }
    const mark = (to: number) => `[Left out here: messages 2 to ${to} (${to - 1} messages) of this conversation.]`;
    expect(starts).toEqual(['r1/1', 'r1/1', 'r1/1', 'r1/1', mark(7), mark(7), mark(7), mark(13), mark(13)]);
  });

  it('gives the list it was given while nothing is cut', async () => {
    expect(await lastTurns(9)(session, { context: undefined, agent: 'a', turn: 1, signal: new AbortController().signal })).toBe(session);
  });

  it.each([-1, 1.5, Number.NaN])('refuses %d', (n) => {
    expect(() => lastTurns(n)).toThrow(/lastTurns: the number of turns is no whole number from 0 on/);
    expect(() => lastTurns(1, { step: n })).toThrow(/step is no whole number from 1 on/);
  });
});

it.each<[string, () => unknown, string]>([
  ['lastTurns', () => lastTurns(10, { steps: 5 } as never), 'there is no option steps. Did you mean step?'],
  ['dropObservations', () => dropObservations({ olderThan: 2, steps: 5 } as never), 'there is no option steps. Did you mean step?'],
  ['tokenBudget', () => tokenBudget(1_000, { keeps: 0.5 } as never), 'there is no option keeps. Did you mean keep?'],
  ['summarise', () => summarise({ keepTurn: 2 } as never), 'there is no option keepTurn. Did you mean keepTurns?'],
  ['summariseObservation', () => summariseObservation({ maxChar: 9 } as never), 'there is no option maxChar. Did you mean maxChars?'],
])('%s refuses an option that it does not have', (_name, make, message) => {
  expect(make).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) }));
});
