import { describe, expect, it } from 'vitest';
import { canary, holdsCanary, tracesOf } from './canary.js';

const bytes = Buffer.from(canary);

describe('the search itself', () => {
  it.each([
    ['as it is', canary],
    ['inside other text', `before ${canary} after`],
    ['in JSON', JSON.stringify({ deep: canary })],
    ['in JSON within JSON', JSON.stringify(JSON.stringify({ deep: canary }))],
    ['in a URL', `https://example.org/?q=${encodeURIComponent(canary)}`],
    ['in lower case', canary.toLowerCase()],
    ['in upper case', canary.toUpperCase()],
    ['backwards', [...canary].reverse().join('')],
    ['in base64', bytes.toString('base64')],
    ['in base64, one byte later', Buffer.from(`x${canary}y`).toString('base64')],
    ['in base64, two bytes later', Buffer.from(`xx${canary}y`).toString('base64')],
    ['in base64 for URLs', Buffer.from(`xx${canary}y`).toString('base64url')],
    ['in base64 of UTF-16', Buffer.from(`x${canary}`, 'utf16le').toString('base64')],
    ['in hex', bytes.toString('hex')],
    ['in upper-case hex', bytes.toString('hex').toUpperCase()],
    ['as code units', JSON.stringify([...canary].map((each) => each.charCodeAt(0)))],
    ['as escapes', [...canary].map((each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')],
    ['a first half alone', canary.slice(0, 10)],
    ['a second half alone', canary.slice(12)],
  ])('finds it %s', (_how, text) => {
    expect(holdsCanary(text)).toBe(true);
  });

  it('finds nothing where nothing is', () => {
    expect(holdsCanary('Zq7 vogel kanarie, quite another text')).toBe(false);
  });

  class Hidden {
    readonly #text = canary;
    get told(): string {
      return this.#text;
    }
  }
  it.each<readonly [string, unknown]>([
    ['a field that is not enumerable', Object.defineProperty({}, 'x', { value: canary })],
    ['a symbol', { [Symbol('s')]: canary }],
    ['the name of a field', { [canary]: 1 }],
    ['the words of a symbol', { [Symbol(canary)]: 1 }],
    ['a map', new Map([['k', { deep: canary }]])],
    ['a key of a map', new Map([[canary, 1]])],
    ['a set', new Set([canary])],
    ['a getter of a class', new Hidden()],
    ['a message', new Error(canary)],
    ['a stack', Object.assign(new Error('x'), { stack: canary })],
    ['a cause of a cause', new Error('x', { cause: new Error('y', { cause: canary }) })],
    ['bytes', new Uint8Array(bytes)],
    ['a field of a function', Object.assign(() => undefined, { kept: canary })],
    ['a list of code units', [...canary].map((each) => each.charCodeAt(0))],
    ['a proxy', new Proxy({ x: canary }, {})],
  ])('finds it in %s', (_where, value) => {
    expect(tracesOf({ inner: [value] })).not.toEqual([]);
  });

  it('goes around in no circle', () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    expect(tracesOf(circle)).toEqual([]);
  });
});
