import type { OutputSubject, Span } from '../define/types.js';
import type { Label } from '../model/types.js';
import type { GuardFailure, Refusal } from '../state/events.js';
import type { Admission } from './admission.js';
import { admit } from './admission.js';
import { failedReason, Info } from './guard.js';
import { failureOf, givenBy, thrownBy, unasked } from './guard-failure.js';
import type { LogDraft, RunHandle } from './handle.js';
import { isPromise } from './is-promise.js';
import { applySpans, cutsCharacter, readSpans } from './rewrite-text.js';
import type { Placed } from './stand.js';

/** What came of text that went through windows. */
export interface Windowed {
  readonly text: string;
  readonly revision: number;
  readonly refusal: Refusal | undefined;
}

/** Whether text may flow through these guardrails piece by piece. */
function areWindowed(guards: readonly Placed[]): boolean {
  return guards.every(({ spec }) => spec.window !== undefined);
}

/** The answer that is held back. */
export interface Held {
  readonly turn: number;
  readonly guards: readonly Placed[];
  readonly isStructured: boolean;
  readonly label: Label;
}

/**
 * Holds the text of one answer back until it may be shown. `flow`: nothing guards it. `live`: shown at once, by the caller's wish.
 * `window`: shown as far as every window has settled it. `hold`: shown when the whole has passed.
 */
export class Release {
  readonly mode: 'flow' | 'live' | 'window' | 'hold';
  /** Characters shown and not taken back. */
  shown = 0;
  private readonly windows: readonly Window[];

  private readonly turn: number;

  constructor(
    private readonly handle: RunHandle,
    { turn, guards, isStructured, label }: Held,
  ) {
    this.turn = turn;
    if (isStructured) this.mode = 'hold';
    else if (guards.length === 0) this.mode = 'flow';
    else if (handle.root.settings.release === 'live') this.mode = 'live';
    else this.mode = areWindowed(guards) ? 'window' : 'hold';
    this.windows = this.mode === 'window' ? guards.map((placed) => new Window(handle, placed, label)) : noWindows;
  }

  /** Nothing is shown once the run is stopped: it would only be taken back. */
  show(text: string): void {
    if (text === '' || this.handle.stop) return;
    this.shown += text.length;
    this.handle.emit({ type: 'text.delta', turn: this.turn, text });
  }

  /** One more piece of the answer. */
  push(text: string): undefined | Promise<void> {
    return this.mode === 'hold' ? undefined : this.feed(0, text, false);
  }

  /** `window` only: settles what is left, and appends each guardrail's one verdict. */
  async finish(subject: string): Promise<Windowed> {
    await this.feed(0, '', true);
    if (this.handle.stop) return unsettled;
    let revision = 0;
    let text = '';
    for (const window of this.windows) {
      const { answer, refusal } = window;
      this.handle.append({ type: 'guard.verdict', subject, revision, ...answer });
      this.handle.noteAnswer('', answer.action);
      if (refusal) return { text: '', revision, refusal };
      if (window.isRewritten) revision += 1;
      text = window.output;
    }
    return { text, revision, refusal: undefined };
  }

  /** Takes back what was shown and is not recorded. */
  retract(reason: string): void {
    if (this.shown === 0) return;
    this.handle.emit({ type: 'text.retract', turn: this.turn, chars: this.shown, reason });
    this.shown = 0;
  }

  /** Puts a piece through the windows from `index` on, and shows what comes out of the last. */
  private feed(index: number, text: string, isLast: boolean): undefined | Promise<void> {
    const window = this.windows[index];
    if (window === undefined) {
      this.show(text);
      return undefined;
    }
    if (this.handle.stop) return undefined;
    const passed = window.push(text, isLast);
    return isPromise(passed)
      ? (passed as Promise<string | undefined>).then((rest) => this.feedRest(index, rest, isLast))
      : this.feedRest(index, passed, isLast);
  }

  private feedRest(index: number, text: string | undefined, isLast: boolean): undefined | Promise<void> {
    return text === undefined ? undefined : this.feed(index + 1, text, isLast);
  }
}

/** One guardrail that looks at a text through a window of `2n` undecided characters behind `n` settled ones. */
class Window {
  /** What it has settled and passed on. */
  output = '';
  /** Set when it has failed and that refuses the answer. */
  refusal: Refusal | undefined;
  private failure: GuardFailure | undefined;
  private isChanged = false;
  /** Spans that were applied. */
  private places = 0;
  /** Of the last of them. */
  private reason: string | undefined;
  private ms = 0;
  private before = 0;
  private after = 0;
  private readonly reach: number;
  /** The text from `offset` on: n characters of settled original, then what is undecided. */
  private text = '';
  private offset = 0;
  /** Everything before it is settled. */
  private settled = 0;
  /** Where the last settled span ended. */
  private lastEnd = 0;

  constructor(
    private readonly handle: RunHandle,
    private readonly placed: Placed,
    private readonly label: Label,
  ) {
    this.reach = placed.spec.window ?? 1;
  }

  /** Its one verdict on the whole text. */
  get answer(): Omit<Extract<LogDraft, { type: 'guard.verdict' }>, 'type' | 'subject' | 'revision'> {
    const { spec, level } = this.placed;
    const action = this.failure ? spec.onError : this.isChanged ? 'rewrite' : 'allow';
    const reason = this.failure ? failedReason(spec) : this.reason;
    return {
      guardrail: spec.name,
      level,
      surface: 'output',
      phase: 'rewrite',
      action,
      ms: this.ms,
      ...(spec.version === undefined ? {} : { version: spec.version }),
      ...(reason === undefined ? {} : { reason }),
      ...(this.failure ? { failed: true as const, failure: this.failure } : {}),
      ...(spec.shadow ? { shadow: true as const } : {}),
      ...(action === 'rewrite' ? { places: this.places } : {}),
      ...(action === 'rewrite' && spec.shadow ? { size: Object.freeze({ before: this.before, after: this.after }) } : {}),
    };
  }

  /** Whether others get something else than it got. */
  get isRewritten(): boolean {
    return this.isChanged && !this.placed.spec.shadow;
  }

  /** Takes the next piece, gives what is settled now. Undefined: nothing goes on, for it refuses or the run was stopped. */
  push(piece: string, isLast: boolean): Passed | Promise<Passed> {
    if (this.refusal) return undefined;
    this.text += piece;
    const length = this.offset + this.text.length;
    if (this.failure) return this.pass(length, noSpans);
    let until = isLast ? length : length - 2 * this.reach;
    if (cutsCharacter(this.text, until - this.offset)) until -= 1;
    return until <= this.settled ? '' : this.ask(this.offset, { until, isLast });
  }

  private ask(start: number, aim: Aim): Passed | Promise<Passed> {
    const { handle } = this;
    const content = this.text.slice(start - this.offset);
    const subject: OutputSubject = Object.freeze({
      surface: 'output',
      content,
      label: this.label,
      value: content,
      final: false,
      kind: 'answer',
    });
    const { spec } = this.placed;
    const admission = spec.breaker === undefined ? undefined : admit(handle, spec, spec.breaker);
    const look: Look = { start, content, aim, admission, began: handle.root.clock.now() };
    if (spec.breaker !== undefined && admission === undefined) return this.take(unasked, look);
    const info = new Info(handle, this.label, noViewer);
    let given: unknown;
    try {
      given = spec.rewrite?.(subject, info as never);
    } catch (thrown) {
      given = thrownBy(thrown, spec);
    }
    if (!isPromise(given)) {
      info.end(false);
      return this.take(given, look);
    }
    return handle.wait(given, spec.timeoutMs).then((settled) => {
      info.endAs(settled, spec);
      if (settled.kind !== 'stopped') return this.take(givenBy(settled, spec), look);
      // It has not failed; what it would have said is not waited for.
      admission?.release();
      return undefined;
    });
  }

  private take(given: unknown, { start, content, aim, admission, began }: Look): Passed | Promise<Passed> {
    this.ms += this.handle.root.clock.now() - began;
    const answer = this.read(given, start, content);
    admission?.settle(answer === undefined);
    if (answer === undefined) return this.fail(aim.until, failureOf(given));
    const { spans, reason } = answer;
    // A span across the settled edge comes of a context that was cut: look again from where the last span ended.
    if (this.lastEnd > start && spans.some((span) => span.start < this.settled && span.end > this.settled))
      return this.ask(this.lastEnd, aim);
    return this.settle(aim, spans, reason);
  }

  private fail(until: number, failure: GuardFailure): Passed {
    const { spec } = this.placed;
    this.failure = failure;
    if (spec.shadow || spec.onError === 'allow') return this.pass(until, noSpans);
    this.refusal = { action: spec.onError, surface: 'output', by: spec.name, reason: failedReason(spec), failed: true };
    return undefined;
  }

  /** The answer's spans in the whole text; undefined when it makes no sense or a span is too long. */
  private read(given: unknown, start: number, content: string): Spans | undefined {
    if (typeof given !== 'object') return undefined;
    try {
      const { action, value, reason } = given as { action?: unknown; value?: unknown; reason?: unknown };
      if (action === 'allow') return unchanged;
      if (action !== 'rewrite' || typeof reason !== 'string') return undefined;
      const spans = readSpans(value, content);
      if (spans === undefined || spans.some((span) => span.end - span.start > this.reach)) return undefined;
      return { spans: spans.map((span) => ({ start: span.start + start, end: span.end + start, with: span.with })), reason };
    } catch {
      // Null, or a getter that throws, is an answer that makes no sense.
    }
    return undefined;
  }

  /** Settles the text as far as it is to be, or to the end of a span that begins before that. */
  private settle({ until, isLast }: Aim, spans: readonly Span[], reason: string | undefined): string {
    const own: Span[] = [];
    let end = until;
    for (const span of spans) {
      if (span.start < this.settled && span.end <= this.settled) continue;
      if (span.start >= end && !isLast) break;
      own.push({ start: Math.max(span.start, this.settled) - this.settled, end: span.end - this.settled, with: span.with });
      end = Math.max(end, span.end);
    }
    if (own.length > 0) this.reason = reason;
    return this.pass(end, own);
  }

  /** Passes the text up to `end` on, with these spans of it replaced. */
  private pass(end: number, own: readonly Span[]): string {
    const original = this.text.slice(this.settled - this.offset, end - this.offset);
    let passed = original;
    this.before += original.length;
    this.after += original.length;
    for (const span of own) {
      this.isChanged = true;
      this.places += 1;
      this.lastEnd = this.settled + span.end;
      this.after += span.with.length - (span.end - span.start);
    }
    if (!this.placed.spec.shadow) passed = applySpans(original, own);
    this.output += passed;
    this.settled = end;
    let keep = Math.max(0, end - this.reach);
    if (cutsCharacter(this.text, keep - this.offset)) keep -= 1;
    this.text = this.text.slice(keep - this.offset);
    this.offset = keep;
    return passed;
  }
}

/** Of an answer whose run was stopped meanwhile: nothing is recorded of it. */
const unsettled: Windowed = Object.freeze({ text: '', revision: 0, refusal: undefined });
const noWindows: readonly Window[] = Object.freeze([]);
const noSpans: readonly Span[] = Object.freeze([]);
const noViewer = Object.freeze({});

/** What an answer is to change, and why. */
interface Spans {
  readonly spans: readonly Span[];
  readonly reason: string | undefined;
}
const unchanged: Spans = Object.freeze({ spans: noSpans, reason: undefined });

type Passed = string | undefined;

/** One look of a guardrail through its window. */
interface Look {
  /** Where what it is shown begins in the whole text. */
  readonly start: number;
  readonly content: string;
  readonly aim: Aim;
  readonly admission: Admission | undefined;
  readonly began: number;
}

/** How far a look is to settle the text. */
interface Aim {
  readonly until: number;
  readonly isLast: boolean;
}
