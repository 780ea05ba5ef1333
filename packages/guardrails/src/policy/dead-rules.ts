import type { Node } from './condition.js';
import { impliesLiteral, isContradictory } from './implies.js';
import type { Conjunction } from './literals.js';
import { casesOf } from './literals.js';
import type { Plan, Rule } from './read-policy.js';
import { coversNames } from './tool-names.js';

/** A rule that can never answer. */
export interface DeadRule {
  /** From 0. */
  readonly rule: number;
  /** `rules[3]`. */
  readonly path: string;
  /** `covered`: an earlier rule answers every call that it fits. `contradiction`: no call fits it. */
  readonly kind: 'covered' | 'contradiction';
  /** The earlier rule, from 0. */
  readonly by?: number | undefined;
  /** One sentence. */
  readonly message: string;
}

/** Whether every call that fits the first fits the second. Undefined always fits. */
export function implies(first: Node | undefined, second: Node | undefined): boolean {
  if (second === undefined) return true;
  const cases = casesOf(first);
  return cases?.every((each) => isContradictory(each) || impliesNode(each, second, false)) === true;
}

function impliesNode(literals: Conjunction, wanted: Node, isNegated: boolean): boolean {
  if (wanted.kind === 'not') return impliesNode(literals, wanted.of, !isNegated);
  if (wanted.kind === 'all' || wanted.kind === 'any') {
    return (wanted.kind === 'all') !== isNegated
      ? wanted.of.every((each) => impliesNode(literals, each, isNegated))
      : wanted.of.some((each) => impliesNode(literals, each, isNegated));
  }
  const [only] = casesOf(wanted, isNegated) ?? [];
  return only?.every((literal) => impliesLiteral(literals, literal)) === true;
}

/** No call fits it. */
export function isImpossible(node: Node | undefined): boolean {
  return casesOf(node)?.every(isContradictory) ?? false;
}

/** Whether a rule answers every call that fits it: not one whose limits hand on to the next. */
const isFinal = ({ limits }: Rule): boolean => limits.every(({ over }) => over !== 'next');

/** The rules of a policy that can never answer. */
export function findDeadRules({ rules }: Plan): readonly DeadRule[] {
  return rules.flatMap((rule, index): readonly DeadRule[] => {
    const path = `rules[${index}]`;
    if (isImpossible(rule.when))
      return [{ rule: index, path, kind: 'contradiction', message: `${path} can never answer: its conditions contradict one another.` }];
    const by = rules
      .slice(0, index)
      .find((earlier) => isFinal(earlier) && coversNames(earlier.tools, rule.tools) && implies(rule.when, earlier.when));
    if (by === undefined) return [];
    const message = `${path} can never answer: rules[${by.index}] answers every call that it fits. Put it before that one, or remove it.`;
    return [{ rule: index, path, kind: 'covered', by: by.index, message }];
  });
}
