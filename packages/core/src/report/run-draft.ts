// One run while its report is made.
import type { LogEvent, Manifest } from '../state/events.js';
import type {
  CallEntry,
  Draft,
  EndEntry,
  HandoffEntry,
  InputEntry,
  OtherEntry,
  ReportApproval,
  ReportRun,
  ReportVerdict,
  ResumeEntry,
  TurnEntry,
} from './types.js';

export type CallDraft = Draft<CallEntry>;
export type HandoffDraft = Draft<HandoffEntry>;
export type TurnDraft = Draft<TurnEntry>;
export type EntryDraft =
  | Draft<InputEntry>
  | TurnDraft
  | CallDraft
  | HandoffDraft
  | Draft<ResumeEntry>
  | Draft<EndEntry>
  | Draft<OtherEntry>;
export type VerdictDraft = Draft<ReportVerdict>;

/** What a person is asked, and about what. */
interface Question {
  readonly approval: Draft<ReportApproval>;
  readonly entry: TurnDraft | CallDraft | HandoffDraft;
}
/** Verdicts on a subject whose content is not recorded yet. */
interface Waiting {
  readonly key: string;
  readonly verdict: VerdictDraft;
}

export class RunDraft {
  readonly data: Draft<Omit<ReportRun, 'entries' | 'usage'>> & { entries: EntryDraft[] };
  readonly root: RunDraft;
  /** Of a root run: it and all its child runs. */
  readonly family: RunDraft[];
  /** Of a root run: its events, for the usage. */
  readonly events: LogEvent[] = [];
  manifest: Manifest | undefined;
  isAccepted = false;
  /** Of a child run: it stands at its call. */
  isAttached = false;
  input: Draft<InputEntry> | undefined;
  turn: TurnDraft | undefined;
  readonly calls = new Map<string, CallDraft>();
  readonly handoffs = new Map<string, HandoffDraft>();
  /** Verdicts on calls of an answer that is not recorded yet, by call. */
  readonly unclaimed = new Map<string, VerdictDraft[]>();
  /** Verdicts on what the target of a handoff will see, and the call that hands over, once it is known. */
  entering: VerdictDraft[] = [];
  enteringCall: string | undefined;
  /** Questions that nobody has answered yet, by id. */
  readonly open = new Map<string, Question>();
  /** When a call was started, by its id. */
  readonly started = new Map<string, number>();
  lastAt: number;
  private waiting: Waiting[] = [];

  constructor(
    event: LogEvent,
    readonly parent: RunDraft | undefined,
  ) {
    const { run: id, agent, seq, at } = event;
    this.data = { id, parent: event.parent, agent, status: 'open', seq, at, ms: 0, pausedMs: 0, entries: [] };
    this.root = parent?.root ?? this;
    this.family = parent === undefined ? [this] : [];
    if (parent !== undefined) this.root.family.push(this);
    this.lastAt = at;
  }

  advance(at: number): void {
    this.lastAt = Math.max(this.lastAt, at);
    this.data.ms = this.lastAt - this.data.at;
  }

  await(key: string, verdict: VerdictDraft): void {
    this.waiting.push({ key, verdict });
  }

  /** The content of these subjects is recorded: the verdicts count. */
  settle(isSettled: (key: string) => boolean): void {
    if (this.waiting.length > 0) this.waiting = this.waiting.filter(({ key }) => !isSettled(key));
  }

  /** The log was cut: what was not recorded is asked again. */
  voidWaiting(): void {
    for (const { verdict } of this.waiting) verdict.isVoid = true;
    this.waiting = [];
  }
}
