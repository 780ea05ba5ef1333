import { expect, test } from 'vitest';
import { readToolError, toolError } from './tool-error.js';

test('it is an error that says how a tool failed', () => {
  const error = toolError('There is no order o1.', { errorClass: 'not_found', retryable: true });
  expect(error).toBeInstanceOf(Error);
  expect(readToolError(error)).toBe(error);
  expect([error.message, error.errorClass, error.retryable]).toEqual(['There is no order o1.', 'not_found', true]);
});

test('what is not said is failed, and not to be tried again', () => {
  expect(toolError('No.')).toMatchObject({ errorClass: 'failed', retryable: false });
  expect(toolError('No.', { errorClass: undefined, retryable: undefined })).toMatchObject({ errorClass: 'failed', retryable: false });
});

test('a class that does not exist is refused', () => {
  expect(() => (toolError as (...given: unknown[]) => unknown)('No.', { errorClass: 'notfound' })).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message:
        'toolError was given the class "notfound". Did you mean not_found? The classes are invalid_input, unknown_tool, denied, rejected, timeout, aborted, rate_limited, not_found, unavailable, bad_result, failed.',
    }),
  );
});

test.each([
  [null, 'null'],
  [3, '3'],
  [Object.create(null), 'an object'],
  [Symbol('failed'), 'a symbol'],
])('a class that is no text is refused in the same words: %#', (errorClass, described) => {
  expect(() => (toolError as (...given: unknown[]) => unknown)('No.', { errorClass })).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(new RegExp(`^toolError was given the class ${described}\\. The classes are invalid_input, `)),
    }),
  );
});

test('other errors and values are no tool errors', () => {
  const throwing = new Proxy(
    {},
    {
      get: () => {
        throw new Error('no');
      },
    },
  );
  for (const other of [undefined, null, 'x', new Error('x'), { errorClass: 'failed', retryable: true }, throwing])
    expect(readToolError(other)).toBeUndefined();
});

test.each([
  ['retriable', 'Did you mean retryable? '],
  ['class', 'Here that is `errorClass`. '],
  ['code', 'Here that is `errorClass`. '],
  ['cause', ''],
])('an option %s, which does not exist, is refused', (option, hint) => {
  expect(() => (toolError as (...given: unknown[]) => unknown)('No.', { [option]: 'timeout' })).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: `toolError has an option "${option}", which does not exist. ${hint}The options are errorClass, retryable.`,
    }),
  );
});

test.each([
  ['not_found', '"not_found"'],
  [null, 'null'],
])('options that are no object are refused: %s', (given, described) => {
  expect(() => (toolError as (...given: unknown[]) => unknown)('No.', given)).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: `toolError was given ${described} as its options. Give an object with errorClass, retryable.`,
    }),
  );
});
