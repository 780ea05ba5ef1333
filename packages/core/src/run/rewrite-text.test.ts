import { describe, expect, it } from 'vitest';
import { applySpans, readSpans, rewriteText } from './rewrite-text.js';

const span = (start: number, end: number, text = '') => ({ start, end, with: text });

describe('rewriteText', () => {
  it.each<[string, unknown, string]>([
    ['a text stands in place of the whole', 'new', 'new'],
    ['an empty text too', '', ''],
    ['no spans change nothing', [], 'abcdef'],
    ['a span is replaced', [span(1, 3, 'XYZ')], 'aXYZdef'],
    ['a span at the beginning', [span(0, 1, '-')], '-bcdef'],
    ['a span up to the end', [span(5, 6, '-')], 'abcde-'],
    ['a span of nothing puts text in', [span(2, 2, '+')], 'ab+cdef'],
    ['text is put behind the end', [span(6, 6, '+')], 'abcdef+'],
    ['spans that touch each other', [span(0, 2, '1'), span(2, 4, '2')], '12ef'],
    ['spans in any order', [span(4, 5, '2'), span(0, 1, '1')], '1bcd2f'],
    ['text before a span that begins there, in whatever order', [span(2, 4, 'x'), span(2, 2, '+')], 'ab+xef'],
  ])('%s', (_what, by, text) => {
    expect(rewriteText('abcdef', by)).toBe(text);
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['an object', { start: 0, end: 1, with: '' }],
    ['a number', 5],
    ['spans that overlap', [span(0, 3), span(2, 4)]],
    ['a span inside another', [span(0, 4), span(1, 2)]],
    ['a span that begins before the text', [span(-1, 2)]],
    ['a span that ends behind the text', [span(4, 7)]],
    ['a span that ends before it begins', [span(3, 2)]],
    ['a start that is no whole number', [span(0.5, 2)]],
    ['an end that is no whole number', [span(0, 1.5)]],
    ['an endless span', [span(0, Number.POSITIVE_INFINITY)]],
    ['a start that is a text', [{ start: '0', end: 1, with: '' }]],
    ['an end that is missing', [{ start: 0, with: '' }]],
    ['a replacement that is missing', [{ start: 0, end: 1 }]],
    ['a replacement that is no text', [{ start: 0, end: 1, with: 5 }]],
    ['null among the spans', [span(0, 1), null]],
    ['a text among the spans', ['0-1']],
    ['a function among the spans', [Object.assign(() => 1, span(0, 1))]],
  ])('makes nothing of %s', (_what, by) => {
    expect(rewriteText('abcdef', by)).toBeUndefined();
  });
});

it.each<[string, readonly object[]]>([
  ['a span that begins within a character', [span(2, 4)]],
  ['a span that ends within a character', [span(0, 2)]],
  ['a text put in within a character', [span(2, 2, '+')]],
  ['half a character', [span(1, 2, '*')]],
])('rewriteText makes nothing of %s', (_what, by) => {
  expect(rewriteText('a😀b', by)).toBeUndefined();
  expect(rewriteText('a😀b', [span(1, 3, '*')])).toBe('a*b');
});

describe('readSpans', () => {
  it('gives the spans in order, and nothing else that stood in them', () => {
    expect(readSpans([{ ...span(3, 4, 'b'), more: 1 }, span(0, 2, 'a')], 'abcd')).toEqual([span(0, 2, 'a'), span(3, 4, 'b')]);
  });

  it('leaves the list that was given as it was', () => {
    const given = [span(3, 4), span(0, 2)];
    readSpans(given, 'abcd');
    expect(given).toEqual([span(3, 4), span(0, 2)]);
  });
});

it('applySpans keeps what stands before, between and behind the spans', () => {
  expect(applySpans('0123456789', [span(1, 2, 'a'), span(4, 8, 'b')])).toBe('0a23b89');
  expect(applySpans('0123', [])).toBe('0123');
});
