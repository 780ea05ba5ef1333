import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keywordScan } from './keyword-scan.js';

test('every place of every word is found, and nothing else', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'B', 'я', 'Я'), minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(
      fc.uniqueArray(letters, { maxLength: 8 }),
      fc.string({ unit: fc.constantFrom('a', 'b', 'B', 'я', 'Я', '\ud800'), maxLength: 40 }),
      fc.boolean(),
      (given, text, ignoreCase) => {
        const words = ignoreCase ? [...new Set(given.map((word) => word.toLowerCase()))] : given;
        const found: string[] = [];
        keywordScan(words, { ignoreCase })(text, (word, end) => found.push(`${word} ${end}`));
        const expected: string[] = [];
        const searched = ignoreCase ? text.toLowerCase() : text;
        for (const [index, word] of words.entries())
          for (let at = searched.indexOf(word); at !== -1; at = searched.indexOf(word, at + 1))
            expected.push(`${index} ${at + word.length}`);
        expect(found.sort()).toEqual(expected.sort());
      },
    ),
    { numRuns: 500, seed: 70 },
  );
});

test('without words nothing is found', () => {
  keywordScan([])('abc', () => expect.unreachable());
});
