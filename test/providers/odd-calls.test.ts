import { defineAgent, memorySession } from '@guardloop/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ByteServer } from './byte-server.js';
import { answersOf, warnedItems } from './natives.js';
import { settle } from './settle.js';
import { findOrder, witness } from './shop.js';
import type { Side } from './sides.js';
import { crossings, sides } from './sides.js';
import { SpokenPlace } from './spoken-place.js';
import type { SpokenCall } from './stream-words.js';
import { spokenAnswer, streamWords } from './stream-words.js';
import type { WireRequest } from './wire-request.js';

let server: ByteServer;
beforeAll(async () => {
  server = await ByteServer.start();
});
afterAll(() => server.stop());

const beginning = 'x'.repeat(79);
/** Ids that are equal, empty, too long with one beginning, or of characters that another API refuses; the second turn says some again. */
const odd = ['call_1', 'call_1', '', '', ' ', 'Bash:0', 'Bash.0', 'ünï', `${beginning}a`, `${beginning}b`, 'x'.repeat(41)];
const again = ['call_1', '', `${beginning}a`, 'toolu_1'];
/** Names of tools that do not exist: with dots, of other scripts, too long with one beginning. */
const invented = [
  'multi_tool_use.parallel',
  'multi_tool_use_parallel',
  '東京',
  '東亰',
  `${beginning}${beginning}a`,
  `${beginning}${beginning}b`,
];

const finding = (ids: readonly string[], turn: number): readonly SpokenCall[] =>
  ids.map((id, index) => ({ id, name: 'find_order', input: JSON.stringify({ orderId: `o-${turn}-${index}` }) }));
const inventing = invented.map((name, index) => ({ id: `made_${index}`, name, input: '{"secret":"swordfish"}' }));

function placeOf({ dialect }: Side, ...answers: readonly (readonly SpokenCall[] | string)[]): SpokenPlace {
  const words = streamWords[dialect];
  const streams = answers.map((said) => (typeof said === 'string' ? spokenAnswer(words, said) : spokenAnswer(words, 'Let me see.', said)));
  return new SpokenPlace(server, dialect, streams);
}

/** Each result stands for its own call, and no two calls have one id. */
function expectOwnResults({ calls, results }: WireRequest): void {
  expect(results.map(({ id }) => id)).toEqual(calls.map(({ id }) => id));
  expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
  for (const [index, { name, input }] of calls.entries())
    if (name === 'find_order') expect(results[index]?.text).toContain(`${(input as { orderId: string }).orderId} is on its way`);
}

const pairs = [...sides.map((side) => ({ from: side, to: side })), ...crossings];

describe.each(pairs.map(({ from, to }) => ({ from, to, title: `${from.name}, then ${to.name}` })))('$title', ({ from, to }) => {
  it('S191: odd ids and invented names become legal, and none is taken for another; the log keeps them as they came', async () => {
    const session = { store: memorySession(), id: 'chat' };
    const ask = async (side: Side, place: SpokenPlace, input: string) => {
      const agent = defineAgent({ name: 'desk', instructions: '', model: side.model(place), tools: [findOrder] });
      const settled = await settle('stream', agent, { input, session, guardrails: [witness([])] });
      expect(settled.result.status).toBe('completed');
      expect(place.problems).toEqual([]);
      for (const request of place.requests) expectOwnResults(request);
      return settled;
    };

    const first = placeOf(from, finding(odd, 1), inventing, finding(again, 3), 'Found.');
    const { result } = await ask(from, first, 'Find them.');
    const kept = answersOf(result.messages).map(({ calls }) => calls.map(({ providerId = '' }) => providerId));
    expect(kept.slice(0, 3)).toEqual([odd, inventing.map(({ id }) => id), again]);
    const names = first.requests[2]?.calls.slice(odd.length).map(({ name }) => name);
    expect(names).toEqual(invented.map(() => 'unknown_tool'));
    expect(first.requests[2]?.json).not.toContain('swordfish');

    const second = placeOf(to, finding(odd, 4), 'Found again.');
    const { events } = await ask(to, second, 'And these.');
    expect(second.requests[0]?.calls.map(({ input }) => input)).toEqual(first.requests[3]?.calls.map(({ input }) => input));
    const wasWarned = warnedItems(events);
    expect(new Set(wasWarned).size).toBe(wasWarned.length);

    const third = placeOf(from, 'Bye.');
    await ask(from, third, 'Thanks.');
    const before = first.requests[3]?.calls.map(({ id, name }) => ({ id, name }));
    expect(third.requests[0]?.calls.slice(0, before?.length).map(({ id, name }) => ({ id, name }))).toEqual(before);
  });
});
