import type { Dialect } from './dialect.js';

/** A piece of what a model wrote. */
export interface Piece {
  readonly type: 'text' | 'reasoning';
  readonly text: string;
}

const opening = '<think>';
const closing = '</think>';

type Stage = 'begin' | 'reasoning' | 'after' | 'text';

/**
 * Parts reasoning from text where a server leaves it in the content, between `<think>` and `</think>` at the beginning. What comes out
 * depends on the text alone, however it is cut: pieces that may become a tag wait until they do or do not.
 */
export class ThinkTags {
  readonly #isUntagged: boolean;
  #stage: Stage;
  #waiting = '';

  constructor(kind: Dialect['thinkTags']) {
    this.#isUntagged = kind === 'untagged';
    this.#stage = kind === 'text' ? 'text' : 'begin';
  }

  push(text: string): readonly Piece[] {
    if (this.#stage === 'text') return text === '' ? [] : [{ type: 'text', text }];
    this.#waiting += text;
    return [...this.#read()];
  }

  /** What still waits, once nothing more will come. Reasoning whose end was never written is reasoning. */
  end(): readonly Piece[] {
    const text = this.#waiting;
    this.#waiting = '';
    if (text === '' || this.#stage === 'after') return [];
    return [{ type: this.#stage === 'reasoning' ? 'reasoning' : 'text', text }];
  }

  *#read(): Generator<Piece> {
    if (this.#stage === 'begin') {
      const begun = this.#waiting.trimStart();
      if (begun.startsWith(opening)) this.#go('reasoning', begun.slice(opening.length));
      else if (opening.startsWith(begun)) return;
      else this.#stage = this.#isUntagged ? 'reasoning' : 'text';
    }
    if (this.#stage === 'reasoning') {
      const end = this.#waiting.indexOf(closing);
      const ready = end === -1 ? this.#waiting.length - overlap(this.#waiting) : end;
      if (ready > 0) yield { type: 'reasoning', text: this.#waiting.slice(0, ready) };
      if (end === -1) this.#waiting = this.#waiting.slice(ready);
      else this.#go('after', this.#waiting.slice(end + closing.length));
    }
    if (this.#stage === 'after') {
      const rest = this.#waiting.trimStart();
      this.#waiting = '';
      if (rest !== '') this.#go('text', rest);
    }
    if (this.#stage === 'text' && this.#waiting !== '') {
      yield { type: 'text', text: this.#waiting };
      this.#waiting = '';
    }
  }

  #go(stage: Stage, waiting: string): void {
    this.#stage = stage;
    this.#waiting = waiting;
  }
}

/** How much of the end of the text may be the beginning of the closing tag. */
function overlap(text: string): number {
  for (let length = Math.min(text.length, closing.length - 1); length > 0; length -= 1)
    if (text.endsWith(closing.slice(0, length))) return length;
  return 0;
}
