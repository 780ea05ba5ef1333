// What is asked of one value: how each test is read, what it decides, and how it is said.
import { compilePattern } from '../text/pattern.js';
import type { Place } from './fault.js';
import { entriesOf, fault, isPlainObject, listAt, numberAt, at as placeAt, textAt, told } from './fault.js';
import { isInside, readFolders } from './folders.js';
import type { Truth } from './truth.js';
import type { Scalar } from './types.js';
import type { Urls } from './urls.js';
import { readUrls, urlFits, urlWords } from './urls.js';

export const testNames = [
  'equals',
  'oneOf',
  'atMost',
  'atLeast',
  'above',
  'below',
  'matches',
  'finds',
  'startsWith',
  'endsWith',
  'contains',
  'within',
  'url',
  'lengthAtMost',
  'lengthAtLeast',
] as const;
export type TestName = (typeof testNames)[number];

export interface TestKind {
  /** The kind of value that it can decide about. */
  readonly of: 'scalar' | 'number' | 'text' | 'length';
  /** Whether its operand may come from the context or from another argument. */
  readonly mayRefer: boolean;
  readonly takesCase: boolean;
  /** Throws CONFIG_INVALID. */
  read(given: unknown, place: Place, ignoreCase: boolean): unknown;
  /** An operand that came from elsewhere, in the form that `decide` takes; undefined: it does not fit. */
  adopt(given: unknown): unknown;
  decide(value: unknown, operand: never, ignoreCase: boolean): Truth;
  words(operand: never): string;
}

const isScalar = (value: unknown): value is Scalar =>
  typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value));

function readScalar(given: unknown, place: Place): Scalar {
  if (given === null) fault(place, 'null counts as missing. Write `present: false` for it.');
  if (typeof given === 'number') return numberAt(given, place);
  if (!isScalar(given)) fault(place, `${told(given)} is no text, number, true or false.`);
  return given;
}

const folded = (value: Scalar, ignoreCase: boolean): Scalar => (ignoreCase && typeof value === 'string' ? value.toLowerCase() : value);

/** Undefined where the value is of a kind that none of them has. */
function isAmong(value: unknown, list: readonly Scalar[], ignoreCase: boolean): Truth {
  if (!isScalar(value)) return undefined;
  const own = folded(value, ignoreCase);
  let isOfKind = false;
  for (const each of list) {
    if (folded(each, ignoreCase) === own) return true;
    isOfKind ||= typeof each === typeof value;
  }
  return isOfKind ? false : undefined;
}

export const saidValue = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value) : String(value);
export function saidList(list: readonly unknown[]): string {
  const shown = list.slice(0, 5).map(saidValue).join(', ');
  return list.length > 5 ? `${shown} or ${list.length - 5} more` : shown;
}

function comparing(words: string, compare: (value: number, limit: number) => boolean): TestKind {
  return {
    of: 'number',
    mayRefer: true,
    takesCase: false,
    read: numberAt,
    adopt: (given) => (typeof given === 'number' && Number.isFinite(given) ? given : undefined),
    decide: (value, limit: number) => (typeof value === 'number' && Number.isFinite(value) ? compare(value, limit) : undefined),
    words: (limit: number) => `${words} ${limit}`,
  };
}

function measuring(words: string, compare: (value: number, limit: number) => boolean): TestKind {
  return {
    of: 'length',
    mayRefer: false,
    takesCase: false,
    read(given, place) {
      if (!Number.isSafeInteger(given) || (given as number) < 0) fault(place, `${told(given)} is no whole number from 0.`);
      return given;
    },
    adopt: () => undefined,
    decide: (value, limit: number) => (typeof value === 'string' || Array.isArray(value) ? compare(value.length, limit) : undefined),
    words: (limit: number) => `${words} ${limit} long`,
  };
}

const readTexts = (given: unknown, place: Place): readonly string[] =>
  typeof given === 'string' ? [textAt(given, place)] : listAt(given, place).map((each, index) => textAt(each, placeAt(place, index)));

function adoptTexts(given: unknown): readonly string[] | undefined {
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  // An empty text would fit every value.
  return list.length > 0 && list.every((each) => typeof each === 'string' && each !== '') ? (list as readonly string[]) : undefined;
}

function spelling(words: string, fits: (value: string, piece: string) => boolean): TestKind {
  return {
    of: 'text',
    mayRefer: true,
    takesCase: true,
    read: readTexts,
    adopt: adoptTexts,
    decide(value, pieces: readonly string[], ignoreCase) {
      if (typeof value !== 'string') return undefined;
      const own = folded(value, ignoreCase) as string;
      return pieces.some((piece) => fits(own, folded(piece, ignoreCase) as string));
    },
    words: (pieces: readonly string[]) => `${words} ${saidList(pieces)}`,
  };
}

/** Characters up to which a text is matched: a decision stays short, and a longer text is none that a rule was written about. */
const longestMatched = 10_000;

interface Expression {
  readonly source: string;
  fits(text: string): boolean;
}

function matching(words: string, wrap: (source: string) => string): TestKind {
  return {
    of: 'text',
    mayRefer: false,
    takesCase: true,
    read(given, place, ignoreCase): Expression {
      const source = textAt(given, place, 1_000);
      try {
        // By itself first: so that no bracket of it closes one of ours.
        compilePattern(source);
        const pattern = compilePattern(wrap(source), { ignoreCase });
        return { source, fits: (text) => pattern.matches(text).length > 0 };
      } catch {
        return fault(place, 'this is no expression of RE2 (no look-around, no back-references).');
      }
    },
    adopt: () => undefined,
    decide: (value, { fits }: Expression) => (typeof value === 'string' && value.length <= longestMatched ? fits(value) : undefined),
    words: ({ source }: Expression) => `${words} ${source}`,
  };
}

export const testKinds: { readonly [N in TestName]: TestKind } = {
  equals: {
    of: 'scalar',
    mayRefer: true,
    takesCase: true,
    read: readScalar,
    adopt: (given) => (isScalar(given) ? given : undefined),
    decide: (value, operand: Scalar, ignoreCase) => isAmong(value, [operand], ignoreCase),
    words: (operand: Scalar) => `equal to ${saidValue(operand)}`,
  },
  oneOf: {
    of: 'scalar',
    mayRefer: true,
    takesCase: true,
    read: (given, place) => listAt(given, place, 10_000).map((each, index) => readScalar(each, placeAt(place, index))),
    adopt: (given) => (Array.isArray(given) && given.every(isScalar) ? given : undefined),
    decide: (value, list: readonly Scalar[], ignoreCase) => isAmong(value, list, ignoreCase),
    words: (list: readonly Scalar[]) => `one of ${saidList(list)}`,
  },
  atMost: comparing('at most', (value, limit) => value <= limit),
  atLeast: comparing('at least', (value, limit) => value >= limit),
  above: comparing('above', (value, limit) => value > limit),
  below: comparing('below', (value, limit) => value < limit),
  matches: matching('a text that fits', (source) => `\\A(?:${source})\\z`),
  finds: matching('a text with a piece that fits', (source) => source),
  startsWith: spelling('a text that starts with', (value, piece) => value.startsWith(piece)),
  endsWith: spelling('a text that ends with', (value, piece) => value.endsWith(piece)),
  contains: spelling('a text with', (value, piece) => value.includes(piece)),
  within: {
    of: 'text',
    mayRefer: true,
    takesCase: false,
    read: readFolders,
    adopt: (given) => {
      const texts = adoptTexts(given);
      return texts?.every((text) => text.startsWith('/')) ? texts : undefined;
    },
    decide: (value, folders: readonly string[]) => isInside(value, folders),
    words: (folders: readonly string[]) => `a path within ${saidList(folders)}`,
  },
  url: {
    of: 'text',
    mayRefer: false,
    takesCase: false,
    read: readUrls,
    adopt: () => undefined,
    decide: (value, urls: Urls) => urlFits(value, urls),
    words: urlWords,
  },
  lengthAtMost: measuring('at most', (value, limit) => value <= limit),
  lengthAtLeast: measuring('at least', (value, limit) => value >= limit),
};

/** Where an operand comes from, or undefined where it is written down. Throws CONFIG_INVALID. */
export function referenceOf(
  given: unknown,
  place: Place,
): { readonly from: 'context' | 'field'; readonly path: unknown; readonly place: Place } | undefined {
  if (!isPlainObject(given)) return undefined;
  const entries = [...entriesOf(given, { place, names: ['context', 'field'], what: 'value' })];
  const [only] = entries;
  if (only === undefined || entries.length > 1) fault(place, 'give either { context: NAME } or { field: PATH }.');
  return { from: only[0] as 'context' | 'field', path: only[1], place: placeAt(place, only[0]) };
}
