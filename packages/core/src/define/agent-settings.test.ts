import { expect, test } from 'vitest';
import { checkSettings, readSettings } from './agent-settings.js';

const check = (given: unknown) => checkSettings(given, 'Agent billing');
const misfit = (name: string, described: string, expected: string) =>
  expect.objectContaining({
    code: 'CONFIG_INVALID',
    message: `\`settings\` of agent billing has ${described} as \`${name}\`. ${expected}`,
  });

test.each<[string, readonly unknown[]]>([
  ['temperature', [0, 0.7, 2, 100]],
  ['topP', [0, 0.5, 1]],
  ['maxTokens', [1, 2, 100_000]],
  ['toolChoice', ['auto', 'required', 'none', { tool: 'pay' }, { tool: 'a b' }]],
  ['parallelToolCalls', [true, false]],
  ['stopSequences', [[], ['END'], ['a', '\n']]],
  ['reasoning', ['off', 'low', 'medium', 'high', { maxTokens: 1 }]],
  ['seed', [-7, 0, 7]],
  ['metadata', [{}, { user: 'u', empty: '' }]],
  ['headers', [{}, { 'x-trace': '1' }]],
  ['extra', [{}, { openai: {} }, { openai: { a: [1, null] }, other: { b: {} } }]],
])('%s may be any of these', (name, values) => {
  for (const value of values) expect(check({ [name]: value })).toEqual({ [name]: value });
});

const counts = 'Give a whole number from 1.';
const choices = "Give 'auto', 'required', 'none' or { tool: NAME }.";
const efforts = "Give 'off', 'low', 'medium', 'high' or { maxTokens: NUMBER }.";
const texts = 'Give a list of texts.';
const fields = 'Give an object whose values are texts.';
const headers = 'Give an object with a text for each header name.';
const extra = 'Give an object with the name of an adapter over each set of fields.';
test.each<[name: string, value: unknown, described: string, expected: string]>([
  ['temperature', -0.1, '-0.1', 'Give a number from 0.'],
  ['temperature', '0', '"0"', 'Give a number from 0.'],
  ['temperature', null, 'null', 'Give a number from 0.'],
  ['topP', -0.1, '-0.1', 'Give a number from 0 to 1.'],
  ['topP', 1.1, '1.1', 'Give a number from 0 to 1.'],
  ['topP', '1', '"1"', 'Give a number from 0 to 1.'],
  ['topP', true, 'true', 'Give a number from 0 to 1.'],
  ['maxTokens', 0, '0', counts],
  ['maxTokens', 1.5, '1.5', counts],
  ['maxTokens', '5', '"5"', counts],
  ['maxTokens', 2 ** 53, '9007199254740992', counts],
  ['toolChoice', 'any', '"any"', choices],
  ['toolChoice', { tool: '' }, 'an object', choices],
  ['toolChoice', {}, 'an object', choices],
  ['toolChoice', { name: 'pay' }, 'an object', choices],
  ['parallelToolCalls', 0, '0', 'Give true or false.'],
  ['parallelToolCalls', null, 'null', 'Give true or false.'],
  ['stopSequences', 'END', '"END"', texts],
  ['stopSequences', ['END', ''], 'a list', texts],
  ['stopSequences', ['END', 3], 'a list', texts],
  ['reasoning', true, 'true', efforts],
  ['reasoning', { maxTokens: 0 }, 'an object', efforts],
  ['reasoning', {}, 'an object', efforts],
  ['seed', 1.5, '1.5', 'Give a whole number.'],
  ['seed', '7', '"7"', 'Give a whole number.'],
  ['metadata', { user: 7 }, 'an object', fields],
  ['metadata', { user: 'u', other: 7 }, 'an object', fields],
  ['metadata', ['u'], 'a list', fields],
  ['metadata', null, 'null', fields],
  ['metadata', 'u', '"u"', fields],
  ['headers', { 'x-trace': 1 }, 'an object', headers],
  ['headers', [], 'a list', headers],
  ['extra', { openai: 1 }, 'an object', extra],
  ['extra', { openai: {}, other: [] }, 'an object', extra],
  ['extra', null, 'null', extra],
  ['extra', 'x', '"x"', extra],
])('%s may not be %j', (...row) => {
  const [name, value, described, expected] = row;
  expect(() => check({ [name]: value })).toThrow(misfit(name, described, expected));
});

test('settings are a frozen copy of what was said, without what was left out', () => {
  const given = { seed: 1, temperature: undefined, metadata: { user: 'u' } };
  const settings = check(given);
  given.metadata.user = 'changed';
  expect(settings).toStrictEqual({ seed: 1, metadata: { user: 'u' } });
  expect([Object.isFrozen(settings), Object.isFrozen(settings.metadata)]).toEqual([true, true]);
});

test('an agent without settings has none, one with a function has that, and others are checked', () => {
  const none = readSettings(undefined, 'Agent billing');
  expect([none, Object.isFrozen(none)]).toEqual([{}, true]);
  const given = () => ({ seed: 1 });
  expect(readSettings(given, 'Agent billing')).toBe(given);
  expect(readSettings({ seed: 1 }, 'Agent billing')).toEqual({ seed: 1 });
  expect(() => readSettings(null, 'Agent billing')).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/^`settings` of agent billing was given null as its options\. Give an object with temperature, /),
    }),
  );
});
