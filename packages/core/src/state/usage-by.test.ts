import { describe, expect, it } from 'vitest';
import { callApproval, event, log, outputApproval } from '../../test/log-events.js';
import type { RunEvent } from './events.js';
import { usageBy } from './usage-by.js';

const used = (cost: number, requests = 1) => ({ requests, cost });
const asks = (model: string, run = 'r') => event('model.start', { run, model });
const ends = (cost: number, more: Parameters<typeof event<'model.end'>>[1] = {}) => event('model.end', { usage: used(cost), ...more });
const waits = event('approval.request', { approval: outputApproval(), usage: used(3) });

describe('what model calls used', () => {
  it('of nothing is nothing', () => {
    expect(usageBy([])).toEqual({ total: { requests: 0, inputTokens: 0, outputTokens: 0 }, byModel: {}, byAgent: {} });
  });

  it('divides by the model of each call and by the agent that was active, whatever became of the call', () => {
    const events = [
      asks('m'),
      ends(1),
      ends(2, { status: 'failed' }),
      asks('n'),
      ends(4, { status: 'aborted', agent: 'b' }),
      ends(8, { status: 'refused' }),
    ];
    const division = usageBy(events);
    expect(division).toEqual({
      total: used(15, 4),
      byModel: { m: used(3, 2), n: used(12, 2) },
      byAgent: { a: used(11, 3), b: used(4) },
    });
    expect(usageBy({ version: 1, events: log(...events) })).toEqual(division);
  });

  it('counts for the model that answered in the place of another', () => {
    expect(usageBy([asks('m'), ends(1, { model: 'n' }), ends(2)]).byModel).toEqual({ n: used(1), m: used(2) });
    expect(usageBy([ends(1)]).byModel).toEqual({ '': used(1) });
  });

  it('counts for each model of a fallback', () => {
    const usage = { ...used(3, 2), byModel: { m: used(1), n: used(2) } };
    expect(usageBy([asks('m'), ends(0, { usage })])).toEqual({ total: used(3, 2), byModel: usage.byModel, byAgent: { a: used(3, 2) } });
  });

  it('counts for the model of the very run, in runs side by side', () => {
    expect(usageBy([asks('m'), asks('n', 'x'), ends(1), ends(2, { run: 'x' })]).byModel).toEqual({ m: used(1), n: used(2) });
  });

  it('counts what views used, before a call and at the end of a run, for their models and the active agent', () => {
    const share = (cost: number) => [{ model: 'v', usage: used(cost) }];
    const events = [
      event('model.start', { viewUsage: share(1) }),
      ends(2),
      event('run.end', { agent: 'b', viewUsage: share(4) }),
      event('run.end'),
    ];
    expect(usageBy(events)).toEqual({
      total: used(7, 3),
      byModel: { v: used(5, 2), m: used(2) },
      byAgent: { a: used(3, 2), b: used(4) },
    });
  });

  it('takes no notice of anything else', () => {
    const others: RunEvent[] = [
      event('run.start'),
      event('run.resume'),
      event('guard.verdict'),
      event('input.accept'),
      event('approval.resolve'),
      event('tool.start'),
      event('tool.end'),
      event('handoff'),
      event('handoff.refused'),
      { type: 'text.delta', at: 0, run: 'r', agent: 'a', turn: 1, text: 'Hel' },
    ];
    expect(usageBy(others).total.requests).toBe(0);
  });
});

describe('an answer that waits for a person', () => {
  it('counts once, when it is put there', () => {
    expect(usageBy([asks('m'), waits]).byModel).toEqual({ m: used(3) });
    expect(usageBy([asks('m'), waits, ends(3)]).byModel).toEqual({ m: used(3) });
    expect(usageBy([asks('m'), waits, ends(3), ends(1)]).byModel).toEqual({ m: used(4, 2) });
    expect(usageBy([asks('m'), { ...waits, model: 'n' }, ends(3)]).byModel).toEqual({ n: used(3) });
  });

  it('does not keep the answers of other runs from counting', () => {
    expect(usageBy([waits, ends(1, { run: 'x' })]).total).toMatchObject({ cost: 4 });
  });

  it('counts not at all where nothing is told of it', () => {
    expect(usageBy([event('approval.request', { approval: outputApproval() }), ends(3)]).total.requests).toBe(0);
  });

  it('that was left behind is not taken for one of a run of the same name, in events of several logs', () => {
    expect(usageBy([event('run.start'), waits, event('run.start'), ends(1)]).total).toMatchObject({ requests: 2, cost: 4 });
  });
});

it('a call that waits for a person is no answer that does', () => {
  expect(usageBy([event('approval.request', { approval: callApproval(), usage: used(3) }), ends(1)]).total).toMatchObject({
    requests: 1,
    cost: 1,
  });
});
