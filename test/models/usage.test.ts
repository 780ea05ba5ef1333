import type { Model, ModelEvent, RunResult, Usage } from '@guardloop/core';
import {
  allow,
  ask,
  asTool,
  defineAgent,
  defineGuardrail,
  deny,
  memorySession,
  resume,
  run,
  usageBy,
  withFallback,
  withRetry,
} from '@guardloop/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoryQuarantine } from '../promises/drive.js';
import { sound, stored } from '../scenarios/sound.js';
import { broken, call, end, plays, text } from './takes.js';

const counts = ['requests', 'inputTokens', 'outputTokens', 'cacheReadTokens', 'cost'] as const;

/** The sum of the parts; a count that none of them tells is missing. */
function sumOf(parts: readonly Usage[]): Partial<Usage> {
  const told = counts.flatMap((name) => {
    const known = parts.flatMap((part) => part[name] ?? []);
    return known.length === 0 ? [] : [[name, known.reduce((sum, each) => sum + each, 0)] as const];
  });
  return Object.fromEntries(told);
}

/** Whole numbers, so that sums are exact. */
const usage = fc.record(
  { requests: fc.constant(1), inputTokens: fc.nat(9), outputTokens: fc.nat(9), cacheReadTokens: fc.nat(9), cost: fc.nat(9) },
  { requiredKeys: ['requests'] },
);
/** How one model call goes: what the first model does before the second answers, and how. */
const turn = fc.record({
  retries: fc.array(usage, { maxLength: 2 }),
  falls: fc.boolean(),
  used: usage,
  how: fc.constantFrom('answer', 'call', 'refused', 'asked', 'failed' as const),
});

const judge = defineGuardrail({
  name: 'judge',
  on: ['output'],
  check: ({ content }) => (content.includes('refused') ? deny('not so') : content.includes('asked') ? ask('look at it') : allow()),
});

const approvals = (result: RunResult) =>
  Object.fromEntries((result.status === 'interrupted' ? result.approvals : []).map(({ id }) => [id, 'approve' as const]));

describe('usageBy', () => {
  it('divides all that a run used, and nothing twice: over retries, fallbacks, refusals, quarantine, failures and child runs', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 6 }), async (turns) => {
        const spent: Usage[] = [];
        let next = 0;
        const answer = (id: string): Model => ({
          id,
          provider: 'made.up',
          async *stream({ agent }) {
            const { used, how } = turns[next++] ?? { used: { requests: 1 }, how: 'answer' };
            spent.push(used);
            if (how === 'failed') throw broken({ usage: used }, false);
            if (how === 'call' && agent === 'main') yield { type: 'tool.call', call: { name: 'ask_helper', input: { input: 'x' } } };
            else yield text(`${how}.`);
            yield end(used);
          },
        });
        // The first model fails as often as the turn says; only then does it answer, or leave that to the second.
        let failed = 0;
        const first: Model = {
          id: 'first',
          provider: 'made.up',
          async *stream(...given) {
            const now = turns[next];
            const lost = now?.retries[failed];
            if (lost !== undefined) {
              failed += 1;
              spent.push(lost);
              throw broken({ usage: lost });
            }
            failed = 0;
            if (now?.falls) {
              spent.push({ requests: 1 });
              throw broken({ status: 404 }, false);
            }
            yield* answer('first').stream(...given);
          },
        };
        const model = withFallback([withRetry(first, { baseMs: 0, attempts: 3 }), answer('second')], {
          when: ({ details }) => details.status === 404,
        });
        const helper = defineAgent({ name: 'helper', instructions: '', model, guardrails: [judge] });
        const tools = [asTool(helper, { name: 'ask_helper', description: 'H.' })];
        const main = defineAgent({ name: 'main', instructions: '', model, guardrails: [judge], tools });
        const quarantine = memoryQuarantine();
        const options = { quarantine, limits: { repairs: 3 } };
        let result: RunResult = await sound(run(main, 'go', options));
        for (let again = 0; again < 8 && result.status === 'interrupted'; again += 1)
          result = await sound(resume(main, stored(result.log), { ...options, decisions: approvals(result) }).result);
        const { total, byModel, byAgent } = usageBy(result.events);
        expect(total).toEqual(result.usage);
        expect(usageBy(result.log)).toEqual({ total, byModel, byAgent });
        expect(total).toEqual(sumOf(spent));
        expect(sumOf(Object.values(byModel))).toEqual(total);
        expect(sumOf(Object.values(byAgent))).toEqual(total);
        expect(Object.keys(byModel).every((id) => id === 'first' || id === 'second')).toBe(true);
        expect(Object.keys(byAgent).every((name) => name === 'main' || name === 'helper')).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('names who answered where another was asked, and keeps the maker of its message', async () => {
    const used = { requests: 1, inputTokens: 10, outputTokens: 5, cost: 2 };
    const native: ModelEvent = { type: 'end', stopReason: 'stop', usage: used, native: { secret: 1 } };
    const first = plays([[broken({ usage: { requests: 2, inputTokens: 4, cost: 1 } })]], { id: 'a', provider: 'maker.a' });
    const second = plays([[text('ok'), native]], { id: 'b', provider: 'maker.b' });
    const agent = defineAgent({ name: 'desk', instructions: '', model: withFallback([first, second]) });
    const result = await sound(run(agent, 'go'));
    expect(result.events.find(({ type }) => type === 'model.start')).toMatchObject({ model: 'a' });
    expect(result.events.find(({ type }) => type === 'model.end')).toMatchObject({
      model: 'b',
      native: { provider: 'maker.b', message: { secret: 1 } },
    });
    expect(usageBy(result.events)).toEqual({
      total: { requests: 3, inputTokens: 14, outputTokens: 5, cost: 3 },
      byModel: { a: { requests: 2, inputTokens: 4, cost: 1 }, b: used },
      byAgent: { desk: { requests: 3, inputTokens: 14, outputTokens: 5, cost: 3 } },
    });
  });

  it.each(['length', 'refusal'] as const)('names who answered of an answer that stopped for %s, too', async (stopReason) => {
    const second = plays([[text('x'), { ...end(), stopReason } as ModelEvent]], { id: 'b' });
    const agent = defineAgent({ name: 'desk', instructions: '', model: withFallback([plays([[broken()]]), second]) });
    const result = await sound(run(agent, 'go'));
    expect(result.events.find(({ type }) => type === 'model.end')).toMatchObject({ model: 'b', usage: { requests: 2 } });
    expect(Object.keys(usageBy(result.log).byModel)).toEqual(['m1', 'b']);
  });

  it('names who answered of an answer that a person rejects, once', async () => {
    const second = plays(
      [
        [text('asked.'), end()],
        [text('fine.'), end()],
      ],
      { id: 'b' },
    );
    const model = withFallback([plays([[broken()], [broken()]]), second]);
    const agent = defineAgent({ name: 'desk', instructions: '', model, guardrails: [judge] });
    const quarantine = memoryQuarantine();
    const waiting = await sound(run(agent, 'go', { quarantine }));
    const decisions = Object.fromEntries(Object.keys(approvals(waiting)).map((id) => [id, { reject: 'no' }]));
    const result = await sound(resume(agent, stored(waiting.log), { quarantine, decisions }).result);
    expect(result).toMatchObject({ status: 'completed', output: 'fine.' });
    expect(usageBy(result.events).byModel).toEqual({ m1: { requests: 2 }, b: { requests: 2, inputTokens: 20, outputTokens: 10 } });
    expect(result.events.filter((event) => event.type === 'model.end').map(({ model: id }) => id)).toEqual(['b', 'b']);
  });

  it('sums all runs of a session, while the result has those of its own', async () => {
    const session = { store: memorySession(), id: 's' };
    const agent = defineAgent({
      name: 'desk',
      instructions: '',
      model: plays([
        [text('a'), end()],
        [text('b'), end()],
      ]),
    });
    await run(agent, 'one', { session });
    const result = await run(agent, 'two', { session });
    expect(usageBy(result.events).total).toEqual(result.usage);
    expect(usageBy(result.log).total.requests).toBe(2);
    expect(usageBy([])).toEqual({ total: { requests: 0, inputTokens: 0, outputTokens: 0 }, byModel: {}, byAgent: {} });
  });

  it('leaves out what nobody told, and takes odd numbers for untold', async () => {
    const odd = { requests: 1, inputTokens: Number.NaN, outputTokens: -1, cost: Number.POSITIVE_INFINITY } as Usage;
    const agent = (...takes: Parameters<typeof plays>[0]) => defineAgent({ name: 'desk', instructions: '', model: plays(takes) });
    for (const told of [odd, { requests: 1 }, {} as Usage, { requests: Number.NaN } as Usage, undefined as unknown as Usage]) {
      const result = await sound(run(agent([text('a'), { type: 'end', stopReason: 'stop', usage: told }]), 'go'));
      expect(result.usage).toEqual({ requests: 1 });
    }
    const failed = await sound(run(agent([broken({ usage: { inputTokens: 3 }, attempts: 2 })]), 'go'));
    expect(failed.usage).toEqual({ requests: 2, inputTokens: 3 });
    const cut = await sound(run(agent([call()]), 'go'));
    expect(cut.usage).toEqual({ requests: 1 });
  });
});
