// What `compareVerdicts` takes and gives. Types only; the report is plain JSON.
import type { Agent, Guardrail, Route, Subject } from '../define/types.js';
import type { Clock } from '../model/clock.js';
import type { Action, GuardFailure, GuardLevel, Log, Surface } from '../state/events.js';

/** The guardrails that recorded logs are put to, by where they would stand. */
export interface GuardrailSet<in C = never> {
  readonly run?: readonly Guardrail<C>[] | undefined;
  /** By agent name. */
  readonly agents?: { readonly [agent: string]: readonly Guardrail<C>[] } | undefined;
  /** By tool name: those that the tool itself would have. */
  readonly tools?: { readonly [tool: string]: readonly Guardrail<C>[] } | undefined;
}

/** Options of `compareVerdicts`. */
export interface CompareOptions<C = unknown> {
  /**
   * `replaced`: the given guardrails stand in place of all that stood. `kept`: beside them, after them; a given one takes the place of a
   * recorded one of its name. Default `replaced`.
   */
  readonly recorded?: 'replaced' | 'kept' | undefined;
  /** What guardrails are told as `context`. */
  readonly context?: C | undefined;
  /** In its place, where each log has its own: asked once for each. */
  readonly contextOf?: ((log: Log, index: number) => C) | undefined;
  /** An agent from which those of the logs can be reached: for the schemas and `flow` of tools. Its own guardrails are not asked. */
  readonly agent?: Agent<never, Route> | undefined;
  /** What should have been answered; undefined for what is not known. */
  readonly expected?: ((subject: Subject, at: SubjectPlace) => Action | undefined) | undefined;
  /** Logs that are replayed at the same time. Default 4. */
  readonly concurrency?: number | undefined;
  /** Aborting it ends the replay with what there is. */
  readonly signal?: AbortSignal | undefined;
  /** Time, for tests. */
  readonly clock?: Clock | undefined;
}

/** The arguments after the guardrails: with a context where they need one. */
export type CompareArguments<C> = unknown extends C
  ? [options?: CompareOptions<C>]
  : [options: CompareOptions<C> & ({ readonly context: NoInfer<C> } | { readonly contextOf: (log: Log, index: number) => NoInfer<C> })];

/** Where something crossed a boundary. */
export interface SubjectPlace {
  /** Index among the logs. */
  readonly log: number;
  readonly run: string;
  readonly agent: string;
  readonly surface: Surface;
  /** As in `guard.verdict`. */
  readonly subject: string;
  /** The event that committed it. */
  readonly seq: number;
  /** On the tool surfaces. */
  readonly tool?: string | undefined;
}

/** The strictest answer on one subject; `allow` also where nobody was asked. */
export interface ComparedAnswer {
  readonly action: Action;
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
  readonly failed?: true | undefined;
}

/** One answer of one of the given guardrails. */
export interface ComparedVerdict {
  readonly guardrail: string;
  readonly version?: string | undefined;
  readonly level: GuardLevel;
  readonly phase: 'rewrite' | 'check';
  readonly action: Action;
  readonly reason?: string | undefined;
  readonly failed?: true | undefined;
  readonly failure?: GuardFailure | undefined;
  readonly shadow?: true | undefined;
  readonly places?: number | undefined;
  readonly ms: number;
}

/**
 * Why a subject cannot be judged again. `refused`, `rewritten`: the log does not hold the form that was judged. `cut`: it holds a projection of
 * it. `waiting`: it stood in quarantine to the end. `history`: it does not hold what the target of the handoff would have seen.
 * `unrecorded`: it passed, and then something else kept it from being recorded.
 */
export type UnknownWhy = 'refused' | 'rewritten' | 'cut' | 'waiting' | 'history' | 'unrecorded';

/** One subject, as it was answered and as it would be. */
export interface ComparedSubject extends SubjectPlace {
  readonly status: 'same' | 'changed' | 'unknown';
  readonly recorded: ComparedAnswer;
  /** Left out where it is not known. */
  readonly replayed?: ComparedAnswer | undefined;
  readonly why?: UnknownWhy | undefined;
  /** An answer before it in this run, or in one above or below, has changed: what followed may not have happened. */
  readonly afterDivergence?: true | undefined;
  readonly verdicts: readonly ComparedVerdict[];
  /** What `expected` said. */
  readonly expected?: Action | undefined;
}

/** One run of a log. */
export interface ComparedRun {
  readonly log: number;
  readonly run: string;
  readonly parent?: string | undefined;
  readonly agent: string;
  readonly subjects: number;
  readonly changed: number;
  readonly unknown: number;
  /** Where it first comes out otherwise. */
  readonly divergence?: (SubjectPlace & { readonly recorded: ComparedAnswer; readonly replayed: ComparedAnswer }) | undefined;
}

/** What one of the given guardrails did. */
export interface ComparedGuardrail {
  readonly guardrail: string;
  readonly version?: string | undefined;
  /** How often it answered each. */
  readonly answers: { readonly [A in Action]: number };
  readonly failed: number;
  /** Subjects whose new answer is its own, and changed. */
  readonly changed: number;
  /** Milliseconds, of all its answers and of the longest. */
  readonly ms: number;
  readonly maxMs: number;
}

export interface ComparedCounts {
  readonly subjects: number;
  readonly same: number;
  readonly changed: number;
  readonly unknown: number;
}

/** How well answers fit what was expected. Whatever is not `allow` counts as caught. */
export interface Precision {
  /** Expected to be caught, and caught. */
  readonly caught: number;
  /** Expected to be caught, and allowed. */
  readonly missed: number;
  /** Expected to pass, and caught. */
  readonly wrong: number;
  readonly passed: number;
  /** Of what was caught, the share that was to be; undefined where nothing was caught. */
  readonly precision?: number | undefined;
  /** Of what was to be caught, the share that was; undefined where nothing was to be. */
  readonly recall?: number | undefined;
}

/** What would change, were recorded logs judged by other guardrails. Holds no content. */
export interface Comparison {
  /** In the order of the logs, and in each as its events stand. */
  readonly subjects: readonly ComparedSubject[];
  readonly runs: readonly ComparedRun[];
  readonly guardrails: readonly ComparedGuardrail[];
  readonly surfaces: { readonly [S in Surface]: ComparedCounts };
  readonly total: ComparedCounts;
  /** `allow → deny`: how often. */
  readonly changes: { readonly [change: string]: number };
  /** Over the subjects that are known and of which something was expected. */
  readonly expectations?: { readonly recorded: Precision; readonly replayed: Precision } | undefined;
  /** Agents and tools of the set that no log names, as `agent NAME` and `tool NAME`: their guardrails were not asked. */
  readonly unmatched: readonly string[];
  readonly ms: number;
  /** False: the signal was aborted before the end. */
  readonly isComplete: boolean;
}
