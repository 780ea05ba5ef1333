import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { foldText } from './fold.js';

describe('a folded text', () => {
  test.each([
    ['４１１１', '4111'],
    ['٤١١١ ۴۱ ४१ 𝟒𝟏 𝟺', '4111 41 41 41 4'],
    ['ａ＠ｂ．ｃ', 'a@b.c'],
    ['1‑2–3—4−5', '1-2-3-4-5'],
    ['a\u00a0b\u2009c\u3000d', 'a b c d'],
    ['Ålesund, Zürich, født', 'Alesund, Zurich, født'],
    ['4\u200b1\u00ad1\ufe0f1', '4111'],
    ['漢字 и 🙂 \ud800', '漢字 и 🙂 \ud800'],
  ])('%s is read as %s', (text, folded) => expect(foldText(text).text).toBe(folded));

  test('leads back: every character of it stands at its offset, in ascending order', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 5 }),
      fc.constantFrom('４', '𝟒', 'é', '\u200b', '–', 'a', '\ud83d', '🙂'),
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const text = pieces.join('');
        const folded = foldText(text);
        expect(folded.offset(folded.text.length)).toBe(text.length);
        for (let index = 0; index < folded.text.length; index += 1) {
          const at = folded.offset(index);
          if (index > 0) expect(at).toBeGreaterThan(folded.offset(index - 1));
          const character = folded.text.charAt(index);
          if (character > '\u007f') expect(text.charAt(at)).toBe(character);
          else expect(foldText(text.slice(at, at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1))).text).toBe(character);
        }
      }),
      { numRuns: 400, seed: 69 },
    );
  });
});
