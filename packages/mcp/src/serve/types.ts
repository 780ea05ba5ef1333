import type { Approval, Awaitable, Decision, RunResult, SharedOptions } from '@guardloop/core';

/** Who calls, as `authenticate` says. */
export interface Caller {
  /** Tells callers apart: a session belongs to the caller that began it. */
  readonly id: string;
  /** For `context`. */
  readonly details?: unknown;
}
/** One call of the agent from outside. */
export interface ServedCall {
  readonly input: string;
  /** Undefined where nobody was asked who they are. */
  readonly caller: Caller | undefined;
  /** Aborted when the client cancels or goes. */
  readonly signal: AbortSignal;
}
/** Decides about an approval of a served run. Undefined: nobody decides now, and the call says that a person must. */
export type DecideApproval = (approval: Approval, call: ServedCall) => Awaitable<Decision | undefined>;

/** What `serveAgent` takes beside the agent. An agent with a context needs `context`. */
export type ServeOptions<C> = unknown extends C
  ? ServeSettings<C>
  : ServeSettings<C> & { readonly context: NonNullable<ServeSettings<C>['context']> };
/** The options argument of `serveAgent`: required exactly when the agent has a context type. */
export type ServeArguments<C> = unknown extends C ? [options?: ServeOptions<C>] : [options: ServeOptions<C>];
/** All options of {@link ServeOptions}, none required. */
export interface ServeSettings<C> {
  /** The server's name and version, as clients see them. Default: the agent's name, and `1.0.0`. */
  readonly name?: string | undefined;
  readonly version?: string | undefined;
  /** The tool that clients call. Default: the agent's name and description. */
  readonly tool?: { readonly name?: string | undefined; readonly description?: string | undefined } | undefined;
  /** Makes the context of a run. What it throws refuses the call, without its words. */
  readonly context?: ((call: ServedCall) => Awaitable<C>) | undefined;
  /** Options of each run: guardrails, limits and the like. */
  readonly run?: Omit<SharedOptions<C>, 'signal' | 'approvals' | 'quarantine' | 'standing'> | undefined;
  /**
   * How approvals are answered. `refuse`: the call ends and says that a person must decide; what asked was not done. `client`: the person at the
   * client is asked, where the client can (elicitation). Or a function of the host's. Default `refuse`: whoever calls does not approve himself.
   */
  readonly approvals?: 'refuse' | 'client' | DecideApproval | undefined;
  /** How long a person at the client has, milliseconds. Default 300,000. */
  readonly approvalTimeoutMs?: number | undefined;
  /** Runs at the same time; a call beyond is told to come back. Default 8. */
  readonly maxRuns?: number | undefined;
  /** Told how each run ended, for logs and audits; a run that waits for a person is `interrupted`, and can be resumed from its log. */
  readonly onResult?: ((result: RunResult, call: ServedCall) => void) | undefined;
  /** Told what could not even be started. */
  readonly onError?: ((error: unknown) => void) | undefined;
}
