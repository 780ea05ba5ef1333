import { expect, it } from 'vitest';
import { isPromise } from './is-promise.js';

it.each([
  ['a promise', Promise.resolve(1)],
  ['an object with a `then` to call', { then: () => undefined }],
])('takes %s for a promise', (_what, value) => {
  expect(isPromise(value)).toBe(true);
});

it.each([
  ['nothing', undefined],
  ['null', null],
  ['a text', 'then'],
  ['an object without a `then`', {}],
  ['an object with a `then` that is no function', { then: 1 }],
  ['a function', Object.assign(() => 1, { then: () => undefined })],
  [
    'an object whose `then` throws when it is read',
    {
      get then(): never {
        throw new Error('no');
      },
    },
  ],
])('does not take %s for one', (_what, value) => {
  expect(isPromise(value)).toBe(false);
});
