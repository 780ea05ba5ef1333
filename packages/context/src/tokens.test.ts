import type { FilePart, ImagePart } from '@guardloop/core';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { answer, round, user } from '../test/transcripts.js';
import { markLeftOut, markTokens } from './left-out.js';
import type { CountText } from './tokens.js';
import { countInPieces, loadCounter, mostTokensOf, tokensOf } from './tokens.js';

let count: CountText;
beforeAll(async () => {
  count = await loadCounter();
});

const cpuMs = (work: () => void): number => {
  const before = process.cpuUsage();
  work();
  const { user: own, system } = process.cpuUsage(before);
  return (own + system) / 1_000;
};
/** The same letters every time. */
function letters(length: number, from: number, many: number): string {
  let state = 7;
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return String.fromCharCode(from + ((state >>> 8) % many));
  }).join('');
}

describe('counting tokens', () => {
  it('counts plain words as the encoding does', () => {
    expect(count('Hello, world!')).toBe(4);
    expect(count('')).toBe(0);
    // Cut into pieces before spaces, where tokens end anyway.
    expect(count('the quick brown fox '.repeat(100).trim())).toBe(400);
  });

  it('takes names of special tokens for the text they are', () => {
    expect(count('<|endoftext|>')).toBeGreaterThan(3);
    expect(count('<|im_start|>system<|im_end|>')).toBeGreaterThan(6);
  });

  it.each([
    ['one letter', () => 'a'.repeat(1_000_000), 1_000],
    ['spaces', () => ' '.repeat(1_000_000), 1_000],
    ['marks on one letter', () => `a${'\u0301'.repeat(1_000_000)}`, 1_500],
    ['random letters', () => letters(1_000_000, 97, 26), 1_500],
    ['random signs', () => letters(1_000_000, 33, 90), 1_500],
    ['random Chinese', () => letters(1_000_000, 0x4e00, 20_000), 1_500],
    ['half characters', () => '\ud83d'.repeat(1_000_000), 1_500],
  ])('takes no long time for a megabyte of %s', (_name, make, mostMs) => {
    const text = make();
    count(text.slice(0, 10_000));
    let tokens = 0;
    // Whole, one letter takes minutes. The bounds leave room for a busy machine.
    expect(cpuMs(() => (tokens = count(text)))).toBeLessThan(mostMs);
    expect(tokens).toBeGreaterThan(1_000);
  });

  it('is about right for a long text of which not all is counted', () => {
    const text = letters(200_000, 97, 26);
    const exact = countInPieces((piece) => count(piece));
    let whole = 0;
    for (let at = 0; at < text.length; at += 256) whole += count(text.slice(at, at + 256));
    expect(exact(text)).toBeGreaterThanOrEqual(whole);
    expect(exact(text)).toBeLessThan(whole * 1.25);
  });

  it('never parts a character, and asks of each piece once', () => {
    const pieces: string[] = [];
    fc.assert(
      fc.property(fc.array(fc.constantFrom('😀', 'x', ' ', 'é', '\n'), { maxLength: 900 }), (signs) => {
        pieces.length = 0;
        const text = signs.join('');
        countInPieces((piece) => pieces.push(piece) && 1)(text);
        expect(pieces.join('')).toBe(text);
        for (const piece of pieces) expect(piece).not.toMatch(/\p{Cs}/u);
      }),
      { numRuns: 200 },
    );
  });
});

describe('the tokens of a message', () => {
  it('are those of its texts, its calls and a little for its frame', () => {
    expect(tokensOf(user('r1/i1', 'Hello, world!'), count)).toBe(8);
    const [called, result] = round('r1/1', ['Hello, world!'], { q: 'x' });
    expect(called && tokensOf(called, count)).toBe(4 + 4 + count('look') + count('{"q":"x"}'));
    expect(result && tokensOf(result, count)).toBe(8);
    expect(tokensOf({ ...answer('a'), text: '' }, count)).toBe(4);
  });

  it('are 1,600 for an image, a page for each 100 kB begun of a document, and a third of its bytes for a text', () => {
    const base = user('r1/i1', '');
    const of = (part: ImagePart | FilePart) => tokensOf({ ...base, parts: [part] }, count) - 4;
    expect(of({ type: 'image', url: 'https://example.org/a.png' })).toBe(1_600);
    expect(of({ type: 'file', mediaType: 'application/pdf', url: 'https://example.org/a.pdf' })).toBe(3_000);
    expect(of({ type: 'file', mediaType: 'application/pdf', data: 'A'.repeat(200_000) })).toBe(6_000);
    expect(of({ type: 'file', mediaType: 'text/plain', data: 'A'.repeat(400) })).toBe(100);
  });

  it('are never more than is told before they are counted', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary', maxLength: 600 }), fc.string({ maxLength: 600 })), (text) => {
        const message = user('r1/i1', text);
        expect(tokensOf(message, count)).toBeLessThanOrEqual(mostTokensOf(message));
        for (const each of round('r1/1', [text], { text })) expect(tokensOf(each, count)).toBeLessThanOrEqual(mostTokensOf(each));
      }),
      { numRuns: 300 },
    );
  });

  it('are at most those that are kept free for a mark', () => {
    const long = { from: 123_456_789, to: 987_654_321 };
    for (const why of ['', ', calls with their results', ': no summary of it could be made'])
      expect(count(markLeftOut(long, why).text) + 4).toBeLessThanOrEqual(markTokens);
  });
});
