import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Field } from './field.js';
import { openField } from './field.js';
import { freeze } from './frozen.js';
import type { Struck } from './struck-run.js';
import { strikePlain, strikeWorkers } from './struck-run.js';
import { askedBecauseOfStrike, judge } from './verdict.js';

// A few places; `npm run test:faults` has all of them.
describe('S214: a process that is killed with -9', () => {
  let field: Field;
  let undisturbed: Struck;
  let plain: Struck;
  beforeAll(async () => {
    field = await openField('sqlite');
    [undisturbed, plain] = await Promise.all([
      strikeWorkers({ field, name: 'undisturbed', strikes: [] }),
      strikePlain({ field, name: 'undisturbed-plain', strikes: [] }),
    ]);
  }, 120_000);
  afterAll(() => field.close());

  const asked = ({ events }: Struck): number => askedBecauseOfStrike(events).size;

  it('leaves a run whose end is judged by the same rules when nothing is killed', () => {
    expect(judge(undisturbed, undisturbed)).toEqual([]);
    expect(judge(plain, plain)).toEqual([]);
  });

  it.each([
    ['in an answer of the model', 'model triage#1 inside', 0],
    ['before the effect of a tool, which is answered by a person', 'tool charge#1 inside', 1],
    ['behind the effect of a tool, which is not made again', 'tool mail#1 effect', 1],
    ['before the end is noted in the record', 'record ended#1 before', 0],
  ])('leaves a durable run that another worker ends alike: %s', { timeout: 120_000 }, async (_, at, questions) => {
    const struck = await strikeWorkers({ field, name: `worker-${at.replace(/\W/g, '-')}`, strikes: [{ at, signal: 'SIGKILL' }] });
    expect(struck.strikes).toBe(1);
    expect(judge(struck, undisturbed)).toEqual([]);
    expect(asked(struck)).toBeGreaterThanOrEqual(questions);
  });

  it.each([
    ['before it is asked anything', 'append run.start#1 after'],
    ['behind an effect', 'tool charge#1 effect'],
  ])('leaves a run that resume ends alike: %s', { timeout: 120_000 }, async (_, at) => {
    const struck = await strikePlain({ field, name: `plain-${at.replace(/\W/g, '-')}`, strikes: [{ at, signal: 'SIGKILL' }] });
    expect(struck.strikes).toBe(1);
    expect(judge(struck, plain)).toEqual([]);
  });

  it('that is frozen where a tool was about to start makes no effect when it wakes', { timeout: 120_000 }, async () => {
    const strike = { at: 'start charge#1 stored', signal: 'SIGSTOP' } as const;
    expect(await freeze({ field, name: 'frozen', strike, undisturbed })).toEqual({ flaws: [], heldLock: false });
  });

  it('is killed in recovery too', { timeout: 120_000 }, async () => {
    const strikes = [
      { at: 'tool charge#1 effect', signal: 'SIGKILL' },
      { at: 'append run.resume#1 after', signal: 'SIGKILL' },
    ] as const;
    const struck = await strikeWorkers({ field, name: 'twice', strikes });
    expect(struck.strikes).toBe(2);
    expect(judge(struck, undisturbed)).toEqual([]);
  });
});
