import type { LogEvent, RunEndEvent, TextDeltaEvent, TextRetractEvent } from '@guardloop/core';
import type { LiveText } from '@guardloop/store';
import type { Position } from './number.js';
import { checkOf, noText, writeNumber } from './number.js';
import type { NumberedEvent } from './types.js';

const retracted = 'it was not recorded';

/** A model call of the run that has no end in the log yet. */
interface OpenCall {
  readonly seq: number;
  readonly agent: string;
  readonly turn: number;
}
/** Text that stands behind an event of the log. */
interface PlacedText extends OpenCall {
  readonly text: string;
  readonly at: number;
}

/**
 * Makes one run's numbered events of its session's log and of its live text. The text of a model call stands behind its `model.start`; what
 * else is logged during the call is told after the text. So every position has one order, and what comes after it follows from the log
 * alone. Pure: the log is given to it in order, from the beginning.
 */
export class Follower {
  /** The run's end was told. */
  isOver = false;
  private isInRun = false;
  private open: OpenCall | undefined;
  private held: LogEvent[] = [];
  /** A tool has given the answer: no model call has shown it. */
  private isToolsAnswer = false;
  private turn = 0;
  /** What was shown last. */
  private shown: Position;
  private told: NumberedEvent[] = [];

  constructor(
    private readonly run: string,
    private readonly after: Position,
  ) {
    this.shown = after;
  }

  /** Whether live text can be of use now. */
  get hasOpenCall(): boolean {
    return this.open !== undefined && !this.isOver;
  }

  /** More of the log. */
  take(events: readonly LogEvent[]): readonly NumberedEvent[] {
    for (const event of events) if (!this.isOver) this.step(event);
    return this.flush();
  }

  /** What of an answer may be shown before the log has it. */
  takeLive(live: LiveText | undefined): readonly NumberedEvent[] {
    const { open } = this;
    if (open && live?.seq === open.seq && live.run === this.run) this.show({ ...open, text: live.text, at: Date.now() });
    return this.flush();
  }

  private flush(): readonly NumberedEvent[] {
    const { told } = this;
    this.told = [];
    return told;
  }

  private step(event: LogEvent): void {
    const isRoot = event.parent === undefined;
    if (!this.isInRun) {
      this.isInRun = event.type === 'run.start' && event.run === this.run;
      if (!this.isInRun) return;
    } else if (isRoot && event.run !== this.run) {
      // The session's next run has begun: this one was left as it is.
      this.close(event.at, '');
      this.isOver = true;
      return;
    }
    if (!isRoot) {
      if (this.open) this.held.push(event);
      else this.tell(event);
      return;
    }
    this.stepRoot(event);
  }

  private stepRoot(event: LogEvent): void {
    switch (event.type) {
      case 'model.start':
        this.close(event.at, '');
        this.tell(event);
        this.turn = event.turn;
        this.open = { seq: event.seq, agent: event.agent, turn: event.turn };
        return;
      case 'model.end': {
        const text = event.status === 'ok' ? event.text : '';
        this.isToolsAnswer = false;
        if (this.open) this.close(event.at, text);
        // An answer that has waited for a person.
        else this.show({ seq: event.seq - 1, agent: event.agent, turn: event.turn, text, at: event.at });
        this.tell(event);
        return;
      }
      case 'tool.end':
        if (event.answer) this.isToolsAnswer = true;
        break;
      case 'run.end':
        this.close(event.at, '');
        this.show({ seq: event.seq - 1, agent: event.agent, turn: this.turn, text: this.lastWords(event), at: event.at });
        this.tell(event);
        this.isOver = true;
        return;
      case 'run.resume':
        this.close(event.at, '');
        break;
      case 'approval.request':
        if (event.approval.surface === 'output') this.close(event.at, '');
        break;
      default:
    }
    if (this.open) this.held.push(event);
    else this.tell(event);
  }

  /** What a person is told at the end that no model call has shown. */
  private lastWords({ status, text = '', reply = '' }: RunEndEvent): string {
    return status === 'completed' && this.isToolsAnswer ? text : reply;
  }

  private tell(event: LogEvent): void {
    if (event.seq > this.after.seq) this.told.push({ number: String(event.seq), event });
  }

  /** The open call has come to an end, with this text. */
  private close(at: number, text: string): void {
    const { open } = this;
    if (open === undefined) return;
    this.open = undefined;
    this.show({ ...open, text, at });
    for (const event of this.held) this.tell(event);
    this.held = [];
  }

  /** Shows so much of a text as was not shown yet; takes back what is no beginning of it. */
  private show({ seq, agent, turn, text, at }: PlacedText): void {
    if (seq < this.shown.seq) return;
    if (seq > this.shown.seq) this.shown = { seq, characters: 0, check: noText };
    const base = { at, run: this.run, agent, turn };
    const { characters, check } = this.shown;
    if (characters > text.length || checkOf(text, characters) !== check) {
      this.shown = { seq, characters: 0, check: noText };
      this.tellText({ type: 'text.retract', ...base, chars: characters, reason: retracted });
    }
    const rest = text.slice(this.shown.characters);
    if (rest === '') return;
    this.shown = { seq, characters: text.length, check: checkOf(text) };
    this.tellText({ type: 'text.delta', ...base, text: rest });
  }

  private tellText(event: TextDeltaEvent | TextRetractEvent): void {
    this.told.push({ number: writeNumber(this.shown), event });
  }
}
