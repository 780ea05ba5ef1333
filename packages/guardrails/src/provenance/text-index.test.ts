import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readNumber, TextIndex } from './text-index.js';

const has = (text: string, value: string | number): boolean => {
  const index = new TextIndex();
  index.add(text);
  return index.has(value);
};

describe('a value stands in a text', () => {
  test.each<[string, string, string | number]>([
    ['a word', 'Send it to Bob, please', 'Bob'],
    ['a word in other case', 'send it to bob', 'Bob'],
    ['a word before an apostrophe', "Use Bob's list", 'Bob'],
    ['several words over a line break', 'Call Ann\n  Smith now', 'Ann Smith'],
    ['a quoted name', "Read 'bill.txt'.", 'bill.txt'],
    ['a value with quotes of its own', 'Read bill.txt', '"bill.txt"'],
    ['an e-mail address at the end', 'Write to a.b@x.example.', 'a.b@x.example'],
    ['an e-mail address in other case', 'Write to A.B@X.example', 'a.b@x.example'],
    ['a URL without its scheme', 'Open www.x.example/a', 'https://www.x.example/a'],
    ['a URL with its scheme', 'Open https://www.x.example/a', 'www.x.example/a'],
    ['a URL with a slash at the end', 'Open www.x.example, then go', 'http://www.x.example/'],
    ['an account number in groups', 'Pay GB29 NWBK 6016 1331 9268 19 now', 'GB29NWBK60161331926819'],
    ['an account number written together', 'Pay GB29NWBK60161331926819', 'GB29 NWBK 6016 1331 9268 19'],
    ['a number', 'Pay 1,200.50 today', 1200.5],
    ['an amount before its currency', 'Pay 20EUR', 20],
    ['a number as a text', 'Pay 1200 today', '1200'],
    ['a number with a currency', 'Pay $50!', 50],
    ['a German number', 'Zahle 1.200,50', 1200.5],
    ['a date', 'On 2024-05-19, please', '2024-05-19'],
    ['a date in words', 'On May 19th, 2024', '2024-05-19'],
    ['a date, day first', 'am 19 May 2024', '2024-05-19'],
    ['a date and a time', 'On 2024-05-19 at 12:00', '2024-05-19 12:00'],
    ['a date and a time in ISO form', 'On 2024-05-19 at 9:30', '2024-05-19T09:30:00Z'],
    ['a word with a mark', 'Grüße an José', 'José'],
    ['a name in other composition', 'Jose\u0301 waits', 'José'],
  ])('%s', (_name, text, value) => {
    expect(has(text, value)).toBe(true);
  });

  test.each<[string, string, string | number]>([
    ['nothing', 'Bob', ''],
    ['white space', 'Bob', ' \n'],
    ['a part of a word', 'Bobby', 'Bob'],
    ['the end of a word', 'Jacob', 'cob'],
    ['the name in an address', 'bob@x.example', 'bob'],
    ['the host of an address', 'bob@x.example', 'x.example'],
    ['an address that goes on', 'bob@x.example.org', 'bob@x.example'],
    ['an address that began before', 'jim-bob@x.example', 'bob@x.example'],
    ['a host whose path goes on', 'x.example/secret', 'x.example'],
    ['another path', 'x.example/a', 'x.example/b'],
    ['a file in other case', 'read Bill.txt or /tmp/A', '/tmp/a'],
    ['a look-alike', 'bob@x.example', 'bоb@x.example'],
    ['a number in a longer one', 'Pay 1200', 120],
    ['digits in a name', 'partner123 waits', 123],
    ['a number before a letter', 'room 12b', 12],
    ['the digits of a decimal', 'Pay 12.50', 50],
    ['another amount', 'Pay 1.200', 1200],
    ['an account number that goes on', 'Pay 12345678901', '1234567890'],
    ['another date', 'On May 19th, 2024', '2024-05-18'],
    ['punctuation', 'Delete notes.txt. Thanks.', '.'],
    ['a bullet', '* one', '*'],
    ['a group of an account number', 'Pay 20 to GB29 NWBK 6016 1331 9268 19.', 9268],
    ['the year of a date', 'Pay Bob 20 on 2026-05-15', 2026],
    ['the minutes of a time', 'At 15:30', 30],
    ['a number in an address', 'bob.1999@x.example', 1999],
    ['a host whose hyphen is a dot', 'shop-2024.example.com', 'shop2024example.com'],
    ['a branch whose hyphens are slashes', 'release-2024-01', 'release/2024/01'],
    ['a path before a space in quotes', 'Read "/srv/old files/x.txt"', '/srv/old'],
    ['a path before a brace', 'Read /srv/data{1,2}', '/srv/data'],
    ['the end of a name with an apostrophe', "Write to o'brien@x.example", 'brien@x.example'],
    ['a date at another time', 'On 2024-05-19 at 12:00', '2024-05-19 13:00'],
  ])('but not %s', (_name, text, value) => {
    expect(has(text, value)).toBe(false);
  });

  test('as every word of it does, and no word with a letter more', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z]{3,8}$/), { minLength: 1, maxLength: 10 }), fc.nat(), (words, pick) => {
        const text = words.join(' ');
        const word = words[pick % words.length] ?? '';
        expect(has(text, word)).toBe(true);
        expect(has(text, `${word}q`)).toBe(words.includes(`${word}q`));
        expect(has(text, `q${word}`)).toBe(words.includes(`q${word}`));
      }),
      { numRuns: 300, seed: 67 },
    );
  });

  test('in any text of any kind without a failure', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.oneof(fc.string({ unit: 'binary' }), fc.double()), (text, value) => {
        expect(typeof has(text, value)).toBe('boolean');
      }),
      { numRuns: 300, seed: 68 },
    );
  });

  test('is told of a long text and a long value in time', () => {
    const text = 'a.'.repeat(100_000);
    const start = process.cpuUsage();
    has(text, 'a.'.repeat(1_000));
    has(text, 'a');
    has('1'.repeat(200_000), 1);
    for (const piece of ['"', "'", 'AB12', '12 ', '1-', "1'"]) has(piece.repeat(50_000), `a${'"'.repeat(50_000)}b`);
    expect(process.cpuUsage(start).user).toBeLessThan(5_000_000);
  });
});

test.each([
  ['1,200.50', 1200.5],
  ['1.200,50', 1200.5],
  ['1.200.000', 1_200_000],
  ['1.200', 1.2],
  ['1,200', 1200],
  ['12,5', 12.5],
  ["1'200", 1200],
  ['12.', 12],
  ['1.2.3', undefined],
])('the number %s is read as %s', (token, number) => {
  expect(readNumber(token)).toBe(number);
});
