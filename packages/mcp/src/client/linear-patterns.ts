import type { JsonObject, JsonValue } from '@guardloop/core';
import { isObject } from './json.js';

// A server writes the patterns of its schemas, and a pattern can be written so that looking at a short text takes for ever. Only patterns that
// provably take linear time are kept; of any other the server's own check has to do.

const longestPattern = 500;
const mostBranches = 8;
const mostTimes = 2_000;

/**
 * Whether a regular expression certainly takes time linear in the text: no groups that repeat, no back references, no looking around; at most
 * one part without an upper bound, and that only from the beginning of the text on; few optional parts.
 */
export function isLinearPattern(source: string): boolean {
  if (source.length > longestPattern) return false;
  const isAnchored = source.startsWith('^') && !hasTopAlternative(source);
  let unbounded = 0;
  let branches = 0;
  let last: Token['kind'] = 'open';
  for (let index = 0; index < source.length; ) {
    const token = readToken(source, index);
    if (token === undefined) return false;
    if (token.kind === 'or') branches += 1;
    if (token.kind === 'quantifier') {
      const { least, most } = token.bounds;
      if (!mayRepeat(last, token.bounds)) return false;
      if (most === undefined) unbounded += 1;
      else if (most !== least) branches += most > 64 ? mostBranches : 1;
    }
    last = token.kind;
    index = token.end;
  }
  return unbounded <= 1 && (unbounded === 0 || isAnchored) && branches <= mostBranches;
}

/** A group is repeated at most not at all, anything else only so often. */
function mayRepeat(last: Token['kind'], { most }: Quantifier): boolean {
  return last === 'close' ? most === 1 : last === 'atom' && (most ?? 0) <= mostTimes;
}

type Token =
  | { readonly kind: 'atom' | 'open' | 'close' | 'or'; readonly end: number }
  | { readonly kind: 'quantifier'; readonly end: number; readonly bounds: Quantifier };

/** Undefined for what is not linear by itself, or is not understood. */
function readToken(source: string, index: number): Token | undefined {
  switch (source[index]) {
    case '\\':
      // A back reference.
      return /[1-9k]/.test(source[index + 1] ?? '') ? undefined : { kind: 'atom', end: index + 2 };
    case '[': {
      const end = endOfClass(source, index);
      return end === -1 ? undefined : { kind: 'atom', end };
    }
    case '(':
      if (source[index + 1] !== '?') return { kind: 'open', end: index + 1 };
      return source[index + 2] === ':' ? { kind: 'open', end: index + 3 } : undefined;
    case ')':
      return { kind: 'close', end: index + 1 };
    case '|':
      return { kind: 'or', end: index + 1 };
    default: {
      const bounds = readQuantifier(source, index);
      return bounds ? { kind: 'quantifier', end: bounds.end, bounds } : { kind: 'atom', end: index + 1 };
    }
  }
}

interface Quantifier {
  readonly least: number;
  /** Undefined: no bound. */
  readonly most: number | undefined;
  readonly end: number;
}

function readQuantifier(source: string, index: number): Quantifier | undefined {
  const lazy = (end: number): number => (source[end] === '?' ? end + 1 : end);
  switch (source[index]) {
    case '*':
      return { least: 0, most: undefined, end: lazy(index + 1) };
    case '+':
      return { least: 1, most: undefined, end: lazy(index + 1) };
    case '?':
      return { least: 0, most: 1, end: lazy(index + 1) };
    case '{': {
      // At most 12 characters, no overlap: linear.
      const bounds = /^\{(\d{1,5})(,(\d{0,5}))?\}/.exec(source.slice(index, index + 14));
      if (!bounds) return undefined;
      const least = Number(bounds[1]);
      const most = bounds[2] === undefined ? least : bounds[3] === '' ? undefined : Number(bounds[3]);
      return { least, most, end: lazy(index + bounds[0].length) };
    }
    default:
      return undefined;
  }
}

function endOfClass(source: string, start: number): number {
  for (let index = start + 1; index < source.length; index += 1) {
    if (source[index] === '\\') index += 1;
    else if (source[index] === ']') return index + 1;
  }
  return -1;
}

function hasTopAlternative(source: string): boolean {
  let depth = 0;
  for (let index = 0; index < source.length; index += 1) {
    const character = source[index];
    if (character === '\\') index += 1;
    else if (character === '[') index = Math.max(index, endOfClass(source, index) - 1);
    else if (character === '(') depth += 1;
    else if (character === ')') depth -= 1;
    else if (character === '|' && depth === 0) return true;
  }
  return false;
}

/** Keywords whose values are data, not schemas. */
const dataKeywords: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'example', 'required']);
/** Keywords whose values are schemas by name, so that the names are no keywords. */
const namedKeywords: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions', 'dependentSchemas', 'patternProperties']);

/** The schema without the patterns that may take long. Copies, changes nothing. At most as deep as core takes a schema. */
export function withoutSlowPatterns(schema: JsonObject): JsonObject {
  return cleaned(schema) as JsonObject;
}

function cleaned(node: JsonValue | undefined): JsonValue | undefined {
  if (Array.isArray(node)) return (node as readonly JsonValue[]).map((element) => cleaned(element) ?? null);
  if (!isObject(node)) return node;
  const copy: Record<string, JsonValue | undefined> = {};
  let isOpened = false;
  for (const [key, value] of Object.entries(node)) {
    if (key === '__proto__') continue;
    if (key === 'pattern' && typeof value === 'string' && !isLinearPattern(value)) continue;
    if (dataKeywords.has(key)) copy[key] = value;
    else if (namedKeywords.has(key) && isObject(value)) {
      const kept = Object.entries(value).filter(([name]) => name !== '__proto__' && (key !== 'patternProperties' || isLinearPattern(name)));
      if (key === 'patternProperties' && kept.length < Object.keys(value).length) isOpened = true;
      copy[key] = Object.fromEntries(kept.map(([name, inner]) => [name, cleaned(inner)]));
    } else copy[key] = cleaned(value);
  }
  // Fields that a pattern let in are let in still.
  if (isOpened && copy.additionalProperties === false) copy.additionalProperties = true;
  return copy;
}
