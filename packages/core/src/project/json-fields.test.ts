import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ProjectionInfo } from '../define/types.js';
import type { JsonValue } from '../model/types.js';
import { jsonFields } from './json-fields.js';
import type { Shown } from './own-projection.js';
import { showOf } from './own-projection.js';

const info = (more: Partial<ProjectionInfo> = {}): ProjectionInfo => ({
  context: undefined,
  run: 'r1',
  tool: 't',
  callId: '1.0',
  content: '',
  arguments: new Set(),
  signal: new AbortController().signal,
  used: () => undefined,
  ...more,
});
const shown = (projection: unknown, output: unknown, more: Partial<ProjectionInfo> = {}): Shown =>
  showOf(projection)?.(output, info(more)) as Shown;

/** Every kept field, where it is not within another: its name and its value. */
function keptOf(value: JsonValue | undefined, keep: ReadonlySet<string>): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((element: JsonValue) => keptOf(element, keep));
  return Object.entries(value).flatMap(([name, field]) =>
    keep.has(name) ? [JSON.stringify({ [name]: field })] : keptOf(field as JsonValue, keep),
  );
}

/** The value with its kept fields alone: what they need, where they stand. */
function keptOnly(value: JsonValue, keep: ReadonlySet<string>): JsonValue | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) {
    const elements = value.map((element: JsonValue) => keptOnly(element, keep)).filter((element) => element !== undefined);
    return elements.length === 0 ? undefined : elements;
  }
  const entries = Object.entries(value).flatMap(([name, field]) => {
    const kept = keep.has(name) ? (field as JsonValue) : keptOnly(field as JsonValue, keep);
    return kept === undefined ? [] : [[name, kept] as const];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

const names = ['orderId', 'sku', 'status', 'note', 'error', 'ids', 'rows', 'total', 'a', 'b', 'toString', ''];
const anyJson: fc.Arbitrary<JsonValue> = fc.letrec<{ node: JsonValue }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.constantFrom<JsonValue>(null, true, 0, 17, -1.5, 'paid', 'o-1', ''),
    fc.string({ maxLength: 200 }),
    fc.string({ unit: 'grapheme', maxLength: 20 }),
    fc.array(tie('node'), { maxLength: 6 }),
    fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.string({ maxLength: 6 })), tie('node'), { maxKeys: 6 }),
  ),
})).node;
const objects = fc.oneof(fc.array(anyJson, { maxLength: 8 }), fc.dictionary(fc.constantFrom(...names), anyJson, { maxKeys: 10 }));
const keeps = fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 4 });
const isUsable = (value: unknown): boolean => !JSON.stringify(value).includes('"__proto__"');

/** What must hold of every output, every choice of fields and every size. */
function check(
  output: JsonValue,
  { text, isWhole, note }: Shown,
  { keep, maxChars }: { keep: ReadonlySet<string>; maxChars: number },
): void {
  const parsed = JSON.parse(text) as JsonValue;
  expect(text.length).toBeLessThanOrEqual(maxChars);
  expect(isWhole).toBe(note === undefined);
  const need = keptOnly(output, keep);
  if (need === undefined || JSON.stringify(need).length > maxChars) return;
  expect(keptOf(parsed, keep).toSorted()).toEqual(keptOf(output, keep).toSorted());
}

describe('a field named in `keep`', () => {
  it('survives every cut with its value, within the bound, in a result that parses, wherever the kept fields fit', () => {
    fc.assert(
      fc.property(objects.filter(isUsable), keeps, fc.integer({ min: 2, max: 600 }), (output, names, maxChars) => {
        check(output, shown(jsonFields({ keep: names, maxChars }), output), { keep: new Set(names), maxChars });
      }),
      { numRuns: 2_000 },
    );
  });

  it('survives where it only just fits', () => {
    fc.assert(
      fc.property(objects.filter(isUsable), keeps, (output, names) => {
        const keep = new Set(names);
        const need = keptOnly(output, keep);
        fc.pre(need !== undefined);
        const maxChars = JSON.stringify(need).length;
        check(output, shown(jsonFields({ keep: names, maxChars }), output), { keep, maxChars });
      }),
      { numRuns: 1_000 },
    );
  });

  it('survives as the input of a tool, by its name', () => {
    fc.assert(
      fc.property(objects.filter(isUsable), keeps, fc.integer({ min: 2, max: 600 }), (output, names, maxChars) => {
        const keep = new Set(names);
        check(output, shown(jsonFields({ keep: 'arguments', maxChars }), output, { arguments: keep }), { keep, maxChars });
      }),
      { numRuns: 1_000 },
    );
  });

  it('is found in lists within lists, and within fields that are kept for their name alone', () => {
    expect(jsonFields({ keep: ['sku'] })({ rows: [[{ sku: 1, x: 2 }, [{ sku: 3 }]], [7]] }, info())).toBe(
      '{"rows":[[{"sku":1},[{"sku":3}]],[]]}\n[left out: 1 field]',
    );
    const error = { text: 'x'.repeat(500), sku: 's-1' };
    expect(shown(jsonFields({ keep: ['sku'], maxChars: 40 }), { error })).toMatchObject({ text: '{"error":{"sku":"s-1"}}' });
  });

  it('goes before identifiers, counts and status, which go before the rest', () => {
    const rows = Array.from({ length: 50 }, (_, index) => ({ id: index, sku: `s-${index}` }));
    const { text, note } = shown(jsonFields({ keep: ['sku'], maxChars: 50 * 15 + 40 }), { rows, status: 'open', total: 50 });
    const parsed = JSON.parse(text) as { readonly rows: readonly object[] };
    expect(parsed).toMatchObject({ status: 'open', total: 50 });
    expect(parsed.rows).toHaveLength(50);
    expect(parsed.rows.every((row, index) => (row as { sku?: string }).sku === `s-${index}`)).toBe(true);
    expect(note).toMatch(/^\[left out: \d+ values for want of room\]$/);
  });
});

describe('kept fields that do not fit', () => {
  it('lose elements of lists from the end and the middles of long texts; the bound holds, and identifiers stay', () => {
    const output = {
      orderId: 'o-1',
      text: 'x'.repeat(5_000),
      rows: Array.from({ length: 500 }, (_, index) => ({ sku: index })),
      status: 'open',
    };
    const { text, note, isWhole } = shown(jsonFields({ keep: ['text', 'sku'], maxChars: 400 }), output);
    expect(text.length).toBeLessThanOrEqual(400);
    expect(JSON.parse(text)).toMatchObject({ orderId: 'o-1', status: 'open' });
    expect(note).toContain('1 long text cut inside');
    expect(isWhole).toBe(false);
  });
});

describe('what is said of what is missing', () => {
  const output = { tags: ['a', 'b'], note: 'n', orderId: 1 };

  it('stands beside the result without a word of the output', () => {
    expect(shown(jsonFields({ keep: [] }), output)).toEqual({
      text: '{"orderId":1}',
      isWhole: false,
      note: '[left out: 2 fields; lengths of lists left out: 2]',
      mark: '[left out: 2 fields; lengths of lists left out: tags 2]',
    });
  });

  it('is nothing where nothing is', () => {
    expect(shown(jsonFields({ keep: [] }), { orderId: 1 })).toMatchObject({ isWhole: true, note: undefined });
  });
});

it('a result that is nested deeper than can be looked into is cut like a text', () => {
  const content = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
  expect(shown(jsonFields({ keep: ['a'], maxChars: 100 }), content, { content })).toMatchObject({ isWhole: false });
});
