import type { Message, UserMessage } from '@guardloop/core';
import type { Range } from './left-out.js';
import { leftOutBy } from './left-out.js';

/** What is kept or left out together: a message of a user, an answer without calls, or calls with their results. */
export interface Unit extends Range {
  /** `text`: of another view. `mark`: of another view, saying what it left out. */
  readonly kind: 'user' | 'answer' | 'calls' | 'text' | 'mark' | 'result';
  /** Index of its first message. */
  readonly start: number;
  /** Index after its last message. */
  end: number;
  to: number;
}

/** A transcript as views look at it: which messages belong together, and which must stay. Grows by one message at a time. */
export class Transcript {
  readonly list: Message[] = [];
  readonly units: Unit[] = [];
  /** Indexes of the units that are answers of the model, with or without calls. */
  readonly turns: number[] = [];
  /** Indexes of the texts of other views, which stay. */
  readonly texts: number[] = [];
  private goal: { readonly unit: number; readonly run: string | undefined } | undefined;
  private said: number | undefined;
  private brief: number | undefined;
  /** Rises with every unit that must stay. */
  revision = 0;
  private openCalls = 0;
  /** How many messages of the conversation are told, those that marks stand for included. */
  private told = 0;

  /** Whether all calls have their results. */
  get isClosed(): boolean {
    return this.openCalls === 0;
  }

  /** Index of the unit with which the current turn begins: what the model has not answered yet, with the calls that it answers. */
  get current(): number {
    const last = this.units.length - 1;
    const turn = this.turns.at(-1) ?? -1;
    const goal = this.goal?.unit ?? -1;
    if (turn >= 0 && (turn === last || (this.units[turn]?.kind === 'calls' && goal < turn))) return turn;
    let current = last;
    while (current > turn + 1 && current > goal) current -= 1;
    return Math.max(0, current);
  }

  /**
   * Indexes of the units before `cut` that stay, in order: the first message of the run, what the user said last, the last brief of a
   * handoff, and texts of other views.
   */
  keptBefore(cut: number): readonly number[] {
    const kept: number[] = [];
    for (const unit of this.texts) if (unit < cut) kept.push(unit);
    for (const unit of [this.goal?.unit, this.said, this.brief])
      if (unit !== undefined && unit < cut && !kept.includes(unit)) kept.push(unit);
    return kept.sort((left, right) => left - right);
  }

  /** The first unit that may be left out with the next ones; index of a unit, `cut` when there is none before it. */
  firstLoose(from: number, cut: number): number {
    const kept = new Set(this.keptBefore(cut));
    let unit = from;
    while (unit < cut && kept.has(unit)) unit += 1;
    return unit;
  }

  add(message: Message): void {
    const index = this.list.push(message) - 1;
    const last = this.units.at(-1);
    if (message.role === 'tool' && last?.kind === 'calls') {
      last.end = index + 1;
      last.to = ++this.told;
      this.openCalls = Math.max(0, this.openCalls - 1);
      return;
    }
    const mark = leftOutBy(message);
    const kind = message.role === 'user' ? kindOf(message, mark) : kindOfAnswer(message);
    this.openCalls = message.role === 'assistant' ? message.calls.length : 0;
    const from = mark?.from ?? this.told + 1;
    if (mark !== undefined) this.told = mark.to;
    else if (kind !== 'text') this.told += 1;
    const unit = this.units.push({ kind, start: index, end: index + 1, from, to: this.told }) - 1;
    if (kind === 'answer' || kind === 'calls') this.turns.push(unit);
    else if (kind === 'text') {
      this.texts.push(unit);
      this.revision += 1;
    } else if (kind === 'user' && message.role === 'user') this.hear(message, unit);
  }

  private hear({ via, id }: UserMessage, unit: number): void {
    this.revision += 1;
    if (via === 'handoff') this.brief = unit;
    if (via !== 'user' && via !== 'parent') return;
    this.said = unit;
    const run = /^(.*)\/[is]\d+$/.exec(id)?.[1];
    const before = this.units[unit - 1]?.kind;
    // Where the id does not tell the run, one begins after an answer: what comes between calls steers the one that goes on.
    const isNew = run === undefined ? before !== 'calls' && before !== 'user' : run !== this.goal?.run;
    if (this.goal === undefined || isNew) this.goal = { unit, run };
  }
}

const kindOf = ({ via }: UserMessage, mark: Range | undefined): Unit['kind'] =>
  via !== 'view' ? 'user' : mark === undefined ? 'text' : 'mark';

const kindOfAnswer = (message: Exclude<Message, UserMessage>): Unit['kind'] =>
  message.role === 'tool' ? 'result' : message.calls.length === 0 ? 'answer' : 'calls';
