import { describe, expect, it, vi } from 'vitest';
import type { ObserverErrorEvent, RunEvent } from '../state/events.js';
import { Observers } from './observers.js';
import type { Observer } from './types.js';

const turnStart: RunEvent = { type: 'turn.start', at: 7, run: 'r', agent: 'a', turn: 1 };
const delta: RunEvent = { type: 'text.delta', at: 8, run: 'r', agent: 'a', turn: 1, text: 'x' };
const failed: ObserverErrorEvent = { type: 'observer.error', at: 9, run: 'r', agent: 'a', event: 'x', cause: { name: 'Error' } };

const told = (...observers: readonly Observer[]) => {
  const errors: ObserverErrorEvent[] = [];
  return { observers: new Observers(observers, (event) => errors.push(event)), errors };
};

describe('observers', () => {
  it('are told of every event, or of those of their type', () => {
    const [all, starts, deltas] = [vi.fn(), vi.fn(), vi.fn()];
    const { observers, errors } = told(all, { 'turn.start': starts, 'text.delta': deltas, 'model.retry': undefined });
    observers.tell(turnStart);
    observers.tell(delta);
    expect(all.mock.calls).toEqual([[turnStart], [delta]]);
    expect(starts.mock.calls).toEqual([[turnStart]]);
    expect(deltas.mock.calls).toEqual([[delta]]);
    expect(errors).toEqual([]);
  });

  it('are all told, whichever of them throws', () => {
    const [before, after] = [vi.fn(), vi.fn()];
    const { observers, errors } = told(
      before,
      () => {
        throw Object.assign(new TypeError('secret'), { code: 'E1' });
      },
      after,
    );
    observers.tell(turnStart);
    expect([before.mock.calls.length, after.mock.calls.length]).toEqual([1, 1]);
    expect(errors).toEqual([
      { type: 'observer.error', at: 7, run: 'r', agent: 'a', event: 'turn.start', cause: { name: 'TypeError', code: 'E1' } },
    ]);
    expect(Object.isFrozen(errors[0])).toBe(true);
  });

  it('are not waited for, and what their promises reject with is told', async () => {
    const rejects = Promise.reject(new RangeError('secret'));
    const { observers, errors } = told({ 'turn.start': () => rejects }, async () => 'fine');
    observers.tell(turnStart);
    expect(errors).toEqual([]);
    await rejects.catch(() => undefined);
    await undefined;
    expect(errors).toEqual([{ type: 'observer.error', at: 7, run: 'r', agent: 'a', event: 'turn.start', cause: { name: 'RangeError' } }]);
  });

  it('are left alone when they fail over a failure', async () => {
    const { observers, errors } = told(
      () => {
        throw new Error('again');
      },
      async () => {
        throw new Error('and again');
      },
    );
    observers.tell(failed);
    await new Promise((resolve) => setImmediate(resolve));
    expect(errors).toEqual([]);
  });

  it('that are no functions are passed over', () => {
    const { observers, errors } = told({ 'turn.start': 'no function' as never });
    observers.tell(turnStart);
    expect(errors).toEqual([]);
  });
});
