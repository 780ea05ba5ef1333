import type { OutputSubject, Span } from '../define/types.js';
import type { Label } from '../model/types.js';
import type { Refusal } from '../state/events.js';
import type { Admission } from './admission.js';
import { admit } from './admission.js';
import { Info } from './guard.js';
import type { LogDraft, RunHandle } from './handle.js';
import { isPromise } from './is-promise.js';
import { applySpans, readSpans } from './rewrite-text.js';
import type { Placed } from './stand.js';

/** What came of text that went through windows. */
export interface Windowed {
  readonly text: string;
  readonly revision: number;
  readonly refusal: Refusal | undefined;
}

/** Whether text may flow through these guardrails piece by piece. */
function areWindowed(guards: readonly Placed[]): boolean {
  return guards.every(({ spec }) => spec.window !== undefined && spec.rewrite !== undefined && spec.check === undefined);
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
    if (this.mode === 'hold') return undefined;
    if (this.mode !== 'window') {
      this.show(text);
      return undefined;
    }
    return this.feed(0, text, false);
  }

  /** `window` only: settles what is left, and appends each guardrail's one verdict. */
  async finish(subject: string): Promise<Windowed> {
    await this.feed(0, '', true);
    if (this.handle.stop) return unsettled;
    let revision = 0;
    let refusal: Refusal | undefined;
    for (const window of this.windows) {
      const { spec } = window.placed;
      const told = window.answer;
      this.handle.append({ type: 'guard.verdict', subject, revision, ...told });
      this.handle.noteAnswer('', told.action);
      if (spec.shadow) continue;
      if (window.hasFailed && spec.onError !== 'allow') {
        refusal = { action: spec.onError, surface: 'output', by: spec.name, reason: told.reason ?? '', failed: true };
        break;
      }
      if (window.isChanged) revision += 1;
    }
    return { text: this.windows.at(-1)?.output ?? '', revision, refusal };
  }

  /** Takes back what was shown and is not recorded. */
  retract(reason: string): void {
    if (this.shown === 0) return;
    this.handle.emit({ type: 'text.retract', turn: this.turn, chars: this.shown, reason });
    this.shown = 0;
  }

  private feed(from: number, text: string, isLast: boolean): undefined | Promise<void> {
    let piece = text;
    for (let index = from; index < this.windows.length; index += 1) {
      const window = this.windows[index];
      if (window === undefined) break;
      const settled = window.push(piece, isLast);
      if (isPromise(settled)) return Promise.resolve(settled).then((rest) => this.feed(index + 1, rest, isLast));
      piece = settled;
      if (window.hasRefused) return undefined;
      if (piece === '' && !isLast) return undefined;
    }
    this.show(piece);
    return undefined;
  }
}

/** One guardrail that looks at a text through a window of `2n` undecided characters behind `n` settled ones. */
class Window {
  /** What it has settled and passed on. */
  output = '';
  isChanged = false;
  /** Spans that were applied. */
  places = 0;
  hasFailed = false;
  reason: string | undefined;
  ms = 0;
  private info: Info | undefined;
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
    readonly placed: Placed,
    private readonly label: Label,
  ) {
    this.reach = placed.spec.window ?? 1;
  }

  /** Its one verdict on the whole text. */
  get answer(): Omit<Extract<LogDraft, { type: 'guard.verdict' }>, 'type' | 'subject' | 'revision'> {
    const { spec, level } = this.placed;
    const action = this.hasFailed ? spec.onError : this.isChanged ? 'rewrite' : 'allow';
    const reason = this.hasFailed ? `guardrail ${spec.name} failed` : this.reason;
    return {
      guardrail: spec.name,
      level,
      surface: 'output',
      phase: 'rewrite',
      action,
      ms: this.ms,
      ...(spec.version === undefined ? {} : { version: spec.version }),
      ...(reason === undefined ? {} : { reason }),
      ...(this.hasFailed ? { failed: true as const } : {}),
      ...(spec.shadow ? { shadow: true as const } : {}),
      ...(action === 'rewrite' ? { places: this.places } : {}),
      ...(action === 'rewrite' && spec.shadow ? { size: Object.freeze({ before: this.before, after: this.after }) } : {}),
    };
  }

  get hasRefused(): boolean {
    return this.hasFailed && this.placed.spec.onError !== 'allow' && !this.placed.spec.shadow;
  }

  /** Takes the next piece, gives what is settled now. */
  push(piece: string, isLast: boolean): string | Promise<string> {
    this.text += piece;
    const length = this.offset + this.text.length;
    if (this.hasFailed) return this.hasRefused ? '' : this.settle(length, []);
    let until = isLast ? length : length - 2 * this.reach;
    if (!isLast && cutsCharacter(this.text, until - this.offset)) until -= 1;
    if (until <= this.settled && !(isLast && length > this.settled)) return '';
    return this.ask(Math.max(0, this.settled - this.reach), { until, isLast, isFirstTry: true });
  }

  private ask(from: number, aim: Aim): string | Promise<string> {
    const { handle } = this;
    const start = cutsCharacter(this.text, from - this.offset) ? from - 1 : from;
    const content = start === this.offset ? this.text : this.text.slice(start - this.offset);
    const subject: OutputSubject = Object.freeze({
      surface: 'output',
      content,
      label: this.label,
      value: content,
      final: false,
      kind: 'answer',
    });
    this.info ??= new Info(handle, this.label, {});
    const { spec } = this.placed;
    const admission = spec.breaker === undefined ? undefined : admit(handle, spec, spec.breaker);
    const look: Look = { start, length: content.length, aim, admission, began: handle.root.clock.now() };
    if (spec.breaker !== undefined && admission === undefined) return this.take(undefined, look);
    let given: unknown;
    try {
      given = spec.rewrite?.(subject, this.info as never);
    } catch {
      given = undefined;
    }
    if (!isPromise(given)) return this.take(given, look);
    return handle.wait(given, spec.timeoutMs).then((outcome) => {
      if (outcome.kind === 'stopped') {
        // It has not failed; what it would have said is not waited for.
        admission?.release();
        return '';
      }
      return this.take(outcome.kind === 'value' ? outcome.value : undefined, look);
    });
  }

  private take(given: unknown, { start, length, aim, admission, began }: Look): string | Promise<string> {
    const { until } = aim;
    this.ms += this.handle.root.clock.now() - began;
    const spans = this.read(given, start, length);
    admission?.settle(spans === undefined);
    if (spans === undefined) {
      this.hasFailed = true;
      return this.hasRefused ? '' : this.settle(until, noSpans);
    }
    if (spans.length === 0) return this.settle(until, noSpans);
    // A span across the settled edge comes of a context that was cut: look again from where the last span ended.
    const isAcross = spans.some((span) => span.start < this.settled && span.end > this.settled);
    if (isAcross && aim.isFirstTry && this.lastEnd > start && this.lastEnd <= this.settled)
      return this.ask(this.lastEnd, { ...aim, isFirstTry: false });
    const left = spans.filter((span) => span.end > this.settled || span.start >= this.settled);
    return this.settle(
      until,
      left.map((span) => (span.start < this.settled ? { ...span, start: this.settled } : span)),
    );
  }

  /** The answer's spans in the whole text; undefined when it makes no sense or a span is too long. */
  private read(given: unknown, start: number, length: number): readonly Span[] | undefined {
    if (typeof given !== 'object' || given === null) return undefined;
    try {
      const { action, value, reason } = given as { action?: unknown; value?: unknown; reason?: unknown };
      if (action === 'allow') return noSpans;
      if (action !== 'rewrite' || typeof reason !== 'string') return undefined;
      const spans = readSpans(value, length);
      if (spans === undefined || spans.some((span) => span.end - span.start > this.reach)) return undefined;
      if (spans.length > 0) this.reason = reason;
      return spans.map((span) => ({ start: span.start + start, end: span.end + start, with: span.with }));
    } catch {
      // A getter that throws is an answer that makes no sense.
      return undefined;
    }
  }

  /** Settles up to `until`, or to the end of a span that begins before it. */
  private settle(until: number, spans: readonly Span[]): string {
    if (spans.length === 0) return this.pass(Math.max(until, this.settled), undefined);
    const own: Span[] = [];
    let end = Math.max(until, this.settled);
    for (const span of spans) {
      if (span.start >= end && !(span.start === end && until >= this.offset + this.text.length)) break;
      own.push({ start: span.start - this.settled, end: span.end - this.settled, with: span.with });
      end = Math.max(end, span.end);
    }
    return this.pass(end, own);
  }

  /** Passes the text up to `end` on, with these spans of it replaced. */
  private pass(end: number, own: readonly Span[] | undefined): string {
    const original = this.text.slice(this.settled - this.offset, end - this.offset);
    let passed = original;
    this.before += original.length;
    this.after += original.length;
    if (own !== undefined && own.length > 0) {
      this.isChanged = true;
      this.places += own.length;
      this.lastEnd = this.settled + (own.at(-1)?.end ?? 0);
      for (const span of own) this.after += span.with.length - (span.end - span.start);
      if (!this.placed.spec.shadow) passed = applySpans(original, own);
    }
    this.output += passed;
    this.settled = end;
    let keep = Math.max(this.offset, end - 2 * this.reach);
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

/** One look of a guardrail through its window. */
interface Look {
  /** Of what it is shown, in the whole text. */
  readonly start: number;
  readonly length: number;
  readonly aim: Aim;
  readonly admission: Admission | undefined;
  readonly began: number;
}

/** How far a look is to settle the text. */
interface Aim {
  readonly until: number;
  readonly isLast: boolean;
  readonly isFirstTry: boolean;
}

function cutsCharacter(text: string, at: number): boolean {
  if (at <= 0 || at >= text.length) return false;
  const before = text.charCodeAt(at - 1);
  const after = text.charCodeAt(at);
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}
