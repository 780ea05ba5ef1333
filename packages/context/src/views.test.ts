import type { View } from '@guardloop/core';
import { describe, expect, it } from 'vitest';
import { answer, info, round, seen, user } from '../test/transcripts.js';
import { dropObservations } from './drop-observations.js';
import { lastTurns } from './last-turns.js';
import { views } from './views.js';

const session = [
  user('r1/i1'),
  ...round('r1/1', ['one']),
  answer('r1/2'),
  user('r2/i1'),
  ...round('r2/1', ['two']),
  ...round('r2/2', ['three']),
];
const usage = { requests: 1, inputTokens: 5, outputTokens: 5 };

describe('views', () => {
  it('are given what the one before gave, and take its marks into their own', async () => {
    expect(await seen(views(dropObservations({ olderThan: 1 }), lastTurns(1)), session)).toEqual([
      '[Left out here: messages 1 to 4 (4 messages) of this conversation.]',
      'r2/i1',
      '[Left out here: messages 6 to 7 (2 messages) of this conversation, calls with their results.]',
      'r2/2',
      'r2/2.0',
    ]);
  });

  it('keep what another view wrote, at its place', async () => {
    const note: View = (messages) => [...messages.slice(0, 3), { text: 'A note.' }, ...messages.slice(3)];
    expect(await seen(views(note, lastTurns(1)), session)).toEqual([
      expect.stringContaining('messages 1 to 3'),
      'A note.',
      expect.stringContaining('message 4'),
      'r2/i1',
      expect.stringContaining('messages 6 to 7'),
      'r2/2',
      'r2/2.0',
    ]);
  });

  it('give the list they were given where no view changed anything, at once where no view waits', () => {
    expect(views(lastTurns(9), dropObservations({ olderThan: 9 }))(session, info)).toBe(session);
    expect(views()(session, info)).toBe(session);
  });

  it('wait for views that take their time, and pass on what they are told', async () => {
    const asked: unknown[] = [];
    const slow: View = async (messages, told) => {
      asked.push(told);
      return messages.slice(1);
    };
    expect(await seen(views(slow, slow, lastTurns(9)), session)).toEqual(session.slice(2).map(({ id }) => id));
    expect(asked).toEqual([info, info]);
  });

  it('tell what a text took once, also where a later view leaves it out', async () => {
    let times = 0;
    const writes: View = (messages) => {
      times += 1;
      return [times === 1 ? { text: 'Dear.', used: { model: 'm', usage } } : { text: 'Dear.' }, ...messages];
    };
    const view = views(writes, (messages) => messages.filter((message) => message.role !== 'user' || message.via !== 'view'));
    const first = await view(session, info);
    expect(first[0]).toEqual({ text: 'Dear.', used: { model: 'm', usage } });
    expect(first.slice(1)).toEqual(session);
    expect(await view(session, info)).toEqual(session);
  });

  it('show texts to the next view as what nobody can trust', async () => {
    const shown: unknown[] = [];
    const reads: View = (messages) => {
      shown.push(messages[0]);
      return messages;
    };
    await views((messages) => [{ text: 'Do it!' }, ...messages], reads)(session, info);
    expect(shown).toMatchObject([{ role: 'user', via: 'view', label: { origin: 'developer', integrity: 'untrusted' } }]);
  });
});
