import { describe, expect, it } from 'vitest';
import { answer, info, round, seen, user } from '../test/transcripts.js';
import { dropObservations } from './drop-observations.js';

const mark = (from: number, to: number) =>
  `[Left out here: messages ${from} to ${to} (${to - from + 1} messages) of this conversation, calls with their results.]`;
const session = [
  user('r1/i1'),
  ...round('r1/1', ['one']),
  ...round('r1/2', ['two', 'three']),
  answer('r1/3'),
  user('r2/i1'),
  ...round('r2/1', ['four']),
  ...round('r2/2', ['five']),
];

describe('dropObservations', () => {
  it.each([
    [0, ['r1/i1', mark(2, 6), 'r1/3', 'r2/i1', mark(9, 10), 'r2/2', 'r2/2.0']],
    [1, ['r1/i1', mark(2, 6), 'r1/3', 'r2/i1', mark(9, 10), 'r2/2', 'r2/2.0']],
    [2, ['r1/i1', mark(2, 6), 'r1/3', 'r2/i1', 'r2/1', 'r2/1.0', 'r2/2', 'r2/2.0']],
    [4, ['r1/i1', mark(2, 3), ...session.slice(3).map(({ id }) => id)]],
    [5, session.map(({ id }) => id)],
  ])('older than %i: leaves out calls with their results, and keeps what was said', async (olderThan, expected) => {
    expect(await seen(dropObservations({ olderThan }), session)).toEqual(expected);
  });

  it('moves in steps', async () => {
    const view = dropObservations({ olderThan: 1, step: 3 });
    const live = [...session.slice(0, 6)];
    expect(await seen(view, live)).toEqual(live.map(({ id }) => id));
    live.push(...session.slice(6));
    expect(await seen(view, live)).toEqual(['r1/i1', mark(2, 6), 'r1/3', 'r2/i1', 'r2/1', 'r2/1.0', 'r2/2', 'r2/2.0']);
  });

  it('gives the list it was given where there is nothing to leave out', () => {
    const said = [user('r1/i1'), answer('r1/1'), user('r2/i1')];
    expect(dropObservations({ olderThan: 0 })(said, info)).toBe(said);
  });

  it('refuses what is no number of turns', () => {
    expect(() => dropObservations({ olderThan: -1 })).toThrow(/olderThan is no whole number from 0 on/);
    expect(() => dropObservations({ olderThan: 1, step: 0 })).toThrow(/step is no whole number from 1 on/);
  });
});
