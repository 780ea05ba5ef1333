import type { Awaitable, BreakerOptions, GuardInfo, Guardrail, Subject, Surface, Verdict } from '@guardloop/core';
import { allow, ask, defineGuardrail, deny, halt } from '@guardloop/core';
import { checkOptionNames, optionFault, suggest } from '@guardloop/core/model';

/** How a guardrail on these surfaces refuses: as the verdict of that name does. `ask` is for `toolInput`, `handoff` and `output` only. */
export type RefusingAction<S extends Surface = Surface> =
  | 'deny'
  | 'halt'
  | ([S] extends ['toolInput' | 'handoff' | 'output'] ? 'ask' : never);

/** Options that all guardrails have which look at something whole and refuse it. */
export interface RefusingOptions<S extends Surface = Surface> {
  /** Stands in the log. Default: the kind of guardrail, such as `moderation`. */
  readonly name?: string | undefined;
  readonly on?: readonly S[] | undefined;
  /** How it refuses. `ask` is for `toolInput`, `handoff` and `output` only. Default `deny`. */
  readonly then?: RefusingAction<S> | undefined;
  /** What the person is told where it refuses. Default: the agent's `refusal`. */
  readonly reply?: string | undefined;
  /** Names or patterns of the tools it looks at. Default: all. */
  readonly tools?: readonly string[] | undefined;
  readonly version?: string | undefined;
  /** Deadline of one answer, milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** What counts when it fails. Default `deny`. */
  readonly onError?: 'deny' | 'halt' | 'allow' | undefined;
  /** For what asks something remote: when it keeps failing, stop asking for a while. Default: never. */
  readonly breaker?: BreakerOptions | undefined;
  /** Start the agent's model before it has answered; with `on: ['input']` alone. */
  readonly beside?: ([S] extends ['input'] ? 'model' : never) | undefined;
  /** Its answers are logged, not obeyed. Default false. */
  readonly shadow?: boolean | undefined;
}

/** The names of {@link RefusingOptions}. */
export const refusingOptionNames = [
  'name',
  'on',
  'then',
  'reply',
  'tools',
  'version',
  'timeoutMs',
  'onError',
  'breaker',
  'beside',
  'shadow',
] as const satisfies readonly (keyof RefusingOptions)[];

/** What makes one kind of refusing guardrail. */
export interface RefusingKind<C = unknown> {
  /** Default of `name`: `moderation`. */
  readonly name: string;
  /** Default of `on`. */
  readonly on: readonly Surface[];
  /** Names of the options that this kind has beside the common ones. */
  readonly options: readonly string[];
  /** Why the subject is refused, in words that quote nothing of it; undefined: it crosses. What it throws is a failure. */
  readonly reason: (subject: Subject, info: GuardInfo<C>) => Awaitable<string | undefined>;
}

const askable: readonly Surface[] = ['toolInput', 'handoff', 'output'];
const actions = ['ask', 'deny', 'halt'] as const;

/** Makes a guardrail of a function that says why something is refused. Throws CONFIG_INVALID. */
export function refusingGuardrail<C, const S extends Surface>(kind: RefusingKind<C>, options: RefusingOptions<S>): Guardrail<C, S> {
  const { on = kind.on as readonly S[], reply, tools, name = kind.name } = options;
  const then: 'ask' | 'deny' | 'halt' = options.then ?? 'deny';
  const { version, timeoutMs, onError, breaker, beside, shadow } = options;
  if (!actions.includes(then)) {
    const hint = typeof then === 'string' ? suggest(then, actions) : '';
    throw optionFault(`${kind.name}(…)`, `then is none of ${actions.join(', ')}. ${hint}Give one, or leave it out for 'deny'.`);
  }
  const mute = then === 'ask' && Array.isArray(on) ? on.find((surface) => !askable.includes(surface)) : undefined;
  if (mute !== undefined)
    throw optionFault(
      `${kind.name}(…)`,
      `then is 'ask', but it stands on ${mute}, where nobody can be asked. Give 'deny', or leave it out of on.`,
    );
  const verdictOf = (reason: string | undefined): Verdict | Verdict<'output'> => {
    if (reason === undefined) return allow();
    if (then === 'ask') return ask(reason);
    return then === 'deny' ? deny(reason, { reply }) : halt(reason, { reply });
  };
  const definition = {
    name,
    on,
    version,
    timeoutMs,
    onError,
    breaker,
    beside,
    shadow,
    ...(tools === undefined ? {} : { tools }),
    check: (subject: Subject, info: GuardInfo<C>) => {
      const given = kind.reason(subject, info);
      return typeof given === 'object' ? Promise.resolve(given).then(verdictOf) : verdictOf(given);
    },
  };
  // Which surfaces it stands on is known only now: core checks the definition.
  return defineGuardrail(definition as unknown as Parameters<typeof defineGuardrail<S>>[0]) as Guardrail<C, S>;
}

/** Throws CONFIG_INVALID for options that are no object, and for one that does not exist or is among `without`. To be called before the options are read. */
export function checkRefusingOptions(
  { name, options: own, without = [] }: Pick<RefusingKind, 'name' | 'options'> & { readonly without?: readonly string[] },
  options: object,
): void {
  const names = [...refusingOptionNames, ...own].filter((option) => !without.includes(option));
  checkOptionNames(`${name}(…)`, options, Object.fromEntries(names.map((option) => [option, true as const])));
}

/** Throws CONFIG_INVALID where something that asks a model was given none. */
export function checkModel(where: string, model: unknown): void {
  if (typeof (model as { readonly stream?: unknown } | null | undefined)?.stream !== 'function')
    throw optionFault(where, 'model is no model. Give one, as to an agent.');
}

/** Throws CONFIG_INVALID for options that are given and no functions. */
export function checkCallbacks(where: string, functions: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(functions))
    if (value !== undefined && typeof value !== 'function') throw optionFault(where, `${name} is no function. Give one, or leave it out.`);
}
