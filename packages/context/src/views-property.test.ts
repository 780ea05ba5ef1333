import type { Message, View, ViewText } from '@guardloop/core';
import { say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RandomSession } from '../test/transcripts.js';
import { currentTurn, info, inShort, session } from '../test/transcripts.js';
import { dropObservations } from './drop-observations.js';
import { lastTurns } from './last-turns.js';
import { markTokens } from './left-out.js';
import { summarise } from './summarise.js';
import { tokenBudget } from './token-budget.js';
import { loadCounter, tokensOf } from './tokens.js';
import { views } from './views.js';

const small = fc.integer({ min: 0, max: 6 });
const budget = fc.integer({ min: 1, max: 900 });
const share = fc.constantFrom(0.1, 0.5, 0.7, 1);

/** A model that always has a summary. */
const writer = () => scriptedModel(() => say('In short: it went on.'));
const makers: Readonly<Record<string, fc.Arbitrary<() => View>>> = {
  lastTurns: fc.tuple(small, fc.integer({ min: 1, max: 4 })).map(
    ([n, step]) =>
      () =>
        lastTurns(n, { step }),
  ),
  tokenBudget: fc.tuple(budget, share).map(
    ([n, keep]) =>
      () =>
        tokenBudget(n, { keep }),
  ),
  dropObservations: fc.tuple(small, fc.integer({ min: 1, max: 4 })).map(
    ([olderThan, step]) =>
      () =>
        dropObservations({ olderThan, step }),
  ),
  summarise: fc.tuple(small, fc.integer({ min: 0, max: 8 })).map(
    ([keepTurns, messages]) =>
      () =>
        summarise({ model: writer(), when: { messages }, keepTurns }),
  ),
};
const single = fc.oneof(...Object.values(makers));
const all = {
  ...makers,
  views: fc.array(single, { minLength: 2, maxLength: 3 }).map((each) => () => views(...each.map((make) => make()))),
};

/** Calls without all their results next to them, and results without their call. */
function unpaired(given: readonly (Message | ViewText)[]): readonly string[] {
  const wrong: string[] = [];
  let open: string[] = [];
  for (const each of given) {
    if ('role' in each && each.role === 'tool') {
      if (open.shift() !== each.callId) wrong.push(each.id);
      continue;
    }
    wrong.push(...open);
    open = 'role' in each && each.role === 'assistant' ? each.calls.map(({ id }) => id) : [];
  }
  return [...wrong, ...open];
}

function hold({ messages, said }: Pick<RandomSession, 'messages' | 'said'>, given: readonly (Message | ViewText)[]): void {
  const ids = inShort(given.filter((each) => 'role' in each));
  // A subsequence: the very messages, in their order.
  const places = given.filter((each): each is Message => 'role' in each).map((message) => messages.indexOf(message));
  expect(places).not.toContain(-1);
  expect(places).toEqual([...new Set(places)].sort((left, right) => left - right));
  expect(unpaired(given)).toEqual([]);
  for (const id of [...said, ...currentTurn(messages)]) expect(ids).toContain(id);
  const texts = given.filter((each): each is ViewText => !('role' in each)).map(({ text }) => text);
  // Core sends a text once, so no two marks are equal.
  const marks = texts.filter((text) => text.startsWith('[Left out here'));
  expect(new Set(marks).size).toBe(marks.length);
  // What is not there is told.
  if (ids.length < messages.length) expect(texts.join()).toMatch(/Left out here|Summary of/);
  else expect(texts).toEqual([]);
}

describe.each(Object.entries(all))('%s, for every transcript', (_name, making) => {
  it('gives messages in order, with closed pairs, the current turn and the goal, and tells what is missing', async () => {
    await fc.assert(
      fc.asyncProperty(session, making, async (random, make) => {
        hold(random, await make()(random.messages, info));
      }),
      { numRuns: 300 },
    );
  });

  it('gives the same whether it was asked at every turn or once, but for when summaries were made', async () => {
    await fc.assert(
      fc.asyncProperty(session, making, async ({ messages, points }, make) => {
        const asked = make();
        let last: readonly (Message | ViewText)[] = [];
        const live: Message[] = [];
        for (const point of points) {
          live.push(...messages.slice(live.length, point));
          const before = JSON.stringify(live);
          last = await asked(live, info);
          expect(JSON.stringify(live)).toBe(before);
          expect(unpaired(last)).toEqual([]);
        }
        const once = await make()(messages, info);
        const hasSummary = [...inShort(last), ...inShort(once)].some((text) => text.startsWith('Summary of'));
        if (!hasSummary) expect(inShort(last)).toEqual(inShort(once));
      }),
      { numRuns: 150 },
    );
  });
});

describe('tokenBudget, for every transcript', () => {
  let tokens: (message: Message | ViewText) => number;
  beforeAll(async () => {
    const count = await loadCounter();
    tokens = (each) => ('role' in each ? tokensOf(each, count) : count(each.text) + 4);
  });

  it('is within the budget whenever what must stay fits in it', () => {
    fc.assert(
      fc.property(session, budget, share, ({ messages, said }, n, keep) => {
        const given = tokenBudget(n, { keep })(messages, info) as readonly (Message | ViewText)[];
        const sum = given.reduce((total, each) => total + tokens(each), 0);
        const must = new Set([...said, ...currentTurn(messages)]);
        const least = messages.filter(({ id }) => must.has(id)).reduce((total, each) => total + tokens(each), 0);
        if (least + (said.length + 1) * markTokens <= n) expect(sum).toBeLessThanOrEqual(n);
      }),
      { numRuns: 1_000 },
    );
  });

  it('leaves nothing out where all of it fits', () => {
    fc.assert(
      fc.property(session, share, ({ messages }, keep) => {
        const sum = messages.reduce((total, each) => total + tokens(each), 0);
        expect(tokenBudget(sum, { keep })(messages, info)).toBe(messages);
      }),
      { numRuns: 300 },
    );
  });
});
