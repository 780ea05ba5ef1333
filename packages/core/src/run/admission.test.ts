import { describe, expect, it } from 'vitest';
import type { BreakerState } from '../define/breaker.js';
import { Breaker } from '../define/breaker.js';
import type { GuardrailSpec } from '../define/specs.js';
import { admit } from './admission.js';
import type { RunHandle } from './handle.js';

/** A breaker that opens after `failures` and cools down for 100 ms, and a run at a time that can be set. */
function setUp(failures: number) {
  const breaker = new Breaker({ failures, withinMs: undefined, coolDownMs: 100, timeoutMs: 10 });
  const told: unknown[] = [];
  const time = { now: 0 };
  const handle = { root: { clock: { now: () => time.now } }, tell: (event: unknown) => told.push(event) } as unknown as RunHandle;
  const ask = () => admit(handle, { name: 'remote' } as GuardrailSpec, breaker);
  return { breaker, told, time, ask };
}
const event = (state: BreakerState) => ({ type: 'guard.breaker', guardrail: 'remote', state });

describe('an ask that a breaker looks at', () => {
  it('is let through, and its failures open the breaker, which is told once', () => {
    const { breaker, told, ask } = setUp(2);
    ask()?.settle(true);
    expect([breaker.state, told]).toEqual(['closed', []]);
    ask()?.settle(true);
    expect([breaker.state, told]).toEqual(['open', [event('open')]]);
    expect(ask()).toBeUndefined();
    expect(told).toEqual([event('open')]);
  });

  it('begins the count anew with a success', () => {
    const { breaker, told, ask } = setUp(2);
    for (const isFailed of [true, false, true]) ask()?.settle(isFailed);
    expect([breaker.state, told]).toEqual(['closed', []]);
  });

  it('counts once, whatever is told of it again', () => {
    const { breaker, told, ask } = setUp(2);
    const admission = ask();
    admission?.settle(true);
    admission?.settle(true);
    expect(breaker.state).toBe('closed');
    admission?.release();
    ask()?.settle(true);
    expect([breaker.state, told]).toEqual(['open', [event('open')]]);
  });

  it('does not count once it was given up', () => {
    const { breaker, ask } = setUp(1);
    const admission = ask();
    admission?.release();
    admission?.settle(true);
    expect(breaker.state).toBe('closed');
  });

  it('is let through after the time as a probe, whose success closes the breaker', () => {
    const { told, time, ask } = setUp(1);
    ask()?.settle(true);
    time.now = 99;
    expect(ask()).toBeUndefined();
    time.now = 100;
    const probe = ask();
    expect(told).toEqual([event('open'), event('half-open')]);
    expect(ask()).toBeUndefined();
    probe?.settle(false);
    expect(told).toEqual([event('open'), event('half-open'), event('closed')]);
  });

  it('opens the breaker anew for the whole time where the probe fails', () => {
    const { told, time, ask } = setUp(1);
    ask()?.settle(true);
    time.now = 100;
    const probe = ask();
    time.now = 150;
    probe?.settle(true);
    expect(told).toEqual([event('open'), event('half-open'), event('open')]);
    time.now = 249;
    expect(ask()).toBeUndefined();
    time.now = 250;
    expect(ask()).toBeDefined();
  });

  it('lets another be the probe where the probe was given up, and tells nothing of that', () => {
    const { told, time, ask } = setUp(1);
    ask()?.settle(true);
    time.now = 100;
    const probe = ask();
    probe?.release();
    const next = ask();
    expect(next).toBeDefined();
    probe?.release();
    expect(ask()).toBeUndefined();
    expect(told).toEqual([event('open'), event('half-open')]);
  });
});
