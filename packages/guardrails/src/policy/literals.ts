// Conditions taken apart, so that one can be held against another.
import type { Node, TestNode } from './condition.js';
import { windowWords } from './window.js';

/** A condition that has none in it, or its contrary. */
export interface Literal {
  readonly node: Exclude<Node, { readonly kind: 'all' | 'any' | 'not' }>;
  readonly isNegated: boolean;
  /** The same for equal conditions. */
  readonly key: string;
  /** The same for conditions about the same value. */
  readonly about: string;
}
/** All of these hold. */
export type Conjunction = readonly Literal[];

/** More cases than this are not looked at: then nothing is reported. */
const mostCases = 64;

/** The cases in which a condition holds; undefined: they are too many. */
export function casesOf(node: Node | undefined, isNegated = false): readonly Conjunction[] | undefined {
  if (node === undefined) return isNegated ? [] : [[]];
  if (node.kind === 'not') return casesOf(node.of, !isNegated);
  if (node.kind !== 'all' && node.kind !== 'any') return [[literalOf(node, isNegated)]];
  const parts = node.of.map((each) => casesOf(each, isNegated));
  const isAll = (node.kind === 'all') !== isNegated;
  let cases: readonly Conjunction[] = isAll ? [[]] : [];
  for (const part of parts) {
    if (part === undefined) return undefined;
    cases = isAll ? cases.flatMap((left) => part.map((right) => [...left, ...right])) : [...cases, ...part];
    if (cases.length > mostCases) return undefined;
  }
  return cases;
}

const ranges = { atMost: 'above', above: 'atMost', atLeast: 'below', below: 'atLeast' } as const;

function literalOf(node: Literal['node'], isNegated: boolean): Literal {
  if (isNegated && node.kind === 'test') {
    const contrary = contraryOf(node);
    if (contrary !== undefined) return literalOf(contrary, false);
  }
  if (isNegated && node.kind === 'present' && isSingle(node.selector)) return literalOf({ ...node, expected: !node.expected }, false);
  const about = 'selector' in node ? aboutOf(node.selector) : node.kind;
  return { node, isNegated, about, key: JSON.stringify([about, node.kind, contentOf(node)]) };
}

const isSingle = ({ of }: TestNode['selector']): boolean => of !== 'every' && of !== 'some';

/** The same with its contrary test: `not atMost 5` is `above 5`, `not every x` is `some not x`. */
function contraryOf(node: TestNode): TestNode | undefined {
  if (!isSingle(node.selector) || node.reference) return undefined;
  const test = ranges[node.test as keyof typeof ranges] as TestNode['test'] | undefined;
  return test === undefined ? undefined : { ...node, test };
}

function aboutOf(selector: TestNode['selector']): string {
  return selector.of === 'fact' ? `fact ${selector.fact}` : `${selector.of} ${JSON.stringify(selector.path.steps)}`;
}

function contentOf(node: Literal['node']): unknown {
  switch (node.kind) {
    case 'test':
      return [node.test, node.reference ? [node.reference.from, node.reference.path.steps] : plain(node.operand), node.ignoreCase];
    case 'present':
      return node.expected;
    case 'during':
      return windowWords(node.window);
    case 'cel':
      return node.source;
    case 'reads':
    case 'agent':
    case 'only':
      return node.of;
    default:
      return node satisfies never;
  }
}

/** An expression by its source. */
const plain = (operand: unknown): unknown =>
  typeof operand === 'object' && operand !== null && 'source' in operand ? { source: operand.source } : operand;
