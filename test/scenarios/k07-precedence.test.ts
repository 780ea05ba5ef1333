import type { Guardrail, RunEvent, RunResult } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, deny, halt, run, stream } from '@guardloop/core';
import { failWith, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HandClock } from '../models/hand-clock.js';
import { ofType, reaches, readAll, sound, unhandled } from './sound.js';

const secret = 'SECRET-of-an-error';
interface Told {
  readonly answer: 'allow' | 'deny' | 'halt' | 'throw' | 'hang' | 'nonsense';
  readonly onError: 'deny' | 'halt' | 'allow';
  readonly afterMs: number;
  readonly beside: boolean;
}
const guardrails = fc.array(
  fc.record<Told>({
    answer: fc.constantFrom('allow', 'allow', 'deny', 'halt', 'throw', 'hang', 'nonsense'),
    onError: fc.constantFrom('deny', 'halt', 'allow'),
    afterMs: fc.nat(3),
    beside: fc.boolean(),
  }),
  { minLength: 1, maxLength: 5 },
);

function guard(clock: HandClock, { answer, onError, afterMs, beside }: Told, index: number): Guardrail<unknown> {
  const give = (): unknown => {
    if (answer === 'throw') throw new Error(secret);
    if (answer === 'nonsense') return { action: 'perhaps', reason: secret };
    return answer === 'deny' ? deny('refused') : answer === 'halt' ? halt('refused') : allow();
  };
  const check = (_subject: unknown, { signal }: { readonly signal: AbortSignal }): unknown => {
    if (answer === 'hang') return new Promise(() => undefined);
    if (afterMs === 0) return give();
    return new Promise<void>((resolve) => {
      const stop = clock.after(afterMs, resolve);
      signal.addEventListener('abort', () => {
        stop();
        resolve();
      });
    }).then(give);
  };
  const base = { name: `g${index}`, on: ['input'] as const, timeoutMs: 50, onError, check: check as () => ReturnType<typeof allow> };
  return defineGuardrail(beside ? { ...base, beside: 'model' } : base);
}

/** Who refuses, by the words of the guide: halt over deny; of two alike a refusal over a failure, else the first declared. */
function expected(all: readonly Told[]): { readonly by: string; readonly failed: boolean } | undefined {
  const isFailure = ({ answer }: Told): boolean => answer === 'throw' || answer === 'hang' || answer === 'nonsense';
  for (const beside of [false, true]) {
    const ranked = all
      .map((told, index) => ({ index, isFailed: isFailure(told), action: isFailure(told) ? told.onError : told.answer, told }))
      .filter(({ told, action }) => told.beside === beside && action !== 'allow')
      .map((each) => ({ ...each, rank: (each.action === 'halt' ? 2 : 0) + (each.isFailed ? 0 : 1) }));
    const best = Math.max(...ranked.map(({ rank }) => rank));
    const first = ranked.find(({ rank }) => rank === best);
    if (first) return { by: `g${first.index}`, failed: first.isFailed };
  }
  return undefined;
}

describe('K7: what a run ends as', () => {
  it('S079 S080 S087: follows one order of refusals, failed guardrails and the model’s failures, whichever comes first', async () => {
    const lost = unhandled();
    await fc.assert(
      fc.asyncProperty(guardrails, fc.constantFrom('ok', 'fails'), fc.boolean(), async (told, outcome, isStreamed) => {
        // A halt makes slower siblings' answers useless, so only the order of those who all answer in time is fixed.
        fc.pre(
          told.filter(({ answer }) => answer === 'halt').length <= 1 &&
            !told.some(({ answer, onError }) => answer !== 'halt' && onError === 'halt'),
        );
        const clock = new HandClock();
        const model = scriptedModel([outcome === 'ok' ? say('fine') : failWith({ status: 500 } as never)]);
        const agent = defineAgent({ name: 'a', instructions: '', model, guardrails: told.map((each, index) => guard(clock, each, index)) });
        let events: readonly RunEvent[] = [];
        const go = async (): Promise<RunResult> => {
          if (!isStreamed) return run(agent, 'x', { clock });
          const read = await readAll(stream(agent, 'x', { clock }));
          ({ events } = read);
          return read.result;
        };
        const result = await sound(clock.until(go()));
        const refused = expected(told);
        if (refused) {
          expect(result).toMatchObject({ status: 'blocked', by: refused.by, ...(refused.failed ? { failed: true } : {}) });
          expect(ofType(events, 'text.delta')).toEqual([]);
        } else expect(result.status).toBe(outcome === 'ok' ? 'completed' : 'failed');
        expect(reaches({ result, events }, secret)).toBe(false);
        expect(clock.pending).toBe(0);
      }),
      { numRuns: 150, seed: 7 },
    );
    expect(lost).toEqual([]);
  });
});
