import { describe, expect, it } from 'vitest';
import { event, log } from '../../test/log-events.js';
import { GuardloopError } from '../errors.js';
import { assertLog, damagedLog, logVersion, readDamaged, readLog } from './log.js';

const events = log(event('run.start'), event('guard.verdict'), event('run.end'));

function refusalOf(given: unknown): string {
  try {
    readLog(given);
  } catch (thrown) {
    if (GuardloopError.is(thrown) && thrown.code === 'LOG_INVALID') return thrown.message;
    throw thrown;
  }
  throw new Error('The log was read.');
}

describe('a log', () => {
  it('that is whole gives its events as they are', () => {
    expect(readLog({ version: 1, events })).toBe(events);
    expect(readLog({ version: logVersion, events: [] })).toEqual([]);
  });

  it('of every kind of event is read', () => {
    const types = [
      'run.start',
      'run.resume',
      'guard.verdict',
      'input.accept',
      'model.start',
      'model.end',
      'approval.request',
      'approval.resolve',
      'tool.start',
      'tool.end',
      'handoff',
      'handoff.refused',
      'run.end',
    ] as const;
    const all = log(...types.map((type) => event(type)));
    expect(readLog({ version: 1, events: all })).toBe(all);
  });

  it('that is a text is told to be parsed', () => {
    expect(refusalOf(JSON.stringify({ version: 1, events }))).toContain('JSON.parse');
  });

  it.each<[unknown, string]>([
    [{ version: 2, events }, '2'],
    [{ version: 0, events }, '0'],
    [{ version: '1', events }, 'none'],
    [{ events }, 'none'],
    [null, 'none'],
    [undefined, 'none'],
    [7, 'none'],
    [[], 'none'],
  ])('of another version, or that is none, is not read: %j', (given, told) => {
    expect(refusalOf(given)).toContain(`has the version ${told}; this package reads version 1`);
  });

  it.each([undefined, null, 'events', { length: 0 }])('without a list of events is not read: %j', (odd) => {
    expect(refusalOf({ version: 1, events: odd })).toContain('no list of events');
  });

  it.each<[string, unknown]>([
    ['is no event', null],
    ['is a number', 2],
    ['is missing', undefined],
    ['has the number of another', { ...events[1], seq: 3 }],
    ['counts from nothing', { ...events[1], seq: 1 }],
    ['has no number', { ...events[1], seq: undefined }],
    ['has a number that is a text', { ...events[1], seq: '2' }],
    ['has no type', { ...events[1], type: undefined }],
    ['has a type that is no text', { ...events[1], type: ['guard.verdict'] }],
    ['has a type of its own', { ...events[1], type: 'guard.odd' }],
    ['is only watched', { ...events[1], type: 'text.delta' }],
    ['has a type that every object has', { ...events[1], type: 'toString' }],
    ['has no run', { ...events[1], run: undefined }],
    ['has a run that is no text', { ...events[1], run: 1 }],
    ['has no time', { ...events[1], at: undefined }],
    ['has a time that is a text', { ...events[1], at: '0' }],
  ])('of which one event %s is damaged there', (_what, odd) => {
    const message = refusalOf({ version: 1, events: [events[0], odd, events[2]] });
    expect(message).toMatch(/^Event 2 of the log( \(guard\.verdict\))? is damaged: /);
    expect(message).not.toContain('odd');
  });

  it.each<[string, unknown, string]>([
    ['a list that is none', event('model.end', { calls: {} as never }), '`calls` is an object, and a list was expected'],
    [
      'a field of a call',
      event('model.end', { calls: [{ id: '1.0', name: 'x', input: 'secret' }] as never }),
      '`calls[0].input` is a text',
    ],
    ['a word that is none of a few', event('run.end', { status: 'secret' as never }), '`status` is another text, and one of completed, '],
    ['a count', event('model.start', { turn: -1 }), '`turn` is another number, and a whole number from 0 was expected'],
    ['no finite number', event('guard.verdict', { ms: Number.NaN }), '`ms` is no finite number'],
    [
      'a name of somebody',
      event('run.start', { manifest: { run: [], agent: [], tools: { secret: [{ name: 1 }] } } as never }),
      '`manifest.tools[…][0].name` is a number',
    ],
    ['nothing', event('tool.end', { label: null as never }), '`label` is null, and an object was expected'],
  ])('says which field of which event is wrong, and nothing that it holds: %s', (_what, odd, told) => {
    const numbered = log(event('run.start'), odd as never);
    const message = refusalOf({ version: 1, events: numbered });
    expect(message).toMatch(/^Event 2 of the log \([a-z.]+\) is damaged: /);
    expect(message).toContain(told);
    expect(message).not.toContain('secret');
  });

  it('of a later version may have fields that this one does not know, and words only for who tells what it holds', () => {
    const later = log({ ...event('run.start'), more: { of: 'it' } } as never, event('run.end', { status: 'adjourned' as never }));
    expect(readLog({ version: 1, events: later.slice(0, 1) })).toHaveLength(1);
    expect(refusalOf({ version: 1, events: later })).toContain('Event 2');
    expect(() => assertLog({ version: 1, events: later })).toThrow(GuardloopError);
    expect(() => assertLog({ version: 1, events: later }, { words: 'any' })).not.toThrow();
  });

  it('of which the first or an inner event is gone is damaged there', () => {
    expect(refusalOf({ version: 1, events: events.slice(1) })).toContain('Event 1 of');
    expect(refusalOf({ version: 1, events: [events[0], events[2]] })).toContain('Event 2 of');
  });
});

describe('what is read of a log', () => {
  it('is what the reading gives', () => {
    expect(readDamaged(() => 7)).toBe(7);
  });

  it('keeps an error that says what is wrong, and takes any other for a damaged event, without its words', () => {
    const error = new GuardloopError('RESUME_MISMATCH', 'Another agent.');
    const thrower = (thrown: unknown) => () =>
      readDamaged(() => {
        throw thrown;
      });
    expect(thrower(error)).toThrow(error);
    for (const odd of [new TypeError('secret is not iterable'), 'secret', undefined]) expect(thrower(odd)).toThrow(damagedLog());
    expect(damagedLog()).toMatchObject({ code: 'LOG_INVALID', message: expect.stringContaining('An event of the log is damaged') });
  });
});
