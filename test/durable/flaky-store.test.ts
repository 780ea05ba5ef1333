// Workers whose store refuses calls, loses the answers of others, and takes its time.
import { defineAgent, defineTool, GuardloopError } from '@guardloop/core';
import type { Durable, Registry } from '@guardloop/durable';
import { durable, embeddedEngine } from '@guardloop/durable';
import type { ApprovalRecord, Store } from '@guardloop/store';
import { memoryStore } from '@guardloop/store';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { sleep } from '../scenarios/sound.js';

function seeded(seed: number): () => number {
  let state = seed * 7_919;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
const lost = () => new GuardloopError('STORE_FAILED', 'The connection is gone.', { isRetryable: true });

/** Of a hundred calls some are refused, some done and not answered, and some slow. */
function flaky(inner: Store, random: () => number, isCalm: () => boolean): Store {
  const wrap = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value === 'object' && value !== null) return wrap(value);
        if (typeof value !== 'function') return value;
        if (name === 'watch' || name === 'close') return value.bind(target);
        return async (...given: unknown[]) => {
          const dice = isCalm() ? 50 : random() * 100;
          if (dice < 4) throw lost();
          if (dice < 12) await sleep(random() * 20);
          const answer: unknown = await value.apply(target, given);
          if (dice > 96) throw lost();
          return answer;
        };
      },
    });
  return wrap(inner);
}

function world(random: () => number) {
  const effects: string[] = [];
  const toolOf = (name: string, options: { readonly approval?: boolean; readonly repeatable?: boolean } = {}) =>
    defineTool({
      name,
      description: name,
      input: z.object({ n: z.number() }),
      ...options,
      execute: async ({ n }, { idempotencyKey }) => {
        if (options.repeatable !== true) effects.push(idempotencyKey);
        if (random() < 0.3) await sleep(random() * 40);
        return `${name} ${n} is done`;
      },
    });
  const tools = [toolOf('charge'), toolOf('pay', { approval: true }), toolOf('look', { repeatable: true })];
  const steps = [
    [callTool('charge', { n: 1 }), callTool('look', { n: 2 })],
    [callTool('pay', { n: 3 })],
    [callTool('transfer_to_b', { brief: 'go on' })],
  ];
  const agents = () => {
    const model = scriptedModel((request) => {
      if (request.agent === 'a') return steps[request.turn - 1] ?? say('a is done');
      const isFirst = !request.messages.some(({ role }) => role === 'tool');
      return isFirst ? [callTool('pay', { n: 9 }), callTool('look', { n: 7 })] : say('b is done');
    });
    const b = defineAgent({ name: 'b', instructions: '', model, tools });
    return { a: defineAgent({ name: 'a', instructions: '', model, tools, handoffs: [b] }) };
  };
  return { effects, agents };
}

/** Whoever is asked whether a call has run has looked, and says what came of it. */
const answerTo = ({ approval }: ApprovalRecord, random: () => number) => {
  if ('mayHaveRun' in approval && approval.mayHaveRun) return { result: 'somebody looked' };
  return random() < 0.8 ? ('approve' as const) : { reject: 'not now' };
};

it.each([1, 2, 3, 4, 5, 6])(
  'S214, S147: runs end, each effect happens once and every log is whole, whatever the store does to their workers, seed %i',
  { timeout: 120_000 },
  async (seed) => {
    const random = seeded(seed);
    const inner = memoryStore();
    const { effects, agents } = world(random);
    let isCalm = false;
    const engine = () => embeddedEngine({ pollMs: 20 });
    const retry = { firstMs: 5, mostMs: 40 };
    const open = (): Durable<Registry> =>
      durable({
        store: flaky(inner, random, () => isCalm),
        agents: agents(),
        engine: engine(),
        upkeepMs: 20,
        retry,
        maxAttempts: 1_000,
      }) as unknown as Durable<Registry>;
    const workers = [open(), open()];
    const calm = durable({ store: inner, agents: agents(), engine: engine() });
    const runs = { r1: 'r1', r2: 'r2', r3: 'r1' };
    for (const [id, session] of Object.entries(runs)) await calm.submit('a', 'go', { id, session, limits: { turns: 12 } });
    for (const each of workers) await each.worker({ leaseMs: 300 });
    const hasEnded = async (): Promise<boolean> => {
      const records = await Promise.all(Object.keys(runs).map((id) => inner.runs.get(id)));
      return records.every((record) => record?.state === 'ended');
    };
    for (const deadline = performance.now() + 90_000; !(await hasEnded()); await sleep(15)) {
      if (performance.now() > deadline) throw new Error('The runs did not end.');
      for (const asked of (await inner.approvals.list({ state: 'open' })).items) {
        const decider = workers[random() < 0.5 ? 0 : 1];
        await decider?.approvals.decide(asked.id, answerTo(asked, random)).catch(() => undefined);
      }
    }
    isCalm = true;
    for (const each of [...workers, calm]) await each.close({ graceMs: 0 });
    for (const id of Object.keys(runs)) expect(await inner.runs.get(id)).toMatchObject({ status: 'completed' });
    let results = 0;
    for (const session of ['r1', 'r2']) {
      const events = await inner.load(session);
      expect(auditLog({ version: 1, events })).toEqual([]);
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      results += events.filter((event) => event.type === 'tool.end' && /"(charge|pay) \d is done"/.test(JSON.stringify(event))).length;
    }
    // By chance people refuse more, and workers die before more of them: how many there are differs from time to time.
    expect(effects.length).toBeGreaterThanOrEqual(results);
    expect(new Set(effects).size).toBe(effects.length);
  },
);
