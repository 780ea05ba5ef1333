import { describe, expect, it } from 'vitest';
import { LostRuns } from './lost-runs.js';

function lostRuns() {
  let now = 0;
  const lost = new LostRuns(100, () => now);
  const pass = (ms: number): void => {
    now += ms;
  };
  return { lost, pass };
}

describe('runs that were lost to another worker', () => {
  it('are left to it for two leases, then for four', () => {
    const { lost, pass } = lostRuns();
    lost.note('r1', true);
    expect(lost.left()).toEqual(['r1']);
    pass(199);
    expect(lost.left()).toEqual(['r1']);
    pass(1);
    expect(lost.left()).toEqual([]);
    lost.note('r1', true);
    pass(399);
    expect(lost.left()).toEqual(['r1']);
    pass(1);
    expect(lost.left()).toEqual([]);
  });

  it('are left to it for at most 64 leases', () => {
    const { lost, pass } = lostRuns();
    for (let times = 0; times < 10; times += 1) lost.note('r1', true);
    pass(6_399);
    expect(lost.left()).toEqual(['r1']);
    pass(1);
    expect(lost.left()).toEqual([]);
  });

  it('begin anew after they were taken on without a loss', () => {
    const { lost, pass } = lostRuns();
    for (let times = 0; times < 4; times += 1) lost.note('r1', true);
    lost.note('r1', false);
    expect(lost.left()).toEqual([]);
    lost.note('r1', true);
    pass(200);
    expect(lost.left()).toEqual([]);
  });

  it('are forgotten after twice that time', () => {
    const { lost, pass } = lostRuns();
    lost.note('r1', true);
    pass(401);
    expect(lost.left()).toEqual([]);
    lost.note('r1', true);
    pass(200);
    expect(lost.left()).toEqual([]);
  });

  it('are each by itself', () => {
    const { lost } = lostRuns();
    lost.note('r1', true);
    lost.note('r2', true);
    lost.note('r1', false);
    expect(lost.left()).toEqual(['r2']);
  });
});
