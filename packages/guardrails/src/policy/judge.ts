// Which rule answers a call, and what.
import type { PolicyAction, RunCall } from '@guardloop/core';
import type { PolicyCall, Witness } from './decide.js';
import { CelFault, decide } from './decide.js';
import type { LimitEntry } from './limit-store.js';
import type { Limit } from './limits.js';
import { measure, overWords } from './limits.js';
import type { Plan, Rule } from './read-policy.js';
import type { Truth } from './truth.js';
import { undecidedFields } from './words.js';

/** A call with what is counted beside it. */
export interface CountedCall extends PolicyCall {
  /** As the log will hold its arguments. */
  readonly raw: unknown;
  /** The other calls of the run. */
  readonly calls: readonly RunCall[];
}

/** What a policy answers, and on whose account; `rule` undefined: none fits. */
export interface Decision {
  readonly action: PolicyAction;
  readonly reason: string;
  readonly rule: number | undefined;
}

export type Outcome =
  | 'answers'
  | 'not about this tool'
  | 'does not fit'
  | 'undecided'
  | 'over its limit'
  | 'cannot be evaluated'
  | 'unreachable';
/** Told what became of each rule that was come to. */
export interface Trace {
  readonly onCondition: Witness;
  onRule(rule: Rule, outcome: Outcome, limit?: { readonly limit: Limit; readonly why: string }): void;
}

/** Puts the claims of one rule to the store; gives the index of the first that is too much. */
export type Reserve = (entries: readonly LimitEntry[]) => number | undefined | PromiseLike<number | undefined>;
export interface Judging {
  readonly plan: Plan;
  /** Rules that can never answer. */
  readonly dead: ReadonlySet<number>;
  readonly call: CountedCall;
  readonly reserve: Reserve;
  readonly trace?: Trace | undefined;
}

const rank: { readonly [A in PolicyAction]: number } = { allow: 0, ask: 1, deny: 2, halt: 3 };
const verbs = { allow: 'allows', ask: 'wants a person to decide about', deny: 'denies', halt: 'ends the run at' } as const;

/** The strictest; of two alike the first. */
const stricter = (first: Decision | undefined, second: Decision): Decision =>
  first !== undefined && rank[first.action] >= rank[second.action] ? first : second;

/**
 * Answers a call. Where a condition cannot be decided both cases are followed, and the stricter answer is given: so a rule that is not known
 * to fit never loosens anything. A promise only where the store gives one. Throws what the author's functions throw.
 */
export function judge(judging: Judging): Decision | Promise<Decision> {
  return judgeFrom(judging, 0, undefined);
}

function judgeFrom(judging: Judging, from: number, floor: Decision | undefined): Decision | Promise<Decision> {
  const { plan, dead, call, trace } = judging;
  let held = floor;
  for (let index = from; index < plan.rules.length; index += 1) {
    const rule = plan.rules[index] as Rule;
    if (dead.has(index)) {
      trace?.onRule(rule, 'unreachable');
      continue;
    }
    if (!rule.isAbout(call.tool)) {
      trace?.onRule(rule, 'not about this tool');
      continue;
    }
    const truth = fits(judging, rule);
    if (typeof truth === 'object') return stricter(held, truth);
    if (truth === false) {
      trace?.onRule(rule, 'does not fit');
      continue;
    }
    if (truth === undefined && rule.then === 'allow') {
      trace?.onRule(rule, 'undecided');
      continue;
    }
    const limited = rule.limits.length === 0 ? undefined : applyLimits(judging, rule);
    if (limited !== undefined && typeof limited === 'object' && 'then' in limited) {
      const so = held;
      return Promise.resolve(limited).then((over) => {
        const next = settle(judging, { rule, truth, over, held: so });
        return next.isDone ? next.decision : judgeFrom(judging, index + 1, next.decision);
      });
    }
    const next = settle(judging, { rule, truth, over: limited, held });
    if (next.isDone) return next.decision;
    held = next.decision;
  }
  const { then, reason } = plan.otherwise;
  return stricter(held, {
    action: then,
    reason: reason ?? `Policy ${plan.name}, with no rule that fits, ${verbs[then]} ${call.tool}.`,
    rule: undefined,
  });
}

interface Over {
  readonly limit: Limit;
  readonly why: 'reached' | 'uncounted' | 'unknown';
}
type Settled = { readonly isDone: true; readonly decision: Decision } | { readonly isDone: false; readonly decision: Decision | undefined };

/** Takes a rule that fits, or may fit, with what its limits said. */
function settle(
  { plan, call, trace }: Judging,
  {
    rule,
    truth,
    over,
    held,
  }: { readonly rule: Rule; readonly truth: Truth; readonly over: Over | undefined; readonly held: Decision | undefined },
): Settled {
  if (over !== undefined) trace?.onRule(rule, 'over its limit', { limit: over.limit, why: over.why });
  else trace?.onRule(rule, truth === undefined ? 'undecided' : 'answers');
  if (over?.limit.over === 'next') return { isDone: false, decision: held };
  const decision = over === undefined ? answerOf(plan, rule, { call, truth }) : refusalOf(plan, rule, over);
  const strict = stricter(held, decision);
  return truth === undefined ? { isDone: false, decision: strict } : { isDone: true, decision: strict };
}

const nameOf = (plan: Plan, { index, name }: Rule): string => `Rule ${name ?? index + 1} of policy ${plan.name}`;

function answerOf(plan: Plan, rule: Rule, { call, truth }: { readonly call: PolicyCall; readonly truth: Truth }): Decision {
  const words = rule.reason ?? `${nameOf(plan, rule)} ${verbs[rule.then]} ${call.tool}.`;
  const fields = truth === undefined && rule.when ? undecidedFields(rule.when, call) : [];
  const reason = fields.length === 0 ? words : `${words} (${fields.join(', ')} could not be compared: missing, or of another kind.)`;
  return { action: rule.then, reason, rule: rule.index };
}

function refusalOf(plan: Plan, rule: Rule, { limit, why }: Over): Decision {
  const action = limit.over === 'next' ? 'deny' : limit.over;
  return { action, reason: `${nameOf(plan, rule)}: ${overWords(limit, why)}.`, rule: rule.index };
}

/** Whether a rule fits; a decision where that cannot be evaluated, which refuses the call. */
function fits({ plan, call, trace }: Judging, rule: Rule): Truth | Decision {
  if (rule.when === undefined) return true;
  try {
    return decide(rule.when, call, trace?.onCondition);
  } catch (thrown) {
    if (!(thrown instanceof CelFault)) throw thrown;
    trace?.onRule(rule, 'cannot be evaluated');
    const reason = `${nameOf(plan, rule)}: its condition could not be evaluated for this call (a field is missing, or of another type).`;
    return { action: 'deny', reason, rule: rule.index };
  }
}

/** The first limit that a call goes over; undefined: none. */
function applyLimits({ call, reserve }: Judging, rule: Rule): Over | undefined | PromiseLike<Over | undefined> {
  const claims: { readonly limit: Limit; readonly entry: LimitEntry }[] = [];
  for (const limit of rule.limits) {
    const measured = measure(limit, call, rule);
    if (measured.kind === 'over') return { limit, why: measured.why };
    if (measured.kind === 'entry') claims.push({ limit, entry: measured.entry });
  }
  if (claims.length === 0) return undefined;
  const given = reserve(claims.map(({ entry }) => entry));
  const read = (index: number | undefined): Over | undefined => {
    if (index === undefined) return undefined;
    const claim = claims[index];
    // A store that answers nonsense refuses.
    if (claim === undefined) throw new TypeError('A limit store answered with an index that was not asked for.');
    return { limit: claim.limit, why: 'reached' };
  };
  return typeof given === 'object' ? given.then(read) : read(given);
}
