import type {
  Approval,
  ApprovalResolveEvent,
  Ask,
  GuardEntry,
  GuardLevel,
  GuardVerdictEvent,
  JsonObject,
  Label,
  LogEvent,
  Manifest,
  RecordedCall,
  Refusal,
  StandingApproval,
  ToolEndEvent,
} from '@guardloop/core';
import type { ConversationAudit } from './conversation-audit.js';

/** A guardrail where it stands. */
export interface Standing {
  readonly entry: GuardEntry;
  readonly level: GuardLevel;
}

/** A call of the latest answer, as far as the audit has come. */
export interface CallAudit {
  readonly call: RecordedCall;
  /** Of the answer that made it. */
  readonly label: Label;
  input: JsonObject;
  revision: number;
  /** What a person must still be asked, or was asked. */
  asks: readonly Ask[];
  /** Seq of the last `tool.start`. */
  started: number | undefined;
  /** It started as a declared write or send. */
  once: boolean;
  open: Approval | undefined;
  /** The last decision; an approval is used once, by the `tool.start` or `handoff` that follows. */
  decision: ApprovalResolveEvent | undefined;
  wasAsked: boolean;
  ended: boolean;
  end: ToolEndEvent | undefined;
  /** What refused an edit. */
  refused: GuardVerdictEvent | undefined;
  /** Guardrails that were asked on `handoff` and are not the run's or the source's: they should be the target's. */
  targetGuards: readonly Standing[];
  returned: { readonly to: string; readonly brief: string } | undefined;
}

export interface RunAudit {
  readonly id: string;
  readonly parent: RunAudit | undefined;
  readonly conversation: ConversationAudit;
  agent: string;
  manifest: Manifest;
  accepted: boolean;
  /** Recorded answers. */
  turn: number;
  /** Turn of a `model.start` without its end. */
  openTurn: number | undefined;
  calls: Map<string, CallAudit>;
  /** A quarantined answer. */
  quarantine: { readonly approval: Approval; readonly turn: number; decision: ApprovalResolveEvent | undefined } | undefined;
  /** Seq of each `approval.request`, by the approval's id. */
  readonly asked: Map<string, number>;
  /** Ids of what views wrote and was judged. */
  readonly written: Set<string>;
  /** Verdicts that no event has committed yet, by surface and subject. */
  pending: Map<string, GuardVerdictEvent[]>;
  /** Letters of verdicts that no event has counted yet, by what they are about. */
  uncounted: Map<string, string>;
  /** The last refusals that events carried: `run.end` must name one of them. */
  refusals: Refusal[];
  /** The refusal of the run itself, once it has ended. */
  refusal: Refusal | undefined;
  answer: { readonly text: string; readonly value?: unknown } | undefined;
  /** The latest answer is the last under a limit: what it calls does not run. */
  isLast: boolean;
  ended: boolean;
  /** Seq of the last `run.resume` of the tree. */
  resumed: number;
}

/** A standing decision that was given. */
export interface StandingAudit {
  readonly id: string;
  readonly seq: number;
  readonly decision: StandingApproval;
  /** What ended it. */
  endedBy: string | undefined;
}

/** An audit in progress: the log read so far, and what was found. */
export interface Audit {
  readonly findings: string[];
  readonly runs: Map<string, RunAudit>;
  readonly conversation: ConversationAudit;
  /** Calls of declared writes and sends that gave a result, by `<run>/<call>`. */
  readonly effects: Map<string, { readonly run: RunAudit; readonly call: CallAudit }>;
  /** All that were given, in order. */
  readonly standing: StandingAudit[];
  root: RunAudit | undefined;
}

export function find(audit: Audit, event: LogEvent, what: string): void {
  audit.findings.push(`seq ${event.seq} ${event.type} (run ${event.run}): ${what}`);
}

export const keyOf = (surface: string, subject: string): string => `${surface} ${subject}`;

/** Takes the verdicts on a subject that are not committed yet. */
export function takeVerdicts(run: RunAudit, surface: string, subject: string): readonly GuardVerdictEvent[] {
  const key = keyOf(surface, subject);
  const verdicts = run.pending.get(key) ?? [];
  run.pending.delete(key);
  return verdicts;
}

/** The run's guardrails: those of the outermost run, which hold in its child runs too. */
export function runLevel(run: RunAudit): readonly GuardEntry[] {
  return run.parent === undefined ? run.manifest.run : runLevel(run.parent);
}

/** Equal as JSON, whatever the order of keys. */
export function isEqual(left: unknown, right: unknown): boolean {
  if (Object.is(left, right)) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].every((name) => isEqual((left as Record<string, unknown>)[name], (right as Record<string, unknown>)[name]));
}
