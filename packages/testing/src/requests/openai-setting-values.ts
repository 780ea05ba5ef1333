import type { Fields, Report } from './openai-fields.js';
import { fieldsOf, isGiven } from './openai-fields.js';

export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
export const verbosities = ['low', 'medium', 'high'];

/** What the top fields of a request may hold. A field that is null or missing is legal. */
export interface SettingRules {
  readonly words: Readonly<Record<string, readonly string[]>>;
  readonly ranges: Readonly<Record<string, readonly [number, number]>>;
  readonly wholeNumbers: Readonly<Record<string, readonly [number, number]>>;
  readonly longestTexts: Readonly<Record<string, number>>;
  readonly flags: readonly string[];
}

export function checkSettingValues(fields: Fields, rules: SettingRules, report: Report): void {
  const { words, ranges, wholeNumbers, longestTexts, flags } = rules;
  const check = (names: readonly string[], isLegal: (value: unknown, name: string) => boolean, what: (name: string) => string): void => {
    for (const name of names) if (isGiven(fields[name]) && !isLegal(fields[name], name)) report(name, what(name));
  };
  const isWithin = (value: unknown, [low, high]: readonly [number, number] = [0, 0]): boolean =>
    typeof value === 'number' && value >= low && value <= high;
  check(
    Object.keys(ranges),
    (value, name) => isWithin(value, ranges[name]),
    (name) => `must be ${ranges[name]?.join(' to ') ?? ''}`,
  );
  check(
    Object.keys(wholeNumbers),
    (value, name) => Number.isInteger(value) && isWithin(value, wholeNumbers[name]),
    (name) => `must be a whole number from ${wholeNumbers[name]?.join(' to ') ?? ''}`,
  );
  check(
    Object.keys(words),
    (value, name) => typeof value === 'string' && words[name]?.includes(value) === true,
    () => 'is unknown',
  );
  check(
    Object.keys(longestTexts),
    (value, name) => typeof value === 'string' && value.length <= (longestTexts[name] ?? 0),
    (name) => `must be text of at most ${longestTexts[name]} characters`,
  );
  check(
    flags,
    (value) => typeof value === 'boolean',
    () => 'must be true or false',
  );
}

export function checkMetadata(metadata: unknown, report: Report): void {
  if (!isGiven(metadata)) return;
  const fields = fieldsOf(metadata);
  if (fields === undefined) {
    report('metadata', 'must be an object');
    return;
  }
  const keys = Object.keys(fields);
  if (keys.length > 16) report('metadata', 'has more than 16 keys');
  for (const key of keys) {
    const value = fields[key];
    if (key.length > 64) report('metadata', `the key ${JSON.stringify(key.slice(0, 20))}… is longer than 64 characters`);
    if (typeof value !== 'string') report(`metadata.${key}`, 'must be text');
    else if (value.length > 512) report(`metadata.${key}`, 'is longer than 512 characters');
  }
}
