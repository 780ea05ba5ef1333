// How conditions are said. Names and expectations only, never a value of the call.
import type { Node, Reference, Selector, TestNode } from './condition.js';
import type { PolicyCall } from './decide.js';
import { decide, operandOf } from './decide.js';
import type { TestKind } from './value-tests.js';
import { saidList, testKinds } from './value-tests.js';
import { windowWords } from './window.js';

const factNames = {
  effect: 'the effect of the tool',
  results: "the label of the tool's results",
  declared: 'whether its flow is declared',
  view: 'the label of the view',
  call: 'the label of the call',
} as const;

export function selectorWords(selector: Selector): string {
  switch (selector.of) {
    case 'field':
      return `\`${selector.path.text}\``;
    case 'every':
      return `every \`${selector.path.text}\``;
    case 'some':
      return `some \`${selector.path.text}\``;
    case 'context':
      return `context.${selector.path.text}`;
    case 'fact':
      return factNames[selector.fact];
    default:
      return selector satisfies never;
  }
}

const referenceWords = ({ from, path }: Reference): string => (from === 'context' ? `context.${path.text}` : `\`${path.text}\``);

function testWords({ selector, test, operand, reference, ignoreCase }: TestNode): string {
  const kind: TestKind = testKinds[test];
  if (selector.of === 'fact') return `${selectorWords(selector)} is ${(operand as readonly unknown[]).join(' or ')}`;
  const words = reference ? `${comparison[test] ?? test} ${referenceWords(reference)}` : kind.words(operand as never);
  return `${selectorWords(selector)} ${words}${ignoreCase ? ' (in any case)' : ''}`;
}

const comparison: { readonly [name: string]: string } = {
  equals: 'equal to',
  oneOf: 'one of',
  atMost: 'at most',
  atLeast: 'at least',
  above: 'above',
  below: 'below',
  startsWith: 'a text that starts with',
  endsWith: 'a text that ends with',
  contains: 'a text with',
  within: 'a path within',
};

/** What a condition expects. */
export function expectation(node: Node): string {
  switch (node.kind) {
    case 'all':
      return 'all of these';
    case 'any':
      return 'one of these';
    case 'not':
      return `not: ${expectation(node.of)}`;
    case 'test':
      return testWords(node);
    case 'present':
      return `${selectorWords(node.selector)} ${node.expected ? 'present' : 'missing'}`;
    case 'reads':
      if (node.of === true) return 'an untrusted result was read';
      return node.of === false ? 'no untrusted result was read' : `an untrusted result of ${node.of.join(', ')} was read`;
    case 'agent':
      return `the agent is ${saidList(node.of)}`;
    case 'only':
      return `no other arguments than ${saidList(node.of)}`;
    case 'during':
      return windowWords(node.window);
    case 'cel':
      return node.source;
    default:
      return node satisfies never;
  }
}

/** What could not be compared: the names of fields. */
export function undecidedFields(root: Node, call: PolicyCall): readonly string[] {
  const names = new Set<string>();
  decide(root, call, (node, truth) => {
    if (truth !== undefined) return;
    if (node.kind === 'test') {
      const isKnown = node.reference === undefined || operandOf(node, call) !== undefined;
      names.add(isKnown || node.reference === undefined ? selectorWords(node.selector) : referenceWords(node.reference));
    } else if (node.kind === 'present') names.add(selectorWords(node.selector));
    else if (node.kind === 'only') names.add('the arguments');
  });
  return [...names].slice(0, 5);
}
