import type { Clock, GuardInfo, Guardrail, LogEvent, Observer, ToolInputSubject, Verdict } from '@guardloop/core';
import { allow, ask, defineGuardrail, deny, GuardloopError, halt } from '@guardloop/core';
import { checkOptionNames, optionFault } from '@guardloop/core/model';
import type { DeadRule } from './dead-rules.js';
import { findDeadRules } from './dead-rules.js';
import type { CountedCall, Decision } from './judge.js';
import { judge } from './judge.js';
import { Ledger } from './ledger.js';
import type { LimitStore } from './limit-store.js';
import { memoryLimits } from './limit-store.js';
import type { CelCompiler } from './read-condition.js';
import type { Plan } from './read-policy.js';
import { readPolicy } from './read-policy.js';
import type { PolicyData } from './types.js';

/** What {@link policyFrom} takes beside the policy. */
export interface PolicyFromOptions<C = unknown> {
  /**
   * Picks what rules may see of the run's context, as plain data. Called at most once for a call, when a rule first needs it, and answers at
   * once; if it throws, the call is refused. Default: rules see nothing of it.
   */
  readonly context?: ((context: C) => object & { readonly then?: undefined }) | undefined;
  /** Reads conditions of CEL: `cel` of `@guardloop/guardrails/cel`. Default: they are refused. */
  readonly cel?: CelCompiler | undefined;
  /** Where limits over time are counted. Default: in memory, for this policy in this process. */
  readonly limits?: LimitStore | undefined;
  /** For limits over time and time windows. Default: the system's. */
  readonly clock?: Pick<Clock, 'now'> | undefined;
  /**
   * What becomes of a policy with rules that can never answer. `refuse`: CONFIG_INVALID, with all of them. `report`: it is made without them,
   * and {@link deadRules} names them. Default `refuse`.
   */
  readonly dead?: 'refuse' | 'report' | undefined;
  /** Milliseconds for a store that answers later. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Its answers are logged, not obeyed. Default false. */
  readonly shadow?: boolean | undefined;
}

interface Behind {
  readonly plan: Plan;
  readonly dead: readonly DeadRule[];
  readonly selectContext: ((context: never) => object) | undefined;
  readonly ledger: Ledger;
}
const made = new WeakMap<object, Behind>();

/** What stands behind a guardrail of `policyFrom`. Throws CONFIG_INVALID for any other. */
export function behind(policy: object, place: string): Behind {
  const found = made.get(policy);
  if (found === undefined)
    throw new GuardloopError('CONFIG_INVALID', `${place} was given what \`policyFrom\` did not make. Give the guardrail that it gave.`);
  return found;
}

const noDead: ReadonlySet<number> = new Set();

/**
 * Makes a policy of data: a value, or JSON or YAML text (at most 262,144 characters; no aliases, no tags, no name twice in an object). Rules
 * are tried in order; the first that fits answers, else `otherwise`. A condition that cannot be decided, since a value is missing or of another
 * kind, never loosens: what follows if it holds and what follows if not are both looked at, and the stricter is answered. It gives one
 * guardrail on `toolInput`; in the list of an agent or tool, a rule about a tool that is not there is CONFIG_INVALID. A decision without CEL
 * and expressions takes a few microseconds (`npm run bench` of this package measures it). Throws CONFIG_INVALID with the path of what is wrong.
 */
export function policyFrom<C = unknown>(source: PolicyData | string, options: PolicyFromOptions<C> = {}): Guardrail<C, 'toolInput'> {
  const { context, cel, limits = memoryLimits(), clock = Date } = checkOptions(options);
  const plan = readPolicy(source, { cel, hasContext: context !== undefined });
  const dead = findDeadRules(plan);
  if (dead.length > 0 && options.dead !== 'report') {
    throw new GuardloopError(
      'CONFIG_INVALID',
      `Policy ${plan.name}: ${dead.map(({ message }) => message).join(' ')} Or give { dead: 'report' }.`,
      {
        details: { dead },
      },
    );
  }
  const deadIndexes = dead.length === 0 ? noDead : new Set(dead.map(({ rule }) => rule));
  const ledger = new Ledger(limits);
  const keeper: Keeper = {
    plan,
    dead: deadIndexes,
    limits,
    ledger,
    hasTimed: plan.rules.some((rule) => rule.limits.some(({ windowMs }) => windowMs !== undefined)),
  };
  const guardrail = defineGuardrail({
    name: plan.name,
    on: ['toolInput'],
    version: plan.version,
    expects: [...new Set(plan.rules.flatMap(({ tools }) => tools))],
    timeoutMs: options.timeoutMs,
    shadow: options.shadow,
    check: (subject, info) => decideCall(keeper, callOf(subject as ToolInputSubject, info, { context, now: clock.now() })),
  }) as Guardrail<C, 'toolInput'>;
  made.set(guardrail, { plan, dead, selectContext: context as Behind['selectContext'], ledger });
  return guardrail;
}

const optionNames = { context: true, cel: true, limits: true, clock: true, dead: true, timeoutMs: true, shadow: true } as const;

function checkOptions<C>(options: PolicyFromOptions<C>): PolicyFromOptions<C> {
  const where = 'policyFrom(…)';
  checkOptionNames(where, options, optionNames);
  const { context, cel, limits, clock, dead } = options;
  if (context !== undefined && typeof context !== 'function')
    throw optionFault(where, 'context is no function. Give one that picks what rules may see of the context.');
  if (cel !== undefined && typeof cel !== 'function')
    throw optionFault(where, "cel is no function. Give `cel` of '@guardloop/guardrails/cel'.");
  if (limits !== undefined && (typeof limits?.reserve !== 'function' || typeof limits.release !== 'function'))
    throw optionFault(where, 'limits is no store. Give an object with reserve and release, such as memoryLimits().');
  if (clock !== undefined && typeof clock?.now !== 'function') throw optionFault(where, 'clock is no clock. Give an object with now().');
  if (dead !== undefined && dead !== 'refuse' && dead !== 'report') throw optionFault(where, "dead is neither 'refuse' nor 'report'.");
  return options;
}

interface Keeper {
  readonly plan: Plan;
  readonly dead: ReadonlySet<number>;
  readonly limits: LimitStore;
  readonly ledger: Ledger;
  /** Whether there is anything that is counted over time. */
  readonly hasTimed: boolean;
}
interface Asked extends CountedCall {
  readonly run: string;
  readonly callId: string;
}

/** What rules look at; what costs something is made when it is first read. */
function callOf<C>(
  subject: ToolInputSubject,
  info: GuardInfo,
  { context, now }: { readonly context: ((context: C) => object) | undefined; readonly now: number },
): Asked {
  let picked: { readonly value: unknown } | undefined;
  const { tool, callId, input, raw, flow, label } = subject;
  return {
    run: info.run,
    callId,
    tool,
    input,
    raw,
    flow,
    now,
    call: label.integrity,
    agent: info.agent,
    get view() {
      return info.labels.view.integrity;
    },
    get untrustedReads() {
      return info.untrustedReads;
    },
    get calls() {
      return info.calls;
    },
    get context() {
      picked ??= { value: context?.(info.context as C) };
      return picked.value;
    },
  };
}

function decideCall(keeper: Keeper, asked: Asked): Verdict<'toolInput'> | Promise<Verdict<'toolInput'>> {
  const settled = keeper.hasTimed ? keeper.ledger.settle(asked.run, asked.callId, asked.calls) : undefined;
  return settled === undefined ? decideNow(keeper, asked) : settled.then(() => decideNow(keeper, asked));
}

function decideNow({ plan, dead, limits, ledger }: Keeper, asked: Asked): Verdict<'toolInput'> | Promise<Verdict<'toolInput'>> {
  const { run, callId, now } = asked;
  const decision = judge({
    plan,
    dead,
    call: asked,
    reserve(entries) {
      ledger.hold(run, callId);
      return limits.reserve({ id: `${run}/${callId}`, at: now, entries });
    },
  });
  const finish = (given: Decision): Verdict<'toolInput'> | Promise<Verdict<'toolInput'>> => {
    const verdict = verdictOf(given);
    if (given.action === 'allow' || given.action === 'ask') return verdict;
    const dropped = ledger.drop(run, callId);
    return dropped === undefined ? verdict : dropped.then(() => verdict);
  };
  return decision instanceof Promise ? decision.then(finish) : finish(decision);
}

function verdictOf({ action, reason }: Decision): Verdict<'toolInput'> {
  switch (action) {
    case 'allow':
      return allow();
    case 'ask':
      return ask(reason);
    case 'deny':
      return deny(reason);
    case 'halt':
      return halt(reason);
    default:
      return action satisfies never;
  }
}

/** The rules of a policy that can never answer: of one that was made with `dead: 'report'`. Throws CONFIG_INVALID for what `policyFrom` did not make. */
export function deadRules(policy: Guardrail<never, 'toolInput'>): readonly DeadRule[] {
  return behind(policy, 'deadRules').dead;
}

/**
 * An observer for `run`'s `observers`: what a call holds of a limit over time is given back as soon as it is known that the call will not run,
 * since something else refused it, a person rejected it, or it was stopped before it began. Without it that is noticed when the policy is next
 * asked in that run, and else at the end of the time. Throws CONFIG_INVALID for what `policyFrom` did not make.
 */
export function limitObserver(policy: Guardrail<never, 'toolInput'>): Observer {
  const { ledger } = behind(policy, 'limitObserver');
  return (event) => ('seq' in event ? ledger.take(event as LogEvent) : undefined);
}
