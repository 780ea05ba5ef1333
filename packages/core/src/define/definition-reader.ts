// Reads what users give to the define functions, who may write plain JavaScript: every option once, nothing taken on trust.
import { GuardloopError, suggest } from '../errors.js';
import { hintAtOurs } from './foreign-names.js';

/** Throws CONFIG_INVALID. */
export function invalid(message: string): never {
  throw new GuardloopError('CONFIG_INVALID', message);
}

/** As `Array.isArray`, which throws for a proxy that was revoked. */
export function isList(value: unknown): value is readonly unknown[] {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}

/** What is read of something that a user gave. Throws CONFIG_INVALID where reading it throws: a getter of it, or a proxy. */
export function readable<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (GuardloopError.is(thrown)) throw thrown;
    return invalid(`${place} cannot be read: reading a part of it throws. Give plain objects and lists.`);
  }
}

/** A value in words that fit an error message: short texts as they are, of the rest only what kind it is. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return value.length <= 60 ? JSON.stringify(value) : 'a long text';
  if (value === null || typeof value === 'number' || typeof value === 'boolean' || value === undefined) return String(value);
  if (isList(value)) return 'a list';
  return typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint' ? `a ${typeof value}` : 'an object';
}

/** A property of anything; undefined where there is none or reading it throws. */
export function property(value: unknown, name: PropertyKey): unknown {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return undefined;
  try {
    return (value as Record<PropertyKey, unknown>)[name];
  } catch {
    return undefined;
  }
}

const lastControl = 0x1f;
/** A name that can stand in a log and a message: not blank, without control characters. */
export function isName(value: unknown): value is string {
  if (typeof value !== 'string' || value.trim() === '') return false;
  for (let index = 0; index < value.length; index += 1) {
    const code = value.charCodeAt(index);
    if (code <= lastControl || (code >= 0x7f && code <= 0x9f)) return false;
  }
  return true;
}

const toolName = /^[a-zA-Z0-9_-]{1,64}$/;
/** A name that every provider takes for a tool. */
export const isToolName = (value: unknown): value is string => typeof value === 'string' && toolName.test(value);
export const toolNameRule = '1 to 64 letters, digits, underscores and hyphens';

const longestMs = 2 ** 31 - 1;
const deepest = 32;

/** A frozen copy of plain JSON. */
function copyJson(value: unknown, depth: number): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (Number.isFinite(value)) return value;
  if (typeof value !== 'object' || depth > deepest) throw new TypeError('not JSON');
  if (Array.isArray(value)) return Object.freeze(Array.from(value, (item) => copyJson(item, depth + 1)));
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.freeze(Object.fromEntries(entries.map(([key, item]) => [key, copyJson(item, depth + 1)])));
}

/** The options of one definition. Every method throws CONFIG_INVALID with the definition's name, what was expected, and what to do. */
export class DefinitionReader<K extends string> {
  /** For messages: `Tool refund_order`, or `A tool` while it has no name. */
  readonly subject: string;
  private readonly values = new Map<string, unknown>();

  /** `what` is what is defined, in lower case, or the place where the options stand; `names` are all options there are. */
  constructor(what: string | { readonly place: string }, given: unknown, names: readonly K[]) {
    const unnamed = typeof what === 'string' ? `${/^[aeiou]/.test(what) ? 'An' : 'A'} ${what}` : what.place;
    if (typeof given !== 'object' || given === null || isList(given)) {
      invalid(`${unnamed} was given ${describe(given)} as its options. Give an object with ${names.join(', ')}.`);
    }
    const unknown: string[] = [];
    try {
      for (const name of names) {
        this.values.set(name, (given as Record<string, unknown>)[name]);
      }
      for (const name of Object.keys(given)) if (!(names as readonly string[]).includes(name)) unknown.push(name);
    } catch {
      invalid(`${unnamed} was given options that cannot be read: reading one of them throws. Give a plain object.`);
    }
    const name = this.values.get('name');
    this.subject = typeof what === 'string' && isName(name) ? `${what.charAt(0).toUpperCase()}${what.slice(1)} ${name}` : unnamed;
    const [first] = unknown;
    if (first !== undefined) {
      invalid(
        `${this.subject} has an option ${describe(first)}, which does not exist. ${hintAtOurs(first, names) || suggest(first, names)}The options are ${names.join(', ')}.`,
      );
    }
  }

  get(name: K): unknown {
    return this.values.get(name);
  }

  has(name: K): boolean {
    return this.values.get(name) !== undefined;
  }

  /** Says that an option is wrong. */
  refuse(name: K, expected: string): never {
    return invalid(`${this.subject} has ${describe(this.get(name))} as \`${name}\`. ${expected}`);
  }

  name(): string {
    const value = this.values.get('name');
    return isName(value)
      ? value
      : invalid(`${this.subject} has ${describe(value)} as \`name\`. Give a text that is not blank and has no control characters.`);
  }

  toolName(): string {
    const value = this.values.get('name');
    return isToolName(value)
      ? value
      : invalid(`${this.subject} has ${describe(value)} as \`name\`, which the model's provider would refuse. Give ${toolNameRule}.`);
  }

  text(name: K): string | undefined {
    const value = this.get(name);
    return value === undefined || typeof value === 'string' ? value : this.refuse(name, 'Give a text, or leave it out.');
  }

  requiredText(name: K): string {
    const value = this.get(name);
    return typeof value === 'string' ? value : this.refuse(name, 'Give a text.');
  }

  flag(name: K): boolean | undefined {
    const value = this.get(name);
    return value === undefined || typeof value === 'boolean' ? value : this.refuse(name, 'Give true or false, or leave it out.');
  }

  function<F>(name: K): F | undefined {
    const value = this.get(name);
    return value === undefined || typeof value === 'function'
      ? (value as F | undefined)
      : this.refuse(name, 'Give a function, or leave it out.');
  }

  flagOrFunction<F>(name: K, missing: boolean): boolean | F {
    const value = this.has(name) ? this.get(name) : missing;
    if (typeof value !== 'boolean' && typeof value !== 'function') this.refuse(name, 'Give true, false or a function, or leave it out.');
    return value as boolean | F;
  }

  choice<const C extends string>(name: K, choices: readonly C[]): C | undefined {
    const value = this.get(name);
    if (value === undefined || choices.includes(value as C)) return value as C | undefined;
    const hint = typeof value === 'string' ? suggest(value, choices) : '';
    return this.refuse(name, `${hint}Give ${choices.map((choice) => `'${choice}'`).join(' or ')}.`);
  }

  /** Milliseconds above 0 that a timer can wait. */
  milliseconds(name: K): number | undefined {
    const value = this.get(name);
    if (value === undefined || (typeof value === 'number' && value > 0 && value <= longestMs)) return value as number | undefined;
    return this.refuse(name, `Give a number of milliseconds above 0, at most ${longestMs}.`);
  }

  /** A frozen copy of a list; empty when it was left out. */
  list(name: K): readonly unknown[] {
    const value = this.get(name);
    if (value === undefined) return Object.freeze([]);
    try {
      if (isList(value)) return Object.freeze(Array.from(value));
    } catch {
      // A list that cannot be read is refused like what is none.
    }
    return this.refuse(name, typeof value === 'string' ? `Give a list: [${JSON.stringify(value.slice(0, 60))}].` : 'Give a list.');
  }

  /** A frozen copy of plain JSON. */
  json(name: K): unknown {
    const value = this.get(name);
    if (value === undefined) return undefined;
    try {
      return copyJson(value, 0);
    } catch {
      return this.refuse(name, 'Give plain JSON: texts, finite numbers, booleans, null, lists and objects.');
    }
  }
}
