import { GuardloopError } from '../errors.js';
import { atOnce } from './at-once.js';
import { publish, toolSpecOf } from './definition.js';
import { DefinitionReader, describe, invalid } from './definition-reader.js';
import { defaultTimeoutMs, guardrailSpec, readGuardName, readVersion } from './guardrail.js';
import type { GuardrailSpec } from './specs.js';
import { fitsPattern, isToolPattern } from './tool-pattern.js';
import type { Definers, GuardInfo, PolicyAction, PolicyInfo, Subject, ToolInputSubject, Verdict } from './types.js';
import { allow, ask, deny, halt } from './verdict.js';

const optionNames = ['name', 'version', 'rules', 'otherwise', 'shadow'] as const;
const ruleNames = ['tool', 'when', 'then', 'reason'] as const;
const actions = ['allow', 'ask', 'deny', 'halt'] as const satisfies readonly PolicyAction[];
const verbs = { ask: 'wants a person to decide about', deny: 'denies', halt: 'ends the run at' } as const;

interface Rule {
  readonly pattern: string;
  readonly when: ((input: unknown, info: PolicyInfo) => unknown) | undefined;
  readonly then: PolicyAction;
  readonly reason: string | undefined;
}

/**
 * Defines rules about tool calls, which compile to one guardrail on `toolInput`. They are tried in order; the first that fits answers, else
 * `otherwise`. A `when` that throws, or answers anything but true or false, refuses the call. Throws CONFIG_INVALID.
 */
export const definePolicy: Definers<unknown>['definePolicy'] = (def) => {
  const policy = readPolicy(new DefinitionReader('policy', def, optionNames));
  return publish({ name: policy.name, on: policy.on }, policy);
};

function readPolicy(reader: DefinitionReader<(typeof optionNames)[number]>): GuardrailSpec {
  const name = readGuardName(reader);
  if (!reader.has('rules')) invalid(`${reader.subject} has no \`rules\`. Give a list; it may be empty.`);
  const rules = reader.list('rules').map((rule, index) => readRule(rule, `Rule ${index + 1} of policy ${name}`));
  const otherwise =
    reader.choice('otherwise', actions) ?? reader.refuse('otherwise', `Say what holds where no rule fits: ${actions.join(', ')}.`);
  return guardrailSpec({
    name,
    on: Object.freeze(['toolInput'] as const),
    version: readVersion(reader),
    timeoutMs: defaultTimeoutMs,
    onError: 'deny',
    shadow: reader.flag('shadow') ?? false,
    beside: false,
    window: undefined,
    tools: undefined,
    rewrite: undefined,
    check: (subject, info) => judge({ name, rules, otherwise }, subject, info),
    ruleTools: Object.freeze(rules.map((rule) => rule.pattern)),
  });
}

function readRule(given: unknown, place: string): Rule {
  const reader = new DefinitionReader({ place }, given, ruleNames);
  const tool = reader.get('tool');
  if (typeof tool === 'string' && !isToolPattern(tool)) {
    invalid(`${place} is about ${describe(tool)}, which cannot name a tool. Give a tool, its name, or a pattern such as 'find_*'.`);
  }
  return Object.freeze({
    pattern: typeof tool === 'string' ? tool : toolSpecOf(tool, `The tool of ${place.charAt(0).toLowerCase()}${place.slice(1)}`).name,
    when: reader.function<NonNullable<Rule['when']>>('when'),
    then: reader.choice('then', actions) ?? invalid(`${place} has no \`then\`. Say what it answers: ${actions.join(', ')}.`),
    reason: reader.text('reason'),
  });
}

interface Policy {
  readonly name: string;
  readonly rules: readonly Rule[];
  readonly otherwise: PolicyAction;
}

function judge({ name, rules, otherwise }: Policy, subject: Subject, info: GuardInfo): Verdict {
  const call = subject as ToolInputSubject;
  let policyInfo: PolicyInfo | undefined;
  for (const [index, rule] of rules.entries()) {
    if (!fitsPattern(rule.pattern, call.tool)) continue;
    if (rule.when !== undefined) {
      policyInfo ??= policyInfoOf(call, info);
      const fits: unknown = atOnce(rule.when(call.input, policyInfo));
      if (typeof fits !== 'boolean') {
        throw new GuardloopError(
          'CONFIG_INVALID',
          `\`when\` of rule ${index + 1} of policy ${name} answered ${describe(fits)}. Answer true or false, at once.`,
        );
      }
      if (!fits) continue;
    }
    return answer(rule.then, `Rule ${index + 1} of policy ${name}`, { tool: call.tool, reason: rule.reason });
  }
  return answer(otherwise, `Policy ${name}, with no rule that fits,`, { tool: call.tool });
}

function policyInfoOf({ tool, flow }: ToolInputSubject, info: GuardInfo): PolicyInfo {
  const { context, agent, labels, untrustedReads } = info;
  return {
    context,
    tool,
    agent,
    flow,
    labels,
    untrustedReads,
    get signal() {
      return info.signal;
    },
  };
}

function answer(
  action: PolicyAction,
  who: string,
  { tool, reason }: { readonly tool: string; readonly reason?: string | undefined },
): Verdict {
  if (action === 'allow') return allow();
  const words = reason ?? `${who} ${verbs[action]} ${tool}.`;
  return { ask, deny, halt }[action](words) as Verdict;
}
