import { expect, it } from 'vitest';
import { escapeHtml, html } from './html.js';
import { say, tellCounted, tellDuration, tellSince, tellTime } from './say.js';
import { visible } from './visible.js';

it.each([
  ['plain, ünïcode, 漢字, עברית, 👩‍👩‍👧', 'plain, ünïcode, 漢字, עברית, 👩‍👩‍👧'],
  ['line\nnext\ttab\r\nlast', 'line\nnext\ttab\nlast'],
  ['a\u202eb\u2066c', 'a⟨U+202E⟩b⟨U+2066⟩c'],
  ['zero\u200bwidth\ufeff\u00ad', 'zero⟨U+200B⟩width⟨U+FEFF⟩⟨U+00AD⟩'],
  ['tag \u{e0041}\u{e0100}', 'tag ⟨U+E0041⟩⟨U+E0100⟩'],
  ['nul \u0000 esc \u001b cr \r', 'nul ⟨U+0000⟩ esc ⟨U+001B⟩ cr ⟨U+000D⟩'],
  ['half \ud800', 'half ⟨U+D800⟩'],
  ['fillers \u3164\u2800', 'fillers ⟨U+3164⟩⟨U+2800⟩'],
])('characters that hide or steer are seen in %j', (text, seen) => {
  expect(visible(text)).toBe(seen);
});

it('a template escapes all but markup, in text and in attributes', () => {
  const hostile = `<b a="x" b='y'>&`;
  expect(escapeHtml(hostile)).toBe('&lt;b a=&quot;x&quot; b=&#39;y&#39;&gt;&amp;');
  const inner = html`<i title="${hostile}">${hostile}</i>`;
  expect(html`<p>${[inner, 1, false, undefined, hostile]}</p>`.markup).toBe(
    `<p><i title="${escapeHtml(hostile)}">${escapeHtml(hostile)}</i>1${escapeHtml(hostile)}</p>`,
  );
  // What only looks like markup is text.
  expect(html`${{ markup: '<b>' } as never}`.markup).toBe('[object Object]');
});

it('a sentence keeps its own words and the words of a log apart', () => {
  expect(say`call ${'x'} of ${2_000}${[' ours']}`).toEqual(['call ', { quote: 'x' }, ' of ', '2,000', ' ours']);
});

it.each([
  [tellDuration(0), '0 ms'],
  [tellDuration(0.26), '0.3 ms'],
  [tellDuration(1_204), '1.20 s'],
  [tellDuration(59_990), '60.0 s'],
  [tellDuration(125_000), '2 min 5 s'],
  [tellDuration(3_840_000), '1 h 4 min'],
  [tellDuration(260_000_000), '3 d 0 h'],
  [tellDuration(Number.NaN), 'unknown'],
  [tellSince(1_204), '+1.204 s'],
  [tellSince(-5), '+0.000 s'],
  [tellTime(0), '1970-01-01 00:00:00 UTC'],
  [tellTime(1e300), 'unknown'],
  [tellCounted(1, 'entry'), '1 entry'],
  [tellCounted(1_200, 'entry'), '1,200 entries'],
  [tellCounted(0, 'call'), '0 calls'],
])('a number is told as %s', (told, expected) => {
  expect(told).toBe(expected);
});
