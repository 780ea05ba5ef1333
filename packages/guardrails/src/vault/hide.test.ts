import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FindInText } from '../text/finding.js';
import { Conversation } from './conversation.js';
import { hideText } from './guard.js';
import { KnownValues } from './known-values.js';
import { normalValue } from './normal-value.js';
import { labelOf, placeholdersLike, replacePlaceholders, settledLength } from './placeholders.js';
import { revealed } from './reveal.js';
import { memoryVaultStore } from './store.js';

const findBy =
  (kind: string, pattern: RegExp): FindInText =>
  (text) =>
    [...text.matchAll(pattern)].map(({ index, 0: found }) => ({ start: index, end: index + found.length, kind }));
const emails = findBy('email', /[a-z]{1,20}@[a-z]{1,20}\.org/g);
const conversation = () => new Conversation('c', { store: memoryVaultStore(), cipher: undefined, names: 'counted', normal: normalValue });

describe('known values', () => {
  const isWord = (character: string) => /[\p{L}\p{N}]/u.test(character);
  /** Slowly and plainly: whether the value stands there as a word of its own. */
  const standsIn = (text: string, value: string): boolean => {
    for (let at = text.toLowerCase().indexOf(value.toLowerCase()); at >= 0; at = text.toLowerCase().indexOf(value.toLowerCase(), at + 1)) {
      const before = isWord(text.charAt(at - 1)) && isWord(text.charAt(at));
      const after = isWord(text.charAt(at + value.length - 1)) && isWord(text.charAt(at + value.length));
      if (!before && !after) return true;
    }
    return false;
  };
  const word = fc.stringMatching(/^[ab.]{4,8}$/);

  it('are found wherever they stand as words of their own, in every text and of every set', () => {
    fc.assert(
      fc.property(fc.array(word, { maxLength: 6 }), fc.stringMatching(/^[ab. ]{0,60}$/), (values, text) => {
        const known = new KnownValues();
        for (const [index, value] of values.entries()) known.add(value, `[V_${index}]`);
        const places = known.find(text);
        let last = 0;
        for (const { start, end } of places) {
          expect(start).toBeGreaterThanOrEqual(last);
          const isWhole = values.some((value) => value.toLowerCase() === text.slice(start, end).toLowerCase());
          expect(isWhole || start === last).toBe(true);
          last = end;
        }
        let rest = '';
        let at = 0;
        for (const { start, end } of places) {
          rest += `${text.slice(at, start)} `;
          at = end;
        }
        rest += text.slice(at);
        if (places.length === 0) for (const value of values) expect(standsIn(rest, value)).toBe(false);
      }),
      { numRuns: 500, seed: 6 },
    );
  });

  it('give the longest of those that begin alike, and nothing shorter than four characters', () => {
    const known = new KnownValues();
    known.add('Anna Berg', '[A_1]');
    known.add('Anna Berg Lund', '[A_2]');
    known.add('Lund', '[A_3]');
    known.add('abc', '[A_4]');
    expect(known.find('anna berg lund, Anna Berg; Lund abc Lunden').map(({ placeholder }) => placeholder)).toEqual([
      '[A_2]',
      '[A_1]',
      '[A_3]',
    ]);
  });

  it('that are short words are found as they were written, or in capitals', () => {
    const known = new KnownValues();
    known.add('Will', '[NAME_1]');
    known.add('Rosalind', '[NAME_2]');
    expect(known.find('Will will, WILL he? rosalind.').map(({ start, placeholder }) => [start, placeholder])).toEqual([
      [0, '[NAME_1]'],
      [11, '[NAME_1]'],
      [20, '[NAME_2]'],
    ]);
  });

  it('that overlap leave no piece of either', () => {
    const known = new KnownValues();
    known.add('Anna Berg', '[A_1]');
    known.add('Berg Lund', '[A_2]');
    expect(known.find('Anna Berg Lund')).toEqual([
      { start: 0, end: 9, placeholder: '[A_1]' },
      { start: 9, end: 14, placeholder: '[A_2]' },
    ]);
  });

  it('are found in time, also where thousands are alike', () => {
    const known = new KnownValues();
    for (let index = 0; index < 5_000; index += 1) known.add(`${'a'.repeat(index % 100)}${index}@example.org`, `[E_${index}]`);
    for (let index = 4; index < 200; index += 1) known.add('a'.repeat(index), `[A_${index}]`);
    for (const unit of ['a', 'aaa ', 'a@example.org ', '@example.org', '\ud800', '\u0130']) {
      const text = unit.repeat(Math.ceil(262_144 / unit.length));
      const began = process.cpuUsage();
      known.find(text);
      expect(process.cpuUsage(began).user).toBeLessThan(2_000_000);
    }
  });
});

describe('placeholders', () => {
  it('are named by their kind', () => {
    expect(['email', 'aws-access-key', 'ipv4', '4 eyes', '***', 'x'.repeat(90)].map(labelOf)).toEqual([
      'EMAIL',
      'AWS_ACCESS_KEY',
      'IPV4',
      'EYES',
      'VALUE',
      'X'.repeat(40),
    ]);
  });

  it('that are not whole are held back, and every text comes whole', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('[', ']', 'EMAIL', '_1', 'x', ' ', '[EMAIL_1]', '[EMAIL_2]', 'A'.repeat(70)), { maxLength: 20 }),
        fc.integer({ min: 1, max: 5 }),
        (pieces, size) => {
          const text = pieces.join('');
          const put = (placeholder: string) => (placeholder === '[EMAIL_1]' ? 'anna' : undefined);
          let held = '';
          let shown = '';
          for (let at = 0; at < text.length; at += size) {
            held += text.slice(at, at + size);
            const length = settledLength(held);
            shown += replacePlaceholders(held.slice(0, length), put);
            held = held.slice(length);
          }
          expect(shown + replacePlaceholders(held, put)).toBe(replacePlaceholders(text, put));
        },
      ),
      { numRuns: 500, seed: 6 },
    );
  });

  it.each(['[', '[A', '[A_1', '[EMAIL_1]', '［', '[\u200b', ']', '[A_', '\ud800', '[\u0301'])(
    'are looked for in 256 KB of %j in time',
    (unit) => {
      const text = unit.repeat(Math.ceil(262_144 / unit.length));
      const began = process.cpuUsage();
      placeholdersLike(text);
      replacePlaceholders(text, () => undefined);
      settledLength(text);
      expect(process.cpuUsage(began).user).toBeLessThan(2_000_000);
    },
  );
});

describe('a text', () => {
  const piece = fc.constantFrom(
    'anna@example.org',
    'bert@example.org',
    'Rosa Luna',
    'rosa luna',
    '[EMAIL_1]',
    '[email_2]',
    '[CUSTOMER_1]',
    'x',
    ' ',
    '.',
    '\n',
    'org',
    '@',
    '😀',
    '\ud800',
  );

  it('holds no value after it was hidden, whatever stands beside what, and is itself again when it is revealed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
        const text = pieces.join(' ');
        const known = conversation();
        await known.placeholdersFor([{ kind: 'customer', value: 'Rosa Luna' }]);
        const hiddenText = await hideText(known, text, emails);
        expect(hiddenText).not.toMatch(/[a-z]@example\.org|rosa luna/i);
        const expected = text
          .replace(/\[(EMAIL_1|EMAIL_2|CUSTOMER_1)\]/gi, (_, name: string) => `(${name.toUpperCase()})`)
          .replace(/rosa luna/g, 'Rosa Luna');
        expect(revealed(known, hiddenText)).toBe(expected);
      }),
      { numRuns: 300, seed: 6 },
    );
  });

  it('shows nothing of a finding that overlaps a known value, or that a placeholder parts', async () => {
    const known = conversation();
    await known.placeholdersFor([{ kind: 'city', value: 'Main Street' }]);
    const addresses = findBy('address', /\d+ Upper Main|token=\S+/g);
    expect(await hideText(known, 'At 12 Upper Main Street, Bonn.', addresses)).toBe('At [ADDRESS_1], Bonn.');
    expect(revealed(known, '[ADDRESS_1]')).toBe('12 Upper Main Street');
    expect(await hideText(known, 'token=abc[EMAIL_1]defgh', addresses)).toBe('[ADDRESS_2](EMAIL_1)[ADDRESS_3]');
    expect(await hideText(known, 'Main Street', findBy('street', /Main Street/g))).toBe('[CITY_1]');
  });

  it('has a value hidden everywhere once it was found in one place', async () => {
    const byWord = findBy('password', /(?<=password: )\S+/g);
    expect(await hideText(conversation(), 'hunter42 it is. password: hunter42! Yes, hunter42.', byWord)).toBe(
      'hunter42 it is. password: [PASSWORD_1] Yes, hunter42.',
    );
    expect(await hideText(conversation(), 'hunter42 it is. password: hunter42 Yes, hunter42.', byWord)).toBe(
      '[PASSWORD_1] it is. password: [PASSWORD_1] Yes, [PASSWORD_1].',
    );
  });

  it('keeps values apart that differ in capitals, where that means something', async () => {
    const known = conversation();
    const tokens = findBy('token', /tok_\w+/g);
    expect(await hideText(known, 'tok_AbCdEf tok_aBcDeF tok_AbCdEf', tokens)).toBe('[TOKEN_1] [TOKEN_2] [TOKEN_1]');
    expect(revealed(known, '[TOKEN_1] [TOKEN_2]')).toBe('tok_AbCdEf tok_aBcDeF');
    expect(await hideText(known, 'tok_aBcDeF or TOK_ABCDEF', () => [])).toBe('[TOKEN_2] or [TOKEN_1]');
  });

  it('is put away with all that is found at the same time', async () => {
    let appends = 0;
    const store = memoryVaultStore();
    const counting = { ...store, append: (...given: Parameters<typeof store.append>) => store.append(...given) };
    counting.append = (...given) => {
      appends += 1;
      return store.append(...given);
    };
    const known = new Conversation('c', { store: counting, cipher: undefined, names: 'counted', normal: normalValue });
    const texts = Array.from({ length: 50 }, (_, index) => `p${'a'.repeat(index % 20)}@x${'b'.repeat(index / 20)}.org`);
    await Promise.all(texts.map((text) => hideText(known, text, emails)));
    expect(appends).toBeLessThan(3);
  });

  it('is refused, not let through, where there is no room for more values', async () => {
    const known = conversation();
    const many = Array.from({ length: 10_000 }, (_, index) => ({ kind: 'n', value: `value ${index}` }));
    await known.placeholdersFor(many);
    await expect(Promise.resolve(hideText(known, 'anna@example.org', emails))).rejects.toThrow('a vault keeps at most 10000 values');
    expect(await hideText(known, 'value 17', emails)).toBe('[N_18]');
  });
});
