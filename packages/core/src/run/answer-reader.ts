import { GuardloopError } from '../errors.js';
import type { ModelCall, ModelEvent, Usage } from '../model/types.js';
import { usageOfFailure } from '../model/usage.js';
import type { OpenModelCall, RunHandle } from './handle.js';
import type { Release } from './release.js';

/** How long a model may take to notice an abort, or to close its stream, before it is left alone, milliseconds. */
export const leaveMs = 40;

/** Characters of a warning that are told. */
const longestWarning = 1_000;

/** Reads a model's events, and passes on what may flow. */
export class AnswerReader {
  text = '';
  reasoning = '';
  readonly calls: ModelCall[] = [];
  end: Extract<ModelEvent, { type: 'end' }> | undefined;
  retries = 0;
  /** Set when nobody waits any more: later events are void. */
  isOver = false;
  /** Reasoning flows only where nothing guards it. */
  readonly isReasoningShown: boolean;
  /** Text is reasoning. */
  private readonly isThoughtShown: boolean;
  private readonly release: Release;
  reading: Promise<IteratorResult<ModelEvent>> | undefined;
  /** Half a character at the end of what came, kept back until its other half is there. */
  private readonly halves = { text: '', reasoning: '' };

  constructor(
    private readonly handle: RunHandle,
    private readonly open: OpenModelCall,
    { release, isUnguarded, isThought = false }: { readonly release: Release; readonly isUnguarded: boolean; readonly isThought?: boolean },
  ) {
    this.release = release;
    this.isReasoningShown = isUnguarded && handle.root.settings.reasoning === 'show';
    this.isThoughtShown = isThought && this.isReasoningShown;
  }

  /** Reads to the end. Rejects with what the stream throws, or MODEL_PROTOCOL. */
  async read(): Promise<void> {
    const { open, handle } = this;
    // A run that nobody watches, as most child runs, waits for no reader.
    const channel = handle.isStreamed ? handle.root.channel : undefined;
    this.reading = open.first ?? open.events.next();
    for (;;) {
      const { value: event, done } = await this.reading;
      if (done || this.isOver) return;
      const waiting = this.take(event);
      if (waiting !== undefined) await waiting;
      if (channel) {
        const ready = channel.ready();
        if (ready !== undefined) await ready;
        if (this.isOver) return;
      }
      this.reading = open.events.next();
      // The answer is whole: a stream that stays open holds it up no longer.
      if (this.end && !(await this.closes(this.reading))) {
        open.events.return?.().then(undefined, () => undefined);
        return;
      }
    }
  }

  /** Whether the stream goes on to its end soon. One that has nothing more to wait for does so within some microtasks, and gets no timer. */
  private async closes(reading: Promise<unknown>): Promise<boolean> {
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
    };
    reading.then(settle, settle);
    for (let ticks = 0; ticks < 10 && !isSettled; ticks += 1) await undefined;
    return isSettled || (await this.handle.wait(reading, leaveMs)).kind !== 'late';
  }

  private take(event: ModelEvent): undefined | Promise<void> {
    const { handle } = this;
    if (this.end) throw this.misstep(event.type === 'end' ? 'ended its answer twice' : 'went on after the end of its answer');
    switch (event.type) {
      case 'text.delta':
        if (typeof event.text !== 'string') throw this.misstep('gave a text that is none');
        return this.takeText(this.whole('text', event.text));
      case 'reasoning.delta':
        if (typeof event.text !== 'string') throw this.misstep('gave a text that is none');
        this.takeReasoning(this.whole('reasoning', event.text));
        return undefined;
      case 'tool.call':
        if (!isCall(event.call)) throw this.misstep('gave a call without a name or arguments');
        this.calls.push(event.call);
        return undefined;
      case 'retry':
        this.retries += 1;
        handle.emit({ type: 'model.retry', attempt: event.attempt, waitMs: event.waitMs });
        return undefined;
      case 'warning':
        this.warn(event);
        return undefined;
      case 'end':
        this.end = event;
        return this.takeHalves();
      default:
        return undefined;
    }
  }

  private takeText(text: string): undefined | Promise<void> {
    if (text === '') return undefined;
    this.text += text;
    if (this.isThoughtShown) this.handle.emit({ type: 'reasoning.delta', turn: this.open.turn, text });
    return this.release.push(text);
  }

  private takeReasoning(text: string): void {
    if (text === '') return;
    this.reasoning += text;
    if (this.isReasoningShown) this.handle.emit({ type: 'reasoning.delta', turn: this.open.turn, text });
  }

  /** A piece in whole characters: models, and what stands between, cut where they like. */
  private whole(kind: 'text' | 'reasoning', piece: string): string {
    const text = this.halves[kind] + piece;
    const last = text.charCodeAt(text.length - 1);
    const isCut = last >= 0xd800 && last <= 0xdbff;
    this.halves[kind] = isCut ? text.slice(-1) : '';
    return isCut ? text.slice(0, -1) : text;
  }

  /** Halves whose other half never came. */
  private takeHalves(): undefined | Promise<void> {
    const { text, reasoning } = this.halves;
    this.takeReasoning(reasoning);
    return this.takeText(text);
  }

  /** A warning is for those who watch: one that is none fails no run. */
  private warn({ about, message, item }: Extract<ModelEvent, { type: 'warning' }>): void {
    if (typeof about !== 'string' || typeof message !== 'string') return;
    const draft = { type: 'model.warning', turn: this.open.turn, about, message: message.slice(0, longestWarning) } as const;
    this.handle.emit(typeof item === 'string' ? { ...draft, item } : draft);
  }

  /** What the call used, as far as it is told. `thrown`: what it failed with. */
  usage(thrown: unknown): Usage {
    const { end, retries } = this;
    if (end === undefined) return usageOfFailure(thrown, 1 + retries);
    const { usage }: { readonly usage?: Partial<Usage> } = end;
    return Number.isFinite(usage?.requests) ? end.usage : { ...usage, requests: 1 + retries };
  }

  private misstep(what: string): GuardloopError {
    return new GuardloopError(
      'MODEL_PROTOCOL',
      `Model ${this.open.model.id} ${what}. Nothing of it was recorded; resume the run to ask again.`,
      {
        isRetryable: true,
      },
    );
  }
}

function isCall(call: unknown): call is ModelCall {
  if (typeof call !== 'object' || call === null) return false;
  const { name, unparsable } = call as { readonly name?: unknown; readonly unparsable?: unknown };
  return typeof name === 'string' && (typeof unparsable === 'string' || (unparsable === undefined && 'input' in call));
}
