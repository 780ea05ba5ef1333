import { describe, expect, it } from 'vitest';
import { agentOf, calls, entered, HandClock, scripted, settle, tool } from '../../test/scene.js';
import { GuardloopError } from '../errors.js';
import type { SessionStore } from '../session/session.js';
import type { LogEvent } from '../state/events.js';
import type { LogState } from '../state/state.js';
import { loop } from './loop.js';
import type { Attempt } from './session-turn.js';
import { SessionBusy, SessionTurn } from './session-turn.js';

const conflict = () => new GuardloopError('LOG_CONFLICT', 'another');
const store = (load: SessionStore['load'] = async () => []): SessionStore => ({ load, append: async () => undefined });

interface Taking {
  readonly of?: SessionStore;
  readonly id?: string;
  readonly waitMs?: number | undefined;
  readonly queues?: boolean;
  readonly clock?: HandClock;
  readonly signal?: AbortSignal;
  readonly onLeave?: (listener: () => void) => void;
}
/** One more run of a session. */
function turnOf({ of = store(), id = 's', waitMs, queues = true, clock = new HandClock(), signal, onLeave }: Taking = {}) {
  const session = queues ? ({ store: of, id, onConflict: 'queue', waitMs } as const) : ({ store: of, id } as const);
  return { clock, session, turn: new SessionTurn(session, { clock, signal, onLeave }) };
}
/** What an attempt was given and what became of the turn. */
function entering(turn: SessionTurn, attempt: (given: Attempt, count: number) => unknown = () => 'in') {
  const attempts: Attempt[] = [];
  const outcome: unknown[] = [];
  turn
    .enter(async (given) => {
      attempts.push(given);
      return attempt(given, attempts.length);
    })
    .then(
      (value) => outcome.push(value),
      (error) => outcome.push(error),
    );
  return { attempts, outcome };
}
/** Lets time pass in small steps. */
async function pass(clock: HandClock, ms: number): Promise<void> {
  await settle();
  for (let passed = 0; passed < ms; passed += 5) await clock.pass(5);
}
const tooLate = (waitMs: number) => ({
  code: 'RESUME_MISMATCH',
  isRetryable: true,
  details: { session: 's', waitMs },
  message: expect.stringContaining(`waited ${waitMs} ms`),
});

describe('a run that does not queue', () => {
  it('enters at once and once, whoever is there', async () => {
    const of = store();
    turnOf({ of });
    const { turn, session } = turnOf({ of, queues: false });
    const { attempts, outcome } = entering(turn, () => Promise.reject(conflict()));
    await settle();
    expect(attempts).toEqual([{ session, isRetry: false, isLast: true }]);
    expect(outcome).toMatchObject([{ code: 'LOG_CONFLICT' }]);
  });
});

describe('a run that queues', () => {
  it('enters at once where it is first', async () => {
    const { turn, session, clock } = turnOf();
    const { attempts, outcome } = entering(turn);
    await settle();
    expect(attempts).toEqual([{ session, isRetry: false, isLast: false }]);
    expect(outcome).toEqual(['in']);
    expect(clock.timers).toEqual([]);
  });

  it('waits for those before it on the same session of the same store, in their order', async () => {
    const of = store();
    const turns = [turnOf({ of }), turnOf({ of }), turnOf({ of }), turnOf({ of, id: 'other' }), turnOf()];
    const runs = turns.map(({ turn }) => entering(turn));
    const states = () => runs.map(({ outcome }) => outcome.length);
    await settle();
    expect(states()).toEqual([1, 0, 0, 1, 1]);
    turns[0]?.turn.leave('w1');
    turns[0]?.turn.leave('w1');
    await settle();
    expect(states()).toEqual([1, 1, 0, 1, 1]);
    turns[1]?.turn.leave();
    await settle();
    expect(states()).toEqual([1, 1, 1, 1, 1]);
    expect(turns.map(({ clock }) => clock.timers.length)).toEqual([0, 0, 0, 0, 0]);
  });

  it('waits for one that does not queue, too, and not for those behind it', async () => {
    const of = store();
    const first = turnOf({ of, queues: false });
    const second = turnOf({ of });
    const third = turnOf({ of });
    const { outcome } = entering(second.turn);
    third.turn.leave();
    await settle();
    expect(outcome).toEqual([]);
    first.turn.leave();
    await settle();
    expect(outcome).toEqual(['in']);
  });

  it('begins a new line when all have left', async () => {
    const of = store();
    turnOf({ of }).turn.leave('w1');
    const { outcome } = entering(turnOf({ of }).turn);
    await settle();
    expect(outcome).toEqual(['in']);
  });

  it.each([
    [500, 500],
    [undefined, 60_000],
  ])('waits %s ms at most, and is told how long', async (waitMs, most) => {
    const of = store();
    turnOf({ of });
    const { turn, clock } = turnOf({ of, waitMs });
    const { attempts, outcome } = entering(turn);
    await clock.pass(most - 1);
    expect(outcome).toEqual([]);
    await clock.pass(1);
    expect(outcome).toMatchObject([tooLate(most)]);
    expect(attempts).toEqual([]);
  });

  it('does not wait at all with 0 ms, and for ever without an end', async () => {
    const of = store();
    const first = turnOf({ of });
    const none = entering(turnOf({ of, waitMs: 0 }).turn);
    const endless = turnOf({ of, waitMs: Number.POSITIVE_INFINITY });
    const waiting = entering(endless.turn);
    await settle();
    expect(none.outcome).toMatchObject([tooLate(0)]);
    expect(endless.clock.timers).toEqual([]);
    first.turn.leave();
    await settle();
    expect(waiting.outcome).toEqual([]);
  });

  it('enters where its turn comes as its time ends', async () => {
    const of = store();
    const first = turnOf({ of });
    const { turn, clock } = turnOf({ of, waitMs: 10 });
    const { attempts, outcome } = entering(turn);
    await settle();
    clock.time += 10;
    first.turn.leave();
    await settle();
    expect(attempts).toMatchObject([{ isLast: true }]);
    expect(outcome).toEqual(['in']);
  });

  it.each(['before', 'meanwhile', 'by its reader'])('enters no session when it was aborted %s', async (when) => {
    const of = store();
    turnOf({ of });
    const controller = new AbortController();
    if (when === 'before') controller.abort();
    let leave: (() => void) | undefined;
    const { turn, clock } = turnOf({ of, signal: controller.signal, onLeave: (listener) => (leave = listener) });
    const { attempts, outcome } = entering(turn);
    await settle();
    if (when === 'meanwhile') controller.abort();
    if (when === 'by its reader') leave?.();
    await settle();
    expect(attempts).toEqual([{ session: undefined, isRetry: false, isLast: true }]);
    expect(outcome).toEqual(['in']);
    expect(clock.timers).toEqual([]);
  });
});

describe('a run that met another one', () => {
  it('tries again after 25 ms, then twice as long each time, up to a second', async () => {
    const { turn, clock } = turnOf();
    const times: number[] = [];
    const { attempts, outcome } = entering(turn, (_given, count) => {
      times.push(clock.time - 1_000);
      return count < 9 ? Promise.reject(conflict()) : 'in';
    });
    await pass(clock, 6_000);
    expect(times).toEqual([0, 25, 75, 175, 375, 775, 1_575, 2_575, 3_575]);
    expect(attempts.map(({ isRetry }) => isRetry)).toEqual([false, ...Array.from({ length: 8 }, () => true)]);
    expect(outcome).toEqual(['in']);
  });

  it('tries a last time when its time ends, and is told of the conflict then', async () => {
    const { turn, clock } = turnOf({ waitMs: 60 });
    const times: number[] = [];
    const { attempts, outcome } = entering(turn, () => {
      times.push(clock.time - 1_000);
      return Promise.reject(conflict());
    });
    await pass(clock, 100);
    expect(times).toEqual([0, 25, 60]);
    expect(attempts.map(({ isLast }) => isLast)).toEqual([false, false, true]);
    expect(outcome).toMatchObject([{ code: 'LOG_CONFLICT' }]);
  });

  it.each([
    ['another fault', new GuardloopError('STORE_FAILED', 'no')],
    ['what is no error of the framework', new Error('LOG_CONFLICT')],
  ])('is told at once of %s', async (_what, error) => {
    const { turn } = turnOf();
    const { attempts, outcome } = entering(turn, () => Promise.reject(error));
    await settle();
    expect(outcome).toEqual([error]);
    expect(attempts).toHaveLength(1);
  });

  it('enters no session when it was aborted before it could try again', async () => {
    const controller = new AbortController();
    const { turn } = turnOf({ signal: controller.signal });
    const { attempts, outcome } = entering(turn, ({ session }) => (session ? Promise.reject(conflict()) : 'out'));
    await settle();
    controller.abort();
    await settle();
    expect(attempts).toMatchObject([{}, { session: undefined, isRetry: false, isLast: true }]);
    expect(outcome).toEqual(['out']);
  });

  const event = (type: LogEvent['type']) => ({ type }) as LogEvent;

  it.each(['run.end', 'approval.request', 'approval.resolve', 'tool.end', 'handoff.refused'] as const)(
    'waits until its log tells %s, and asks only for what is new',
    async (type) => {
      const tails = [[event('tool.start'), event('model.start')], [], [event(type)]];
      const asked: unknown[] = [];
      const of = store(async (id, after) => {
        asked.push([id, after]);
        return tails.shift() ?? [];
      });
      const { turn, clock } = turnOf({ of });
      const times: number[] = [];
      const { attempts, outcome } = entering(turn, (_given, count) => {
        times.push(clock.time - 1_000);
        return count === 1 ? Promise.reject(new SessionBusy(4)) : 'in';
      });
      await pass(clock, 500);
      expect(asked).toEqual([
        ['s', 4],
        ['s', 6],
        ['s', 6],
      ]);
      expect(times).toEqual([0, 175]);
      expect(attempts.map(({ isRetry }) => isRetry)).toEqual([false, false]);
      expect(outcome).toEqual(['in']);
    },
  );

  it('waits longer before it tries again after it waited for the other', async () => {
    const of = store(async () => [event('tool.end')]);
    const { turn, clock } = turnOf({ of });
    const times: number[] = [];
    entering(turn, (_given, count) => {
      times.push(clock.time - 1_000);
      return count < 4 ? Promise.reject(new SessionBusy(4)) : 'in';
    });
    await pass(clock, 500);
    expect(times).toEqual([0, 25, 75, 175]);
  });

  it('waits at most a second between two looks at its log', async () => {
    const asked: number[] = [];
    const clock = new HandClock();
    const of = store(async () => {
      asked.push(clock.time - 1_000);
      return [];
    });
    const { turn } = turnOf({ of, clock });
    entering(turn, () => Promise.reject(new SessionBusy(4)));
    await pass(clock, 4_000);
    expect(asked).toEqual([25, 75, 175, 375, 775, 1_575, 2_575, 3_575]);
  });

  it('tries at once where the log cannot be read: the store is asked what is wrong', async () => {
    const { turn, clock } = turnOf({ of: store(() => Promise.reject(new Error('down'))) });
    const { attempts } = entering(turn, (_given, count) => (count === 1 ? Promise.reject(new SessionBusy(4)) : 'in'));
    await pass(clock, 25);
    expect(attempts).toHaveLength(2);
  });

  it('is told that it has waited too long where the other is still under way at the end', async () => {
    const { turn, clock } = turnOf({ waitMs: 60 });
    const { attempts, outcome } = entering(turn, () => Promise.reject(new SessionBusy(4)));
    await pass(clock, 100);
    expect(attempts.map(({ isLast }) => isLast)).toEqual([false, true]);
    expect(outcome).toMatchObject([tooLate(60)]);
  });

  it('looks at its log no more once it was aborted', async () => {
    const controller = new AbortController();
    let asked = 0;
    const of = store(async () => {
      asked += 1;
      return [];
    });
    const { turn, clock } = turnOf({ of, signal: controller.signal });
    const { outcome } = entering(turn, ({ session }) => (session ? Promise.reject(new SessionBusy(4)) : 'out'));
    await settle();
    controller.abort();
    await clock.pass(100);
    expect(asked).toBe(0);
    expect(outcome).toEqual(['out']);
  });
});

describe('an unfinished run in a log', () => {
  /** Logs of a run that is under way, that waits for a person, that has ended. */
  async function logs() {
    const risky = tool('pay', () => 1, { approval: true });
    const going = await entered(agentOf());
    const asking = await entered(agentOf({ model: scripted([calls('pay')]), tools: [risky] }));
    await loop(asking);
    const over = await entered(agentOf());
    await loop(over);
    return { going: going.root.log, asking: asking.root.log, over: over.root.log };
  }

  it('may be under way elsewhere, unless it waits for people, has ended, or was left by this process', async () => {
    const { going, asking, over } = await logs();
    const of = store();
    const { turn } = turnOf({ of });
    expect([going, asking, over].map((log) => turn.mayBeUnderWay(log))).toEqual([true, false, false]);
    expect(turn.mayBeUnderWay({ ...going, root: undefined } as LogState)).toBe(false);
    expect(turnOf({ of, queues: false }).turn.mayBeUnderWay(going)).toBe(false);
    const left = turnOf({ of });
    left.turn.leave(going.writer);
    expect(turn.mayBeUnderWay(going)).toBe(false);
    turnOf({ of }).turn.leave('another');
    expect(turn.mayBeUnderWay(going)).toBe(true);
    turnOf({ of }).turn.leave();
    expect(turn.mayBeUnderWay({ ...going, writer: 'another' })).toBe(false);
  });

  it('is not taken for one that was left where all have left since', async () => {
    const { going } = await logs();
    const of = store();
    turnOf({ of }).turn.leave(going.writer);
    expect(turnOf({ of }).turn.mayBeUnderWay(going)).toBe(true);
  });
});
