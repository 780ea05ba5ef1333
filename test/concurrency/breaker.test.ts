import type { BreakerOptions, Guardrail, RunEvent, RunResult, Surface } from '@guardloop/core';
import {
  allow,
  asTool,
  compareVerdicts,
  defineAgent,
  defineGuardrail,
  defineTool,
  halt,
  memorySession,
  resume,
  rewrite,
  run,
  stream,
} from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HandClock, settle } from '../models/hand-clock.js';
import { gate, ofType, reaches, sound } from '../scenarios/sound.js';

const secret = 'the classifier at 10.0.0.7 said: quota of key-123';

/** A guardrail that asks something remote, which answers as told. */
function remote(
  given: {
    readonly on?: Surface;
    readonly onError?: 'deny' | 'halt' | 'allow';
    readonly breaker?: BreakerOptions;
    readonly shadow?: boolean;
    readonly beside?: boolean;
    readonly window?: number;
    readonly isSync?: boolean;
  } = {},
) {
  const state = { asked: 0, isDown: true, hangs: false, aborted: 0 };
  const { on = 'input', isSync = false, beside, window, ...options } = given;
  const answer = async (signal: AbortSignal): Promise<ReturnType<typeof allow>> => {
    state.asked += 1;
    if (state.hangs)
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          state.aborted += 1;
          reject(new Error(secret));
        });
      });
    if (state.isDown) throw new Error(secret);
    return allow();
  };
  const sync = (): ReturnType<typeof allow> => {
    state.asked += 1;
    if (state.isDown) throw new Error(secret);
    return allow();
  };
  const ask = (_subject: unknown, { signal }: { readonly signal: AbortSignal }) => (isSync ? sync() : answer(signal));
  const base = { name: 'remote', on: [on], breaker: { failures: 3, coolDownMs: 1_000 }, ...options };
  const guardrail = defineGuardrail(
    (window === undefined
      ? { ...base, check: ask, ...(beside ? { beside: 'model' as const } : {}) }
      : { ...base, window, rewrite: ask }) as Parameters<typeof defineGuardrail>[0],
  ) as Guardrail<unknown>;
  return { state, guardrail };
}

const work = defineTool({ name: 'work', description: 'W.', input: z.object({}), execute: () => 'worked' });
const billing = defineAgent({ name: 'billing', instructions: '', model: scriptedModel([say('billed')]) });
/** One run passes every surface. */
function desk(guardrails: readonly Guardrail<unknown>[]) {
  const model = scriptedModel(({ messages }) => {
    const last = messages.at(-1);
    if (last?.role === 'user') return callTool('work');
    return JSON.stringify(messages).includes('to billing') ? callTool('transfer_to_billing') : say('done');
  });
  return defineAgent({ name: 'desk', instructions: '', model, tools: [work], handoffs: [billing], guardrails });
}

const failures = (result: RunResult) => ofType(result.log.events, 'guard.verdict').filter(({ failed }) => failed);
const statesIn = (events: readonly RunEvent[]) => ofType(events, 'guard.breaker').map(({ state }) => state);

describe('a guardrail with a breaker', () => {
  it.each(['input', 'toolInput', 'toolOutput', 'handoff', 'output'] as const)(
    'is not asked any more on %s once it has failed so often; each ask counts as failed, in the direction of onError',
    async (on) => {
      for (const onError of ['deny', 'halt', 'allow'] as const) {
        const { guardrail, state } = remote({ on, onError });
        const agent = desk([guardrail]);
        const clock = new HandClock();
        const told: RunEvent[] = [];
        const outcomes: string[] = [];
        for (let index = 0; index < 6; index += 1) {
          const result = await sound(
            run(agent, on === 'handoff' ? 'Go, to billing' : 'Go', { clock, observers: [(event) => void told.push(event)] }),
          );
          const [verdict] = failures(result);
          expect(verdict).toMatchObject({
            guardrail: 'remote',
            surface: on,
            action: onError,
            failed: true,
            reason: 'guardrail remote failed',
          });
          outcomes.push(`${result.status} ${result.status === 'blocked' ? `${result.reason} ${result.failed}` : ''}`);
        }
        expect(state.asked).toBe(3);
        // Who watches the outcome sees no difference between a failure and an ask that was not made.
        expect(new Set(outcomes).size).toBe(1);
        expect(statesIn(told)).toEqual(['open']);
        expect(ofType(told, 'guard.breaker')[0]).toMatchObject({ guardrail: 'remote', agent: 'desk' });
        expect(reaches(told, 'quota')).toBe(false);
      }
    },
  );

  it('is asked once after coolDownMs, however many runs there are, and again by all when that succeeds', async () => {
    const { guardrail, state } = remote();
    const agent = desk([guardrail]);
    const clock = new HandClock();
    const told: RunEvent[] = [];
    const options = { clock, observers: [(event: RunEvent) => void told.push(event)] };
    for (let index = 0; index < 3; index += 1) await run(agent, 'Go', options);
    await clock.pass(999);
    await run(agent, 'Go', options);
    expect(state.asked).toBe(3);
    await clock.pass(1);
    const many = () => Promise.all(Array.from({ length: 50 }, () => sound(run(agent, 'Go', options))));
    const failed = await many();
    expect(state.asked).toBe(4);
    expect(new Set(failed.map(({ status }) => status))).toEqual(new Set(['blocked']));
    await clock.pass(1_000);
    state.isDown = false;
    const mixed = await many();
    expect(mixed.filter(({ status }) => status === 'completed')).not.toHaveLength(0);
    expect(mixed.every((each) => each.status === 'completed' || (each.status === 'blocked' && each.failed === true))).toBe(true);
    const after = await many();
    expect(new Set(after.map(({ status }) => status))).toEqual(new Set(['completed']));
    expect(statesIn(told)).toEqual(['open', 'half-open', 'open', 'half-open', 'closed']);
  });

  it('fails by its deadline, too', async () => {
    const { guardrail, state } = remote();
    state.hangs = true;
    const agent = desk([guardrail]);
    const clock = new HandClock();
    for (let index = 0; index < 3; index += 1) {
      const running = run(agent, 'Go', { clock });
      await clock.pass(10_000);
      expect(await running).toMatchObject({ status: 'blocked', failed: true });
    }
    const began = clock.now();
    expect(await run(agent, 'Go', { clock })).toMatchObject({ status: 'blocked', failed: true });
    expect([state.asked, clock.now()]).toEqual([3, began]);
  });

  it('has not failed when a sibling’s halt made its answer useless', async () => {
    const { guardrail, state } = remote({ breaker: { failures: 1 } });
    state.hangs = true;
    const halts = defineGuardrail({ name: 'halts', on: ['input'], check: async () => halt('no') });
    const agent = desk([guardrail, halts]);
    const told: RunEvent[] = [];
    for (let index = 0; index < 5; index += 1)
      expect(await sound(run(agent, 'Go', { observers: [(event) => void told.push(event)] }))).toMatchObject({ by: 'halts' });
    expect(state).toMatchObject({ asked: 5, aborted: 5 });
    expect(statesIn(told)).toEqual([]);
    state.hangs = false;
    state.isDown = false;
    expect((await run(desk([guardrail]), 'Go')).status).toBe('completed');
  });

  it.each(['signal', 'reader'] as const)(
    'has not failed when the run was cancelled by the %s, and its probe is another’s then',
    async (by) => {
      const { guardrail, state } = remote({ breaker: { failures: 1, coolDownMs: 1_000 } });
      const agent = desk([guardrail]);
      const clock = new HandClock();
      state.hangs = true;
      const cancel = async (): Promise<void> => {
        const stop = new AbortController();
        const events = stream(agent, 'Go', { clock, signal: stop.signal });
        const reader = events[Symbol.asyncIterator]();
        await reader.next();
        await settle();
        if (by === 'signal') stop.abort();
        else await reader.return?.();
        expect((await events.result).status).toBe('cancelled');
      };
      await cancel();
      expect(state.asked).toBe(1);
      state.hangs = false;
      expect(await run(agent, 'Go', { clock })).toMatchObject({ status: 'blocked', failed: true });
      await clock.pass(1_000);
      state.hangs = true;
      await cancel();
      expect(state.asked).toBe(3);
      state.hangs = false;
      state.isDown = false;
      expect((await run(agent, 'Go', { clock })).status).toBe('completed');
      expect(state.asked).toBe(4);
    },
  );

  it('gives its probe to the next ask when a sibling’s halt made it useless', async () => {
    const { guardrail, state } = remote({ breaker: { failures: 1, coolDownMs: 1_000 } });
    const halts = defineGuardrail({ name: 'halts', on: ['input'], check: async () => halt('no') });
    const clock = new HandClock();
    await run(desk([guardrail]), 'Go', { clock });
    await clock.pass(1_000);
    state.hangs = true;
    expect(await run(desk([guardrail, halts]), 'Go', { clock })).toMatchObject({ by: 'halts' });
    Object.assign(state, { hangs: false, isDown: false });
    expect((await run(desk([guardrail]), 'Go', { clock })).status).toBe('completed');
    expect(state.asked).toBe(3);
    expect(clock.pending).toBe(0);
  });

  it('gives its probe to the next ask when a reader left while it looked through its window', async () => {
    const { guardrail, state } = remote({ on: 'output', window: 4, breaker: { failures: 1, coolDownMs: 1_000 } });
    const model = scriptedModel(() => say('A text that is longer than the window.'), { chunks: 8 });
    const agent = defineAgent({ name: 'talker', instructions: '', model, guardrails: [guardrail] });
    const clock = new HandClock();
    await run(agent, 'Go', { clock });
    await clock.pass(1_000);
    state.hangs = true;
    const stop = new AbortController();
    const running = run(agent, 'Go', { clock, signal: stop.signal });
    await settle();
    expect(state.asked).toBe(2);
    stop.abort();
    expect((await running).status).toBe('cancelled');
    Object.assign(state, { hangs: false, isDown: false });
    expect((await run(agent, 'Go', { clock })).status).toBe('completed');
  });

  it('in shadow spares its service and refuses nothing', async () => {
    const { guardrail, state } = remote({ shadow: true });
    const agent = desk([guardrail]);
    for (let index = 0; index < 5; index += 1) {
      const result = await sound(run(agent, 'Go', { clock: new HandClock() }));
      expect(result.status).toBe('completed');
      expect(failures(result)).toMatchObject([{ guardrail: 'remote', shadow: true, failed: true }]);
    }
    expect(state.asked).toBe(3);
  });

  it('beside the model ends the model’s call at once', async () => {
    const { guardrail, state } = remote({ beside: true });
    const agent = desk([guardrail]);
    for (let index = 0; index < 5; index += 1)
      expect(await sound(run(agent, 'Go', { clock: new HandClock() }))).toMatchObject({ status: 'blocked', by: 'remote', failed: true });
    expect(state.asked).toBe(3);
  });

  it.each(['deny', 'halt', 'allow'] as const)(
    'with a window is one verdict an answer still, and no text flows while it is open (%s)',
    async (onError) => {
      const { guardrail, state } = remote({ on: 'output', window: 4, onError, breaker: { failures: 2, coolDownMs: 1_000 } });
      const text = 'A text that is much longer than the window, so that it flows in pieces.';
      const agent = defineAgent({
        name: 'talker',
        instructions: '',
        model: scriptedModel(() => say(text), { chunks: 12 }),
        guardrails: [guardrail],
      });
      const clock = new HandClock();
      const talk = async () => {
        const events = stream(agent, 'Go', { clock });
        const seen: RunEvent[] = [];
        for await (const event of events) seen.push(event);
        return { seen, result: await sound(events.result) };
      };
      for (let index = 0; index < 5; index += 1) {
        const { seen, result } = await talk();
        expect(ofType(result.log.events, 'guard.verdict')).toMatchObject([{ guardrail: 'remote', action: onError, failed: true }]);
        expect(ofType(seen, 'text.delta').length > 0).toBe(onError === 'allow');
        expect(result.status).toBe(onError === 'allow' ? 'completed' : 'blocked');
      }
      expect(state.asked).toBe(2);
      await clock.pass(1_000);
      state.isDown = false;
      const { result } = await talk();
      expect(result).toMatchObject({ status: 'completed', output: text });
      expect(failures(result)).toEqual([]);
    },
  );

  it('that rewrites leaves the subject as it is while it is open', async () => {
    let asked = 0;
    const guardrail = defineGuardrail({
      name: 'remote',
      on: ['input'],
      onError: 'allow',
      breaker: { failures: 1 },
      rewrite: async () => {
        asked += 1;
        return asked === 1 ? ('nonsense' as never) : rewrite('changed', 'x');
      },
    });
    const agent = desk([guardrail]);
    for (let index = 0; index < 3; index += 1) {
      const result = await sound(run(agent, 'Go', { clock: new HandClock() }));
      expect(JSON.stringify(result.messages[0])).toContain('Go');
    }
    expect(asked).toBe(1);
  });

  it('in a child run is told to whoever watches the parent', async () => {
    const { guardrail } = remote({ breaker: { failures: 1 }, onError: 'allow' });
    const child = defineAgent({ name: 'child', instructions: '', model: scriptedModel([say('c')]), guardrails: [guardrail] });
    const parent = defineAgent({
      name: 'parent',
      instructions: '',
      model: scriptedModel([callTool('ask_child', { input: 'x' }), say('p')]),
      tools: [asTool(child, { name: 'ask_child', description: 'A.' })],
    });
    const events = stream(parent, 'Go');
    const seen: RunEvent[] = [];
    for await (const event of events) seen.push(event);
    const result = await sound(events.result);
    expect(ofType(seen, 'guard.breaker')).toMatchObject([
      { agent: 'child', run: `${result.runId}/1.0`, parent: result.runId, state: 'open' },
    ]);
    expect(ofType(seen, 'turn.start').every(({ agent }) => agent === 'parent')).toBe(true);
  });

  it('refuses a run that resume reopens too early, and lets it through when its service is well', async () => {
    const { guardrail, state } = remote({ breaker: { failures: 1, coolDownMs: 1_000 } });
    const agent = desk([guardrail]);
    const clock = new HandClock();
    const session = { store: memorySession(), id: 's' };
    expect(await run(agent, 'Go', { clock, session })).toMatchObject({ status: 'blocked', failed: true });
    state.isDown = false;
    const again = () => sound(resume(agent, session, { clock, input: 'Go' }).result);
    expect(await again()).toMatchObject({ status: 'blocked', failed: true });
    expect(state.asked).toBe(1);
    await clock.pass(1_000);
    expect((await again()).status).toBe('completed');
  });

  it('is the same in every agent and run where it stands, and another than one that is defined alike', async () => {
    const first = remote({ breaker: { failures: 2 } });
    const second = remote({ breaker: { failures: 2 } });
    const clock = new HandClock();
    await run(desk([first.guardrail]), 'Go', { clock });
    await run(billing, 'Go', { clock, guardrails: [first.guardrail] });
    await run(desk([first.guardrail]), 'Go', { clock });
    expect(first.state.asked).toBe(2);
    await run(desk([second.guardrail]), 'Go', { clock });
    expect(second.state.asked).toBe(1);
  });

  it('stays out of the log: cut and resumed, it is as it is in the process', async () => {
    const { guardrail } = remote({ breaker: { failures: 1 } });
    const result = await run(desk([guardrail]), 'Go');
    expect(JSON.stringify(result.log)).not.toContain('breaker');
  });

  it('neither holds back what compareVerdicts asks nor opens by it', async () => {
    const logs = await Promise.all(Array.from({ length: 6 }, async () => (await run(desk([]), 'Go')).log));
    const { guardrail, state } = remote();
    await compareVerdicts(logs, [guardrail]);
    expect(state.asked).toBe(6);
    state.isDown = false;
    expect((await run(desk([guardrail]), 'Go')).status).toBe('completed');
  });

  it('holds every promise in every order of failures, waits, aborts and runs at once', async () => {
    const event = fc.record({
      wait: fc.nat(700),
      isDown: fc.boolean(),
      runs: fc.integer({ min: 1, max: 6 }),
      aborts: fc.nat(3),
      slow: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 8 }), fc.boolean(), async (steps, isSync) => {
        const clock = new HandClock();
        const held: (() => void)[] = [];
        const state = { asked: 0, isDown: false, slow: false };
        const answer = () => {
          state.asked += 1;
          const { isDown } = state;
          const settleIt = () => {
            if (isDown) throw new Error(secret);
            return allow();
          };
          if (isSync) return settleIt();
          if (!state.slow) return Promise.resolve().then(settleIt);
          const opened = gate();
          held.push(opened.open);
          return opened.opened.then(settleIt);
        };
        const guardrail = defineGuardrail({ name: 'remote', on: ['input'], breaker: { failures: 2, coolDownMs: 1_000 }, check: answer });
        const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel(() => say('ok')), guardrails: [guardrail] });
        const told: RunEvent[] = [];
        let openedAt: number | undefined;
        const watch = (seen: RunEvent): void => {
          told.push(seen);
          if (seen.type === 'guard.breaker') openedAt = seen.state === 'open' ? seen.at : undefined;
        };
        for (const step of steps) {
          await clock.pass(step.wait);
          Object.assign(state, { isDown: step.isDown, slow: step.slow });
          const isShut = openedAt !== undefined && clock.now() - openedAt < 1_000;
          const before = state.asked;
          const stops = Array.from({ length: step.runs }, () => new AbortController());
          const running = stops.map(({ signal }) => run(agent, 'Go', { clock, signal, observers: [watch] }));
          await settle();
          for (const stop of stops.slice(0, step.aborts)) stop.abort();
          for (const open of held.splice(0)) open();
          const results = await Promise.all(running.map((each) => sound(each)));
          if (isShut) expect(state.asked).toBe(before);
          for (const result of results) {
            if (result.status === 'cancelled') continue;
            const [verdict] = ofType(result.log.events, 'guard.verdict');
            expect(verdict?.failed === true).toBe(result.status === 'blocked');
          }
        }
        const states = statesIn(told);
        const follows: Record<string, readonly string[]> = { closed: ['open'], open: ['half-open'], 'half-open': ['open', 'closed'] };
        states.reduce((from, to) => {
          expect(follows[from]).toContain(to);
          return to;
        }, 'closed');
        // It never stays shut for good.
        state.isDown = false;
        state.slow = false;
        await clock.pass(10_000);
        expect((await run(agent, 'Go', { clock })).status).toBe('completed');
        expect(clock.pending).toBe(0);
      }),
      { numRuns: 60, seed: 830 },
    );
  });
});
