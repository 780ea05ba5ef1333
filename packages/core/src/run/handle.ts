import type { LimitFunction } from 'p-limit';
import type { AgentSpec, GuardrailSpec, ProjectFunction, ReturnedHandoff } from '../define/specs.js';
import { GuardloopError, safeCause } from '../errors.js';
import type { Clock } from '../model/clock.js';
import type { AssistantMessage, JsonObject, Message, Model, ModelEvent, ModelSettings, UserMessage } from '../model/types.js';
import type { CallTally, RunCall } from '../state/call-tally.js';
import type { Action, LimitName, LogEvent, RunEvent, WatchEvent } from '../state/events.js';
import { apply } from '../state/fold.js';
import type { LogState, RunState } from '../state/state.js';
import { addTo } from './add-to.js';
import type { ApprovalSigner } from './approval-keys.js';
import type { Channel } from './channel.js';
import { isPromise } from './is-promise.js';
import type { Observers } from './observers.js';
import { deepFreeze } from './plain-output.js';
import { readOnly } from './read-only.js';
import type { Offered, Plan } from './stand.js';
import type { Steering } from './steering.js';
import type { StoreWriter } from './store-writer.js';
import type { QuarantineStore, View } from './types.js';
import type { Watching } from './watching.js';

type Draft<E> = E extends unknown ? Omit<E, 'seq' | 'at' | 'run' | 'agent' | 'parent'> : never;
/** What `append` fills in. The drafts of every turn name these fields: so their objects have room for them from the start. */
interface Unfilled {
  seq?: 0;
  at?: 0;
  run?: '';
  agent?: '';
}
export type LogDraft = Draft<LogEvent> & Unfilled;
export type WatchDraft = Draft<WatchEvent>;

/** Why a run is being stopped. The first reason counts. */
export type Stop =
  | { readonly kind: 'cancel'; readonly reason: unknown }
  | { readonly kind: 'halt' }
  | { readonly kind: 'limit'; readonly limit: LimitName }
  | { readonly kind: 'store'; readonly error: GuardloopError }
  | { readonly kind: 'fault'; readonly error: GuardloopError }
  | { readonly kind: 'parent' };

/** What came of a promise that was waited for. */
export type Settled<T> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'late' }
  | { readonly kind: 'stopped' };

/** What the caller chose, for the whole tree of runs. */
export interface Settings {
  readonly release: 'checked' | 'live';
  readonly reasoning: 'hide' | 'show';
  readonly project: ProjectFunction | undefined;
  readonly view: View<never> | undefined;
  readonly quarantine: QuarantineStore | undefined;
  readonly signer?: ApprovalSigner | undefined;
  readonly ignoresStanding?: boolean | undefined;
  readonly concurrency: number;
  readonly model: Model | undefined;
  /** Laid over those of each agent. */
  readonly ofModel: ModelSettings | undefined;
}

/** What the runs of one tree share: the log and everything outside it. */
export interface Root {
  readonly log: LogState;
  /** The whole log. */
  readonly events: LogEvent[];
  readonly writer: StoreWriter | undefined;
  readonly writerId: string;
  readonly channel: Channel | undefined;
  readonly observers: Observers | undefined;
  /** Of a run that is watched. */
  readonly steering: Steering | undefined;
  readonly clock: Clock;
  readonly context: unknown;
  readonly settings: Settings;
  readonly runGuards: readonly GuardrailSpec[];
  /** Decisions that are not in the log yet: edits and results, by approval id. */
  readonly given:
    | { readonly edits: Map<string, JsonObject>; readonly results: Map<string, unknown>; readonly deciders: Map<string, string> }
    | undefined;
  /** Runs that ended while an answer of theirs waited in quarantine. */
  undecided?: RunState[] | undefined;
  /** Calls that stand before their guardrails, by path, in the order in which they came there; those of answers that are not recorded yet. */
  preparing?: Map<string, RunCall> | undefined;
  /** Of a replay: what the log held up to here, verdicts apart. */
  readonly past?: readonly LogEvent[] | undefined;
  /** Made when a guardrail first asks for other calls. */
  tally?: CallTally | undefined;
  /** The run is over: the session's next one may go. */
  readonly leave: (() => void) | undefined;
  /** Keeps what the log folds to for the session's next run in this process. Once the run has ended and is stored. */
  readonly remember: (() => void) | undefined;
  /** The one loop, for child runs. */
  loop(handle: RunHandle): Promise<void>;
}

/** A model call that `guardInput` started beside its checks. */
export interface OpenModelCall {
  readonly events: AsyncIterator<ModelEvent>;
  /** The first read, already under way. */
  first: Promise<IteratorResult<ModelEvent>> | undefined;
  /** Of a call that can be aborted alone. */
  readonly controller: AbortController | undefined;
  readonly off: (() => void) | undefined;
  readonly turn: number;
  readonly model: Model;
  readonly names: ReadonlyMap<string, Offered>;
  readonly isFinal: boolean;
}

/** A call's input: raw as it is recorded, and parsed as functions get it. */
export interface CallInput {
  readonly raw: JsonObject;
  readonly parsed: unknown;
}

/** Where a run stands. */
export interface Place {
  readonly agents: ReadonlyMap<string, AgentSpec>;
  readonly parent?: RunHandle | undefined;
  /** Whether its watch-only events are told; true when left out. */
  readonly isStreamed?: boolean | undefined;
  /** Of a child run: whether it does nothing again that one beside it has done; false when left out. */
  readonly sharesEffects?: boolean | undefined;
}

/** One run in progress: what its stages work with. */
export class RunHandle {
  stop: Stop | undefined;
  /** When the run was stopped. */
  private stoppedAt = 0;
  private reason: unknown;
  /** Computed once per activation of an agent. */
  plan: Plan | undefined;
  /** Inputs of the calls of this turn, by call id, as they were prepared. */
  inputs: Map<string, CallInput> | undefined;
  /** Handoffs that tools returned, whose filters live only here. */
  returned: Map<string, ReturnedHandoff> | undefined;
  openModelCall: OpenModelCall | undefined;
  /** Of the active agent's monitors. */
  watching: Watching | undefined;
  /** Of this run alone: a child under its parent's cap could wait for itself. */
  slots: LimitFunction | undefined;
  /** Inputs of refused calls, numbered: so equal ones are told from others though none is recorded. */
  unrecorded: Map<string, number> | undefined;
  unrecordedCount = 0;
  /** What the run was given and has not been accepted yet. */
  input: readonly (UserMessage | AssistantMessage)[] | undefined;
  /** The parsed answer of a structured output, and the call whose tool gave it. */
  answer: { readonly value: unknown; readonly callId?: string | undefined } | undefined;
  /** Letters of verdicts that no event has committed yet: of the entry or answer, and of calls and views by what they are about. */
  private entryAnswers = '';
  private otherAnswers: { readonly matter: string; letters: string }[] | undefined;
  private controller: AbortController | undefined;
  private shown: { readonly messages: readonly Message[]; readonly view: readonly Message[] } | undefined;
  private stopListeners: (() => void)[] | undefined;

  /** Shared; replaced when a tool hands over to an agent that was not known. */
  agents: ReadonlyMap<string, AgentSpec>;
  readonly parent: RunHandle | undefined;
  readonly isStreamed: boolean;
  readonly sharesEffects: boolean;

  constructor(
    readonly root: Root,
    readonly state: RunState,
    { agents, parent, isStreamed = true, sharesEffects = false }: Place,
  ) {
    this.agents = agents;
    this.parent = parent;
    this.isStreamed = isStreamed;
    this.sharesEffects = sharesEffects;
  }

  get agentPath(): readonly string[] {
    return this.parent ? [...this.parent.agentPath, this.state.agent] : [this.state.agent];
  }

  get messages(): readonly Message[] {
    return this.state.conversation.view;
  }

  /** Messages as others may see them: live, not to be written through, and the same view for as long as it is the same array. */
  showMessages(messages: readonly Message[]): readonly Message[] {
    if (this.shown?.messages !== messages) this.shown = { messages, view: readOnly(messages) };
    return this.shown.view;
  }

  /** Aborted when the run is stopped. Made on first use. */
  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.stop) this.controller.abort(this.stopReason);
    }
    return this.controller.signal;
  }

  /** Completes a draft, which it takes over, and adds it. */
  append(draft: LogDraft): void {
    const { root, state } = this;
    const answers = this.takeAnswers(draft);
    if (draft.type === 'approval.resolve') {
      const askedAt = state.askedAt?.get(draft.id);
      if (askedAt !== undefined) Object.assign(draft, { askedAt });
    }
    const event = draft as unknown as { -readonly [K in keyof LogEvent]: LogEvent[K] };
    event.seq = root.log.seq + 1;
    event.at = root.clock.now();
    event.run = state.id;
    event.agent = state.agent;
    if (state.parent !== undefined) event.parent = state.parent.id;
    if (answers !== undefined) event.answers = answers;
    this.publish(event as LogEvent);
  }

  /** Notes that a verdict was appended; `matter` is the call it is about, `view` for what a view wrote, or empty. */
  noteAnswer(matter: string, action: Action): void {
    const letter = answerLetters[action];
    if (matter === '') {
      this.entryAnswers += letter;
      return;
    }
    const known = this.otherAnswers?.find((each) => each.matter === matter);
    if (known) known.letters += letter;
    else this.otherAnswers = addTo(this.otherAnswers, { matter, letters: letter });
  }

  /** The verdicts that an event commits. */
  private takeAnswers(draft: LogDraft): string | undefined {
    if (draft.type === 'guard.verdict') return undefined;
    const matter = committedMatter(draft, this.state.id);
    if (matter === undefined) return undefined;
    if (matter === '') {
      // What refused a view's text has ended the run.
      const view = draft.type === 'run.end' ? this.otherAnswers?.find((each) => each.matter === 'view')?.letters : undefined;
      const answers = this.entryAnswers + (view ?? '');
      this.entryAnswers = '';
      return answers === '' ? undefined : answers;
    }
    const known = this.otherAnswers?.find((each) => each.matter === matter);
    if (known === undefined) return undefined;
    this.otherAnswers = this.otherAnswers?.length === 1 ? undefined : this.otherAnswers?.filter((each) => each !== known);
    return known.letters;
  }

  /** Adds a finished event to the log, the state, the store and the watchers. */
  publish(event: LogEvent): void {
    const { root } = this;
    if (holdsOnlyFrozen.has(event.type)) Object.freeze(event);
    else deepFreeze(event);
    root.events.push(event);
    apply(root.log, event);
    root.writer?.add(event);
    root.channel?.push(event);
    root.observers?.tell(event);
  }

  /** A watch-only event. A child's reach the parent's stream only if its tool was made so. */
  emit(draft: WatchDraft): void {
    if (this.isStreamed) this.tell(draft);
  }

  /** A watch-only event that is about more than this run: told whoever's child it is. */
  tell(draft: WatchDraft): void {
    const { root, state } = this;
    if (root.channel === undefined && root.observers === undefined) return;
    const event = draft as unknown as { -readonly [K in keyof RunEvent]: RunEvent[K] };
    event.at = root.clock.now();
    event.run = state.id;
    event.agent = state.agent;
    if (state.parent !== undefined) event.parent = state.parent.id;
    Object.freeze(event);
    root.channel?.push(event as RunEvent);
    root.observers?.tell(event as RunEvent);
  }

  /** Ends everything in flight. The first reason counts. */
  abort(stop: Stop): void {
    if (this.stop) return;
    this.stop = stop;
    this.stoppedAt = this.root.clock.now();
    for (const listener of [...(this.stopListeners ?? [])]) listener();
    this.controller?.abort(this.stopReason);
  }

  /** Stops the run when its active time is used up; returns what takes the timer off. */
  armTimeLimit(): () => void {
    const left = this.state.limits.ms - this.state.activeMs;
    if (left === Number.POSITIVE_INFINITY) return () => undefined;
    return this.root.clock.after(Math.max(0, left), () => this.abort({ kind: 'limit', limit: 'ms' }));
  }

  /** Calls `listener` once when the run is stopped; returns what takes it off again. */
  onStop(listener: () => void): () => void {
    this.listen(listener);
    return () => this.offStop(listener);
  }

  private listen(listener: () => void): void {
    if (this.stop) {
      listener();
      return;
    }
    this.stopListeners = addTo(this.stopListeners, listener);
  }

  private offStop(listener: () => void): void {
    const listeners = this.stopListeners;
    const at = listeners?.indexOf(listener) ?? -1;
    if (at < 0) return;
    if (listeners?.length === 1) this.stopListeners = undefined;
    else listeners?.splice(at, 1);
  }

  /** What the signals of a stopped run are aborted with: the caller's own reason, in child runs too, or what names the cause. */
  get stopReason(): unknown {
    if (this.stop) this.reason ??= (this.stop.kind === 'parent' ? this.parent?.stopReason : undefined) ?? reasonOf(this.stop);
    return this.reason;
  }

  /** Milliseconds since the run was stopped; 0 while it goes on, and where the clock was put back: nobody waits longer for that. */
  private get sinceStopMs(): number {
    return this.stop === undefined ? 0 : Math.max(0, this.root.clock.now() - this.stoppedAt);
  }

  /**
   * Waits for a promise at most `ms`, and no longer than the run goes on. Never rejects; what settles later is ignored.
   * `graceMs`: how long after a stop it may settle. It is counted from the stop, so that waits one after another share it.
   */
  wait<T>(promise: PromiseLike<T>, ms?: number, graceMs = 0): Promise<Settled<T>> {
    return new Promise((resolve) => {
      let stopTimer: (() => void) | undefined;
      let stopGrace: (() => void) | undefined;
      let isDone = false;
      const done = (settled: Settled<T>): void => {
        if (isDone) return;
        isDone = true;
        stopTimer?.();
        stopGrace?.();
        this.offStop(stop);
        resolve(settled);
      };
      const fulfil = (value: T): void => done({ kind: 'value', value });
      const reject = (error: unknown): void => done({ kind: 'threw', error });
      const stop = (): void => {
        const left = graceMs - this.sinceStopMs;
        if (left > 0) stopGrace = this.root.clock.after(left, () => done({ kind: 'stopped' }));
        else done({ kind: 'stopped' });
      };
      try {
        promise.then(
          // A thenable of others may give another one.
          (value) => (isPromise(value) ? Promise.resolve(value).then(fulfil, reject) : fulfil(value)),
          reject,
        );
      } catch (error) {
        done({ kind: 'threw', error });
      }
      if (isDone) return;
      this.listen(stop);
      if (isDone) return;
      if (ms !== undefined && ms !== Number.POSITIVE_INFINITY) stopTimer = this.root.clock.after(ms, () => done({ kind: 'late' }));
    });
  }

  /** Waits until the store holds everything. False: it does not, and the run is being stopped. */
  async barrier(): Promise<boolean> {
    const { writer } = this.root;
    if (writer === undefined) return true;
    for (let wait = writer.barrier(); wait; wait = writer.barrier()) {
      if ((await this.wait(wait)).kind === 'stopped') return false;
    }
    return writer.failure === undefined;
  }

  /** Whether the session is still this run's, where that can be asked. False: it is not, and the run is being stopped. */
  stillWrites(): boolean | Promise<boolean> {
    const { writer } = this.root;
    const asked = writer?.confirm();
    if (asked === undefined) return true;
    return this.wait(asked).then(({ kind }) => kind !== 'stopped' && writer?.failure === undefined);
  }

  /** As {@link barrier}, at the end: a stopped run too waits, for `graceMs` more. A store that takes longer has failed. */
  async lastBarrier(): Promise<void> {
    const { writer } = this.root;
    if (writer === undefined) return;
    for (let wait = writer.barrier(); wait; wait = writer.barrier()) {
      const settled = await this.wait(wait, undefined, this.sinceStopMs + graceMs);
      if (settled.kind === 'stopped') writer.giveUp(this.stopReason);
    }
  }
}

/** Events in which everything that has fields of its own is deep-frozen when it is put there. */
const holdsOnlyFrozen: ReadonlySet<LogEvent['type']> = new Set(['guard.verdict', 'run.start', 'tool.start']);

const answerLetters: { readonly [A in Action]: string } = { allow: 'a', rewrite: 'r', ask: 'k', deny: 'd', halt: 'h' };

function committedMatter(draft: LogDraft, run: string): string | undefined {
  switch (draft.type) {
    case 'input.accept':
    case 'model.end':
    case 'run.end':
      return '';
    case 'model.start':
      return 'view';
    case 'tool.start':
    case 'tool.end':
    case 'handoff':
    case 'handoff.refused':
      return draft.callId;
    case 'approval.request':
      return draft.approval.surface === 'output' ? '' : draft.approval.callId;
    case 'approval.resolve':
      return draft.subject.slice(run.length + 1);
    default:
      return undefined;
  }
}

/** How long started effects, and the store, may take to settle after a halt or cancel, milliseconds. */
export const graceMs = 2_000;

function reasonOf(stop: Stop): unknown {
  switch (stop.kind) {
    case 'cancel':
      return stop.reason ?? new DOMException('The run was cancelled.', 'AbortError');
    case 'limit':
      return new DOMException(`The run has reached its limit ${stop.limit}.`, 'TimeoutError');
    case 'store':
    case 'fault':
      return stop.error;
    default:
      return new DOMException('The run was stopped.', 'AbortError');
  }
}

/** Why a run is stopped that something was thrown in. Its error is safe to keep, whatever that was. */
export function faultStop(handle: RunHandle, thrown: unknown): Stop {
  if (GuardloopError.is(thrown)) return { kind: 'fault', error: thrown };
  const cause = safeCause(thrown);
  const message =
    `A function of agent ${handle.state.agent} (its instructions or model, for example), or of the run's options, threw: ${cause.name}. ` +
    'The run was stopped. What was thrown may quote content and is not kept: catch it in the function, and check that the run has its `context`.';
  return { kind: 'fault', error: new GuardloopError('INTERNAL', message, { cause }) };
}
