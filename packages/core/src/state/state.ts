import type { JsonObject, JsonValue, Usage, UserMessage } from '../model/types.js';
import type { ModelShare } from '../model/usage.js';
import type { Conversation } from './conversation.js';
import { newConversation } from './conversation.js';
import type {
  Approval,
  ApprovalResolveEvent,
  Ask,
  CallEnd,
  LimitName,
  Limits,
  Manifest,
  OutputApproval,
  RecordedCall,
  RecordedError,
  Refusal,
  RunEndEvent,
  ToolEndEvent,
} from './events.js';
import type { Standing } from './standing.js';

/** One call of the latest answer. */
export interface CallState {
  readonly call: RecordedCall;
  /** `<run>/<call>`. */
  readonly path: string;
  input: JsonObject;
  /** Canonical JSON of `input`, once something asked for it. */
  key: string | undefined;
  revision: number;
  /** The revision that the model or a person gave: those above it are rewrites. */
  givenRevision: number;
  changedFields: readonly string[] | undefined;
  /** Of a handoff: the brief in the form that a person was asked about. */
  brief: string | undefined;
  /** `prepared`: recorded, not begun. `waiting`: for a person. `decided`: by one. `started`: its effect may have happened. `handoff`: its tool returned one. */
  phase: 'prepared' | 'waiting' | 'decided' | 'started' | 'handoff' | 'ended';
  approval: Approval | undefined;
  decision: ApprovalResolveEvent | undefined;
  /** What a person is to be asked anew: a rewrite changed an edit, or the run was cut before a decision came to an end of the call. */
  asksAnew: readonly Ask[] | undefined;
  /** Its effect may have happened. */
  wasStarted: boolean;
  /** It counts against `toolCalls`: a start of it is in the log. */
  isCounted: boolean;
  end:
    | (CallEnd & { readonly id: string } & Partial<Pick<ToolEndEvent, 'answer' | 'completeness' | 'structured' | 'projection'>>)
    | undefined;
  /** From the end of a tool that returned a handoff. */
  returned: { readonly to: string; readonly brief: string; readonly filtered?: true | undefined } | undefined;
}

/** A run's end that events have already settled; `run.end` follows. */
export type Ending =
  | { readonly status: 'blocked'; readonly refusal: Refusal; readonly viewUsage?: readonly ModelShare[] | undefined }
  | { readonly status: 'failed'; readonly error: RecordedError }
  | { readonly status: 'exhausted'; readonly limit: LimitName };

export interface RunState {
  readonly id: string;
  readonly parent: RunState | undefined;
  /** The parent's call that started it. */
  readonly parentCall: string | undefined;
  readonly conversation: Conversation;
  readonly startSeq: number;
  limits: Limits;
  onLimit: 'stop' | 'finalize';
  manifest: Manifest;
  agent: string;
  accepted: boolean;
  /** Items that a person added while the run was under way. */
  steers: number;
  /** Recorded answers, refused ones included. */
  turn: number;
  /** `turn` when the active agent's stay began. */
  agentTurn: number;
  /** The answer of the latest turn has calls that may not all have ended. */
  calls: ReadonlyMap<string, CallState>;
  /** The assistant message of `calls`, by index in the conversation's messages. */
  openIndex: number;
  /** What views wrote and the active agent's guardrails have passed, by its text: it is not put to them again. */
  viewItems: Map<string, UserMessage> | undefined;
  quarantine:
    | {
        readonly approval: OutputApproval;
        readonly turn: number;
        readonly usage: Usage;
        readonly model: string | undefined;
        decision: ApprovalResolveEvent | undefined;
      }
    | undefined;
  /** `callId`: a tool gave it. */
  answer: { readonly text: string; readonly value?: JsonValue | undefined; readonly callId?: string | undefined } | undefined;
  /** Core's note for the next request: why the last answer was refused. */
  note: string | undefined;
  /** Why a person is asked about the calls of the next answer, and of the latest. */
  suspicion: string | undefined;
  suspected: string | undefined;
  /** What a monitor wants at a limit that it has set. */
  forced: 'stop' | 'finalize' | undefined;
  /** The latest answer was a thought alone. */
  hasThought: boolean;
  ending: Ending | undefined;
  ended: RunEndEvent | undefined;
  usage: Usage;
  /** The model of the latest call. */
  model: string;
  /** Models of whose answers it is not known what they cost, and how many tokens they took: a limit on either cannot hold. */
  unpriced: string | undefined;
  uncounted: string | undefined;
  usedTurns: number;
  usedToolCalls: number;
  usedHandoffs: number;
  repairs: number;
  empties: number;
  /** A call was kept from running by this limit. */
  limitHit: LimitName | undefined;
  /** The last call of `onLimit: 'finalize'` was begun, for this limit. */
  finalizing: LimitName | undefined;
  /** That call has been answered. */
  hasLastAnswer: boolean;
  /** The highest number of equal calls with equal results in a row. */
  repeated: number;
  /** By the name of the tool. */
  readonly repeats: Map<string, Repeats>;
  /** Inputs of started calls that run once. */
  effects: Map<string, { readonly callId: string; readonly input: JsonObject }[]> | undefined;
  approvals: number;
  /** When each approval that is open was asked for, by its id. */
  askedAt: Map<string, number> | undefined;
  activeMs: number;
  lastAt: number;
  children: Map<string, RunState> | undefined;
}

/** The calls of one tool: the first, and once there was a second, all by their input. */
export interface Repeats {
  readonly first: Repeat;
  byInput: Map<string, Repeat> | undefined;
}

export interface Repeat {
  readonly input: JsonObject;
  readonly variant: number | undefined;
  result: string;
  count: number;
  turn: number;
}

export const noCalls: ReadonlyMap<string, CallState> = new Map();

/** The fold of a log. Mutable, owned by one writer; users never see it. */
export interface LogState {
  seq: number;
  readonly conversation: Conversation;
  readonly runs: Map<string, RunState>;
  /** Decisions that hold for later calls. */
  standing: readonly Standing[];
  /** The latest run that is no child. */
  root: RunState | undefined;
  /** Of the latest `run.start` or `run.resume`. */
  writer: string | undefined;
}

export function newLogState(): LogState {
  return { seq: 0, conversation: newConversation(), runs: new Map(), standing: [], root: undefined, writer: undefined };
}
