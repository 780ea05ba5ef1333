import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonFault } from './json-fault.js';

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

describe('jsonFault', () => {
  it.each([
    ['{"a":"x \\. y"}', 'a bad escape, at position 8'],
    ['{"a":"\\u12g4"}', 'a bad escape, at position 6'],
    ['{"a":"x', 'a string that is not closed, from position 5'],
    ['{"a":"x\n"}', 'a control character that is not escaped, at position 7'],
    ['{"a":1', 'it ends too early, at position 6'],
    ['{"a" 1}', 'no colon after a key, at position 5'],
    ['{a:1}', 'no key in quotes where one is due, at position 1'],
    ['{"a":1,}', 'no key in quotes where one is due, at position 7'],
    ['[1,]', 'no value where one is due, at position 3'],
    ['[1 2]', 'neither comma nor end after a value, at position 3'],
    ['[1}', 'neither comma nor end after a value, at position 2'],
    ['{"a":1} thanks', 'something behind the JSON value, at position 8'],
    ['01', 'something behind the JSON value, at position 1'],
    ['', 'it ends too early, at position 0'],
    ['Hello', 'no value where one is due, at position 0'],
    ['[nul]', 'no value where one is due, at position 1'],
    ['[1, x]', 'no value where one is due, at position 4'],
  ])('says of %j what is wrong and where', (text, fault) => {
    expect(isJson(text)).toBe(false);
    expect(jsonFault(text)).toBe(fault);
  });

  it('finds a fault in exactly the texts that are no JSON', () => {
    const pieces = fc
      .array(
        fc.constantFrom(
          '{',
          '}',
          '[',
          ']',
          ',',
          ':',
          '"',
          '\\',
          '\\n',
          'a',
          '1',
          '-',
          '.5',
          'e3',
          'true',
          'null',
          ' ',
          '\n',
          '"a"',
          '{"a":1}',
        ),
        {
          maxLength: 8,
        },
      )
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.oneof(pieces, fc.json(), fc.string()), (text) => {
        expect(jsonFault(text) === undefined).toBe(isJson(text));
      }),
      { numRuns: 2_000 },
    );
  });
});
