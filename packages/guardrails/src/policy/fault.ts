import { GuardloopError } from '@guardloop/core';
import { suggest } from '@guardloop/core/model';

/** A place in a policy: `Policy refunds`, and below it `rules[2].when`. */
export interface Place {
  readonly policy: string;
  readonly path: string;
}

export const at = ({ policy, path }: Place, step: string | number): Place => ({
  policy,
  path: typeof step === 'number' ? `${path}[${step}]` : path === '' ? step : `${path}.${step}`,
});

/** Throws CONFIG_INVALID with where it is. */
export function fault({ policy, path }: Place, message: string): never {
  throw new GuardloopError('CONFIG_INVALID', `${policy}: ${path === '' ? '' : `${path}: `}${message}`);
}

/** A value in words for a message: short texts as they are, of the rest the kind. */
export function told(value: unknown): string {
  if (typeof value === 'string') return value.length <= 60 ? JSON.stringify(value) : 'a long text';
  if (value === null || ['number', 'boolean', 'undefined'].includes(typeof value)) return String(value);
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** `; did you mean NAME?`, or nothing. */
export function meant(word: string, known: readonly string[]): string {
  const hint = suggest(word, known).trim();
  return hint === '' ? '' : `; ${hint.charAt(0).toLowerCase()}${hint.slice(1)}`;
}

export type PlainObject = { readonly [key: string]: unknown };

export function isPlainObject(value: unknown): value is PlainObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** The entries of an object whose names are all known; entries that are undefined are left out. Throws CONFIG_INVALID. */
export function entriesOf(
  value: unknown,
  { place, names, what }: { readonly place: Place; readonly names: readonly string[]; readonly what: string },
): ReadonlyMap<string, unknown> {
  if (!isPlainObject(value)) fault(place, `${told(value)} is no ${what}. Give an object with ${names.join(', ')}.`);
  const entries = Object.entries(value).filter(([, entry]) => entry !== undefined);
  for (const [name] of entries) {
    if (!names.includes(name)) fault(place, `unknown ${what} ${name}${meant(name, names) || `. Known are ${names.join(', ')}.`}`);
  }
  return new Map(entries);
}

export function textAt(value: unknown, place: Place, longest = 10_000): string {
  if (typeof value !== 'string' || value === '' || value.length > longest)
    fault(place, `${told(value)} is no text of 1 to ${longest} characters.`);
  return value;
}

export function numberAt(value: unknown, place: Place): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value)))
    fault(
      place,
      `${told(value)} is no number that can be told apart from its neighbours. Give a finite number${typeof value === 'string' ? ', without quotes' : ''}.`,
    );
  return value;
}

export function choiceAt<const C extends string>(value: unknown, place: Place, choices: readonly C[]): C {
  if (choices.includes(value as C)) return value as C;
  return fault(place, `${told(value)} is none of ${choices.join(', ')}${(typeof value === 'string' && meant(value, choices)) || '.'}`);
}

export function flagAt(value: unknown, place: Place): boolean {
  if (typeof value !== 'boolean') fault(place, `${told(value)} is neither true nor false.`);
  return value;
}

/** One or several, as a list with at least one entry. */
export function listAt(value: unknown, place: Place, most = 1_000): readonly unknown[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > most)
    fault(place, `${told(value)} is no list of 1 to ${most} entries.`);
  return value as readonly unknown[];
}
