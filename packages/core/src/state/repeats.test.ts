import { describe, expect, it } from 'vitest';
import { event, log, toolCall } from '../../test/log-events.js';
import type { JsonObject } from '../model/types.js';
import type { RecordedCall } from './events.js';
import { fold } from './fold.js';
import { countRepeat, recordRepeat } from './repeats.js';
import type { CallState, RunState } from './state.js';

function begun(): RunState {
  const run = fold(log(event('run.start'))).runs.get('r');
  if (run === undefined) throw new Error('No run was folded.');
  return run;
}
function calling(run: RunState, input: JsonObject = {}, more: Partial<RecordedCall> = {}): CallState {
  const state = fold(log(event('run.start'), event('model.end', { calls: [toolCall('1.0', { input, ...more })] })));
  const call = state.runs.get('r')?.calls.get('1.0');
  if (call === undefined) throw new Error('No call was folded.');
  run.turn += 1;
  return call;
}

/** Makes a call in a turn of its own, and tells how often it was made, as it was told before and as it was recorded. */
function make(run: RunState, ...[input, content, more]: [JsonObject, Parameters<typeof recordRepeat>[2], Partial<RecordedCall>?]): number {
  const call = calling(run, input, more);
  const told = countRepeat(run, call, content);
  expect(countRepeat(run, call, content)).toBe(told);
  const recorded = recordRepeat(run, call, content);
  expect(recorded).toBe(told);
  return recorded;
}

describe('calls of one tool', () => {
  it('are equal where input and result are, in whatever order the fields come', () => {
    const run = begun();
    expect(make(run, { a: 1, b: 2 }, 'seen')).toBe(1);
    expect(make(run, { b: 2, a: 1 }, 'seen')).toBe(2);
    expect(make(run, { a: 1, b: 2 }, 'seen')).toBe(3);
    expect(make(run, { a: 1 }, 'seen')).toBe(1);
    expect(make(run, { a: 1, b: 2 }, 'seen')).toBe(4);
    expect(make(run, { a: 1 }, 'seen')).toBe(2);
  });

  it('are counted from one again when the result is another', () => {
    const run = begun();
    expect(make(run, {}, 'seen')).toBe(1);
    expect(make(run, {}, 'seen')).toBe(2);
    expect(make(run, {}, 'gone')).toBe(1);
    expect(make(run, {}, 'gone')).toBe(2);
    expect(make(run, {}, 'seen')).toBe(1);
  });

  it('have equal results where all parts are equal', () => {
    const run = begun();
    expect(make(run, {}, [{ type: 'text', text: 'seen' }])).toBe(1);
    expect(make(run, {}, [{ type: 'text', text: 'seen' }])).toBe(2);
    expect(make(run, {}, [{ type: 'text', text: 'gone' }])).toBe(1);
  });

  it('count once in one turn, however many there are', () => {
    const run = begun();
    make(run, {}, 'seen');
    const call = calling(run);
    expect(recordRepeat(run, call, 'seen')).toBe(2);
    expect(countRepeat(run, call, 'seen')).toBe(2);
    expect(recordRepeat(run, call, 'seen')).toBe(2);
    expect(make(run, {}, 'seen')).toBe(3);
  });

  it('whose inputs are not recorded are told apart by their variants', () => {
    const run = begun();
    expect(make(run, {}, 'denied', { variant: 1 })).toBe(1);
    expect(make(run, {}, 'denied', { variant: 2 })).toBe(1);
    expect(make(run, {}, 'denied')).toBe(1);
    expect(make(run, {}, 'denied', { variant: 1 })).toBe(2);
    expect(make(run, {}, 'denied', { variant: 2 })).toBe(2);
  });
});

it('calls of two tools are never equal', () => {
  const run = begun();
  expect(make(run, {}, 'seen')).toBe(1);
  expect(make(run, {}, 'seen', { name: 'other' })).toBe(1);
  expect(make(run, {}, 'seen')).toBe(2);
});

it('asking alone remembers nothing', () => {
  const run = begun();
  const call = calling(run);
  expect(countRepeat(run, call, 'seen')).toBe(1);
  expect(run.repeats.size).toBe(0);
  recordRepeat(run, call, 'seen');
  expect(countRepeat(run, calling(run), 'seen')).toBe(2);
  expect(countRepeat(run, calling(run), 'seen')).toBe(2);
});

it('the first call of a tool costs no canonical JSON', () => {
  const run = begun();
  const call = calling(run);
  recordRepeat(run, call, 'seen');
  expect(call.key).toBeUndefined();
  expect(run.repeats.get('look')).toMatchObject({ first: { input: {}, count: 1, turn: 1 }, byInput: undefined });
});
