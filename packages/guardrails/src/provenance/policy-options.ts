import type { GuardInfo, Guardrail, ToolInputSubject, Verdict } from '@guardloop/core';
import { allow, ask, defineGuardrail, deny, halt } from '@guardloop/core';
import { checkOptionNames, optionFault, suggest } from '@guardloop/core/model';

/** Options of all provenance policies. */
export interface ProvenanceOptions {
  /** Stands in the log. Default: the policy's own name, such as `data-flow`. */
  readonly name?: string | undefined;
  /** What happens to a call that it does not let pass: a person decides, or it is refused. Default `ask`. */
  readonly then?: 'ask' | 'deny' | 'halt' | undefined;
  /** What the person is told where it refuses. Default: the agent's `refusal`. */
  readonly reply?: string | undefined;
  /** Names or patterns of the tools it looks at. Default: all; leave none out that acts on the world. */
  readonly tools?: readonly string[] | undefined;
  readonly version?: string | undefined;
  /** Its answers are logged, not obeyed. Default false. */
  readonly shadow?: boolean | undefined;
}

const actions = ['ask', 'deny', 'halt'] as const;
const commonNames = ['name', 'then', 'reply', 'tools', 'version', 'shadow'] as const satisfies readonly (keyof ProvenanceOptions)[];

/** Why a call may not go on; undefined: it may. Names tools, arguments and sources, never values. */
export type Objection = (call: ToolInputSubject, info: GuardInfo) => string | undefined;

/** Makes the guardrail of a policy. `more` are the names of options that only this one has. Throws CONFIG_INVALID. */
export function provenanceGuardrail(
  name: string,
  { options, more = [] }: { readonly options: ProvenanceOptions; readonly more?: readonly string[] },
  object: Objection,
): Guardrail<unknown, 'toolInput'> {
  const where = `${name}(…)`;
  checkOptionNames(where, options, Object.fromEntries([...commonNames, ...more].map((each) => [each, true as const])));
  const { then = 'ask', reply } = options;
  if (!actions.includes(then))
    throw optionFault(where, `then is none of ${actions.join(', ')}. ${suggest(String(then), actions)}Give one, or leave it out for ask.`);
  return defineGuardrail({
    name: options.name ?? name,
    on: ['toolInput'],
    ...(options.tools === undefined ? {} : { tools: options.tools }),
    version: options.version,
    shadow: options.shadow,
    check: (call, info): Verdict<'toolInput'> => {
      const reason = object(call, info);
      if (reason === undefined) return allow();
      if (then === 'ask') return ask(reason);
      return then === 'deny' ? deny(reason, { reply }) : halt(reason, { reply });
    },
  });
}

/** Whether a call does something to the world, or sends something out by the arguments that its author named. */
export function isActing({ flow }: ToolInputSubject): boolean {
  return (
    flow.effect === 'write' || flow.effect === 'send' || (flow.effect === 'read' && flow.authority !== 'all' && flow.authority.length > 0)
  );
}

/** Whether the call was made by a model that had read nothing untrusted. */
export const isUntouched = (info: GuardInfo): boolean => info.labels.view.integrity === 'trusted';

/** The tools whose untrusted results were read, for reasons: at most three names. */
export function sourcesOf(info: GuardInfo): string {
  const tools = [...new Set(info.untrustedReads.map(({ tool }) => tool))];
  if (tools.length === 0) return 'untrusted text';
  const more = tools.length > 3 ? ` and ${tools.length - 3} more` : '';
  return `untrusted results of ${tools.slice(0, 3).join(', ')}${more}`;
}
