import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BreakerSettings } from './breaker.js';
import { Breaker } from './breaker.js';

const settings = (given: Partial<BreakerSettings> = {}): BreakerSettings => ({
  failures: 3,
  withinMs: undefined,
  coolDownMs: 100,
  timeoutMs: 10,
  ...given,
});

function ask(breaker: Breaker, now: number, isFailed: boolean): boolean {
  const era = breaker.enter(now);
  if (era === undefined) return false;
  breaker.settle(era, isFailed, now);
  return true;
}
function opened(given?: Partial<BreakerSettings>, at = 0): Breaker {
  const breaker = new Breaker(settings(given));
  while (breaker.state === 'closed') ask(breaker, at, true);
  return breaker;
}

describe('a breaker', () => {
  it('opens after so many failures in a row, and a success in between begins the count anew', () => {
    const breaker = new Breaker(settings());
    for (const isFailed of [true, true, false, true, true]) expect(ask(breaker, 0, isFailed)).toBe(true);
    expect(breaker.state).toBe('closed');
    ask(breaker, 0, true);
    expect(breaker.state).toBe('open');
    expect(ask(breaker, 99, false)).toBe(false);
  });

  it('with withinMs counts the failures of that time, whatever succeeds between them', () => {
    const breaker = new Breaker(settings({ withinMs: 50 }));
    ask(breaker, 0, true);
    ask(breaker, 30, true);
    ask(breaker, 40, false);
    ask(breaker, 50, true);
    expect(breaker.state).toBe('closed');
    ask(breaker, 79, true);
    expect(breaker.state).toBe('open');
  });

  it('lets one ask through after the time, and closes when it succeeds', () => {
    const breaker = opened();
    const probe = breaker.enter(100);
    expect(breaker.state).toBe('half-open');
    expect(breaker.enter(100)).toBeUndefined();
    breaker.settle(probe ?? -1, false, 105);
    expect(breaker.state).toBe('closed');
    expect(ask(breaker, 105, true)).toBe(true);
  });

  it('opens for the whole time again when the probe fails', () => {
    const breaker = opened();
    const probe = breaker.enter(150);
    breaker.settle(probe ?? -1, true, 160);
    expect([breaker.state, breaker.enter(259)]).toEqual(['open', undefined]);
    expect(breaker.enter(260)).toBeDefined();
  });

  it('lets the next ask be the probe when one was given up', () => {
    const breaker = opened();
    breaker.release(breaker.enter(100) ?? -1);
    expect(breaker.state).toBe('half-open');
    expect(breaker.enter(100)).toBeDefined();
    expect(breaker.enter(100)).toBeUndefined();
  });

  it('takes a probe that was lost as lost, and hears it no more', () => {
    const breaker = opened();
    const lost = breaker.enter(100) ?? -1;
    expect(breaker.enter(199)).toBeUndefined();
    const next = breaker.enter(200);
    expect(next).toBeDefined();
    breaker.settle(lost, false, 201);
    expect(breaker.state).toBe('half-open');
    breaker.settle(next ?? -1, false, 202);
    expect(breaker.state).toBe('closed');
  });

  it('does not hear asks that began before it opened', () => {
    const breaker = new Breaker(settings());
    const early = [breaker.enter(0), breaker.enter(0)];
    while (breaker.state === 'closed') ask(breaker, 0, true);
    breaker.settle(early[0] ?? -1, false, 1);
    expect(breaker.state).toBe('open');
    breaker.enter(100);
    breaker.settle(early[1] ?? -1, true, 101);
    expect(breaker.state).toBe('half-open');
  });

  it('gives a probe the time that an answer can take, where that is longer than the cool-down', () => {
    const breaker = opened({ timeoutMs: 250 });
    breaker.enter(100);
    expect([breaker.enter(200), breaker.enter(349)]).toEqual([undefined, undefined]);
    expect(breaker.enter(350)).toBeDefined();
  });

  it('does not take a lost probe that is given up for the one that is out', () => {
    const breaker = opened();
    const lost = breaker.enter(100) ?? -1;
    breaker.enter(200);
    breaker.release(lost);
    expect(breaker.enter(200)).toBeUndefined();
  });

  it('lets an ask through while it is closed, and hears nothing of one that is given up', () => {
    const breaker = new Breaker(settings({ failures: 1 }));
    const era = breaker.enter(0) ?? -1;
    breaker.release(era);
    expect([breaker.state, breaker.enter(0)]).toEqual(['closed', era]);
  });

  it('counts failures in a row whatever their time is', () => {
    const breaker = new Breaker(settings({ failures: 2 }));
    ask(breaker, 1_000_000, true);
    ask(breaker, 5, true);
    expect(breaker.state).toBe('open');
  });

  it('counts no failure of another clock that lies ahead', () => {
    const breaker = new Breaker(settings({ failures: 2, withinMs: 50 }));
    ask(breaker, 1_000_000, true);
    ask(breaker, 5, true);
    expect(breaker.state).toBe('closed');
    ask(breaker, 54, true);
    expect(breaker.state).toBe('open');
  });

  it('begins the count anew once it has closed', () => {
    const breaker = opened({ failures: 2, withinMs: 1_000 });
    ask(breaker, 100, false);
    ask(breaker, 101, true);
    expect(breaker.state).toBe('closed');
    ask(breaker, 102, true);
    expect(breaker.state).toBe('open');
  });

  it('takes the lost probe of another clock as lost', () => {
    const breaker = opened({}, 1_000);
    breaker.enter(1_100);
    expect(breaker.enter(5)).toBeDefined();
  });

  it('does not stay open for a time of another clock', () => {
    const breaker = opened({}, 1_700_000_000_000);
    expect(breaker.enter(5)).toBeDefined();
  });
});

/** One ask at a time, by the words of the guide. */
class Told {
  private state: 'closed' | 'open' | 'half-open' = 'closed';
  private failed: number[] = [];
  private since = 0;
  constructor(private readonly given: BreakerSettings) {}
  ask(now: number, isFailed: boolean): boolean {
    if (this.state === 'open' && now - this.since < this.given.coolDownMs) return false;
    if (this.state === 'open') this.state = 'half-open';
    if (!isFailed) {
      if (this.state === 'half-open' || this.given.withinMs === undefined) this.failed = [];
      this.state = 'closed';
      return true;
    }
    this.failed.push(now);
    const { withinMs = Number.POSITIVE_INFINITY } = this.given;
    const counted = this.failed.filter((at) => now - at < withinMs).length;
    if (this.state === 'half-open' || counted >= this.given.failures) {
      this.state = 'open';
      this.since = now;
      this.failed = [];
    }
    return true;
  }
}

describe('every breaker', () => {
  const given = fc.record({
    failures: fc.integer({ min: 1, max: 5 }),
    withinMs: fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
    coolDownMs: fc.integer({ min: 1, max: 60 }),
    timeoutMs: fc.constant(10),
  });

  it('asks when the guide says so, whatever comes one after another', () => {
    fc.assert(
      fc.property(given, fc.array(fc.tuple(fc.nat(30), fc.boolean()), { maxLength: 80 }), (options, asks) => {
        const breaker = new Breaker(options);
        const told = new Told(options);
        let now = 0;
        for (const [passed, isFailed] of asks) {
          now += passed;
          expect(ask(breaker, now, isFailed)).toBe(told.ask(now, isFailed));
        }
      }),
      { numRuns: 500, seed: 8 },
    );
  });

  it('lets at most one through while it is half-open, none while it is open, and never stays shut, in every order', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('enter' as const), passed: fc.nat(20) }),
      fc.record({ kind: fc.constantFrom('succeed' as const, 'fail' as const, 'release' as const), which: fc.nat(9), passed: fc.nat(20) }),
    );
    fc.assert(
      fc.property(given, fc.array(step, { maxLength: 120 }), (options, steps) => {
        const breaker = new Breaker({ ...options, timeoutMs: 100_000 });
        const out: { readonly era: number; readonly isProbe: boolean }[] = [];
        let now = 0;
        let openSince: number | undefined;
        for (const each of steps) {
          now += each.passed;
          if (each.kind === 'enter') {
            const era = breaker.enter(now);
            if (openSince !== undefined && now - openSince < options.coolDownMs) expect(era).toBeUndefined();
            if (era === undefined) continue;
            const isProbe = breaker.state === 'half-open';
            if (isProbe) expect(out.filter((other) => other.isProbe)).toEqual([]);
            out.push({ era, isProbe });
          } else if (out.length > 0) {
            const [asked] = out.splice(each.which % out.length, 1);
            if (asked === undefined) continue;
            if (each.kind === 'release') breaker.release(asked.era);
            else breaker.settle(asked.era, each.kind === 'fail', now);
          }
          if (breaker.state !== 'open') openSince = undefined;
          else openSince ??= now;
        }
        // Whatever is still out is lost; in time an ask gets through and closes it.
        now += 200_000;
        const era = breaker.enter(now);
        expect(era).toBeDefined();
        breaker.settle(era ?? -1, false, now);
        expect(breaker.state).toBe('closed');
      }),
      { numRuns: 500, seed: 25 },
    );
  });
});
