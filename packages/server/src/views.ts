// What clients get, as types. The schemas that describe it to others are held to these by the types of tests.
import type { Approval, CallStatus, JsonValue, RunStatus } from '@guardloop/core';
import type { ApprovalState, RunState } from '@guardloop/store';

/** How a run ended. What stands in brackets after a field is the part of `show` that it needs. */
export interface OutcomeView {
  readonly status: Exclude<RunStatus, 'interrupted'>;
  readonly text?: string | undefined;
  readonly value?: JsonValue | undefined;
  /** Of a blocked run: what the person is told. */
  readonly reply?: string | undefined;
  /** (reasons) */
  readonly refusal?: { readonly by: string; readonly surface: string; readonly reason: string } | undefined;
  /** (system) */
  readonly limit?: string | undefined;
  /** (system) */
  readonly error?: { readonly code: string; readonly message: string } | undefined;
}
/** How a run stands; times are milliseconds since 1970. */
export interface RunView {
  readonly id: string;
  readonly session: string;
  readonly agent: string;
  readonly state: RunState;
  readonly status?: Exclude<RunStatus, 'interrupted'> | undefined;
  /** Somebody has asked for its end. */
  readonly cancelling?: boolean | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** (system), as are all that follow. */
  readonly dueAt?: number | undefined;
  readonly queue?: string | undefined;
  readonly attempts?: number | undefined;
  readonly owner?: string | undefined;
  readonly trouble?: { readonly code: string; readonly message: string; readonly choices: readonly string[] } | undefined;
}
/** What a person is asked, and how that stands; times are milliseconds since 1970. */
export interface ApprovalView {
  readonly id: string;
  readonly session: string;
  /** The outermost run. */
  readonly run: string;
  readonly state: ApprovalState;
  /** Whether who calls may decide it, and nobody has. */
  readonly mayDecide: boolean;
  /** As the log has it. */
  readonly approval: Approval;
  readonly requestedAt: number;
  readonly expiresAt?: number | undefined;
  readonly decision?: 'approve' | 'standing' | 'reject' | 'edit' | 'result' | undefined;
  /** (system), unless it was who looks. */
  readonly decidedBy?: string | undefined;
  readonly decidedAt?: number | undefined;
  /** (system) */
  readonly owner?: string | undefined;
}
/** An answer that waits for a person, whom alone it is shown to: guardrails have not passed it. */
export interface WaitingAnswerView {
  /** The approval that is asked for it. */
  readonly id: string;
  /** Decide with it: what was seen is what is decided. */
  readonly digest: string;
  /** Its text, or the JSON of a structured answer. */
  readonly text: string;
  /** Empty where the run shows none. */
  readonly reasoning: string;
  /** Calls that it makes, which nobody has judged yet. `input` is missing where the arguments are no JSON. */
  readonly calls: readonly { readonly name: string; readonly input?: JsonValue | undefined }[];
}
/** How a session stands; times are milliseconds since 1970. */
export interface SessionView {
  readonly id: string;
  /** Its last run, and how that stands. */
  readonly run?: string | undefined;
  readonly agent?: string | undefined;
  readonly status?: 'open' | 'waiting' | Exclude<RunStatus, 'interrupted'> | undefined;
  /** Of its log. */
  readonly events: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt?: number | undefined;
  /** (system) */
  readonly owner?: string | undefined;
}

/**
 * One event of a stream: the name of the server-sent event is its `type`. With a `run` in its text and tools it is of an inner agent
 * (agents).
 */
export type ClientEvent =
  | { readonly type: 'run.start'; readonly run: string; readonly agent: string }
  | { readonly type: 'text.delta'; readonly turn: number; readonly text: string; readonly run?: string | undefined }
  | { readonly type: 'text.retract'; readonly turn: number; readonly chars: number; readonly run?: string | undefined }
  | { readonly type: 'text.end'; readonly turn: number; readonly run?: string | undefined }
  | {
      readonly type: 'tool.start';
      readonly callId: string;
      readonly tool: string;
      /** (tools) */
      readonly input?: JsonValue | undefined;
      readonly run?: string | undefined;
    }
  | {
      readonly type: 'tool.end';
      readonly callId: string;
      readonly tool: string;
      readonly status: CallStatus;
      /** (tools) */
      readonly content?: JsonValue | undefined;
      readonly run?: string | undefined;
    }
  | {
      readonly type: 'approval';
      readonly id: string;
      readonly surface: Approval['surface'];
      readonly mayDecide: boolean;
      /** As the log has it; left out for who may not read it. */
      readonly approval?: Approval | undefined;
    }
  | {
      readonly type: 'approval.end';
      readonly id: string;
      readonly decision: 'approve' | 'reject' | 'edit' | 'result' | 'void';
      /** (system), unless it was who looks. */
      readonly by?: string | undefined;
    }
  | { readonly type: 'handoff'; readonly from: string; readonly to: string }
  | {
      readonly type: 'verdict';
      readonly guardrail: string;
      readonly surface: string;
      readonly subject: string;
      readonly action: string;
      readonly reason?: string | undefined;
    }
  | { readonly type: 'run.end'; readonly run: string; readonly outcome: OutcomeView };
