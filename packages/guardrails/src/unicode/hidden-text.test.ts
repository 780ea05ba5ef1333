import { defineAgent, run } from '@guardloop/core';
import { auditLog, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findHidden } from './find-hidden.js';
import { hiddenText } from './hidden-text.js';

const none: ReadonlySet<string> = new Set();
const kinds = (text: string) => [...new Set(findHidden(text, none).map(({ kind }) => kind))];
function cleaned(text: string): string {
  let made = text;
  for (const { start, end, with: words = '' } of [...findHidden(text, none)].sort((a, b) => b.start - a.start))
    made = made.slice(0, start) + words + made.slice(end);
  return made;
}
const tags = (words: string) => [...words].map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join('');
const selectors = (words: string) => [...words].map((letter) => String.fromCodePoint(0xe0100 + letter.charCodeAt(0))).join('');

describe('hidden text', () => {
  test.each([
    [`hi${tags('obey me')} there`, 'tag-characters', 'hi there'],
    [`\u{1f3f4}${tags('send it all')} flag`, 'tag-characters', '\u{1f3f4} flag'],
    [`\u{1f600}${selectors('key=1')}!`, 'variation-selectors', '\u{1f600}!'],
    ['a\ufe0f\ufe0eb', 'variation-selectors', 'ab'],
    ['❤\ufe0f\ufe0f', 'variation-selectors', '❤\ufe0f'],
    ['ig\u200bnore', 'zero-width', 'ignore'],
    ['a\u200d\u200c\u200db', 'zero-width', 'ab'],
    ['\ufeffa\u2060b\u2062c', 'zero-width', 'abc'],
    ['pay\u202eesle\u202c me', 'bidi-control', 'payesle me'],
    ['x \u2067y', 'bidi-control', 'x y'],
    ['a\u200e\u200f\u200eb', 'bidi-control', 'ab'],
    ['ig\u00adnore', 'soft-hyphen', 'ignore'],
    ['a\ufff9b\ufffac\ufffb', 'interlinear', 'abc'],
    ['a\u3164b\u2800c\uffa0', 'invisible-filler', 'abc'],
    ['a\ue000b\u{f0000}', 'private-use', 'ab'],
    ['ignоrе this', 'mixed-script', 'ignore this'],
    ['pαypal', 'mixed-script', 'paypal'],
  ])('is found and taken out: %j', (text, kind, expected) => {
    expect(kinds(text)).toEqual([kind]);
    expect(cleaned(text)).toBe(expected);
  });

  test.each([
    ['families and couples', '👨\u200d👩\u200d👧\u200d👦 ❤\ufe0f 👩\u200d❤\ufe0f\u200d💋\u200d👨'],
    ['skin colours and jobs', '👩🏽\u200d🚀 🤦🏿\u200d♂\ufe0f 👍🏻'],
    ['flags', '🇩🇪 🇯🇵 🏳\ufe0f\u200d🌈 🏴\u200d☠\ufe0f'],
    [
      'flags of England, Scotland and Wales',
      `\u{1f3f4}${tags('gbeng')}\u{e007f} \u{1f3f4}${tags('gbsct')}\u{e007f} \u{1f3f4}${tags('gbwls')}\u{e007f}`,
    ],
    ['keycaps', '1\ufe0f\u20e3 #\ufe0f\u20e3 *\ufe0f\u20e3'],
    ['text presentation', '☎\ufe0e ↔\ufe0f ©\ufe0f ™\ufe0e'],
    ['Persian', 'می\u200cخواهم کتاب\u200cها را نمی\u200cخوانم'],
    ['Hindi, Bengali, Malayalam, Sinhala', 'क्\u200dष क्\u200cष র\u200dয ന്\u200d ශ්\u200dරී'],
    ['Hebrew with marks', 'שלום\u200f (abc)\u200e עולם'],
    ['Arabic with isolates', 'قال \u2068John\u2069 ثم \u2067مرحبا\u2069'],
    ['names between isolates', 'Hello \u2068Zoë\u2069, welcome'],
    ['combining marks', 'e\u0301 a\u0308\u0323 nie\u0301 שָׁלוֹם'],
    ['ideographs with variants', '葛\u{e0100}城 辻\u{e0101} 門\ufe00'],
    ['Mongolian', 'ᠭ\u180b ᠠ\u180c'],
    ['mathematics', '∩\ufe00 and ⊕\ufe00'],
    ['Thai with breaks', 'สวัสดี\u200bครับ'],
    ['Korean', '한국어 \u1112\u1161\u11ab \u115f\u1161'],
    ['Braille', '⠓⠑⠇⠇⠕\u2800⠺⠕⠗⠇⠙'],
    ['Russian, Greek and units', 'Привет мир, αβγ, 5 μm, Δt, PDF-файл, USB-кабель, Ω'],
    ['German, French, Turkish, Vietnamese', 'Straße, déjà vu, İstanbul ığdır, Tiếng Việt'],
  ])('is nothing of what is written that way: %s', (_, text) => {
    expect(findHidden(text, none)).toEqual([]);
  });

  test('may be kept by kind', () => {
    expect(findHidden('a\ue000b\u200bc', new Set(['private-use'])).map(({ kind }) => kind)).toEqual(['zero-width']);
  });

  test('is gone once it was taken out', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '\u200b',
        '\u200c',
        '\u200d',
        '\u202e',
        '\u2067',
        '\u2069',
        '\u200f',
        '\ufe0f',
        '\u{e0041}',
        '\u{e0110}',
        '\u00ad',
        '\ue000',
        '\u3164',
        'ע',
        'а',
        'p',
        '❤',
        'क',
        '्',
      ),
      fc.string({ unit: 'binary', maxLength: 2 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        let text = pieces.join('');
        // What stood between two characters may have been what made them allowed.
        for (let time = 0; time < 40 && kinds(text).length > 0; time += 1) text = cleaned(text);
        expect(kinds(text)).toEqual([]);
      }),
      { numRuns: 500, seed: 81 },
    );
  });

  test('is taken out of an answer that flows as out of one that is whole', async () => {
    const answer = `${'word '.repeat(100)}ig\u200bnore ${tags('x'.repeat(300))} 👩\u200d🚀 pаypal ${'end '.repeat(100)}`;
    const agent = defineAgent({ name: 'a', instructions: 'Help.', model: scriptedModel([say(answer)]), guardrails: [hiddenText()] });
    const result = await run(agent, 'hi\u202e there');
    expect(auditLog(result.log)).toEqual([]);
    expect(result.status === 'completed' && result.output).toBe(cleaned(answer));
    expect(JSON.stringify(result.log)).not.toContain('\u202e');
  });

  test('is refused where that is asked for, by its kinds', async () => {
    const agent = defineAgent({
      name: 'a',
      instructions: '',
      model: scriptedModel([say('ok')]),
      guardrails: [hiddenText({ then: 'deny' })],
    });
    const result = await run(agent, `hi${tags('x')}`);
    expect(result).toMatchObject({ status: 'blocked', reason: 'hidden-text: tag-characters stood in the input' });
  });

  test.each([
    [{ keep: ['zero-with'] }, /keep is no list of kinds. Did you mean zero-width\?/],
    [{ keep: ['private'] }, /keep is no list of kinds. Did you mean private-use\?/],
    [{ keep: 'all' }, /keep is no list of kinds/],
    [{ kep: [] }, /no option kep. Did you mean keep\?/],
  ])('has options that are checked: %j', (options, message) => {
    expect(() => hiddenText(options as never)).toThrow(message);
  });

  test.each([
    '\u200e',
    'a\u200e',
    '\u2068',
    'a\u202e',
    '\u2068a\u2069',
    '\u{e0041}',
    '\ufe0f',
    'а',
    'аp',
    'ע\u200f',
    '\u{1f3f4}\u{e0067}',
    '\u0301',
    '\ud83c',
    'क\u200d',
  ])('is looked for in time in 256 KB of %j', (piece) => {
    const start = process.cpuUsage();
    findHidden(piece.repeat(Math.ceil(262_144 / piece.length)), none);
    expect(process.cpuUsage(start).user).toBeLessThan(2_000_000);
  });
});
