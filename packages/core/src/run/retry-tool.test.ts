import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { agentOf, answered, calls, eventsOf, HandClock, openCall, scripted, settle, tool } from '../../test/scene.js';
import { withDetails } from '../define/detailed.js';
import { defineGuardrail } from '../define/guardrail.js';
import { toolError } from '../define/tool-error.js';
import type { ToolFailure, ToolInfo, ToolRetry } from '../define/types.js';
import { allow } from '../define/verdict.js';
import type { ErrorClass, RunEvent } from '../state/events.js';
import type { Outcome } from './execute-tool.js';
import { retryTool } from './retry-tool.js';
import { run } from './run.js';
import { runCall } from './run-call.js';

afterEach(() => vi.restoreAllMocks());

type Execute = (input: never, info: ToolInfo) => unknown;
interface Making {
  readonly retry?: ToolRetry;
  readonly more?: object;
  readonly limits?: object;
}

/** A call of the tool `look`, which may run twice, that is about to be tried. */
async function about(execute: Execute, { retry = {}, more = {}, limits = {} }: Making = {}) {
  const clock = new HandClock();
  const told: RunEvent[] = [];
  const agent = agentOf({ model: scripted([calls('look')]), tools: [tool('look', execute, { repeatable: true, retry, ...more })] });
  const handle = await answered(agent, { clock, limits, observers: [(event: RunEvent) => told.push(event)] });
  const open = openCall(handle);
  const spec = open.tool.retry;
  if (spec === undefined) throw new Error('The tool has no retry.');
  const steps = () => told.flatMap((event) => (event.type === 'tool.progress' ? [event.step] : []));
  return { clock, handle, open, steps, go: () => retryTool(open, {}, spec) };
}

const away = (failure: ToolFailure = { errorClass: 'unavailable' }) => toolError('away', failure);
/** Fails so often, then answers. */
const failing = (times: number, failure?: ToolFailure) => {
  let attempts = 0;
  return vi.fn(() => {
    attempts += 1;
    if (attempts <= times) throw away(failure);
    return 'here';
  });
};
const at = (share: number) => vi.spyOn(Math, 'random').mockReturnValue(share);
const error = (summary: string, errorClass: ErrorClass = 'unavailable', retryable = false): Outcome =>
  ({ kind: 'error', summary, errorClass, retryable }) as const;

describe('a tool that is tried again', () => {
  it('gives what its first good attempt gave, and tells each attempt as a step', async () => {
    at(0);
    const execute = failing(2);
    const { go, steps } = await about(execute);
    expect(await go()).toEqual({ kind: 'value', value: 'here' });
    expect(execute).toHaveBeenCalledTimes(3);
    expect(steps()).toEqual([1, 2, 3]);
  });

  it('ends with its last failure, which says how often it was tried', async () => {
    at(0);
    const execute = failing(9);
    const { go } = await about(execute, { retry: { attempts: 4 } });
    expect(await go()).toEqual(error('look failed: away (tried 4 times)'));
    expect(execute).toHaveBeenCalledTimes(4);
  });

  it.each([
    ['returned', () => away()],
    ['returned with details', () => withDetails(away(), { tried: 1 })],
    ['rejected', () => Promise.reject(away())],
  ])('is tried again where its failure was %s', async (_how, fail) => {
    at(0);
    let attempts = 0;
    const { go } = await about(() => {
      attempts += 1;
      return attempts === 1 ? fail() : 'here';
    });
    expect(await go()).toEqual({ kind: 'value', value: 'here' });
  });

  it('has the same key in each attempt, and signals of its own', async () => {
    at(0);
    const seen: ToolInfo[] = [];
    const { go } = await about((_input, info) => {
      seen.push(info);
      if (seen.length === 1) throw away();
      return 'here';
    });
    await go();
    expect(seen.map(({ idempotencyKey }) => idempotencyKey)).toEqual(['r1/1.0', 'r1/1.0']);
    expect(seen[0]).not.toBe(seen[1]);
  });
});

describe('which failures are tried again', () => {
  const tries = async (failure: ToolFailure | undefined, retry: ToolRetry = {}) => {
    at(0);
    const execute = failure === undefined ? vi.fn(() => Promise.reject(new Error('odd'))) : failing(9, failure);
    await (await about(execute, { retry })).go();
    return execute.mock.calls.length;
  };

  it.each<[string, [ToolFailure | undefined, ToolRetry, number]]>([
    ['what may pass by its class', [{ errorClass: 'unavailable' }, {}, 3]],
    ['a limit of rate', [{ errorClass: 'rate_limited' }, {}, 3]],
    ['a deadline of the tool’s own', [{ errorClass: 'timeout' }, {}, 3]],
    ['what says that it may pass', [{ retryable: true }, {}, 3]],
    ['nothing that was just thrown', [undefined, {}, 1]],
    ['nothing that says it will not pass', [{ errorClass: 'unavailable', retryable: false }, {}, 1]],
    ['nothing that needs other arguments', [{ errorClass: 'invalid_input', retryable: true }, {}, 1]],
    ['no class that was not listed', [{ errorClass: 'unavailable', retryable: true }, { on: ['timeout'] }, 1]],
    ['a class that was listed and says that it may pass', [{ errorClass: 'not_found', retryable: true }, { on: ['not_found'] }, 3]],
    ['no other class that says nothing', [{ errorClass: 'not_found' }, { on: ['not_found'] }, 1]],
    ['nothing where one attempt was wanted', [{ errorClass: 'unavailable' }, { attempts: 1 }, 1]],
  ])('%s', async (_what, [failure, retry, expected]) => {
    expect(await tries(failure, retry)).toBe(expected);
  });
});

describe('the waits between attempts', () => {
  it('are a random share of a bound that doubles up to its most, on the run’s clock', async () => {
    at(0.5);
    const execute = failing(9);
    const { go, clock, handle } = await about(execute, { retry: { attempts: 5, backoffMs: 100, maxBackoffMs: 300 } });
    const going = go();
    for (const [ms, attempts] of [
      [0, 1],
      [49, 1],
      [1, 2],
      [99, 2],
      [1, 3],
      [149, 3],
      [1, 4],
      [150, 5],
    ] as const) {
      await clock.pass(ms);
      expect(execute).toHaveBeenCalledTimes(attempts);
    }
    await going;
    expect(clock.timers).toHaveLength(0);
    expect(handle.stop).toBeUndefined();
  });

  it('are never longer than the bound, whatever the numbers', async () => {
    await fc.assert(
      fc.asyncProperty(fc.double({ min: 0, max: 0.999, noNaN: true }), fc.integer({ min: 0, max: 50 }), async (share, backoffMs) => {
        at(share);
        const { go, clock } = await about(failing(3), { retry: { attempts: 4, backoffMs, maxBackoffMs: 60 } });
        const going = go();
        let waited = 0;
        for (let attempt = 1; attempt < 4; attempt += 1) {
          await settle();
          const bound = Math.min(60, backoffMs * 2 ** (attempt - 1));
          expect(clock.timers.length).toBeLessThanOrEqual(1);
          expect((clock.timers[0]?.at ?? clock.time) - clock.time).toBeLessThanOrEqual(bound);
          await clock.pass(bound);
          waited += bound;
        }
        expect(await going).toEqual({ kind: 'value', value: 'here' });
        expect(waited).toBeLessThanOrEqual(180);
      }),
      { numRuns: 30 },
    );
  });

  it('end with the run, and no attempt follows', async () => {
    at(0.5);
    const execute = failing(9);
    const { go, handle, clock } = await about(execute);
    const going = go();
    await settle();
    handle.abort({ kind: 'cancel', reason: undefined });
    expect(await going).toEqual(error('look failed: away'));
    await clock.pass(60_000);
    expect(execute).toHaveBeenCalledTimes(1);
  });

  it('are not begun where the deadline of the call would pass meanwhile', async () => {
    at(0.5);
    const execute = failing(9);
    const { go, clock } = await about(execute, { retry: { backoffMs: 200 }, more: { timeoutMs: 150 } });
    const going = go();
    await settle();
    await clock.pass(100);
    expect(await going).toEqual(error('look failed: away (tried 2 times)'));
  });
});

describe('the deadline of a call', () => {
  it('is that of all attempts together', async () => {
    at(0.5);
    let attempts = 0;
    const { go, clock } = await about(
      () => {
        attempts += 1;
        if (attempts === 1) throw away();
        return new Promise(() => undefined);
      },
      { retry: { backoffMs: 100 }, more: { timeoutMs: 80 } },
    );
    const going = go();
    await settle();
    await clock.pass(50);
    expect(attempts).toBe(2);
    await clock.pass(30);
    expect(await going).toMatchObject({ kind: 'end', end: { status: 'error', errorClass: 'timeout', retryable: true } });
    expect(attempts).toBe(2);
  });
});

describe('the limits of a run', () => {
  it('keep further attempts from starting', async () => {
    at(0);
    const execute = failing(9);
    const { go, handle } = await about(execute, { limits: { tokens: 1_000_000 } });
    Object.assign(handle.state.limits, { tokens: 1 });
    expect(await go()).toEqual(error('look failed: away'));
    expect(execute).toHaveBeenCalledTimes(1);
  });

  it('count all attempts as one call', async () => {
    at(0);
    const look = tool('look', failing(2), { repeatable: true, retry: {} });
    const result = await run(agentOf({ model: scripted([calls('look')], 'Done.'), tools: [look] }), 'hello', { limits: { toolCalls: 1 } });
    expect(result.status).toBe('completed');
    expect(eventsOf(result, 'tool.start')).toHaveLength(1);
    expect(eventsOf(result, 'tool.end')).toMatchObject([{ status: 'ok', content: 'here', completeness: 'full' }]);
  });
});

describe('guardrails', () => {
  it('are asked once about the input and once about what came of it in the end', async () => {
    at(0);
    const asked: string[] = [];
    const sees = defineGuardrail({
      name: 'sees',
      on: ['toolInput', 'toolOutput'],
      check: ({ surface, content }) => {
        asked.push(`${surface} ${content}`);
        return allow();
      },
    });
    const look = tool('look', failing(9), { repeatable: true, retry: {} });
    const result = await run(agentOf({ model: scripted([calls('look')], 'Done.'), tools: [look], guardrails: [sees] }), 'hello');
    expect(result.status).toBe('completed');
    expect(asked).toEqual(['toolInput {}', 'toolOutput look failed: away (tried 3 times)']);
  });
});

it('a tool without `retry` is tried once, whatever it says', async () => {
  const execute = failing(9, { errorClass: 'unavailable', retryable: true });
  const handle = await answered(agentOf({ model: scripted([calls('look')]), tools: [tool('look', execute, { repeatable: true })] }));
  await runCall(openCall(handle), {});
  expect(execute).toHaveBeenCalledTimes(1);
});
