import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { agentOf, answered, calls, entered, eventsOf, lastEvent, openCall, scripted, tool } from '../../test/scene.js';
import { asTool } from '../define/as-tool.js';
import { defineGuardrail } from '../define/guardrail.js';
import { handoff } from '../define/handoff.js';
import { allow, deny, halt, rewrite } from '../define/verdict.js';
import { GuardloopError } from '../errors.js';
import type { JsonValue } from '../model/types.js';
import type { LogEvent, RunEvent } from '../state/events.js';
import type { RunEnding } from './end-run.js';
import { endingOfStop, endRun } from './end-run.js';
import { finishCall } from './finish-call.js';
import type { RunHandle, Stop } from './handle.js';
import { loop } from './loop.js';
import { run } from './run.js';

const look = tool('look', () => 'Seen.');
const refusal = { action: 'deny', surface: 'input', by: 'sees', reason: 'no' } as const;
const error = new GuardloopError('STORE_FAILED', 'full', { isRetryable: true });
const recorded = { code: 'STORE_FAILED', message: 'full', isRetryable: true } as const;

/** The end of a run, without its number and time, and what was shown with it. */
async function ended(ending: RunEnding, agent: object = {}) {
  const told: RunEvent[] = [];
  const handle = await answered(agentOf(agent), { observers: [(event: RunEvent) => told.push(event)] });
  const before = told.length;
  endRun(handle, ending);
  const { seq, at, ...end } = lastEvent(handle) as LogEvent;
  return { handle, end, told: told.slice(before).map((event) => (event.type === 'text.delta' ? `shown: ${event.text}` : event.type)) };
}
const base = { type: 'run.end', run: 'r1', agent: 'desk' };

describe('the end of a run', () => {
  it('that completed is its answer', async () => {
    const { end, told } = await ended({ status: 'completed' });
    expect(end).toStrictEqual({ ...base, status: 'completed', text: 'Hello.' });
    expect(told).toEqual(['run.end']);
  });

  it('that reached a limit tells which', async () => {
    expect((await ended({ status: 'exhausted', limit: 'ms' })).end).toStrictEqual({ ...base, status: 'exhausted', limit: 'ms' });
  });

  it.each([
    ['of the guardrail', { ...refusal, reply: 'Not here.' }, 'Not here.'],
    ['of the agent', refusal, 'Sorry.'],
  ])('that was refused has the reply %s, which is shown', async (_whose, given, reply) => {
    const viewUsage = [{ model: 'm', usage: { requests: 1 } }];
    const { end, told } = await ended({ status: 'blocked', refusal: given, viewUsage }, { refusal: 'Sorry.' });
    expect(end).toStrictEqual({ ...base, status: 'blocked', refusal: given, reply, viewUsage });
    expect(told).toEqual(['run.end', `shown: ${reply}`]);
  });

  it('that was refused without a reply shows none', async () => {
    const { end, told } = await ended({ status: 'blocked', refusal });
    expect(end).toStrictEqual({ ...base, status: 'blocked', refusal });
    expect(told).toEqual(['run.end']);
  });

  it('that failed keeps the error', async () => {
    expect((await ended({ status: 'failed', error: recorded })).end).toStrictEqual({ ...base, status: 'failed', error: recorded });
  });

  it('that was cancelled keeps why, where that was said', async () => {
    expect((await ended({ status: 'cancelled', reason: undefined })).end).toStrictEqual({ ...base, status: 'cancelled' });
    expect((await ended({ status: 'cancelled', reason: new TypeError('x') })).end).toMatchObject({
      status: 'cancelled',
      cause: { name: 'TypeError' },
    });
  });
});

describe('the answer of a run', () => {
  const seen = (result: object) => (result as { readonly log: { readonly events: readonly LogEvent[] } }).log;

  it('that a tool gave is shown as the run completes; one that the model gave was shown before', async () => {
    for (const [text, more, shown] of [
      ['Paid.', { endsRun: true }, ['Paid.']],
      ['gone', { endsRun: true }, []],
      ['Paid.', {}, ['Done.']],
    ] as const) {
      const told: string[] = [];
      const model = scripted([calls('pay')], 'Done.');
      const empties = defineGuardrail({
        name: 'empties',
        on: ['output'],
        rewrite: ({ content }) => (content === 'gone' ? rewrite('', 'empty') : allow()),
      });
      const result = await run(agentOf({ model, tools: [tool('pay', () => text, more)], guardrails: [empties] }), 'hello', {
        observers: [{ 'text.delta': ({ text: piece }) => told.push(piece) }],
      });
      expect(told).toEqual(shown);
      expect(result.status).toBe('completed');
    }
  });

  it('of a last turn after a limit stands beside the limit', async () => {
    const model = scripted([calls('look')], 'So far.');
    const result = await run(agentOf({ model, tools: [look] }), 'hello', { limits: { turns: 1 }, onLimit: 'finalize' });
    expect(eventsOf(seen(result), 'run.end')[0]).toMatchObject({ status: 'exhausted', limit: 'turns', text: 'So far.' });
    expect(eventsOf(seen(result), 'run.end')[0]).not.toHaveProperty('value');
    const silent = scripted([calls('look')], [calls('look')]);
    const none = await run(agentOf({ model: silent, tools: [look] }), 'hello', { limits: { turns: 1 }, onLimit: 'finalize' });
    expect(eventsOf(seen(none), 'run.end')[0]).not.toHaveProperty('text');
  });

  it('is a value where the agent wants one', async () => {
    const output = z.object({ cents: z.number() });
    const whole = await run(agentOf({ model: scripted('{"cents":5}'), output }), 'hello');
    expect(eventsOf(seen(whole), 'run.end')[0]).toMatchObject({ text: '{"cents":5}', value: { cents: 5 } });
    const model = scripted([calls('look')], '{"cents":5}');
    const last = await run(agentOf({ model, tools: [look], output }), 'hello', { limits: { turns: 1 }, onLimit: 'finalize' });
    expect(eventsOf(seen(last), 'run.end')[0]).toMatchObject({ status: 'exhausted', text: '{"cents":5}', value: { cents: 5 } });
  });
});

describe('calls that are open when a run ends', () => {
  const bodyOf = (event: LogEvent | undefined) => JSON.parse(String((event as { readonly content?: unknown }).content));
  const end = (handle: RunHandle) => {
    const before = handle.root.events.length;
    endRun(handle, { status: 'cancelled', reason: undefined });
    return handle.root.events.slice(before);
  };

  it('are ended before it: as never started, or as what may have happened', async () => {
    const handle = await answered(agentOf({ model: scripted([calls('look', { a: 1 }), calls('look', { a: 2 })]), tools: [look] }), {
      limits: { repeats: 1 },
    });
    handle.append({ type: 'tool.start', callId: '1.1', tool: 'look', revision: 0, input: { a: 2 }, idempotencyKey: 'k' });
    const [first, second, last] = end(handle);
    expect(first).toMatchObject({ type: 'tool.end', callId: '1.0', status: 'aborted', revision: 0, chars: 0, polling: true });
    expect(bodyOf(first).summary).toBe('The run was stopped before this call was started.');
    expect(second).toMatchObject({ type: 'tool.end', callId: '1.1', status: 'unknown' });
    expect(second).not.toHaveProperty('note');
    expect(bodyOf(second).summary).toContain('look was started, but the run was stopped before its result was seen');
    expect(last).toMatchObject({ type: 'run.end' });
  });

  it('keep the end that was settled for them', async () => {
    const handle = await answered(agentOf({ model: scripted([calls('nothing')]), tools: [look] }));
    const [first] = end(handle);
    expect(first).toMatchObject({ type: 'tool.end', status: 'error', errorClass: 'unknown_tool' });
  });

  it('are not ended twice', async () => {
    const handle = await answered(agentOf({ model: scripted([calls('look')]), tools: [look] }));
    await finishCall(openCall(handle), { kind: 'value', value: 'Seen.' });
    expect(end(handle).map(({ type }) => type)).toEqual(['run.end']);
  });

  it('that returned a handoff do not hand over', async () => {
    const handle = await answered(agentOf({ model: scripted([calls('look')]), tools: [look] }));
    await finishCall(openCall(handle), { kind: 'value', value: handoff(agentOf({ name: 'billing' })) });
    const [first, last] = end(handle);
    expect(first).toMatchObject({ type: 'handoff.refused', callId: '1.0', status: 'aborted', errorClass: 'aborted' });
    expect(bodyOf(first).summary).toBe('The handoff did not happen: the run was stopped.');
    expect(last).toMatchObject({ type: 'run.end' });
  });

  it('of an agent that waits for people end its run first', async () => {
    const risky = tool('risky', () => 'Paid.', { approval: true });
    const helper = asTool(agentOf({ name: 'helper', model: scripted([calls('risky')]), tools: [risky] }), {
      name: 'helper',
      description: 'Helps.',
    });
    const told: RunEvent[] = [];
    const handle = await answered(agentOf({ model: scripted([calls('helper', { input: 'x' })]), tools: [helper] }), {
      observers: [(event: RunEvent) => told.push(event)],
    });
    await loop(handle);
    expect(end(handle).map(({ type, run: whose }) => `${whose} ${type}`)).toEqual([
      'r1/1.0 tool.end',
      'r1/1.0 run.end',
      'r1 tool.end',
      'r1 run.end',
    ]);
    expect(eventsOf(handle.root, 'run.end')).toMatchObject([{ status: 'cancelled' }, { status: 'cancelled' }]);
  });

  it('of an agent that has ended leave its run alone', async () => {
    const helper = asTool(agentOf({ name: 'helper' }), { name: 'helper', description: 'Helps.' });
    const whole = await run(agentOf({ model: scripted([calls('helper', { input: 'x' })], 'Done.'), tools: [helper] }), 'hello');
    expect(eventsOf(whole.log, 'run.end')).toHaveLength(2);
  });
});

it('leaves an answer in quarantine undecided', async () => {
  const kept = new Map<string, JsonValue>();
  const deleted: string[] = [];
  const quarantine = {
    put: async (key: string, value: JsonValue) => void kept.set(key, value),
    get: async (key: string) => kept.get(key),
    delete: async (key: string) => void deleted.push(key),
  };
  const asks = defineGuardrail({ name: 'asks', on: ['output'], check: () => ({ action: 'ask', reason: 'look' }) as const });
  const handle = await answered(agentOf({ guardrails: [asks] }), { quarantine });
  endRun(handle, { status: 'cancelled', reason: undefined });
  expect(handle.root.undecided).toEqual([handle.state]);
  const other = await answered(agentOf());
  endRun(other, { status: 'completed' });
  expect(other.root.undecided).toBeUndefined();
});

describe('what a stopped run ends as', () => {
  it.each<[string, Stop | undefined, RunEnding]>([
    ['a limit', { kind: 'limit', limit: 'ms' }, { status: 'exhausted', limit: 'ms' }],
    ['a store that failed', { kind: 'store', error }, { status: 'failed', error: recorded }],
    ['a fault', { kind: 'fault', error }, { status: 'failed', error: recorded }],
    ['its caller', { kind: 'cancel', reason: 'enough' }, { status: 'cancelled', reason: 'enough' }],
    ['the run above', { kind: 'parent' }, { status: 'cancelled', reason: undefined }],
    ['nothing', undefined, { status: 'cancelled', reason: undefined }],
  ])('is told by %s', async (_what, stop, ending) => {
    const handle = await entered(agentOf());
    if (stop) handle.abort(stop);
    expect(endingOfStop(handle)).toEqual(ending);
  });

  it('is told first by what events have settled', async () => {
    const refuses = defineGuardrail({ name: 'refuses', on: ['toolInput'], check: () => halt('no more') });
    const handle = await answered(agentOf({ model: scripted([calls('look')]), tools: [look], guardrails: [refuses] }));
    await loop(handle);
    expect(lastEvent(handle)).toMatchObject({ type: 'run.end', status: 'blocked', refusal: { by: 'refuses' } });
  });
});

describe('the loop', () => {
  it('ends a run that was stopped before it took a step', async () => {
    const handle = await entered(agentOf());
    handle.abort({ kind: 'cancel', reason: undefined });
    await loop(handle);
    expect(handle.root.events.map(({ type }) => type)).toEqual(['run.start', 'run.end']);
    expect(lastEvent(handle)).toMatchObject({ status: 'cancelled' });
  });

  it('does nothing with a run that has ended', async () => {
    const handle = await entered(agentOf());
    await loop(handle);
    const count = handle.root.events.length;
    await loop(handle);
    expect(handle.root.events).toHaveLength(count);
  });

  it.each<[Stop, string]>([
    [{ kind: 'cancel', reason: undefined }, 'completed'],
    [{ kind: 'limit', limit: 'ms' }, 'completed'],
    [{ kind: 'parent' }, 'completed'],
    [{ kind: 'store', error }, 'failed'],
    [{ kind: 'fault', error }, 'failed'],
  ])('lets an answer that was recorded stand after the stop %j or not: %s', async (stop, status) => {
    const handle = await answered(agentOf());
    handle.abort(stop);
    await loop(handle);
    expect(lastEvent(handle)).toMatchObject({ type: 'run.end', status });
  });

  it('ends as events have settled it, also after a stop', async () => {
    const refuses = defineGuardrail({ name: 'refuses', on: ['output'], check: () => deny('no') });
    const handle = await answered(agentOf({ guardrails: [refuses] }), { limits: { repairs: 0 } });
    handle.abort({ kind: 'cancel', reason: undefined });
    await loop(handle);
    expect(lastEvent(handle)).toMatchObject({ type: 'run.end', status: 'blocked' });
  });

  it('stops the run where something throws, and ends it failed', async () => {
    const instructions = () => {
      throw new TypeError('secret');
    };
    const result = await run(agentOf({ instructions }), 'hello');
    expect(result).toMatchObject({ status: 'failed', error: { code: 'INTERNAL' } });
  });

  it('gives up where ending it throws, too', async () => {
    const handle = await entered(agentOf());
    handle.append = () => {
      throw new Error('no more');
    };
    await loop(handle);
    expect(handle.stop).toMatchObject({ kind: 'fault' });
    expect(handle.root.events.map(({ type }) => type)).toEqual(['run.start']);
  });
});
