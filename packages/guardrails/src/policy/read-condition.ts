import type { CallFact, CelProgram, Node, Reference, Selector } from './condition.js';
import type { Place } from './fault.js';
import { at, choiceAt, fault, flagAt, isPlainObject, listAt, meant, textAt, told } from './fault.js';
import { readPath } from './field-path.js';
import { readAgentNames, readReadTools } from './tool-names.js';
import type { TestName } from './value-tests.js';
import { referenceOf, testKinds, testNames } from './value-tests.js';
import { readWindow } from './window.js';

/** Compiles an expression of CEL, in which these names are known. Throws an Error that says where it is wrong. */
export type CelCompiler = (expression: string, names: readonly string[]) => CelProgram;

export const celNames = ['input', 'flow', 'labels', 'untrustedReads', 'tool', 'agent', 'context'] as const;
const selectorNames = ['field', 'every', 'some', 'context'] as const;
const callNames = [
  'effect',
  'results',
  'declared',
  'view',
  'call',
  'untrustedReads',
  'agent',
  'only',
  'during',
  'cel',
  'all',
  'any',
  'not',
] as const;
type CallName = (typeof callNames)[number];
const valueNames = [...testNames, 'noneOf', 'present', 'ignoreCase'] as const;
export const conditionNames: readonly string[] = [...selectorNames, ...valueNames, ...callNames];

const deepest = 20;
const effects = ['none', 'read', 'write', 'send'] as const;
const integrities = ['trusted', 'untrusted'] as const;

export interface ConditionReading {
  readonly cel: CelCompiler | undefined;
  /** Whether `policyFrom` was given `context`. */
  readonly hasContext: boolean;
}

/** Reads a condition and everything in it. Throws CONFIG_INVALID. */
export function readCondition(given: unknown, place: Place, reading: ConditionReading): Node {
  return new ConditionReader(reading).read(given, place, 0);
}

class ConditionReader {
  constructor(private readonly reading: ConditionReading) {}

  read(given: unknown, place: Place, depth: number): Node {
    if (depth > deepest) fault(place, `conditions stand more than ${deepest} deep in one another.`);
    if (Array.isArray(given)) fault(place, 'a list is no condition. Write { all: [...] } or { any: [...] }.');
    if (!isPlainObject(given)) fault(place, `${told(given)} is no condition. Give an object such as { field: cents, atMost: 1000 }.`);
    const entries = Object.entries(given).filter(([, value]) => value !== undefined);
    for (const [name] of entries)
      if (!conditionNames.includes(name))
        fault(place, `unknown condition ${name}${meant(name, conditionNames) || `. Known are ${conditionNames.join(', ')}.`}`);
    const parts = new Map(entries);
    if (parts.size === 0) fault(place, 'this condition is empty. Leave `when` out for a rule that always fits.');
    const nodes = this.readTests(parts, place);
    for (const name of callNames)
      if (parts.has(name)) nodes.push(this.readCallTest(name, parts.get(name), { place: at(place, name), depth }));
    const [only] = nodes;
    return nodes.length === 1 && only ? only : { kind: 'all', path: place.path, of: nodes };
  }

  private readTests(parts: ReadonlyMap<string, unknown>, place: Place): Node[] {
    const chosen = selectorNames.filter((name) => parts.has(name));
    const asked = valueNames.filter((name) => parts.has(name));
    const [of] = chosen;
    if (chosen.length > 1) fault(place, `${chosen.join(' and ')} stand together. Give one condition to each, in { all: [...] }.`);
    if (of === undefined) {
      if (asked.length > 0) fault(place, `${asked[0]} is asked of nothing. Add \`field\`, \`every\`, \`some\` or \`context\`.`);
      return [];
    }
    if (asked.every((name) => name === 'ignoreCase'))
      fault(place, `nothing is asked of ${told(parts.get(of))}. Add a test such as ${testNames.slice(0, 6).join(', ')}.`);
    if (of === 'context') this.needContext(at(place, of));
    const selector: Selector = { of, path: readPath(parts.get(of), at(place, of), of === 'every' || of === 'some') };
    const ignoreCase = parts.has('ignoreCase') && flagAt(parts.get('ignoreCase'), at(place, 'ignoreCase'));
    if (parts.has('ignoreCase') && !asked.some((name) => name === 'noneOf' || (name in testKinds && testKinds[name as TestName].takesCase)))
      fault(
        at(place, 'ignoreCase'),
        `nothing here has a case: it is for ${testNames.filter((name) => testKinds[name].takesCase).join(', ')} and noneOf.`,
      );
    return asked.flatMap((name): readonly Node[] => {
      if (name === 'ignoreCase') return [];
      const here = at(place, name);
      if (name === 'present') return [{ kind: 'present', path: here.path, selector, expected: flagAt(parts.get(name), here) }];
      if (name === 'noneOf') {
        // Of each of several values: that none of them is among the list.
        const node = this.readTest('oneOf', parts.get(name), { place: here, selector: turned(selector), ignoreCase });
        return [{ kind: 'not', path: here.path, of: node }];
      }
      return [this.readTest(name, parts.get(name), { place: here, selector, ignoreCase })];
    });
  }

  private readTest(
    test: TestName,
    given: unknown,
    { place, selector, ignoreCase }: { readonly place: Place; readonly selector: Selector; readonly ignoreCase: boolean },
  ): Node {
    const kind = testKinds[test];
    const found = kind.mayRefer ? referenceOf(given, place) : undefined;
    let reference: Reference | undefined;
    if (found) {
      if (found.from === 'context') this.needContext(found.place);
      reference = { from: found.from, path: readPath(found.path, found.place, false) };
    }
    const operand = reference ? undefined : kind.read(given, place, ignoreCase);
    return { kind: 'test', path: place.path, selector, test, operand, reference, ignoreCase };
  }

  private readCallTest(name: CallName, given: unknown, { place, depth }: { readonly place: Place; readonly depth: number }): Node {
    const { path } = place;
    switch (name) {
      case 'effect': {
        const list = Array.isArray(given) ? listAt(given, place) : [given];
        return factNode(
          'effect',
          list.map((each) => choiceAt(each, place, effects)),
          path,
        );
      }
      case 'results':
      case 'view':
      case 'call':
        return factNode(name, [choiceAt(given, place, integrities)], path);
      case 'declared':
        return factNode(name, [flagAt(given, place)], path);
      case 'untrustedReads':
        return { kind: 'reads', path, of: typeof given === 'boolean' ? given : readReadTools(given, place) };
      case 'agent':
        return { kind: 'agent', path, of: readAgentNames(given, place) };
      case 'only':
        return { kind: 'only', path, of: listAt(given, place).map((each, index) => textAt(each, at(place, index), 200)) };
      case 'during':
        return { kind: 'during', path, window: readWindow(given, place) };
      case 'cel':
        return this.readCel(given, place);
      case 'all':
      case 'any':
        return { kind: name, path, of: listAt(given, place).map((each, index) => this.read(each, at(place, index), depth + 1)) };
      case 'not':
        return { kind: 'not', path, of: this.read(given, place, depth + 1) };
      default:
        return name satisfies never;
    }
  }

  private readCel(given: unknown, place: Place): Node {
    const source = textAt(given, place);
    const { cel } = this.reading;
    if (cel === undefined)
      fault(place, "there is nothing that reads CEL. Give `policyFrom` the option `cel`: import { cel } from '@guardloop/guardrails/cel'.");
    let run: CelProgram;
    try {
      run = cel(source, celNames);
    } catch (thrown) {
      return fault(place, `${thrown instanceof Error ? thrown.message : 'this is no expression of CEL'}`);
    }
    return { kind: 'cel', path: place.path, source, run };
  }

  private needContext(place: Place): void {
    if (!this.reading.hasContext)
      fault(place, 'there is no context here. Give `policyFrom` the option `context`: a function that picks what rules may see.');
  }
}

const turned = (selector: Selector): Selector => {
  if (selector.of === 'every') return { ...selector, of: 'some' };
  return selector.of === 'some' ? { ...selector, of: 'every' } : selector;
};

const factNode = (fact: CallFact, operand: readonly unknown[], path: string): Node => ({
  kind: 'test',
  path,
  selector: { of: 'fact', fact },
  test: 'oneOf',
  operand,
  reference: undefined,
  ignoreCase: false,
});
