import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { contentText, deepFreeze, errorText, maxOutputDepth, maxOutputNodes, plainOutput } from './plain-output.js';

const isWellFormed = (text: string): boolean => (text as unknown as { isWellFormed(): boolean }).isWellFormed();
const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 1]);
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

function toItself(this: unknown): unknown {
  return this;
}

function* generate(): Generator<number> {
  yield 1;
}

async function* generateLater(): AsyncGenerator<number> {
  yield 1;
}

class Page {
  readonly data = [1];
  async *[Symbol.asyncIterator](): AsyncGenerator<number> {
    yield* this.data;
  }
}

class Pipeable {
  readonly id = 7;
  pipe(): this {
    return this;
  }
}

function isDeepFrozen(value: unknown): boolean {
  return typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isDeepFrozen));
}

describe('plainOutput', () => {
  it.each([
    ['a text', 'hello', 'hello', 'hello'],
    ['a text that is JSON already', '{"a":"ü"}', '{"a":"ü"}', '{"a":"ü"}'],
    ['an empty text', '', '(empty result)', '(empty result)'],
    ['nothing', undefined, '(no result)', '(no result)'],
    ['a function', () => 1, '(no result)', '(no result)'],
    ['a symbol', Symbol('s'), '(no result)', '(no result)'],
    ['null', null, 'null', null],
    ['a boolean', false, 'false', false],
    ['a number', 4.5, '4.5', 4.5],
    ['minus zero', -0, '0', 0],
    ['NaN', Number.NaN, 'NaN', 'NaN'],
    ['infinity', Number.NEGATIVE_INFINITY, '-Infinity', '-Infinity'],
    ['a bigint', 12345678901234567890n, '12345678901234567890', '12345678901234567890'],
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z', '1970-01-01T00:00:00.000Z'],
    ['a date that is none', new Date(Number.NaN), 'Invalid Date', 'Invalid Date'],
    ['an error', new RangeError('too far'), 'RangeError: too far', 'RangeError: too far'],
    ['an error without a message', new Error(), 'Error', 'Error'],
    ['a URL', new URL('https://example.test/a'), 'https://example.test/a', 'https://example.test/a'],
    ['a boxed text', Object('boxed'), 'boxed', 'boxed'],
    ['a regular expression', /a+/g, '/a+/g', '/a+/g'],
    ['a map with text keys', new Map([['a', 1]]), '{"a":1}', { a: 1 }],
    [
      'a map with several text keys',
      new Map([
        ['a', 1],
        ['b', 2],
      ]),
      '{"a":1,"b":2}',
      { a: 1, b: 2 },
    ],
    ['a map with other keys', new Map([[1, 'x']]), '[[1,"x"]]', [[1, 'x']]],
    [
      'a map with some text keys',
      new Map<unknown, unknown>([
        ['a', 1],
        [2, 'x'],
      ]),
      '[["a",1],[2,"x"]]',
      [
        ['a', 1],
        [2, 'x'],
      ],
    ],
    ['an empty list', [], '[]', []],
    ['an empty object', {}, '{}', {}],
    ['booleans and null inside', [true, false, null], '[true,false,null]', [true, false, null]],
    ['texts of bytes inside', { a: Buffer.from('hi') }, '{"a":"hi"}', { a: 'hi' }],
    ['a blob', new Blob(['abc'], { type: 'text/html' }), '[blob text/html, 3 bytes, not read]', '[blob text/html, 3 bytes, not read]'],
    [
      'a blob without a type',
      new Blob(['abc']),
      '[blob application/octet-stream, 3 bytes, not read]',
      '[blob application/octet-stream, 3 bytes, not read]',
    ],
    ['a response', new Response('secret'), '[body, not read]', '[body, not read]'],
    ['a stream', new ReadableStream(), '[stream, not read]', '[stream, not read]'],
    ['a stream of Node', Readable.from(['a']), '[stream, not read]', '[stream, not read]'],
    ['a promise inside', { a: Promise.resolve(1) }, '{"a":"[promise, not awaited]"}', { a: '[promise, not awaited]' }],
    ['a generator', generate(), '[iterator, not read]', '[iterator, not read]'],
    ['a generator that waits', generateLater(), '[iterator, not read]', '[iterator, not read]'],
    ['headers', { h: new Headers({ a: 'b' }) }, '{"h":"[iterator, not read]"}', { h: '[iterator, not read]' }],
    ['a page of a list, with fields of its own', new Page(), '{"data":[1]}', { data: [1] }],
    ['an object of a class that can be piped', [new Pipeable()], '[{"id":7}]', [{ id: 7 }]],
    ['an object without a class and with such names', { then: 1, pipe: () => 1 }, '{"then":1}', { then: 1 }],
    ['an object that toJSON makes null', { toJSON: () => null }, 'null', null],
    ['an object that toJSON makes a list', { toJSON: () => [1] }, '[1]', [1]],
    ['an object that toJSON gives back', { a: 1, toJSON: toItself }, '{"a":1}', { a: 1 }],
    ['an object that toJSON makes one with a toJSON', { toJSON: () => ({ b: 2, toJSON: () => 'no' }) }, '{"b":2}', { b: 2 }],
    ['a set', new Set([1, 2]), '[1,2]', [1, 2]],
    ['a vector', Float32Array.from([0.5, 2]), '[0.5,2]', [0.5, 2]],
    ['fields without a value', { a: undefined, b: () => 1, c: Symbol('s'), d: 1 }, '{"d":1}', { d: 1 }],
    ['elements without a value', [undefined, () => 1, 1], '[null,null,1]', [null, null, 1]],
    [
      'odd values inside',
      { n: Number.NaN, b: 10n, d: new Date(0), e: new Error('no') },
      '{"n":"NaN","b":"10","d":"1970-01-01T00:00:00.000Z","e":"Error: no"}',
      { n: 'NaN', b: '10', d: '1970-01-01T00:00:00.000Z', e: 'Error: no' },
    ],
    [
      'an object of a class',
      new (class Point {
        x = 1;
        get y() {
          return 2;
        }
      })(),
      '{"x":1}',
      { x: 1 },
    ],
    ['an object with toJSON', { toJSON: () => ({ a: 1 }) }, '{"a":1}', { a: 1 }],
    ['an object that toJSON makes a text', { toJSON: () => 'text' }, 'text', 'text'],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}', { a: 1 }],
  ])('has one form for %s', (...[, output, content, value]) => {
    expect(plainOutput(output)).toStrictEqual({ content, value, isText: typeof value === 'string' });
  });

  it('S206: writes real characters, in one layer of JSON', () => {
    const { content } = plainOutput({ name: 'Müller 東京 😀' });
    expect(content).toBe('{"name":"Müller 東京 😀"}');
    expect(plainOutput(content).content).toBe(content);
  });

  it('S206: gives bytes as text where they are UTF-8, else as a part, never as numbered fields', () => {
    expect(plainOutput(Buffer.from('Müller 東京')).content).toBe('Müller 東京');
    expect(plainOutput(new TextEncoder().encode('é').buffer).content).toBe('é');
    const bytes = Uint8Array.from([0xff, 0x00, 0xfe]);
    expect(plainOutput(bytes)).toEqual({
      content: [{ type: 'file', mediaType: 'application/octet-stream', data: '/wD+' }],
      value: [{ type: 'file', mediaType: 'application/octet-stream', data: '/wD+' }],
      isText: false,
    });
    expect(contentText(plainOutput(bytes).content)).toBe('[file application/octet-stream, 3 bytes]');
  });

  it.each([
    ['png', png, 'image', 'image/png'],
    ['jpeg', Uint8Array.from([0xff, 0xd8, 0xff, 0xe0]), 'image', 'image/jpeg'],
    ['gif', Buffer.from('GIF89a-------'), 'image', 'image/gif'],
    ['webp', Buffer.from('RIFF....WEBPVP8 '), 'image', 'image/webp'],
    ['pdf', Buffer.from('%PDF-1.7 ...'), 'file', 'application/pdf'],
  ])('knows %s by its first bytes', (...[, bytes, type, mediaType]) => {
    expect(plainOutput(bytes).content).toEqual([{ type, mediaType, data: base64(bytes) }]);
  });

  it('encodes bytes of every length as base64', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 20_000 }), (bytes) => {
        const withMagic = Uint8Array.from([...png, ...bytes]);
        expect(plainOutput(withMagic).content).toEqual([{ type: 'image', mediaType: 'image/png', data: base64(withMagic) }]);
      }),
      { numRuns: 30 },
    );
  });

  it('lets an image inside an object cross as a part, with a stand-in in the text', () => {
    const output = plainOutput({ caption: 'a cat', image: png });
    expect(output.content).toEqual([
      { type: 'text', text: '{"caption":"a cat","image":"[image image/png, 12 bytes]"}' },
      { type: 'image', mediaType: 'image/png', data: base64(png) },
    ]);
    expect(output.value).toEqual({ caption: 'a cat', image: { type: 'image', mediaType: 'image/png', data: base64(png) } });
  });

  it('takes explicit parts, under either name of the media type, and nothing beside them', () => {
    const data = base64(png);
    const part = { type: 'image', mediaType: 'image/webp', data };
    expect(
      plainOutput({ type: 'image', data, mimeType: 'image/webp', label: { origin: 'developer', integrity: 'trusted' } }).content,
    ).toEqual([part]);
    expect(
      plainOutput([
        { type: 'text', text: 'see' },
        { type: 'image', data: png },
      ]).content,
    ).toEqual([
      { type: 'text', text: 'see' },
      { ...part, mediaType: 'image/png' },
    ]);
    expect(plainOutput({ type: 'image', data: `data:image/webp;base64,${data}` }).content).toEqual([part]);
    expect(plainOutput({ type: 'file', url: 'https://example.test/a.pdf', mediaType: 'application/pdf', name: 'a.pdf' }).content).toEqual([
      { type: 'file', mediaType: 'application/pdf', url: 'https://example.test/a.pdf', name: 'a.pdf' },
    ]);
    expect(
      plainOutput([
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ]),
    ).toEqual({ content: 'a\nb', value: 'a\nb', isText: true });
  });

  it.each([
    ['a record that is called a text', { type: 'text', text: 'hi', author: 'x' }],
    ['a record that is called a file', { type: 'file', name: 'a.txt', url: 'https://example.test', size: 3 }],
    ['an image that is no base64', { type: 'image', data: 'not base64!', mediaType: 'image/png' }],
    ['an image at an address that is not on the web', { type: 'image', url: 'file:///etc/passwd' }],
    ['a list of parts and others', [{ type: 'text', text: 'a' }, { type: 'other' }]],
  ])('takes %s as data, not as a part', (_what, output) => {
    expect(plainOutput(output)).toEqual({ content: JSON.stringify(output), value: output, isText: false });
  });

  it('marks what refers to itself, what is nested too deep and what cannot be read', () => {
    const circle: Record<string, unknown> = { a: 1 };
    circle.self = circle;
    expect(plainOutput(circle).value).toEqual({ a: 1, self: '[circular]' });
    const shared = { x: 1 };
    expect(plainOutput([shared, shared]).value).toEqual([{ x: 1 }, { x: 1 }]);
    let deep: unknown = 'bottom';
    for (let level = 0; level < 500; level += 1) deep = [deep];
    expect(plainOutput(deep).content).toBe(`${'['.repeat(maxOutputDepth)}"[nested too deep]"${']'.repeat(maxOutputDepth)}`);
    const bad = {
      good: 1,
      get bad(): never {
        throw new Error('secret');
      },
    };
    expect(plainOutput(bad).value).toEqual({ good: 1, bad: '[unreadable]' });
    expect(
      plainOutput({
        toJSON: () => {
          throw new Error('secret');
        },
      }).value,
    ).toBe('[unreadable]');
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(plainOutput(proxy).value).toBe('[unreadable]');
    expect(plainOutput({ inside: proxy }).value).toEqual({ inside: '[unreadable]' });
  });

  it('says nothing of an error but its name and message', () => {
    const error = Object.assign(new Error('refused'), {
      config: { headers: { authorization: 'Bearer s3cret' } },
      toJSON: () => ({ token: 's3cret' }),
    });
    expect(plainOutput(error).content).toBe('Error: refused');
  });

  it('ends for values that unfold without end or are counted in millions', () => {
    let doubled: unknown = ['x'];
    for (let level = 0; level < 60; level += 1) doubled = [doubled, doubled];
    expect(String(contentText(plainOutput(doubled).content))).toContain('[left out: too many values]');
    const long = plainOutput(new Array(maxOutputNodes + 5).fill(0)).value as readonly unknown[];
    expect(long.length).toBeLessThanOrEqual(maxOutputNodes + 1);
  });

  it('marks objects that are nested too deep', () => {
    let deep: unknown = 'bottom';
    for (let level = 0; level < maxOutputDepth + 9; level += 1) deep = { a: deep };
    const { content } = plainOutput(deep);
    expect(content).toBe(`${'{"a":'.repeat(maxOutputDepth)}"[nested too deep]"${'}'.repeat(maxOutputDepth)}`);
  });

  it('takes a list of up to 1000 explicit parts for parts', () => {
    const parts = (count: number) => plainOutput(new Array(count).fill({ type: 'text', text: 'a' }));
    expect(parts(1_000).content).toBe(new Array(1_000).fill('a').join('\n'));
    expect(parts(1_001).isText).toBe(false);
  });

  it('is unreadable where its JSON has no room in a text', () => {
    const stringify = vi.spyOn(JSON, 'stringify').mockImplementation(() => {
      throw new RangeError('Invalid string length');
    });
    const output = plainOutput({ a: 1 });
    stringify.mockRestore();
    expect(output).toEqual({ content: '[unreadable]', value: '[unreadable]', isText: true });
  });

  it('needs no blobs', () => {
    class Point {
      x = 1;
    }
    vi.stubGlobal('Blob', undefined);
    const { value } = plainOutput(new Point());
    vi.unstubAllGlobals();
    expect(value).toEqual({ x: 1 });
  });

  it('S034: never changes what the copy inherits', () => {
    const output = JSON.parse('{"__proto__":{"isAdmin":true},"a":1}') as object;
    const { value } = plainOutput(output);
    expect(value).toEqual({ a: 1 });
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect((value as { isAdmin?: unknown }).isAdmin).toBeUndefined();
    expect(({} as { isAdmin?: unknown }).isAdmin).toBeUndefined();
  });

  it('replaces lone surrogates wherever they stand', () => {
    const { content, value } = plainOutput({ 'k\ud800': ['v\udc00', 'fine 😀'] });
    expect(value).toEqual({ 'k\ufffd': ['v\ufffd', 'fine 😀'] });
    expect(isWellFormed(content as string)).toBe(true);
    expect(plainOutput('x\ud83d').content).toBe('x\ufffd');
  });

  it('gives a frozen copy and leaves the tool its own object', () => {
    const mine = { list: [{ a: 1 }], when: new Date(0) };
    const { value } = plainOutput(mine);
    expect(isDeepFrozen(value)).toBe(true);
    mine.list.push({ a: 2 });
    expect(value).toEqual({ list: [{ a: 1 }], when: '1970-01-01T00:00:00.000Z' });
    expect(Object.isFrozen(mine)).toBe(false);
  });

  it('never throws, and gives text, frozen JSON and well-formed characters for every value', () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withBoxedValues: true,
          withDate: true,
          withMap: true,
          withSet: true,
          withTypedArray: true,
          withSparseArray: true,
          withNullPrototype: true,
          withObjectString: true,
          withUnicodeString: true,
        } as fc.ObjectConstraints),
        fc.string({ unit: 'binary' }),
        (anything, text) => {
          const { content, value, isText } = plainOutput([anything, text]);
          expect(isDeepFrozen(value)).toBe(true);
          expect(isText).toBe(typeof value === 'string');
          expect(JSON.parse(JSON.stringify(value))).toEqual(value);
          expect(isWellFormed(contentText(content))).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('gives a text of 5 MB as it is', () => {
    const text = 'x'.repeat(5_000_000);
    const { content } = plainOutput(text);
    expect(content).toBe(text);
  });

  describe('keeps as many values as it may', () => {
    const lastOf = (zeros: number, last: unknown): unknown => {
      const list: unknown[] = new Array(zeros).fill(0);
      list.push(last);
      return (plainOutput(list).value as readonly unknown[]).at(-1);
    };
    const mark = '[left out: too many values]';

    it('in a list', () => {
      expect(lastOf(maxOutputNodes - 2, 7)).toBe(7);
      expect(lastOf(maxOutputNodes - 1, 7)).toBe(mark);
      expect(plainOutput(new Array(maxOutputNodes + 9).fill(0)).value).toHaveLength(maxOutputNodes);
    });

    it('in an object, of which it then reads no more', () => {
      let reads = 0;
      const object = {
        a: 1,
        b: 2,
        get c() {
          reads += 1;
          return 3;
        },
        get d() {
          reads += 1;
          return 4;
        },
      };
      const room = maxOutputNodes - 3;
      expect(lastOf(room - 4, object)).toEqual({ a: 1, b: 2, c: 3, d: 4 });
      reads = 0;
      expect(lastOf(room - 2, object)).toEqual({ a: 1, b: 2, '…': mark });
      expect(reads).toBe(1);
      expect(lastOf(room, object)).toEqual({ '…': mark });
      expect(lastOf(room + 1, object)).toBe(mark);
    });
  });
});

describe('contentText', () => {
  it('joins texts by lines and lets images and files stand in', () => {
    expect(
      contentText([
        { type: 'text', text: 'one' },
        { type: 'image', mediaType: 'image/webp', data: Buffer.alloc(1234).toString('base64') },
        { type: 'image', url: 'https://example.test/cat.png' },
        { type: 'file', mediaType: 'application/pdf', name: 'a.pdf', data: 'AAA=' },
      ]),
    ).toBe('one\n[image image/webp, 1234 bytes]\n[image https://example.test/cat.png]\n[file application/pdf, a.pdf, 2 bytes]');
    expect(contentText('as it is')).toBe('as it is');
  });
});

describe('errorText', () => {
  it.each<[string, object, string]>([
    ['its name and message', { name: 'RangeError', message: 'too far' }, 'RangeError: too far'],
    ['its name alone', { name: 'RangeError', message: '' }, 'RangeError'],
    ['a name where it has none', { name: '', message: 'too far' }, 'Error: too far'],
    ['a name where it is no text', { name: 5, message: 'too far' }, 'Error: too far'],
    ['nothing of a message that is no text', { name: 'RangeError', message: { a: 1 } }, 'RangeError'],
    ['well-formed words', { name: 'A\ud800', message: 'b\udc00' }, 'A\ufffd: b\ufffd'],
  ])('gives %s', (_what, fields, text) => {
    expect(errorText(Object.assign(new Error('x'), fields))).toBe(text);
  });

  it('gives what can be read', () => {
    const error = new Error('secret');
    for (const field of ['name', 'message'])
      Object.defineProperty(error, field, {
        get() {
          throw new Error('no');
        },
      });
    expect(errorText(error)).toBe('Error');
  });
});

describe('deepFreeze', () => {
  it('gives back what it was given, objects or not', () => {
    for (const value of [undefined, null, 5, 'text', true, () => 1]) expect(deepFreeze(value)).toBe(value);
    expect(Object.isFrozen(deepFreeze(Object.assign(Object.create(null), { a: {} })).a)).toBe(true);
  });

  it('freezes what hangs below flat objects and lists that were frozen before', () => {
    const flat = Object.freeze({ a: 1, b: null });
    const value = deepFreeze([flat, flat, Object.freeze([{ c: 1 }]), null]);
    expect(isDeepFrozen(value)).toBe(true);
  });

  it('freezes lists and plain objects all the way down, also below what was frozen before', () => {
    const value = deepFreeze({ a: [{ b: 1 }], c: Object.freeze({ d: { e: 1 } }) });
    expect(isDeepFrozen(value)).toBe(true);
  });

  it('leaves dates, bytes, maps and objects of a class alone', () => {
    class Money {
      cents = 1;
    }
    const value = deepFreeze({ date: new Date(0), bytes: new Uint8Array(2), map: new Map([[1, 2]]), money: new Money() });
    expect(Object.isFrozen(value)).toBe(true);
    expect([value.date, value.bytes, value.map, value.money].some(Object.isFrozen)).toBe(false);
  });

  it('ends for circles, frozen before or not', () => {
    const circle: Record<string, unknown> = {};
    circle.a = circle;
    circle.b = { circle };
    expect(Object.isFrozen(deepFreeze(circle))).toBe(true);
    expect(deepFreeze(circle)).toBe(circle);
  });
});
