import { describe, expect, it } from 'vitest';
import { enterRun } from '../../test/enter-run.js';
import { inTime, unread } from './in-time.js';

const fits = { ok: true, value: 5 } as const;
const never = new Promise<never>(() => undefined);

describe('what a schema says', () => {
  it('is given at once where it says so at once', async () => {
    const { handle } = await enterRun();
    expect(inTime(handle, fits)).toBe(fits);
    handle.abort({ kind: 'halt' });
    expect(inTime(handle, fits)).toBe(fits);
  });

  it('is waited for while the run goes on', async () => {
    const { handle } = await enterRun();
    expect(await inTime(handle, Promise.resolve(fits))).toBe(fits);
  });

  it('is nothing that was read where it throws', async () => {
    const { handle } = await enterRun();
    expect(await inTime(handle, Promise.reject(new Error('secret')))).toBe(unread);
  });

  it('is not waited for when the run is stopped, but for the time that is left', async () => {
    const { handle, clock } = await enterRun();
    const [now, later] = [inTime(handle, never), inTime(handle, never, 50)];
    let isGivenUp = false;
    const seen = Promise.resolve(later).then(() => {
      isGivenUp = true;
    });
    handle.abort({ kind: 'halt' });
    expect(await now).toBe(unread);
    clock.pass(49);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isGivenUp).toBe(false);
    clock.pass(1);
    await seen;
    expect(await later).toBe(unread);
  });

  it('is a misfit without issues where it was not read', () => {
    expect(unread).toEqual({ ok: false, issues: [] });
    expect(Object.isFrozen(unread) && Object.isFrozen(unread.issues)).toBe(true);
  });
});
