import type { Agent, JsonValue, LogEvent, ModelRequest } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, handoff } from '@guardloop/core';
import type { Durable, DurableClient, DurableResult, Registry } from '@guardloop/durable';
import { durable, embeddedEngine } from '@guardloop/durable';
import type { Store } from '@guardloop/store';
import { memoryStore } from '@guardloop/store';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { chatAnswer, serve } from '../scenarios/provider-server.js';
import { ends, ofType } from '../scenarios/sound.js';
import { mortalStore } from './mortal-store.js';

const quick = { upkeepMs: 20, retry: { firstMs: 20, mostMs: 200 } };

/** A process that runs these agents over the store; closed with the test. */
function processOf(store: Store, agents: { readonly [name: string]: unknown }): DurableClient & Pick<Durable<Registry>, 'worker'> {
  const runs = durable({ ...quick, store, engine: embeddedEngine({ pollMs: 20 }), agents: agents as Registry });
  onTestFinished(() => runs.close({ graceMs: 0 }));
  return runs as unknown as DurableClient & Pick<Durable<Registry>, 'worker'>;
}

async function until<T>(look: () => T | Promise<T>): Promise<NonNullable<Awaited<T>>> {
  for (const deadline = performance.now() + 30_000; ; ) {
    const seen = await look();
    if (seen) return seen as NonNullable<Awaited<T>>;
    if (performance.now() > deadline) throw new Error('What was waited for did not happen.');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function sound(result: DurableResult): readonly LogEvent[] {
  if (!('log' in result)) throw new Error(`The run is ${result.status}.`);
  expect(auditLog(result.log)).toEqual([]);
  return result.events;
}
const asked = (requests: readonly ModelRequest[]): JsonValue =>
  JSON.parse(JSON.stringify(requests.map(({ messages, tools }) => ({ messages, tools }))));

describe('K11 through workers', () => {
  it('S090: guardrails are asked once, however often the model is tried', async () => {
    const server = await serve({ status: 503, headers: { 'retry-after-ms': '1' }, steps: ['{}'] }, chatAnswer({ text: 'ok' }));
    let times = 0;
    const counting = defineGuardrail({
      name: 'counting',
      on: ['input'],
      beside: 'model',
      check: () => {
        times += 1;
        return allow();
      },
    });
    const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server.chat({ maxRetries: 1 }), guardrails: [counting] });
    const runs = processOf(memoryStore(), { agent });
    await runs.worker();
    await runs.submit('agent', 'go', { id: 'r1' });
    const result = await runs.result('r1');
    expect(result).toMatchObject({ status: 'completed', text: 'ok' });
    expect(times).toBe(1);
    expect(ofType(sound(result), 'guard.verdict')).toHaveLength(1);
  });

  it('S129: after a pause everything stands in the session once, whoever goes on', async () => {
    const pay = defineTool({ name: 'pay', description: 'Pays.', input: z.object({}), approval: true, execute: () => 'paid' });
    const agent = defineAgent({
      name: 'a',
      instructions: '',
      model: scriptedModel([callTool('pay', {}, 'c1'), say('paid')]),
      tools: [pay],
    });
    const store = memoryStore();
    const first = processOf(store, { agent });
    const worker = await first.worker();
    await first.submit('agent', 'go', { id: 'r1', session: 's' });
    const paused = await first.result('r1');
    await worker.stop();
    const second = processOf(store, { agent });
    await second.worker();
    if (paused.status !== 'interrupted') throw new Error(paused.status);
    await second.approvals.decide(paused.approvals[0]?.id ?? '', 'approve');
    const events = sound(await second.result('r1', { until: 'end' }));
    for (const type of ['input.accept', 'tool.start', 'tool.end', 'run.end'] as const) expect(ofType(events, type)).toHaveLength(1);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  });

  describe('S145: what a waiting run needs is looked for before anything happens', () => {
    const ran: string[] = [];
    const refundOf = (name: string, input: z.ZodObject = z.object({ id: z.string() })) =>
      defineTool({
        name,
        description: name,
        input,
        approval: true,
        execute: () => {
          ran.push(name);
          return 'done';
        },
      });
    const model = scriptedModel([[callTool('refund', { id: 'o1' }, 'c1')], say('ok')]);
    const v1 = defineAgent({ name: 'shop', instructions: '', model, tools: [refundOf('refund')] });
    const other = defineAgent({ name: 'b', instructions: '', model });

    it.each([
      ['removed', defineAgent({ name: 'shop', instructions: '', model }), 'refund'],
      ['renamed', defineAgent({ name: 'shop', instructions: '', model, tools: [refundOf('refund_order')] }), 'refund'],
      ['of an agent that was renamed', defineAgent({ name: 'store', instructions: '', model, tools: [refundOf('refund')] }), 'shop'],
      [
        'replaced by a handoff of its name',
        defineAgent({ name: 'shop', instructions: '', model, handoffs: [handoff(other, { name: 'refund' })] }),
        'refund',
      ],
    ] as const)('S145: a tool that is %s', async (_, v2, word) => {
      ran.length = 0;
      const store = memoryStore();
      const before = processOf(store, { shop: v1 });
      const old = await before.worker();
      await before.submit('shop', 'go', { id: 'r1' });
      const paused = await before.result('r1');
      await old.stop();
      if (paused.status !== 'interrupted') throw new Error(paused.status);
      const log = await store.load('r1');

      const after = processOf(store, { shop: v2 as never });
      const changed = await after.worker();
      await after.approvals.decide(paused.approvals[0]?.id ?? '', 'approve');
      const { trouble } = await until(async () => {
        const info = await after.status('r1');
        return info?.trouble && info.state === 'queued' ? info : undefined;
      });
      expect(trouble).toMatchObject({ code: 'RESUME_MISMATCH', message: expect.stringContaining(word) });
      expect(await store.load('r1')).toEqual(log);
      expect(ran).toEqual([]);
      await changed.stop();

      const fixed = processOf(store, { shop: v1 });
      await fixed.worker();
      const result = await fixed.result('r1', { until: 'end' });
      sound(result);
      expect(result).toMatchObject({ status: 'completed', text: 'ok' });
      expect(ran).toEqual(['refund']);
    });

    it('S145: a tool whose schema changed gets its input parsed anew, and what does not fit is an error result', async () => {
      ran.length = 0;
      const store = memoryStore();
      const before = processOf(store, { shop: v1 });
      const old = await before.worker();
      await before.submit('shop', 'go', { id: 'r1' });
      const paused = await before.result('r1');
      await old.stop();
      if (paused.status !== 'interrupted') throw new Error(paused.status);
      const tools = [refundOf('refund', z.object({ id: z.string(), cents: z.number() }))];
      const after = processOf(store, { shop: defineAgent({ name: 'shop', instructions: '', model, tools }) });
      await after.worker();
      await after.approvals.decide(paused.approvals[0]?.id ?? '', 'approve');
      const result = await after.result('r1', { until: 'end' });
      expect(ends(sound(result))).toEqual(['1.0 error']);
      expect(ran).toEqual([]);
    });
  });

  it('S147: what has run is not run again, and of two who approve at once one does', async () => {
    const ran: string[] = [];
    const toolOf = (name: string, approval: boolean) =>
      defineTool({
        name,
        description: name,
        input: z.object({}),
        ...(approval ? { approval } : {}),
        execute: (_, { idempotencyKey }) => {
          ran.push(idempotencyKey);
          return `${name} done`;
        },
      });
    const model = scriptedModel([[callTool('charge', {}, 'c1'), callTool('mail', {}, 'c2')], say('ok')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [toolOf('charge', false), toolOf('mail', true)] });
    const store = memoryStore();
    const first = processOf(store, { agent });
    const worker = await first.worker();
    await first.submit('agent', 'go', { id: 'r1' });
    const paused = await first.result('r1');
    await worker.stop();
    if (paused.status !== 'interrupted') throw new Error(paused.status);
    expect(ran).toHaveLength(1);
    const later = [processOf(store, { agent }), processOf(store, { agent })];
    for (const runs of later) await runs.worker();
    const id = paused.approvals[0]?.id ?? '';
    const outcomes = await Promise.all(later.map((runs) => runs.approvals.decide(id, 'approve')));
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['already', 'recorded']);
    const result = await later[0]?.result('r1', { until: 'end' });
    expect(result).toMatchObject({ status: 'completed' });
    expect(new Set(ran).size).toBe(2);
    expect(ran).toHaveLength(2);
    const shown = JSON.stringify(model.requests.at(-1)?.messages);
    expect(shown).toContain('charge done');
    expect(shown).toContain('mail done');
  });

  describe.each([
    ['a person is asked about', false],
    ['it runs again with its key', true],
  ])('S214: a worker is killed at every step; of a tool that was in flight: %s', (_, repeatable) => {
    const world = () => {
      const applied = new Map<string, number>();
      const ran: string[] = [];
      const toolOf = (name: string) =>
        defineTool({
          name,
          description: name,
          input: z.object({ id: z.number() }),
          repeatable,
          execute: ({ id }, { idempotencyKey }) => {
            ran.push(name);
            applied.set(idempotencyKey, (applied.get(idempotencyKey) ?? 0) + 1);
            return `${name} ${id} is done`;
          },
        });
      const model = scriptedModel([[callTool('charge', { id: 1 }), callTool('mail', { id: 2 })], say('done')]);
      return { agent: defineAgent({ name: 'a', instructions: '', model, tools: [toolOf('charge'), toolOf('mail')] }), model, applied, ran };
    };
    const finish = async (store: Store, given: ReturnType<typeof world>): Promise<DurableResult> => {
      const runs = processOf(store, { agent: given.agent });
      await runs.worker({ leaseMs: 1_000 });
      for (;;) {
        const result = await runs.result('r1');
        if (result.status !== 'interrupted') return result;
        for (const { id, approval } of result.approvals) {
          expect(approval).toMatchObject({ mayHaveRun: true });
          await runs.approvals.decide(id, 'approve');
        }
        await until(async () => (await runs.status('r1'))?.state !== 'waiting');
      }
    };

    it('S214: it ends the same, with each effect applied under one key', { timeout: 120_000 }, async () => {
      const uncut = world();
      const calm = processOf(memoryStore(), { agent: uncut.agent });
      await calm.worker();
      await calm.submit('agent', 'go', { id: 'r1' });
      sound(await calm.result('r1'));
      const wanted = asked(uncut.model.requests.slice(1));
      const keys = [...uncut.applied.keys()].sort();

      let places = 0;
      for (let appends = 0; ; appends += 1) {
        const store = memoryStore();
        const [dying, next] = [world(), world()];
        const mortal = mortalStore(store, appends);
        const first = durable({ ...quick, store: mortal.store, agents: { agent: dying.agent } });
        await durable({ store, agents: { agent: dying.agent } }).submit('agent', 'go', { id: 'r1' });
        await first.worker({ leaseMs: 200 });
        const isOver = await until(async () => mortal.isDead() || (await store.runs.get('r1'))?.state === 'ended');
        if (isOver && !mortal.isDead()) {
          await first.close();
          break;
        }
        places += 1;
        const result = await finish(store, next);
        mortal.bury();
        await first.close({ graceMs: 0 });
        expect(result).toMatchObject({ status: 'completed', text: 'done' });
        const events = sound(result);
        expect(ends(events)).toEqual(['1.0 ok', '1.1 ok']);
        expect([...new Set([...dying.applied.keys(), ...next.applied.keys()])].sort()).toEqual(keys);
        // A tool whose result is recorded never runs again.
        const resumed = events.findIndex(({ type }) => type === 'run.resume');
        const before = events.slice(0, Math.max(0, resumed)).flatMap((event) => (event.type === 'tool.end' ? [event.tool] : []));
        expect(next.ran.filter((name) => before.includes(name))).toEqual([]);
        const requests = [...dying.model.requests, ...next.model.requests];
        expect(requests.filter(({ turn }) => turn === 1).length).toBeLessThanOrEqual(2);
        const last = asked(requests.filter(({ turn }) => turn === 2).slice(-1));
        if (!JSON.stringify(events).includes('"decision":"approve"')) expect(last).toEqual(wanted);
      }
      expect(places).toBeGreaterThan(4);
    });
  });

  it('S215: handed from worker to worker anywhere, a run asks the same and uses the same keys', { timeout: 60_000 }, async () => {
    const world = () => {
      const keys: string[] = [];
      const toolOf = (name: string) =>
        defineTool({
          name,
          description: name,
          input: z.object({}),
          execute: (_, { idempotencyKey }) => {
            keys.push(idempotencyKey);
            return `${name} gave ${name}`;
          },
        });
      const model = scriptedModel((request) => {
        if (request.agent === 'b') return callTool('transfer_to_a', { brief: 'back' });
        return (
          [[callTool('f'), callTool('g')], callTool('transfer_to_b', { brief: 'over' }), say(''), say('done')][request.turn - 1] ??
          say('done')
        );
      });
      const a: Agent<unknown, never> = defineAgent({
        name: 'a',
        instructions: 'A.',
        model,
        tools: [toolOf('f'), toolOf('g')],
        handoffs: [defineAgent({ name: 'b', instructions: 'B.', model, handoffs: ['a'] })],
      }) as never;
      return { a, model, keys };
    };
    const outcomes: { readonly requests: JsonValue; readonly keys: readonly string[] }[] = [];
    for (let handed = 0; handed < 12; handed += 1) {
      const store = memoryStore();
      const given = world();
      await processOf(store, { a: given.a }).submit('a', 'go', { id: 'r1' });
      for (let turn = 0; ; turn += 1) {
        const runs = processOf(store, { a: given.a });
        const worker = await runs.worker();
        // Stops it soon after so many events; the next worker goes on.
        if (turn < handed % 4)
          await until(async () => (await store.load('r1')).length > turn * 3 || (await runs.status('r1'))?.state === 'ended');
        else await runs.result('r1');
        await worker.stop({ graceMs: 30_000 });
        if ((await runs.status('r1'))?.state === 'ended') break;
      }
      const result = await processOf(store, { a: given.a }).result('r1');
      sound(result);
      expect(result).toMatchObject({ status: 'completed', text: 'done' });
      outcomes.push({ requests: asked(given.model.requests), keys: [...given.keys].sort() });
    }
    for (const { requests, keys } of outcomes) {
      expect(keys).toEqual(outcomes[0]?.keys);
      expect(requests).toEqual(outcomes[0]?.requests);
    }
  });
});
