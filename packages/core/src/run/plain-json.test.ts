import fc from 'fast-check';
import { expect, it } from 'vitest';
import { copyPlainJson } from './plain-json.js';

it('every JSON value is copied as it is', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const plain: unknown = JSON.parse(JSON.stringify(value));
      const hasProto = JSON.stringify(plain).includes('"__proto__"');
      if (hasProto) return;
      const copy = copyPlainJson(plain);
      expect(copy).toEqual(plain);
      if (typeof plain === 'object' && plain !== null) expect(copy).not.toBe(plain);
    }),
    { numRuns: 300, seed: 1 },
  );
});

const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);
const bare = (() => 1) as unknown as { length?: unknown; name?: unknown };
delete bare.length;
delete bare.name;
Object.setPrototypeOf(bare, null);
const round: { self?: unknown } = {};
round.self = round;
const revoked = Proxy.revocable({}, {});
revoked.revoke();

it.each<[string, unknown]>([
  ['undefined', undefined],
  ['a field without a value', { a: undefined }],
  ['a list with a hole', Object.assign([], { 1: 1 })],
  ['a list with a field', Object.assign([1], { a: 1 })],
  ['a list with a longer length', Object.assign([1], { length: 2 })],
  ['a number that is none', { a: Number.NaN }],
  ['an endless number', [Number.POSITIVE_INFINITY]],
  ['a bigint', { a: 1n }],
  ['a function', { a: () => 1 }],
  ['a function without a field of its own', bare],
  ['a symbol', { a: Symbol('a') }],
  ['a field named by a symbol', { [Symbol('a')]: 1 }],
  ['a hidden field', Object.defineProperty({}, 'a', { value: 1 })],
  ['a getter', Object.defineProperty({}, 'a', { get: () => 1, enumerable: true })],
  ['a date', { a: new Date(0) }],
  ['a map', new Map([['a', 1]])],
  [
    'an instance',
    new (class Point {
      x = 1;
    })(),
  ],
  ['an object over another', Object.create({ a: 1 })],
  ['a field that would be a prototype', JSON.parse('{"__proto__": {"a": 1}}')],
  ['what holds itself', round],
  ['what is too deep', deep(66)],
  ['a revoked proxy', { a: revoked.proxy }],
])('%s is none', (_what, value) => {
  expect(copyPlainJson(value)).toBeUndefined();
});

it('objects of another realm, and without a prototype, are plain', () => {
  expect(copyPlainJson(Object.assign(Object.create(null) as object, { a: [1] }))).toEqual({ a: [1] });
  expect(copyPlainJson(deep(65))).toEqual(deep(65));
});
