// What follows from conditions alone, for calls whose values are there and of the kind that is compared. What is said here is true; what is
// true is not always said.
import { fitsPattern } from '@guardloop/core';
import type { TestNode } from './condition.js';
import { isInside } from './folders.js';
import type { Conjunction, Literal } from './literals.js';
import type { Urls } from './urls.js';
import { coversHost } from './urls.js';
import type { TestName } from './value-tests.js';
import { testKinds } from './value-tests.js';

type TestLiteral = Literal & { readonly node: TestNode };

const domains: { readonly [about: string]: readonly unknown[] | undefined } = {
  'fact effect': ['none', 'read', 'write', 'send'],
  'fact results': ['trusted', 'untrusted'],
  'fact declared': [true, false],
  'fact view': ['trusted', 'untrusted'],
  'fact call': ['trusted', 'untrusted'],
};

/** A test with its operand written down. */
const isTest = (literal: Literal): literal is TestLiteral => literal.node.kind === 'test' && literal.node.reference === undefined;
/** One value, of which all literals about it speak. */
const isAboutOne = ({ about }: Literal): boolean => !about.startsWith('every ') && !about.startsWith('some ');

function holds({ node, isNegated }: TestLiteral, value: unknown): boolean {
  return testKinds[node.test].decide(value, node.operand as never, node.ignoreCase) === !isNegated;
}

/** The values that remain possible, where they can be counted. */
function valuesOf(about: string, literals: readonly Literal[]): readonly unknown[] | undefined {
  let values = domains[about];
  for (const literal of literals) {
    if (!isTest(literal) || literal.isNegated || (literal.node.ignoreCase && literal.node.test !== 'oneOf')) continue;
    const { test, operand, ignoreCase } = literal.node;
    if (ignoreCase) continue;
    if (test === 'oneOf') values ??= operand as readonly unknown[];
    else if (test === 'equals') values ??= [operand];
  }
  return values?.filter((value) => literals.every((literal) => !isTest(literal) || holds(literal, value)));
}

interface Range {
  readonly low: number;
  readonly high: number;
  readonly isLowOpen: boolean;
  readonly isHighOpen: boolean;
}
const whole: Range = { low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY, isLowOpen: true, isHighOpen: true };

/** Which numbers a test lets through; undefined: it is no such test. */
function rangeOf({ node: { test, operand }, isNegated }: TestLiteral): Range | undefined {
  if (isNegated || typeof operand !== 'number') return undefined;
  switch (test) {
    case 'atMost':
    case 'lengthAtMost':
      return { ...whole, high: operand, isHighOpen: false };
    case 'below':
      return { ...whole, high: operand };
    case 'atLeast':
    case 'lengthAtLeast':
      return { ...whole, low: operand, isLowOpen: false };
    case 'above':
      return { ...whole, low: operand };
    default:
      return undefined;
  }
}

function meet(left: Range, right: Range): Range {
  const [low, high] = [Math.max(left.low, right.low), Math.min(left.high, right.high)];
  const isOpenAt = (own: Range, side: 'low' | 'high', bound: number): boolean =>
    own[side] === bound && own[side === 'low' ? 'isLowOpen' : 'isHighOpen'];
  return {
    low,
    high,
    isLowOpen: isOpenAt(left, 'low', low) || isOpenAt(right, 'low', low),
    isHighOpen: isOpenAt(left, 'high', high) || isOpenAt(right, 'high', high),
  };
}
const isEmpty = ({ low, high, isLowOpen, isHighOpen }: Range): boolean => low > high || (low === high && (isLowOpen || isHighOpen));

const isLength = (test: TestName): boolean => testKinds[test].of === 'length';
function rangeAbout(literals: readonly Literal[], length: boolean): Range {
  let range = whole;
  for (const literal of literals) {
    const own = isTest(literal) && isLength(literal.node.test) === length ? rangeOf(literal) : undefined;
    if (own) range = meet(range, own);
  }
  return range;
}

/** The literals about each value. */
function byValue(literals: Conjunction): ReadonlyMap<string, readonly Literal[]> {
  const groups = new Map<string, Literal[]>();
  for (const literal of literals) {
    const group = groups.get(literal.about);
    if (group) group.push(literal);
    else groups.set(literal.about, [literal]);
  }
  return groups;
}

const isContrary = (left: Literal, right: Literal): boolean => left.key === right.key && left.isNegated !== right.isNegated;

/** No call fits all of them. */
export function isContradictory(literals: Conjunction): boolean {
  if (literals.some((left, index) => literals.slice(index + 1).some((right) => isContrary(left, right)))) return true;
  for (const [about, group] of byValue(literals)) {
    const [first] = group;
    if (first === undefined || !isAboutOne(first)) continue;
    if (group.some(({ node }) => node.kind === 'present')) {
      const expected = new Set(group.map(({ node }) => (node.kind === 'present' ? node.expected : true)));
      if (expected.size === 2) return true;
    }
    if (isEmpty(rangeAbout(group, false)) || isEmpty(rangeAbout(group, true)) || rangeAbout(group, true).high < 0) return true;
    if (valuesOf(about, group)?.length === 0) return true;
    const kinds = new Set(group.flatMap((literal) => (isTest(literal) ? [testKinds[literal.node.test].of] : [])));
    if (kinds.has('number') && (kinds.has('text') || kinds.has('length'))) return true;
  }
  return false;
}

/** Whether every call that fits `literals` fits `wanted`. */
export function impliesLiteral(literals: Conjunction, wanted: Literal): boolean {
  if (literals.some((literal) => literal.key === wanted.key && literal.isNegated === wanted.isNegated)) return true;
  const group = literals.filter(({ about }) => about === wanted.about);
  if (wanted.node.kind === 'present') return impliesPresence(group, wanted);
  if (wanted.node.kind === 'agent' || wanted.node.kind === 'only' || wanted.node.kind === 'reads')
    return group.some((literal) => impliesNames(literal, wanted));
  if (!isTest(wanted)) return false;
  if (!isAboutOne(wanted)) {
    // That not every value fits, or that not one does, does not follow from what one of them is.
    if (wanted.isNegated) return false;
    // Of several values, each literal by itself: two of `some` may be about two values.
    return group.some(
      (literal) => isTest(literal) && (impliesText(literal, wanted) || impliesRange([literal], wanted) || impliesValues([literal], wanted)),
    );
  }
  return (
    impliesValues(group, wanted) || impliesRange(group, wanted) || group.some((literal) => isTest(literal) && impliesText(literal, wanted))
  );
}

function impliesPresence(group: readonly Literal[], { node, isNegated, about }: Literal): boolean {
  if (isNegated || node.kind !== 'present' || !node.expected || about.startsWith('some ')) return false;
  return group.some((literal) => literal.node.kind === 'test');
}

function impliesValues(group: readonly Literal[], wanted: TestLiteral): boolean {
  const values = valuesOf(wanted.about, group);
  if (values?.every((value) => holds(wanted, value))) return true;
  // What is none of more is none of fewer.
  const { node } = wanted;
  if (!wanted.isNegated || node.ignoreCase || (node.test !== 'oneOf' && node.test !== 'equals')) return false;
  const listOf = ({ test, operand }: TestNode): readonly unknown[] => (test === 'oneOf' ? (operand as readonly unknown[]) : [operand]);
  return group.some(
    (literal) =>
      isTest(literal) &&
      literal.isNegated &&
      !literal.node.ignoreCase &&
      (literal.node.test === 'oneOf' || literal.node.test === 'equals') &&
      listOf(node).every((value) => listOf(literal.node).includes(value)) &&
      new Set([...listOf(node), ...listOf(literal.node)].map((value) => typeof value)).size === 1,
  );
}

function impliesRange(group: readonly Literal[], wanted: TestLiteral): boolean {
  const range = rangeOf(wanted);
  if (range === undefined) return false;
  const own = rangeAbout(group, isLength(wanted.node.test));
  if (own === whole) return false;
  const both = meet(own, range);
  return both.low === own.low && both.high === own.high && both.isLowOpen === own.isLowOpen && both.isHighOpen === own.isHighOpen;
}

const spellings: { readonly [name: string]: ((piece: string, wanted: string) => boolean) | undefined } = {
  'startsWith startsWith': (piece, wanted) => piece.startsWith(wanted),
  'endsWith endsWith': (piece, wanted) => piece.endsWith(wanted),
  'contains contains': (piece, wanted) => piece.includes(wanted),
  'startsWith contains': (piece, wanted) => piece.includes(wanted),
  'endsWith contains': (piece, wanted) => piece.includes(wanted),
  'within within': (piece, wanted) => isInside(piece, [wanted]) === true,
};

/** Of tests that name pieces of a text: each piece makes one of the wanted ones true. */
function impliesText(literal: TestLiteral, wanted: TestLiteral): boolean {
  if (literal.isNegated || wanted.isNegated || literal.node.ignoreCase !== wanted.node.ignoreCase) return false;
  if (literal.node.test === 'url' && wanted.node.test === 'url')
    return impliesUrls(literal.node.operand as Urls, wanted.node.operand as Urls);
  const follows = spellings[`${literal.node.test} ${wanted.node.test}`];
  if (follows === undefined) return false;
  const fold = (text: string): string => (wanted.node.ignoreCase ? text.toLowerCase() : text);
  const list = (node: TestNode): readonly string[] =>
    typeof node.operand === 'string' ? [node.operand] : (node.operand as readonly string[]);
  return list(literal.node).every((piece) => list(wanted.node).some((each) => follows(fold(piece), fold(each))));
}

const impliesUrls = (own: Urls, wanted: Urls): boolean =>
  own.hosts.every((host) => wanted.hosts.some((each) => coversHost(each, host))) &&
  own.schemes.every((scheme) => wanted.schemes.includes(scheme)) &&
  JSON.stringify(own.ports) === JSON.stringify(wanted.ports);

function impliesNames({ node, isNegated }: Literal, wanted: Literal): boolean {
  if (isNegated || wanted.isNegated) return false;
  if (node.kind === 'only' && wanted.node.kind === 'only') {
    const { of } = wanted.node;
    return node.of.every((name) => of.includes(name));
  }
  if (node.kind === 'agent' && wanted.node.kind === 'agent') {
    const { of } = wanted.node;
    return node.of.every((name) => of.some((pattern) => fitsPattern(pattern, name.replaceAll('*', '\u0000'))));
  }
  if (node.kind !== 'reads' || wanted.node.kind !== 'reads' || wanted.node.of === false || node.of === false) return false;
  if (wanted.node.of === true) return true;
  const { of } = wanted.node;
  return node.of !== true && node.of.every((name) => of.some((pattern) => fitsPattern(pattern, name.replaceAll('*', '\u0000'))));
}
