import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { normalise } from './normalise.js';

const tags = (words: string) => [...words].map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join('');

describe('a normalised text', () => {
  test.each([
    ['IGNORE Previous', 'ignore previous'],
    ['ig\u200bno\u2060re pre\u00advious', 'ignore previous'],
    ['ｉｇｎｏｒｅ　ｐｒｅｖｉｏｕｓ', 'ignore previous'],
    ['𝗶𝗴𝗻𝗼𝗿𝗲 𝓅𝓇𝑒𝓋𝒾𝑜𝓊𝓈', 'ignore previous'],
    [`ig${tags('x')}nore\u202e previous\u202c`, 'ignore previous'],
    ['ce\u0301le\u0300bre', 'célèbre'],
    ['STRASSE straße ΣΊΣΥΦΟΣ İstanbul', 'strasse strasse σίσυφοσ istanbul'],
    ['ﬁne № ½', 'fine no 1⁄2'],
    ['\u1112\u1161\u11ab', '한'],
  ])('is one in which words can be looked for: %j', (text, expected) => {
    expect(normalise(text).text).toBe(expected);
  });

  test('keeps look-alikes of other scripts, unless they are asked for', () => {
    expect(normalise('ignоrе').text).toBe('ignоrе');
    expect(normalise('ignоrе Ρrevious', { lookAlikes: true }).text).toBe('ignore previous');
    expect(normalise('ABC', { case: false }).text).toBe('ABC');
  });

  test('leads back to the text that was given', () => {
    const text = `so: ig\u200bnore${tags('zz')} ｐｒｅｖious!`;
    const { text: plain, start, end } = normalise(text);
    const at = plain.indexOf('ignore previous');
    expect(text.slice(start(at), end(at + 'ignore previous'.length))).toBe(`ig\u200bnore${tags('zz')} ｐｒｅｖious`);
  });

  test('leads back in order, within the text, from every place of every text', () => {
    const piece = fc.oneof(
      fc.constantFrom('\u200b', 'é', 'e\u0301', 'ﬃ', 'İ', 'ß', '가', '\u1100\u1161', 'Ａ', '\u{e0041}', 'a', '\ud800'),
      fc.string({ unit: 'binary', maxLength: 3 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), fc.boolean(), (pieces, lookAlikes) => {
        const text = pieces.join('');
        const made = normalise(text, { lookAlikes });
        let last = 0;
        for (let at = 0; at < made.text.length; at += 1) {
          expect(made.start(at)).toBeGreaterThanOrEqual(last);
          expect(made.end(at + 1)).toBeGreaterThan(made.start(at));
          expect(made.end(at + 1)).toBeLessThanOrEqual(text.length);
          last = made.start(at);
        }
        expect(made.text).toBe(made.text.toLowerCase().replaceAll('ς', 'σ'));
      }),
      { numRuns: 500, seed: 82 },
    );
  });

  test('is asked for with a text', () => {
    expect(() => normalise(7 as never)).toThrow('what is given is no text');
  });

  test.each(['\u200b', 'e\u0301', '\u0301', '\u0301\u0323', 'ß', '\u1100', 'Ａ', 'İ', 'а'])('is made in time of 256 KB of %j', (piece) => {
    const start = process.cpuUsage();
    normalise(piece.repeat(Math.ceil(262_144 / piece.length)), { lookAlikes: true });
    expect(process.cpuUsage(start).user).toBeLessThan(2_000_000);
  });
});
