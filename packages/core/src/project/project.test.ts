import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ToolSpec } from '../define/specs.js';
import type { ProjectionInfo } from '../define/types.js';
import { GuardloopError } from '../errors.js';
import { capText, headAndTail, resultCapChars } from './cap.js';
import { headTail } from './head-tail.js';
import { jsonFields } from './json-fields.js';
import { showOf } from './own-projection.js';
import type { ObservationStore } from './spill.js';
import { readObservation, readObservationTool, spill, spillStore } from './spill.js';

const isWellFormed = (text: string): boolean => (text as unknown as { isWellFormed(): boolean }).isWellFormed();
const graphemes = (text: string): string[] =>
  Array.from(new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text), ({ segment }) => segment);
const info = (content: string): ProjectionInfo => ({
  context: undefined,
  run: 'r1',
  tool: 't',
  callId: '1.0',
  content,
  arguments: new Set(),
  signal: new AbortController().signal,
  used: () => undefined,
});
const mark = /\n\[… (\d+) of (\d+) characters left out …\]\n/;

const pieces = fc.array(
  fc.constantFrom(
    'a',
    ' ',
    '\r\n',
    '\n',
    'é',
    'e\u0301',
    'ä\u0323\u0301',
    '😀',
    '👍🏽',
    '👨‍👩‍👧‍👦',
    '🇩🇪',
    '🇫🇷',
    '❤️‍🔥',
    '한',
    '\u1112\u1161\u11ab',
    '東',
    'नि',
    'क्षि',
    '\u200d',
    '{',
    '"',
  ),
  { minLength: 1, maxLength: 120 },
);

function checkCut(text: string, cut: string, maxChars: number): void {
  expect(isWellFormed(cut)).toBe(true);
  if (text.length <= maxChars) {
    expect(cut).toBe(text);
    return;
  }
  const found = mark.exec(cut);
  expect(found).not.toBeNull();
  const [words = '', left = '', whole = ''] = found ?? [];
  const head = cut.slice(0, found?.index);
  const tail = cut.slice((found?.index ?? 0) + words.length);
  expect(head.length + tail.length).toBeLessThanOrEqual(maxChars);
  expect(text.startsWith(head)).toBe(true);
  expect(text.endsWith(tail)).toBe(true);
  expect(Number(whole)).toBe(text.length);
  expect(Number(left)).toBe(text.length - head.length - tail.length);
  const all = graphemes(text);
  expect(graphemes(head)).toEqual(all.slice(0, graphemes(head).length));
  expect(tail === '' ? [] : graphemes(tail)).toEqual(tail === '' ? [] : all.slice(all.length - graphemes(tail).length));
}

describe('headTail', () => {
  it('S139: never parts a pair, a joined emoji or a letter from its accents, and keeps to its size', () => {
    for (const text of ['123456789😀x', `12345678${'👨‍👩‍👧‍👦'.repeat(3)}`, 'ä\u0323\u0301'.repeat(20), '{"a":"😀😀😀😀😀😀"}']) {
      for (let maxChars = 1; maxChars <= 12; maxChars += 1) checkCut(text, String(headTail({ maxChars })(text, info(text))), maxChars);
    }
  });

  it('S139: cuts every text at every size between whole characters', () => {
    fc.assert(
      fc.property(pieces, fc.integer({ min: 1, max: 400 }), (list, maxChars) => {
        const text = list.join('');
        checkCut(text, headAndTail(text, maxChars), maxChars);
      }),
      { numRuns: 1_000 },
    );
  });

  it('S139: leaves no half of a pair behind where the text itself had one', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.integer({ min: 0xd7f0, max: 0xe00f }).map((unit) => String.fromCharCode(unit)),
          minLength: 20,
          maxLength: 60,
        }),
        (text) => {
          expect(isWellFormed(headAndTail(text, 10))).toBe(true);
        },
      ),
    );
  });

  it('cuts a run of flags between flags, however long it is', () => {
    const text = '🇩🇪🇫🇷'.repeat(700);
    for (const maxChars of [1_000, 1_001, 1_002, 1_003, 1_006]) checkCut(text, headAndTail(text, maxChars), maxChars);
  });

  it('cuts a character that never ends between code points', () => {
    const text = `e${'\u0301'.repeat(5_000)}`;
    const cut = headAndTail(text, 1_000);
    expect(isWellFormed(cut)).toBe(true);
    expect(cut.length).toBeLessThan(1_100);
    expect(cut.length).toBeGreaterThan(900);
  });

  it('S107: states how long the whole was', () => {
    const text = `${'a'.repeat(1_000)}${'m'.repeat(8_000)}${'z'.repeat(1_000)}`;
    expect(headTail({ maxChars: 2_000 })(text, info(text))).toBe(
      `${'a'.repeat(1_000)}\n[… 8000 of 10000 characters left out …]\n${'z'.repeat(1_000)}`,
    );
  });

  it('cuts 5 MB to its cap', () => {
    const text = '😀'.repeat(2_500_000);
    expect(headAndTail(text, 16_000).length).toBeLessThan(16_100);
  });

  it.each([0, -1, 1.5, Number.NaN, '10', undefined])('refuses the size %s at definition', (maxChars) => {
    expect(() => headTail({ maxChars: maxChars as number })).toThrowError(GuardloopError);
  });
});

describe('capText', () => {
  it('leaves a short text alone and says nothing', () => {
    expect(capText('short', resultCapChars)).toEqual({ text: 'short' });
  });

  it('says that what was JSON is none any more', () => {
    const json = JSON.stringify(Array.from({ length: 5_000 }, (_, index) => ({ index })));
    const { text, note } = capText(json, 1_000);
    expect(text.length).toBeLessThan(1_100);
    expect(note).toContain(String(json.length));
    expect(note).toContain('no longer valid JSON');
    expect(capText('plain '.repeat(5_000), 1_000).note).not.toContain('JSON');
  });
});

describe('jsonFields', () => {
  const order = {
    orderId: 'o1',
    status: 'paid',
    count: 3,
    error_class: 'none',
    customer: { id: 'c1', name: 'Ann', address: 'x' },
    ...Object.fromEntries(Array.from({ length: 36 }, (_, index) => [`field${index}`, 'filler'])),
  };

  it('keeps of 40 fields those asked for, identifiers, counts, status and error class, and counts the rest', () => {
    const text = String(jsonFields({ keep: ['field7'] })(order, info(JSON.stringify(order))));
    const [json = '', missing] = text.split('\n');
    expect(JSON.parse(json)).toEqual({
      orderId: 'o1',
      status: 'paid',
      count: 3,
      error_class: 'none',
      customer: { id: 'c1' },
      field7: 'filler',
    });
    expect(missing).toBe('[left out: 37 fields]');
  });

  it('adds no line where nothing is missing', () => {
    expect(jsonFields({ keep: ['a'] })({ a: { deep: [1, { b: 2 }] } }, info(''))).toBe('{"a":{"deep":[1,{"b":2}]}}');
  });

  it('looks into lists of objects, and says how long the lists are that it leaves out', () => {
    const output = {
      rows: [
        { id: 1, note: 'x' },
        { id: 2, note: 'y' },
      ],
      tags: ['a', 'b', 'c'],
    };
    expect(jsonFields({ keep: [] })(output, info(''))).toBe(
      '{"rows":[{"id":1},{"id":2}]}\n[left out: 3 fields; lengths of lists left out: tags 3]',
    );
  });

  it('reads a text that is JSON, and cuts one that is none', () => {
    expect(jsonFields({ keep: ['a'] })('{"a":1,"b":2}', info('{"a":1,"b":2}'))).toBe('{"a":1}\n[left out: 1 field]');
    const prose = 'words '.repeat(100);
    expect(jsonFields({ keep: ['a'], maxChars: 50 })(prose, info(prose))).toBe(headAndTail(prose, 50));
  });

  it('keeps a result of 5 MB under its size, with identifiers, counts and status whole', () => {
    const output = {
      big: 'x'.repeat(4_000_000),
      rows: Array.from({ length: 20_000 }, (_, index) => ({ id: `row-${index}`, text: 'y'.repeat(50) })),
      orderId: 'o1',
      total: 20_000,
      status: 'ok',
    };
    const text = String(jsonFields({ keep: ['big', 'rows'], maxChars: 2_000 })(output, info('')));
    const [json = '', missing = ''] = text.split('\n');
    expect(json.length).toBeLessThanOrEqual(2_000);
    expect(JSON.parse(json)).toMatchObject({ orderId: 'o1', total: 20_000, status: 'ok' });
    expect(missing).toMatch(/for want of room|cut inside/);
  });

  it('drops whole elements of a list for want of room and says how many', () => {
    const output = { rows: Array.from({ length: 100 }, (_, index) => ({ id: index })) };
    const [json = '', missing] = String(jsonFields({ keep: [], maxChars: 60 })(output, info(''))).split('\n');
    const { rows } = JSON.parse(json) as { rows: unknown[] };
    expect(rows.length).toBeGreaterThan(2);
    expect(rows).toEqual(output.rows.slice(0, rows.length));
    expect(missing).toBe(`[left out: ${100 - rows.length} list elements for want of room]`);
  });

  it('gives valid JSON within its size for every output, and never part of an identifier', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.string({ maxLength: 40 }), fc.integer({ min: 20, max: 300 }), (value, id, maxChars) => {
        const text = String(jsonFields({ keep: ['keep'], maxChars })({ id, keep: value, list: [value] }, info('')));
        const [json = ''] = text.split('\n[left out')[0]?.split('\n[') ?? [];
        expect(json.length).toBeLessThanOrEqual(maxChars);
        const parsed = JSON.parse(json) as { id?: string };
        expect([id, undefined]).toContain(parsed.id);
      }),
      { numRuns: 500 },
    );
  });

  it('S034: never changes what an object inherits', () => {
    const text = '{"__proto__":{"id":1,"isAdmin":true},"id":2}';
    expect(jsonFields({ keep: ['__proto__', 'isAdmin'] })(text, info(text))).toBe('{"id":2}');
    expect(({} as { isAdmin?: unknown }).isAdmin).toBeUndefined();
  });

  it('refuses names that are no texts', () => {
    expect(() => jsonFields({ keep: 'a' as never })).toThrowError(/keep must be a list/);
  });
});

describe('spill', () => {
  const memory = (): ObservationStore & { readonly map: Map<string, string> } => {
    const map = new Map<string, string>();
    return { map, put: (key, text) => void map.set(key, text), get: (key) => map.get(key) };
  };

  it('shows a short output whole and keeps nothing', () => {
    const store = memory();
    expect(spill({ maxChars: 10, store })('short', info('short'))).toBe('short');
    expect(store.map.size).toBe(0);
  });

  it('keeps the whole, and names its size, its key and the tool that reads it', async () => {
    const store = memory();
    const text = 'line\n'.repeat(1_000);
    const shown = await spill({ maxChars: 100, store })(text, info(text));
    expect(store.map.get('r1/1.0')).toBe(text);
    expect(shown).toContain('5000 characters');
    expect(shown).toContain('"r1/1.0"');
    expect(shown).toContain('read_observation');
    expect(shown.length).toBeLessThan(400);
  });

  it('says that the rest is lost when the store fails', async () => {
    const text = 'x'.repeat(1_000);
    const shown = await spill({ maxChars: 100, store: { put: () => Promise.reject(new Error('secret dsn')), get: () => undefined } })(
      text,
      info(text),
    );
    expect(shown).toContain('could not be kept');
    expect(shown).not.toContain('secret');
  });

  it('lets every text be read whole again, piece by piece, each between whole characters', async () => {
    await fc.assert(
      fc.asyncProperty(pieces, fc.integer({ min: 1, max: 40 }), async (list, count) => {
        const store = memory();
        const text = list.join('');
        store.map.set('k', text);
        const { execute } = readObservation(store);
        let whole = '';
        for (let from = 0; from < text.length; ) {
          const piece = await execute({ key: 'k', from, count });
          const [, body = '', start, end] =
            /^([\s\S]*)\n\[characters (\d+) to (\d+) of \d+; (?:this is the end|read on from \d+)\]$/.exec(piece) ?? [];
          expect(Number(start)).toBe(from);
          expect(isWellFormed(body)).toBe(true);
          whole += body;
          from = Number(end);
        }
        expect(whole).toBe(text);
      }),
      { numRuns: 100 },
    );
  });

  it('answers an unknown key and a place behind the end as not found, without repeating what it was asked', async () => {
    const store = memory();
    store.map.set('k', 'abc');
    const { execute } = readObservation(store);
    await expect(execute({ key: 'other-secret' })).rejects.toMatchObject({
      errorClass: 'not_found',
      message: expect.not.stringContaining('other-secret'),
    });
    await expect(execute({ key: 'k', from: 3 })).rejects.toMatchObject({ errorClass: 'not_found' });
    await expect(execute({ key: 'k', count: 0 })).rejects.toMatchObject({ errorClass: 'invalid_input' });
  });

  it('gives an agent whose tools spill the tool to read with, once', async () => {
    const store = memory();
    const project = spill({ maxChars: 10, store });
    expect(spillStore(project)).toBe(store);
    const tool = { name: 'fetch', project } as unknown as ToolSpec;
    const reading = readObservationTool([tool, { ...tool, name: 'fetch_more' }]);
    expect(reading).toMatchObject({ name: 'read_observation', repeatable: true, flow: { effect: 'read', results: 'untrusted' } });
    store.map.set('k', 'abcdef');
    const parsed = await reading?.input.parse({ key: 'k', from: 2, count: 3 });
    expect(parsed).toMatchObject({ ok: true });
    expect(await reading?.execute?.((parsed as unknown as { value: never }).value, {} as never)).toBe(
      'cde\n[characters 2 to 5 of 6; read on from 5]',
    );
    expect(reading?.input.parse({ key: 1, from: -1, count: 10 ** 9, other: 1 })).toEqual({
      ok: false,
      issues: [
        { path: 'key', expected: 'string' },
        { path: 'from', expected: 'integer at least 0' },
        { path: 'count', expected: 'integer from 1 to 15000' },
        { path: '', expected: 'no other fields than key, from, count' },
      ],
    });
    expect(readObservationTool([tool, { ...tool, name: 'read_observation' }])).toBeUndefined();
    expect(readObservationTool([{ name: 'x', project: headTail({ maxChars: 5 }) } as unknown as ToolSpec])).toBeUndefined();
  });
});

it.each([
  {
    make: headTail,
    given: { maxChars: 10, maxChar: 5 },
    told: 'headTail: there is no option maxChar. Did you mean maxChars? The options are maxChars.',
  },
  {
    make: jsonFields,
    given: { keep: ['a'], keeps: ['b'] },
    told: 'jsonFields: there is no option keeps. Did you mean keep? The options are keep, maxChars.',
  },
  {
    make: spill,
    given: { maxChars: 10, store: new Map(), key: 'k' },
    told: 'spill: there is no option key. The options are maxChars, store.',
  },
])('an option that does not exist is refused: $told', ({ make, given, told }) => {
  expect(() => (make as (options: unknown) => unknown)(given)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message: told }));
});

it.each([headTail, jsonFields, spill])('options that are none are refused: %#', (projection) => {
  for (const given of [undefined, null, 3])
    expect(() => (projection as (options: unknown) => unknown)(given)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
});

describe('showOf', () => {
  it("tells core's own projections from functions that wrap or imitate them", () => {
    const own = headTail({ maxChars: 10 });
    const store = { put: () => undefined, get: () => undefined };
    for (const projection of [own, jsonFields({ keep: [] }), spill({ maxChars: 10, store })])
      expect(showOf(projection)).toBeTypeOf('function');
    const imitation = Object.assign((output: unknown, about: ProjectionInfo) => own(output, about), own);
    expect(showOf(imitation)).toBeUndefined();
    expect(showOf(undefined)).toBeUndefined();
  });
});
