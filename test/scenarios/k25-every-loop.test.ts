import { allow, defineAgent, defineGuardrail, defineTool, deny, memorySession, run, stream } from '@guardloop/core';
import type { Piece } from '@guardloop/testing';
import { callTool, callUnparsable, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ofType, readAll, sound, unhandled, unpaired } from './sound.js';

type Habit = 'same' | 'other' | 'refused call' | 'unknown' | 'malformed' | 'handoff' | 'refused text' | 'nothing' | 'both';
const habits: readonly Habit[] = ['same', 'other', 'refused call', 'unknown', 'malformed', 'handoff', 'refused text', 'nothing', 'both'];

/** What a model with this habit says in this turn. */
function turnOf(habit: Habit, { turn, agent }: { readonly turn: number; readonly agent: string }): Piece | readonly Piece[] {
  const hand = callTool(`transfer_to_${agent === 'a' ? 'b' : 'a'}`);
  switch (habit) {
    case 'same':
      return callTool('f', { n: 1 });
    case 'other':
      return callTool('f', { n: turn });
    case 'refused call':
      return callTool('f', { n: -1 });
    case 'unknown':
      return callTool('no_such_tool', {});
    case 'malformed':
      return callUnparsable('f', '{"n":');
    case 'handoff':
      return hand;
    case 'refused text':
      return say('REFUSED');
    case 'nothing':
      return [];
    case 'both':
      return [say('Beside.'), callTool('f', { n: 1 }), callTool('f', { n: turn }), hand];
    default:
      return habit satisfies never;
  }
}

const bound = (max: number, min = 0) => fc.integer({ min, max });
const given = fc.record({
  habits: fc.array(fc.constantFrom(...habits), { minLength: 1, maxLength: 4 }),
  limits: fc.record({
    turns: bound(6, 1),
    toolCalls: bound(4),
    handoffs: bound(3),
    repairs: bound(2),
    repeats: bound(3, 1),
  }),
  onLimit: fc.constantFrom('stop' as const, 'finalize' as const),
  isStreamed: fc.boolean(),
});

describe('K25: a model that never comes to an end', () => {
  it('S046 S054 S190: every loop of its ends at its bound, in a typed outcome, pair-complete, and the next run goes on', async () => {
    const lost = unhandled();
    const statuses = new Set<string>();
    await fc.assert(
      fc.asyncProperty(given, async ({ habits: chosen, limits, onLimit, isStreamed }) => {
        const model = scriptedModel((request) =>
          request.toolChoice === 'none' ? say('That is all.') : turnOf(chosen[(request.turn - 1) % chosen.length] ?? 'same', request),
        );
        let ran = 0;
        const f = defineTool({
          name: 'f',
          description: 'F.',
          input: z.object({ n: z.number() }),
          flow: { effect: 'read' },
          execute: () => {
            ran += 1;
            return 'done';
          },
        });
        const guardrails = [
          defineGuardrail({ name: 'text', on: ['output'], check: ({ content }) => (content === 'REFUSED' ? deny('not this') : allow()) }),
          defineGuardrail({
            name: 'call',
            on: ['toolInput'],
            check: ({ content }) => (content.includes('-1') ? deny('not this') : allow()),
          }),
        ];
        const b = defineAgent({ name: 'b', instructions: '', model, tools: [f], handoffs: ['a'], guardrails });
        const a = defineAgent({ name: 'a', instructions: '', model, tools: [f], handoffs: [b], guardrails });
        const session = { store: memorySession(), id: 's' };
        const options = { session, limits: Object.freeze({ ...limits }), onLimit };
        const read = isStreamed ? await readAll(stream(a, 'go', options)) : { events: [], result: await run(a, 'go', options) };
        const result = await sound(Promise.resolve(read.result));
        statuses.add(result.status === 'exhausted' ? `exhausted ${result.limit}` : result.status);
        expect(model.requests.length).toBeLessThanOrEqual(limits.turns + (onLimit === 'finalize' ? 1 : 0));
        expect(ran).toBeLessThanOrEqual(limits.toolCalls);
        expect(ofType(result.events, 'handoff').length).toBeLessThanOrEqual(limits.handoffs);
        if (isStreamed) expect(ofType(read.events, 'run.end')).toHaveLength(1);
        switch (result.status) {
          case 'exhausted':
            expect(['turns', 'toolCalls', 'handoffs', 'repeats']).toContain(result.limit);
            break;
          case 'blocked':
            expect(result).toMatchObject({ by: 'text', surface: 'output' });
            break;
          case 'failed':
            expect(result.error.code).toBe('MODEL_PROTOCOL');
            break;
          default:
            // Only a last answer that was asked for could complete, and that is exhausted.
            expect.unreachable(result.status);
        }
        const calm = scriptedModel([say('Hello again.')]);
        const next = await sound(run(a, 'and now?', { session, model: calm }));
        expect(next.status).toBe('completed');
        expect(unpaired(calm.requests[0]?.messages ?? [])).toEqual([]);
      }),
      { numRuns: 250, seed: 25 },
    );
    expect(lost).toEqual([]);
    for (const status of ['exhausted turns', 'exhausted toolCalls', 'exhausted handoffs', 'exhausted repeats', 'blocked', 'failed'])
      expect(statuses).toContain(status);
  });
});
