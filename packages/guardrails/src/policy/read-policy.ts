import type { JsonObject, PolicyAction } from '@guardloop/core';
import { canonicalJson } from '@guardloop/core';
import { shortHash } from '@guardloop/core/model';
import type { Node } from './condition.js';
import type { Place } from './fault.js';
import { at, choiceAt, entriesOf, fault, textAt, told } from './fault.js';
import type { Limit } from './limits.js';
import { readLimits } from './limits.js';
import type { ConditionReading } from './read-condition.js';
import { readCondition } from './read-condition.js';
import { readSource } from './read-source.js';
import { nameMatcher, readToolNames } from './tool-names.js';
import type { PolicyData } from './types.js';
import { readWindow } from './window.js';

export const actions = ['allow', 'ask', 'deny', 'halt'] as const satisfies readonly PolicyAction[];
const policyNames = ['$schema', 'name', 'description', 'version', 'rules', 'otherwise'] as const;
const ruleNames = ['name', 'tool', 'when', 'during', 'limit', 'spend', 'then', 'reason'] as const;
const mostRules = 1_000;

/** A rule as it is asked. */
export interface Rule {
  readonly index: number;
  readonly name: string | undefined;
  readonly tools: readonly string[];
  isAbout(tool: string): boolean;
  /** Undefined: it always fits. */
  readonly when: Node | undefined;
  readonly limits: readonly Limit[];
  readonly then: PolicyAction;
  readonly reason: string | undefined;
}
/** A policy as it is asked. */
export interface Plan {
  readonly name: string;
  readonly version: string;
  readonly rules: readonly Rule[];
  readonly otherwise: { readonly then: PolicyAction; readonly reason: string | undefined };
}

/** Reads a policy and everything in it. Throws CONFIG_INVALID, with the path of what is wrong. */
export function readPolicy(source: unknown, reading: ConditionReading): Plan {
  const value = readSource(source, { policy: 'The policy', path: '' });
  const given = (value as Partial<PolicyData>).name;
  const place: Place = {
    policy: typeof given === 'string' && given !== '' && given.length <= 100 ? `Policy ${given}` : 'The policy',
    path: '',
  };
  const entries = entriesOf(value, { place, names: policyNames, what: 'part of a policy' });
  const name = textAt(entries.get('name'), at(place, 'name'), 200);
  const rules = entries.get('rules');
  if (!Array.isArray(rules) || rules.length > mostRules)
    fault(at(place, 'rules'), `${told(rules)} is no list of at most ${mostRules} rules. It may be empty.`);
  const read = (rules as readonly unknown[]).map((rule, index) =>
    readRule(rule, { place: at(at(place, 'rules'), index), index, policy: name, reading }),
  );
  const names = read.flatMap((rule) => rule.name ?? []);
  const twice = names.find((each, index) => names.indexOf(each) !== index);
  if (twice !== undefined) fault(at(place, 'rules'), `two rules have the name ${twice}. Give one another.`);
  for (const text of ['description', '$schema'] as const) if (entries.has(text)) textAt(entries.get(text), at(place, text));
  const version = entries.has('version')
    ? textAt(entries.get('version'), at(place, 'version'), 200)
    : shortHash(canonicalJson(value as JsonObject));
  return { name, version, rules: read, otherwise: readOtherwise(entries.get('otherwise'), at(place, 'otherwise')) };
}

function readOtherwise(given: unknown, place: Place): Plan['otherwise'] {
  if (given === undefined) fault(place, `say what holds where no rule fits: ${actions.join(', ')}.`);
  if (typeof given === 'string') return { then: choiceAt(given, place, actions), reason: undefined };
  const entries = entriesOf(given, { place, names: ['then', 'reason'], what: 'part of otherwise' });
  return { then: choiceAt(entries.get('then'), at(place, 'then'), actions), reason: reasonOf(entries, place) };
}

const reasonOf = (entries: ReadonlyMap<string, unknown>, place: Place): string | undefined =>
  entries.has('reason') ? textAt(entries.get('reason'), at(place, 'reason')) : undefined;

interface RuleReading {
  readonly place: Place;
  readonly index: number;
  readonly policy: string;
  readonly reading: ConditionReading;
}

function readRule(given: unknown, { place, index, policy, reading }: RuleReading): Rule {
  const entries = entriesOf(given, { place, names: ruleNames, what: 'part of a rule' });
  const name = entries.has('name') ? textAt(entries.get('name'), at(place, 'name'), 200) : undefined;
  if (!entries.has('tool'))
    fault(at(place, 'tool'), "say which tool it is about: a name, a pattern such as find_*, '*' for all, or a list.");
  const tools = readToolNames(entries.get('tool'), at(place, 'tool'));
  if (!entries.has('then')) fault(at(place, 'then'), `say what the rule answers: ${actions.join(', ')}.`);
  const then = choiceAt(entries.get('then'), at(place, 'then'), actions);
  const key = `${policy}/${name ?? index}`;
  const { hasContext } = reading;
  const limits = [
    ...readLimits(entries.get('limit'), 'limit', { place: at(place, 'limit'), key, hasContext }),
    ...readLimits(entries.get('spend'), 'spend', { place: at(place, 'spend'), key, hasContext }),
  ];
  const [first] = limits;
  if (first && (then === 'deny' || then === 'halt'))
    fault(place, `a rule that answers ${then} lets nothing through that could be counted. Leave its limits out.`);
  if (then === 'ask' && limits.some(({ over }) => over === 'ask'))
    fault(place, 'it asks in any case, so `over: ask` changes nothing. Give deny, halt or next.');
  return {
    index,
    name,
    tools,
    isAbout: nameMatcher(tools),
    when: conditionOf(entries, place, reading),
    limits,
    then,
    reason: reasonOf(entries, place),
  };
}

function conditionOf(entries: ReadonlyMap<string, unknown>, place: Place, reading: ConditionReading): Node | undefined {
  const nodes: Node[] = [];
  if (entries.has('when')) nodes.push(readCondition(entries.get('when'), at(place, 'when'), reading));
  if (entries.has('during')) {
    const here = at(place, 'during');
    nodes.push({ kind: 'during', path: here.path, window: readWindow(entries.get('during'), here) });
  }
  return nodes.length < 2 ? nodes[0] : { kind: 'all', path: at(place, 'when').path, of: nodes };
}
