import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { enterRun } from '../../test/enter-run.js';
import { GuardloopError } from '../errors.js';
import { compileSchema } from '../schema.js';
import { answerLabel, readAnswer, readJson, recordError } from './answer.js';

it('labels an answer as untrusted exactly when the view of its agent is', async () => {
  const { handle } = await enterRun();
  expect(answerLabel(handle)).toEqual({ origin: 'agent:a', integrity: 'trusted' });
  handle.state.conversation.isUntrusted = true;
  expect(answerLabel(handle)).toEqual({ origin: 'agent:a', integrity: 'untrusted' });
});

describe('an error in the log', () => {
  it('has its code, its words and whether to try again, and nothing it does not have', () => {
    expect(recordError(new GuardloopError('MODEL_FAILED', 'Down.'))).toStrictEqual({
      code: 'MODEL_FAILED',
      message: 'Down.',
      isRetryable: false,
    });
  });

  it('has its details and its cause where it has some', () => {
    const error = new GuardloopError('MODEL_FAILED', 'Down.', {
      isRetryable: true,
      details: { status: 500 },
      cause: new TypeError('secret'),
    });
    expect(recordError(error)).toStrictEqual({
      code: 'MODEL_FAILED',
      message: 'Down.',
      isRetryable: true,
      details: { status: 500 },
      cause: { name: 'TypeError' },
    });
  });
});

describe('the JSON of an answer', () => {
  it.each<[string, string, unknown]>([
    ['an object', '{"a":[1]}', { a: [1] }],
    ['white space around it', ' \n{"a":1}\n ', { a: 1 }],
    ['null', 'null', null],
    ['a fence of code', '```json\n{"a":1}\n```', { a: 1 }],
    ['a fence without a name', '```\n{"a":1}\n```', { a: 1 }],
    ['a fence with white space around it', '\n  ```json \t\n{"a":1}\n  ``` \n', { a: 1 }],
    ['a fence around several lines', '```json\n{\n"a":\n1\n}\n```', { a: 1 }],
    ['a fence in the answer itself', '{"a":"```json\\n1\\n```"}', { a: '```json\n1\n```' }],
    ['fences one within another', '```json\n"```"\n```', '```'],
  ])('is read from %s', (_what, text, value) => {
    expect(readJson(text)).toStrictEqual({ value });
  });

  it.each<[string, string, string]>([
    ['a text', 'Hello', 'it is not valid JSON (no value where one is due, at position 0)'],
    ['what ends too early', '{"a":', 'it is not valid JSON (it ends too early, at position 5)'],
    ['what ends too early in a fence', '```json\n{"a":\n```', 'it is not valid JSON (it ends too early, at position 5)'],
    ['a fence in prose', 'Here:\n```json\n1\n```', 'it is not valid JSON (no value where one is due, at position 0)'],
    ['a fence before prose', '```json\n1\n```\nDone', 'it is not valid JSON (no value where one is due, at position 0)'],
    ['a fence without lines', '```json 1```', 'it is not valid JSON (no value where one is due, at position 0)'],
    ['a fence for another language', '```js\n1\n```', 'it is not valid JSON (no value where one is due, at position 0)'],
    ['two fences', '```\n1\n```\n```\n2\n```', 'it is not valid JSON (something behind the JSON value, at position 2)'],
  ])('is missed in %s, in words that quote nothing', (_what, text, misfit) => {
    expect(readJson(text)).toStrictEqual({ value: undefined, misfit });
  });

  it('is frozen', () => {
    const { value } = readJson('{"a":[{"b":1}]}') as { readonly value: { readonly a: readonly object[] } };
    expect([value, value.a, value.a[0]].every(Object.isFrozen)).toBe(true);
  });

  it('is without the nulls that stand for fields that are not there', () => {
    const schema = compileSchema(z.object({ a: z.number(), b: z.string().optional() }), { owner: 'The output' });
    expect(readJson('{"a":1,"b":null}', schema)).toStrictEqual({ value: { a: 1 } });
    expect(readJson('{"a":1,"b":null}')).toStrictEqual({ value: { a: 1, b: null } });
  });

  it('that a schema cannot read is missed without a place', () => {
    const throwing = {
      ...compileSchema(z.object({}), { owner: 'The output' }),
      withoutAbsent: (): never => {
        throw new Error('no');
      },
    };
    expect(readJson('{}', throwing)).toStrictEqual({ value: undefined, misfit: 'it is not valid JSON' });
  });
});

describe('an answer by a schema', () => {
  it('is not read where its text says more than its value would', () => {
    expect(readAnswer('{"a":"x","a":"y"}')).toStrictEqual({
      value: undefined,
      misfit: 'it cannot be read: a key stands twice in one object',
    });
    expect(readAnswer('```json\n{"a":12345678901234567890}\n```').misfit).toContain('more digits');
  });

  it('is read like any JSON where it does not, without its absent fields', () => {
    const schema = compileSchema(z.object({ a: z.string().optional() }), { owner: 'The output' });
    expect(readAnswer('{"a":null}', schema)).toStrictEqual(readJson('{"a":null}', schema));
    expect(readAnswer('{"a":')).toStrictEqual(readJson('{"a":'));
  });
});
