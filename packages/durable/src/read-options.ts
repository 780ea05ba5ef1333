import { GuardloopError } from '@guardloop/core';
import { suggest } from '@guardloop/core/model';

/** Throws CONFIG_INVALID. */
export function invalid(message: string): never {
  throw new GuardloopError('CONFIG_INVALID', message);
}

/** A value in words that fit an error message: never a text of more than a name's length. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return value.length <= 60 ? JSON.stringify(value) : 'a long text';
  if (value === null || value === undefined || typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** The longest interval at which something is done again and again: a day. Node takes a timer of more than 24.8 days for one of 1 ms. */
export const longestInterval = 86_400_000;
/** The longest time from now on that is told in milliseconds: 100 years. */
export const longestTime = 3_155_760_000_000;

/** The options at one place, each name known. Throws CONFIG_INVALID with a hint at what was meant. */
export class OptionReader<K extends string> {
  private readonly given: { readonly [name: string]: unknown };

  constructor(
    readonly place: string,
    given: unknown,
    names: readonly K[],
  ) {
    if (given !== undefined && (typeof given !== 'object' || given === null || Array.isArray(given)))
      invalid(`${place} is given ${describe(given)} for its options. Give an object, or leave it out.`);
    this.given = (given ?? {}) as { readonly [name: string]: unknown };
    for (const name of Object.keys(this.given))
      if (!names.includes(name as K))
        invalid(`${place} has no option \`${name}\`. ${suggest(name, names)}The options are ${names.join(', ')}.`);
  }

  get(name: K): unknown {
    return this.given[name];
  }

  refuse(name: K, expected: string): never {
    return invalid(`${this.place}: \`${name}\` is ${describe(this.get(name))}. ${expected}`);
  }

  /** Milliseconds, or a count, within bounds. */
  number(name: K, bounds: { readonly least: number; readonly most?: number; readonly isWhole?: boolean }): number | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    const { least, most = Number.POSITIVE_INFINITY, isWhole = false } = bounds;
    if (typeof value === 'number' && value >= least && value <= most && (!isWhole || Number.isInteger(value))) return value;
    const kind = isWhole ? 'a whole number' : 'a number';
    return this.refuse(name, `Give ${kind} from ${least}${most === Number.POSITIVE_INFINITY ? '' : ` to ${most}`}, or leave it out.`);
  }

  choice<const T extends string>(name: K, of: readonly T[]): T | undefined {
    const value = this.get(name);
    if (value === undefined || of.includes(value as T)) return value as T | undefined;
    const hint = typeof value === 'string' ? suggest(value, of) : '';
    return this.refuse(name, `${hint}Give ${of.map((each) => `'${each}'`).join(' or ')}, or leave it out.`);
  }

  /** A text of 1 to `most` characters without control characters. */
  text(name: K, most: number): string | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    return isLine(value) && value.length <= most ? value : this.refuse(name, `Give a line of 1 to ${most} characters, or leave it out.`);
  }

  signal(name: K): AbortSignal | undefined {
    const value = this.get(name);
    if (value === undefined || isSignal(value)) return value;
    return this.refuse(name, 'Give an AbortSignal, for example of an AbortController, or leave it out.');
  }

  function<T>(name: K): T | undefined {
    const value = this.get(name);
    return value === undefined || typeof value === 'function'
      ? (value as T | undefined)
      : this.refuse(name, 'Give a function, or leave it out.');
  }
}

/** Whatever realm or polyfill made it. */
function isSignal(value: unknown): value is AbortSignal {
  if (typeof value !== 'object' || value === null) return false;
  const { aborted, addEventListener } = value as Partial<AbortSignal>;
  return typeof aborted === 'boolean' && typeof addEventListener === 'function';
}

/** A text that can stand in a record and a message: not blank, without control characters. */
export function isLine(value: unknown): value is string {
  if (typeof value !== 'string' || value.trim() === '') return false;
  for (let index = 0; index < value.length; index += 1) {
    const code = value.charCodeAt(index);
    if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return false;
  }
  return true;
}
