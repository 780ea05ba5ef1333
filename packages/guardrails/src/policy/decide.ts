import type { ResolvedFlow, UntrustedRead } from '@guardloop/core';
import { fitsPattern } from '@guardloop/core';
import type { CallFact, Node, Reference, Selector, TestNode } from './condition.js';
import type { ValuePlace } from './field-path.js';
import { placesAt, valueAt } from './field-path.js';
import type { Truth } from './truth.js';
import { every, not, some } from './truth.js';
import { testKinds } from './value-tests.js';

type Integrity = 'trusted' | 'untrusted';
/** A call, as rules look at it. */
export interface PolicyCall {
  readonly tool: string;
  /** Parsed. */
  readonly input: unknown;
  readonly flow: ResolvedFlow;
  readonly view: Integrity;
  readonly call: Integrity;
  readonly agent: string;
  readonly untrustedReads: readonly UntrustedRead[];
  /** What the author's `context` gives; asked once, when a rule first needs it. */
  readonly context: unknown;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** A condition of CEL that could not be evaluated. */
export class CelFault extends Error {
  constructor(readonly path: string) {
    super(`${path} could not be evaluated`);
  }
}

/** Told each condition that was asked, and what came of it. */
export type Witness = (node: Node, truth: Truth) => void;

/** Whether a condition holds for a call. Throws CelFault, and what the author's `context` throws. */
export function decide(node: Node, call: PolicyCall, witness?: Witness): Truth {
  const truth = decideNode(node, call, witness);
  witness?.(node, truth);
  return truth;
}

function decideNode(node: Node, call: PolicyCall, witness: Witness | undefined): Truth {
  switch (node.kind) {
    case 'all':
      return every(node.of, (each) => decide(each, call, witness));
    case 'any':
      return some(node.of, (each) => decide(each, call, witness));
    case 'not':
      return not(decide(node.of, call, witness));
    case 'test':
      return decideTest(node, call);
    case 'present':
      return overValues(node.selector, call, (value) => (value !== undefined && value !== null) === node.expected);
    case 'reads': {
      const { of } = node;
      const { untrustedReads } = call;
      return typeof of === 'boolean'
        ? untrustedReads.length > 0 === of
        : untrustedReads.some(({ tool }) => of.some((pattern) => fitsPattern(pattern, tool)));
    }
    case 'agent':
      return node.of.some((pattern) => fitsPattern(pattern, call.agent));
    case 'only':
      return isObject(call.input)
        ? Object.keys(call.input).every((name) => node.of.includes(name) || isAbsent(call.input, name))
        : undefined;
    case 'during':
      return node.window.isOpen(call.now);
    case 'cel':
      return decideCel(node, call);
    default:
      return node satisfies never;
  }
}

const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isAbsent = (input: unknown, name: string): boolean => (input as { readonly [key: string]: unknown })[name] === undefined;

function decideTest(node: TestNode, call: PolicyCall): Truth {
  const { selector, test, ignoreCase } = node;
  const operand = operandOf(node, call);
  if (operand === undefined) return undefined;
  return overValues(selector, call, (value) => testKinds[test].decide(value, operand as never, ignoreCase));
}

/** What a value is compared with; undefined: it comes from elsewhere, and is missing or of another kind. */
export function operandOf({ test, operand, reference }: TestNode, call: PolicyCall): unknown {
  return reference === undefined ? operand : testKinds[test].adopt(referred(reference, call));
}

const referred = ({ from, path }: Reference, call: PolicyCall): unknown => valueAt(from === 'context' ? call.context : call.input, path);

function overValues(selector: Selector, call: PolicyCall, ask: (value: unknown) => Truth): Truth {
  switch (selector.of) {
    case 'field':
      return ask(valueAt(call.input, selector.path));
    case 'context':
      return ask(valueAt(call.context, selector.path));
    case 'fact':
      return ask(factOf(selector.fact, call));
    case 'every':
    case 'some': {
      const places = placesAt(call.input, selector.path);
      if (places === undefined) return undefined;
      const askPlace = ({ value }: ValuePlace): Truth => ask(value);
      return selector.of === 'every' ? every(places, askPlace) : some(places, askPlace);
    }
    default:
      return selector satisfies never;
  }
}

function factOf(fact: CallFact, call: PolicyCall): unknown {
  switch (fact) {
    case 'effect':
    case 'results':
    case 'declared':
      return call.flow[fact];
    case 'view':
    case 'call':
      return call[fact];
    default:
      return fact satisfies never;
  }
}

function decideCel({ path, run }: Extract<Node, { readonly kind: 'cel' }>, call: PolicyCall): boolean {
  const { input, flow, untrustedReads, tool, agent, context } = call;
  let given: unknown;
  try {
    given = run({
      input,
      flow: { ...flow, authority: flow.authority === 'all' ? ['*'] : flow.authority },
      labels: { subject: call.call, view: call.view },
      untrustedReads: untrustedReads.map(({ tool: name, callId }) => ({ tool: name, callId })),
      tool,
      agent,
      context: context ?? {},
    });
  } catch {
    throw new CelFault(path);
  }
  if (typeof given !== 'boolean') throw new CelFault(path);
  return given;
}
