import type { Guardrail, Model, RunEvent } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, deny, rewrite, stream } from '@guardloop/core';
import { auditLog } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

/** A model that says a text in the given pieces. */
const speaker = (pieces: readonly string[]): Model => ({
  id: 'speaker',
  provider: 'test',
  async *stream() {
    for (const text of pieces) yield { type: 'text.delta', text };
    yield { type: 'end', stopReason: 'stop', usage: { requests: 1, inputTokens: 1, outputTokens: 1 } };
  },
});

async function listen(pieces: readonly string[], guardrails: readonly Guardrail<unknown>[]) {
  const agent = defineAgent({ name: 'a', instructions: '', model: speaker(pieces), guardrails });
  const events: RunEvent[] = [];
  const watched = stream(agent, 'go', { limits: { repairs: 0 } });
  for await (const event of watched) events.push(event);
  const result = await watched.result;
  const deltas = events.flatMap((event) => (event.type === 'text.delta' ? [event.text] : []));
  return { deltas, released: deltas.join(''), result };
}

/** Every match of a pattern that is at most `window` long, replaced. */
const masking = (name: string, pattern: RegExp, { window, as }: { readonly window: number; readonly as: string }): Guardrail<unknown> =>
  defineGuardrail({
    name,
    on: ['output'],
    window,
    rewrite: ({ content }) => {
      const spans = [...content.matchAll(pattern)].map((match) => ({ start: match.index, end: match.index + match[0].length, with: as }));
      return spans.length > 0 ? rewrite(spans, name) : allow();
    },
  });

const cards = masking('cards', /\d{4}-\d{4}/g, { window: 9, as: '[card]' });
const names = masking('names', /An[na]a?/g, { window: 4, as: '😀' });
const faces = masking('faces', /😀|👨‍👩‍👧/gu, { window: 8, as: ':)' });

/** Texts in which matches, near misses, astral characters and joined emoji are frequent. */
const texts = fc
  .array(fc.constantFrom('1234-5678', '12', '34-', '-', '5678', 'Anna', 'Ann', 'A', 'na', '😀', '👨‍👩‍👧', 'é', ' ', 'word ', '\ud83d'), {
    maxLength: 24,
  })
  .map((words) => words.join(''));
/** Where to cut, in UTF-16 units, also inside characters. */
const cut = (text: string, sizes: readonly number[]): string[] => {
  const pieces: string[] = [];
  for (let at = 0, index = 0; at < text.length; index += 1) {
    const size = sizes[index % sizes.length] ?? 1;
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
};
const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 6 });

describe('for every way to cut an answer into pieces', () => {
  it.each([
    ['one window', [cards]],
    ['a window after a window', [names, cards]],
    ['three windows, one of which makes what the next masks', [names, faces, cards]],
  ])('%s releases what the whole would have given', async (_, guardrails) => {
    await fc.assert(
      fc.asyncProperty(texts, sizes, async (text, cuts) => {
        const whole = await listen([text], guardrails);
        const pieces = await listen(cut(text, cuts), guardrails);
        expect(pieces.released).toBe(whole.released);
        if (text === '') return;
        expect(pieces.result.status).toBe('completed');
        if (pieces.result.status === 'completed') expect(pieces.result.output).toBe(pieces.released);
        expect(auditLog(pieces.result.log)).toEqual([]);
      }),
      { numRuns: 300, seed: 3 },
    );
  });

  it('a window masks as a rewrite of the whole text does', async () => {
    await fc.assert(
      fc.asyncProperty(texts, sizes, async (text, cuts) => {
        const expected = text.replace(/\d{4}-\d{4}/g, '[card]');
        expect((await listen(cut(text, cuts), [cards])).released).toBe(expected);
      }),
      { numRuns: 300, seed: 4 },
    );
  });

  it('a held answer is released whole, as its guardrails left it, or not at all', async () => {
    const trim = defineGuardrail({
      name: 'trim',
      on: ['output'],
      rewrite: ({ content }) => rewrite(content.replaceAll('Anna', 'A.'), 'names'),
    });
    const noCards = defineGuardrail({
      name: 'no-cards',
      on: ['output'],
      check: async ({ content }) => (/\d{4}-\d{4}/.test(content) ? deny('a card') : allow()),
    });
    await fc.assert(
      fc.asyncProperty(
        texts.filter((text) => text !== ''),
        sizes,
        async (text, cuts) => {
          const { released, deltas, result } = await listen(cut(text, cuts), [trim, noCards]);
          const after = text.replaceAll('Anna', 'A.');
          if (/\d{4}-\d{4}/.test(after)) {
            expect(released).toBe('');
            expect(result.status).toBe('blocked');
          } else {
            expect(deltas).toEqual(after === '' ? [] : [after]);
          }
        },
      ),
      { numRuns: 200, seed: 5 },
    );
  });

  it('not one character that a window would mask is released, however late the rest comes', async () => {
    await fc.assert(
      fc.asyncProperty(texts, sizes, async (text, cuts) => {
        const { deltas } = await listen(cut(text, cuts), [cards]);
        let shown = '';
        for (const delta of deltas) {
          shown += delta;
          expect(text.replace(/\d{4}-\d{4}/g, '[card]').startsWith(shown)).toBe(true);
        }
      }),
      { numRuns: 200, seed: 6 },
    );
  });
});

describe('however a model cuts its characters', () => {
  const piecesOf = (events: readonly RunEvent[], type: 'text.delta' | 'reasoning.delta') =>
    events.flatMap((event) => (event.type === type ? [event.text] : []));
  /** True where two pieces share a character. */
  const isParted = (piece: string, index: number, all: readonly string[]): boolean =>
    /[\ud800-\udbff]$/.test(piece) && /^[\udc00-\udfff]/.test(all[index + 1] ?? '');

  it.each([
    ['without guardrails', [], {}],
    ['through a window', [cards], {}],
    ['through windows', [faces, cards], {}],
    ['live', [defineGuardrail({ name: 'late', on: ['output'], check: () => allow() })], { release: 'live' }],
  ] as const)('a person is shown whole ones (%s)', async (_, guardrails, options) => {
    await fc.assert(
      fc.asyncProperty(texts, sizes, async (text, cuts) => {
        const model: Model = {
          id: 'thinker',
          provider: 'test',
          async *stream() {
            for (const piece of cut(text, cuts)) {
              yield { type: 'reasoning.delta', text: piece };
              yield { type: 'text.delta', text: piece };
            }
            yield { type: 'end', stopReason: 'stop', usage: { requests: 1 } };
          },
        };
        const agent = defineAgent({ name: 'a', instructions: '', model, guardrails });
        const watched = stream(agent, 'go', { ...options, reasoning: 'show' });
        const events: RunEvent[] = [];
        for await (const event of watched) events.push(event);
        const shown = piecesOf(events, 'text.delta');
        expect(shown.some(isParted)).toBe(false);
        expect(piecesOf(events, 'reasoning.delta').some(isParted)).toBe(false);
        const result = await watched.result;
        if (result.status === 'completed') expect(shown.join('')).toBe(result.text);
        if (guardrails.length === 0 && text !== '') expect(shown.join('')).toBe(text);
      }),
      { numRuns: 200, seed: 7 },
    );
  });
});

it('text flows behind a window while the model still speaks', async () => {
  const { deltas } = await listen(cut('a long answer that has no card in it at all', [3]), [cards]);
  expect(deltas.length).toBeGreaterThan(3);
});
