// Ids and digests are random hexadecimal digits, times are decimal ones: a test that looks for `4111` in a log and wants
// none finds one by chance, once in a few thousand runs. What such a test looks for has a character that no id has.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Longer ones do not come by chance: 16 to the 11th power. */
const short = /^[0-9a-f]{1,10}$/;

/** What a line wants not to find: the literal of `not.toContain`, or each alternative of the pattern of `not.toMatch`. */
export function markersIn(line) {
  const text = /not\.toContain\((['"`])(.*?)\1\)/.exec(line)?.[2];
  const pattern = /not\.toMatch\(\/(.*?)\/[a-z]*\)/.exec(line)?.[1];
  return [...(text === undefined ? [] : [text]), ...(pattern?.split('|') ?? [])];
}
const byChance = (line) => markersIn(line).filter((marker) => short.test(marker));

test('no test looks for something that an id or a time can hold by chance', () => {
  const files = execFileSync('git', ['ls-files', '*.test.ts'], { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean);
  expect(files.length).toBeGreaterThan(300);
  const found = files.flatMap((file) =>
    readFileSync(`${root}/${file}`, 'utf8')
      .split('\n')
      .flatMap((line, index) => byChance(line).map((marker) => `${file}:${index + 1} ${marker}`)),
  );
  expect(found).toEqual([]);
});

test.each([
  [`expect(text).not.toContain('4111');`, ['4111']],
  ['expect(text).not.toMatch(/holder|abc|x1/i);', ['abc']],
  [`expect(text).not.toContain('411-1');`, []],
  [`expect(text).toContain('4111');`, []],
])('what could be there by chance is found in %s', (line, expected) => {
  expect(byChance(line)).toEqual(expected);
});
