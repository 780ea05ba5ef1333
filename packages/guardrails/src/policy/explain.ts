import type { GuardInfo, Guardrail, PolicyAction, ResolvedFlow, RunCall } from '@guardloop/core';
import { optionFault } from '@guardloop/core/model';
import type { Node } from './condition.js';
import { CelFault, decide } from './decide.js';
import type { CountedCall, Decision, Outcome } from './judge.js';
import { judge } from './judge.js';
import { limitWords, measure, overWords } from './limits.js';
import { behind } from './policy-from.js';
import type { Rule } from './read-policy.js';
import type { Truth } from './truth.js';
import { expectation } from './words.js';

interface ExplainedCall {
  readonly tool: string;
  /** Its arguments. */
  readonly input: unknown;
  /** What the tool declares. Default: undeclared, which counts as the strictest. */
  readonly flow?: Partial<ResolvedFlow> | undefined;
  /** Default `trusted`. */
  readonly view?: 'trusted' | 'untrusted' | undefined;
  /** The label of the call. Default: that of the view. */
  readonly call?: 'trusted' | 'untrusted' | undefined;
  readonly agent?: string | undefined;
  readonly untrustedReads?: GuardInfo['untrustedReads'] | undefined;
  /** The other calls of the run. Default: none. */
  readonly calls?: readonly Pick<RunCall, 'tool' | 'input'>[] | undefined;
  /** Milliseconds since 1970. Default: now. */
  readonly at?: number | undefined;
}
/** A call to be explained, as far as the policy looks at it. `context`: the run's, of which the policy's `context` picks; needed where that is typed. */
export type CallToExplain<C = unknown> = ExplainedCall & (unknown extends C ? { readonly context?: C } : { readonly context: C });
/** What came of one condition. */
export interface ExplainedCondition {
  /** `rules[0].when.all[1].atMost`. */
  readonly path: string;
  /** What it wants. Never a value of the call. */
  readonly expects: string;
  /** `undecided`: a value is missing or of another kind. `failed`: its CEL could not be evaluated. */
  readonly holds: boolean | 'undecided' | 'failed';
}
/** What came of one limit. `counted`: it is over time, and its store was not asked. */
export interface ExplainedLimit {
  readonly path: string;
  readonly expects: string;
  readonly holds: boolean | 'counted';
  readonly why?: string | undefined;
}
/** What became of one rule. */
export interface ExplainedRule {
  readonly path: string;
  readonly name?: string | undefined;
  readonly tool: readonly string[];
  readonly then: PolicyAction;
  /** `not reached`: a rule before it answers. */
  readonly outcome: Outcome | 'not reached';
  readonly conditions: readonly ExplainedCondition[];
  readonly limits: readonly ExplainedLimit[];
}
/** Which rule answers a call, and why. */
export interface PolicyExplanation {
  readonly action: PolicyAction;
  readonly reason: string;
  /** `rules[1]`, or `otherwise`. */
  readonly by: string;
  readonly rules: readonly ExplainedRule[];
  /** All of it as lines of text. */
  readonly text: string;
}

/**
 * Which rule of a policy would answer a call, and why: every rule with every condition that was asked. Names and expectations only: no value
 * of the call stands in it. Limits of a run are counted in `calls`; limits over time are taken to be open, and said to be. Nothing is counted.
 * Throws CONFIG_INVALID for what `policyFrom` did not make, and where the policy's `context` throws without a context; else what that throws.
 */
export function explainPolicy<C>(policy: Guardrail<C, 'toolInput'>, call: CallToExplain<C>): PolicyExplanation {
  const { plan, dead, selectContext } = behind(policy, 'explainPolicy');
  const counted = countedCall(call, selectContext);
  const rules = new Map<number, ExplainedRule>();
  const deadIndexes = new Set(dead.map(({ rule }) => rule));
  const note = (rule: Rule, outcome: ExplainedRule['outcome']): void => {
    const isAsked = outcome !== 'not about this tool' && outcome !== 'unreachable' && outcome !== 'not reached';
    rules.set(rule.index, {
      path: `rules[${rule.index}]`,
      ...(rule.name === undefined ? {} : { name: rule.name }),
      tool: rule.tools,
      then: rule.then,
      outcome,
      conditions: isAsked ? conditionsOf(rule, counted) : [],
      limits: isAsked && outcome !== 'does not fit' ? limitsOf(rule, counted) : [],
    });
  };
  // No store is asked, so the answer is there at once.
  const decision = judge({
    plan,
    dead: deadIndexes,
    call: counted,
    reserve: () => undefined,
    trace: { onCondition: () => undefined, onRule: note },
  }) as Decision;
  for (const rule of plan.rules) if (!rules.has(rule.index)) note(rule, deadIndexes.has(rule.index) ? 'unreachable' : 'not reached');
  const listed = plan.rules.map(({ index }) => rules.get(index) as ExplainedRule);
  const by = decision.rule === undefined ? 'otherwise' : `rules[${decision.rule}]`;
  const { action, reason } = decision;
  return { action, reason, by, rules: listed, text: textOf({ action, reason, by, rules: listed }, counted.tool) };
}

function countedCall<C>(call: CallToExplain<C>, selectContext: ((context: never) => object) | undefined): CountedCall {
  const { tool, input, flow, view = 'trusted', agent = '', untrustedReads = [], calls = [], at = Date.now() } = call;
  return {
    tool,
    input,
    raw: input,
    flow: { effect: 'write', results: 'untrusted', authority: 'all', declared: flow?.effect !== undefined, ...flow },
    view,
    call: call.call ?? view,
    agent,
    untrustedReads,
    context: contextOf(call.context, selectContext),
    calls: calls.map(({ tool: name, input: given }, index) => ({
      run: '',
      callId: `0.${index}`,
      tool: name,
      input: given,
      isStarted: true,
    })),
    now: at,
  };
}

function contextOf(given: unknown, selectContext: ((context: never) => object) | undefined): unknown {
  if (selectContext === undefined) return undefined;
  try {
    return selectContext(given as never);
  } catch (thrown) {
    if (given !== undefined) throw thrown;
    throw optionFault(
      'explainPolicy(…)',
      "the call has no context, and the policy's `context` cannot do without one. Give the run's: { tool, input, context }.",
    );
  }
}

/** Each condition that has none in it, once, as it is asked by itself. */
function conditionsOf({ when }: Rule, call: CountedCall): readonly ExplainedCondition[] {
  const found: ExplainedCondition[] = [];
  const look = (node: Node): void => {
    if (node.kind === 'all' || node.kind === 'any') for (const each of node.of) look(each);
    else if (node.kind === 'not' && node.of.kind !== 'test') look(node.of);
    else found.push({ path: node.path, expects: expectation(node), holds: said(node, call) });
  };
  if (when) look(when);
  return found;
}

function said(node: Node, call: CountedCall): ExplainedCondition['holds'] {
  try {
    const truth: Truth = decide(node, call);
    return truth ?? 'undecided';
  } catch (thrown) {
    if (thrown instanceof CelFault) return 'failed';
    throw thrown;
  }
}

function limitsOf(rule: Rule, call: CountedCall): readonly ExplainedLimit[] {
  return rule.limits.map((limit) => {
    const measured = measure(limit, call, rule);
    const base = { path: limit.path, expects: limitWords(limit) };
    if (measured.kind === 'over') return { ...base, holds: false, why: overWords(limit, measured.why) };
    return { ...base, holds: measured.kind === 'within' ? true : 'counted' };
  });
}

function textOf({ action, reason, by, rules }: Omit<PolicyExplanation, 'text'>, tool: string): string {
  const lines = [`${tool}: ${action}, by ${by}. ${reason}`];
  for (const rule of rules) {
    lines.push(
      `${rule.path}${rule.name === undefined ? '' : ` (${rule.name})`} ${rule.tool.join(', ')} then ${rule.then}: ${rule.outcome}`,
    );
    for (const { expects, holds } of rule.conditions) lines.push(`  ${String(holds)}: ${expects}`);
    for (const { expects, holds, why } of rule.limits) lines.push(`  ${String(holds)}: ${expects}${why === undefined ? '' : ` (${why})`}`);
  }
  return lines.join('\n');
}
