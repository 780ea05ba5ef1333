// What a report holds: plain JSON, made of a log and of nothing else.
import type { Label, StopReason, Usage, Via } from '../model/types.js';
import type {
  ApprovalFlow,
  ApprovalRewrite,
  Ask,
  CallStatus,
  ErrorClass,
  GuardEntry,
  GuardLevel,
  GuardVerdictEvent,
  LimitName,
  RecordedError,
  RecordedLimits,
  Refusal,
  RunStatus,
  Surface,
} from '../state/events.js';

/** How a report is made. */
export interface ReportOptions {
  /** Longest text that is kept of one content, in characters. Default 2,000. */
  readonly maxChars?: number | undefined;
  /** What an audit of the same log found (`auditLog` of `@guardloop/testing`): nothing, or one sentence each. Left out: no audit was made. */
  readonly findings?: readonly string[] | undefined;
}

/** A content as it passed, or its beginning. */
export interface ReportText {
  readonly text: string;
  /** Characters of the whole. */
  readonly chars: number;
}

/** One answer of one guardrail, as its event has it. */
export interface ReportVerdict extends Omit<GuardVerdictEvent, 'type' | 'at' | 'run' | 'agent' | 'parent'> {
  /** The log was cut before the content was recorded: the answer did not count, and the question was asked again. */
  readonly isVoid?: true | undefined;
  /** Of an `ask`: a person had approved this revision before, which answers it. */
  readonly isAnswered?: true | undefined;
}

/** A person was asked. */
export interface ReportApproval {
  readonly id: string;
  readonly seq: number;
  readonly at: number;
  readonly surface: 'toolInput' | 'handoff' | 'output';
  readonly agentPath: readonly string[];
  readonly revision: number;
  readonly digest: string;
  readonly reason: string;
  readonly asks: readonly Ask[];
  /** What was to run. Left out of an answer, which waited in quarantine. */
  readonly input?: ReportText | undefined;
  /** Of an answer in quarantine. */
  readonly chars?: number | undefined;
  readonly mayHaveRun?: true | undefined;
  readonly caller?: true | undefined;
  /** What the tool does to the world, as its author declared it. */
  readonly flow?: ApprovalFlow | undefined;
  /** Tools whose untrusted results the asking agent had read. */
  readonly untrustedFrom: readonly string[];
  /** What guardrails had rewritten of it, in order. */
  readonly rewrites: readonly ApprovalRewrite[];
  /** Fields of the input that are not as the model gave them. */
  readonly changedFields: readonly string[];
  /** Left out: nobody has decided. */
  readonly decision?: ReportDecision | undefined;
}
/** What the person said. */
export interface ReportDecision {
  readonly seq: number;
  readonly at: number;
  readonly decision: 'approve' | 'reject' | 'edit' | 'result' | 'void';
  /** Who decided, where `resume` was told. */
  readonly by?: ReportText | undefined;
  readonly reason?: string | undefined;
  /** The edit as it passed. */
  readonly input?: ReportText | undefined;
  /** A rewrite changed the edit: a person was asked anew. */
  readonly changed?: true | undefined;
  /** The decision holds for later calls too: of the tool, with an input that has these fields. */
  readonly standing?:
    | { readonly tool: string; readonly when: ReportText; readonly exact?: true | undefined; readonly expiresAt?: number | undefined }
    | undefined;
  /** Nobody was asked: the standing decision given for this approval held. */
  readonly byStanding?: string | undefined;
  /** From the question to the answer. */
  readonly waitedMs: number;
}

interface Entry<K extends string> {
  readonly kind: K;
  /** Of its first event. */
  readonly seq: number;
  readonly at: number;
  readonly agent: string;
  /** In log order. */
  readonly verdicts: readonly ReportVerdict[];
}
/** What came in. */
export interface InputEntry extends Entry<'input'> {
  readonly isAccepted: boolean;
  readonly revision: number;
  readonly items: readonly ReportItem[];
  /** How many items of the history were judged with it. */
  readonly judged: number;
}
/** One item of an input. */
export interface ReportItem {
  readonly id: string;
  readonly via: Via | 'assistant';
  readonly label: Label;
  readonly revision: number;
  readonly text: ReportText;
}
/** One model call and its answer. `open`: it has not ended in this log. `waiting`: the answer waits for a person. */
export interface TurnEntry extends Entry<'turn'> {
  readonly turn: number;
  readonly model: string;
  readonly status: 'ok' | 'refused' | 'failed' | 'aborted' | 'open' | 'waiting';
  readonly ms?: number | undefined;
  readonly revision: number;
  readonly text?: ReportText | undefined;
  readonly reasoning?: ReportText | undefined;
  readonly calls: readonly string[];
  readonly label?: Label | undefined;
  readonly usage?: Usage | undefined;
  readonly stopReason?: StopReason | undefined;
  readonly refusal?: Refusal | undefined;
  /** Size of what was refused, in characters. What it said is in no log. */
  readonly refusedChars?: number | undefined;
  readonly misfit?: string | undefined;
  readonly isEmpty?: true | undefined;
  readonly error?: RecordedError | undefined;
  readonly note?: string | undefined;
  readonly beside?: true | undefined;
  readonly final?: LimitName | undefined;
  readonly approvals: readonly ReportApproval[];
}
/** One call. `open`: it has not ended in this log. `waiting`: for a person. */
export interface CallEntry extends Entry<'call'> {
  readonly callId: string;
  readonly tool: string;
  readonly callKind: 'tool' | 'agent' | 'handoff' | 'caller' | 'unknown';
  readonly status: CallStatus | 'open' | 'waiting';
  /** Whether it was started: from then on its effect may have happened. */
  readonly isStarted: boolean;
  readonly ms?: number | undefined;
  readonly revision: number;
  /** Left out where it will not run: it is in no log then. */
  readonly input?: ReportText | undefined;
  readonly output?: ReportText | undefined;
  readonly outputRevision: number;
  /** Characters of the whole output, before it was projected. */
  readonly outputChars?: number | undefined;
  readonly details?: ReportText | undefined;
  readonly label?: Label | undefined;
  readonly errorClass?: ErrorClass | undefined;
  readonly note?: string | undefined;
  readonly refusal?: Refusal | undefined;
  readonly projection?: 'core' | 'user' | undefined;
  readonly copyOf?: string | undefined;
  readonly limit?: LimitName | undefined;
  readonly approvals: readonly ReportApproval[];
  /** Of an agent used as a tool. */
  readonly run?: ReportRun | undefined;
}
/** One agent gives the conversation to another. */
export interface HandoffEntry extends Entry<'handoff'> {
  readonly callId: string;
  readonly from: string;
  readonly to: string;
  readonly status: 'done' | 'refused' | 'rejected' | 'aborted' | 'open' | 'waiting';
  readonly brief?: ReportText | undefined;
  readonly revision: number;
  /** What the target sees: everything recorded so far, or so many items. */
  readonly view?: 'all' | number | undefined;
  readonly refusal?: Refusal | undefined;
  readonly limit?: LimitName | undefined;
  /** What the model is told of a handoff that did not happen. */
  readonly output?: ReportText | undefined;
  readonly approvals: readonly ReportApproval[];
  /** Names of the agents' own guardrails. */
  readonly leave: readonly string[];
  readonly come: readonly string[];
  readonly stay: readonly string[];
}
/** A process went on with the run. */
export interface ResumeEntry extends Entry<'resume'> {
  readonly reopens?: true | undefined;
  /** Nothing happened for so long. */
  readonly pausedMs: number;
  readonly limits?: RecordedLimits | undefined;
  /** Guardrails that stand now and did not before, and the other way round. */
  readonly come: readonly string[];
  readonly leave: readonly string[];
}
/** A run ended. */
export interface EndEntry extends Entry<'end'> {
  readonly status: Exclude<RunStatus, 'interrupted'>;
  readonly text?: ReportText | undefined;
  readonly reply?: string | undefined;
  readonly refusal?: Refusal | undefined;
  readonly limit?: LimitName | undefined;
  readonly error?: RecordedError | undefined;
  readonly cause?: string | undefined;
}
/** An event of a kind that this version has no words for. */
export interface OtherEntry extends Entry<'other'> {
  readonly type: string;
  readonly text: ReportText;
}
/** One thing that happened in a run. */
export type ReportEntry = InputEntry | TurnEntry | CallEntry | HandoffEntry | ResumeEntry | EndEntry | OtherEntry;

/** One run, or one child run. */
export interface ReportRun {
  readonly id: string;
  readonly parent?: string | undefined;
  /** The agent that it started with. */
  readonly agent: string;
  /** `interrupted`: it waits for people. `open`: the log ends within it; it was cut, or is under way. */
  readonly status: RunStatus | 'open';
  /** Its beginning is not in what the report was made of. */
  readonly isPartial?: true | undefined;
  readonly seq: number;
  readonly at: number;
  /** From its first event to its last. */
  readonly ms: number;
  /** Of these, the time in which it waited for people or stood still. */
  readonly pausedMs: number;
  readonly limits?: RecordedLimits | undefined;
  /** With its child runs. */
  readonly usage: Usage;
  /** In the order in which they began. */
  readonly entries: readonly ReportEntry[];
}

/** How often each answer was given. Shadow guardrails, which are not obeyed, count for themselves. */
export interface ReportCounts {
  readonly asked: number;
  readonly allow: number;
  readonly rewrite: number;
  readonly ask: number;
  readonly deny: number;
  readonly halt: number;
  /** Of all these: threw, hung, or answered nonsense. */
  readonly failed: number;
  /** Answers of guardrails in shadow that were not `allow`. */
  readonly shadow: number;
  /** Answers that did not count, since the log was cut. */
  readonly void: number;
  readonly ms: number;
}
/** One guardrail, over the whole log. */
export interface ReportGuardrail {
  readonly name: string;
  readonly version?: string | undefined;
  readonly level: GuardLevel;
  /** Where it was asked. */
  readonly surfaces: readonly Surface[];
  readonly counts: ReportCounts;
  /** The longest answer. */
  readonly maxMs: number;
}
/** Which guardrails stood before an agent. */
export interface ReportStand {
  readonly agent: string;
  /** From this event on. */
  readonly seq: number;
  readonly run: readonly GuardEntry[];
  readonly own: readonly GuardEntry[];
  readonly tools: readonly { readonly tool: string; readonly guardrails: readonly GuardEntry[] }[];
}
/** What one model, or one agent, used. */
export interface ReportShare {
  readonly name: string;
  readonly usage: Usage;
}

/** A log, as one reads it. */
export interface GuardReport {
  readonly version: 1;
  /** Events that it was made of. */
  readonly events: number;
  readonly at: number;
  readonly ms: number;
  /** In log order; child runs stand at their calls. */
  readonly runs: readonly ReportRun[];
  readonly counts: ReportCounts;
  readonly guardrails: readonly ReportGuardrail[];
  readonly stands: readonly ReportStand[];
  readonly usage: Usage;
  readonly byModel: readonly ReportShare[];
  readonly byAgent: readonly ReportShare[];
  readonly findings?: readonly string[] | undefined;
}

/** What is written while a report is made. */
export type Draft<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer U)[] ? U[] : T[K] };
