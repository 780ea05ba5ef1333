/** A text that was made of another, with the way back. */
export interface MappedText {
  readonly text: string;
  /** Offset in the original of what made the character at `index`; of `text.length`, the original's end. */
  start(index: number): number;
  /** Exclusive offset in the original of what made the characters before `index`. */
  end(index: number): number;
}

const unchanged = (source: string): MappedText => ({ text: source, start: (index) => index, end: (index) => index });

/** Pieces that are held before they are joined: single ones of a long text would live long, and take many times its memory. */
const mostPieces = 1_024;
/** Numbers that are kept of one change. */
const width = 4;

/** Writes a changed copy of a text from left to right, and knows the way back. */
export class TextChanges {
  private readonly blocks: string[] = [];
  private pieces: string[] = [];
  /** Of each change: where it begins and ends in the new text, and in the original. Bare numbers: a long text may have a change for each character. */
  private changes = new Uint32Array(64);
  private count = 0;
  private read = 0;
  private length = 0;

  constructor(private readonly source: string) {}

  /** Puts `text` in the place of `source.slice(start, end)`. To be called in order, no piece over another. */
  replace(start: number, end: number, text: string): void {
    if (start > this.read) {
      this.pieces.push(this.source.slice(this.read, start));
      this.length += start - this.read;
    }
    if (text !== '') this.pieces.push(text);
    if (this.pieces.length >= mostPieces) {
      this.blocks.push(this.pieces.join(''));
      this.pieces = [];
    }
    this.keep(this.length, this.length + text.length, start, end);
    this.length += text.length;
    this.read = end;
  }

  done(): MappedText {
    const { changes, count, source } = this;
    if (count === 0) return unchanged(source);
    const text = [...this.blocks, ...this.pieces, source.slice(this.read)].join('');
    /** Where the last change stands that begins at or before `index`; negative where none does. */
    const before = (index: number): number => {
      let low = 0;
      let high = count;
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((changes[middle * width] ?? 0) <= index) low = middle + 1;
        else high = middle;
      }
      return (low - 1) * width;
    };
    const start = (index: number): number => {
      const at = before(index);
      if (at < 0) return index;
      const to = changes[at + 1] ?? 0;
      return index < to ? (changes[at + 2] ?? 0) : (changes[at + 3] ?? 0) + (index - to);
    };
    const end = (index: number): number => {
      if (index <= 0) return 0;
      const at = before(index - 1);
      if (at < 0) return index;
      const to = changes[at + 1] ?? 0;
      return index - 1 < to ? (changes[at + 3] ?? 0) : (changes[at + 3] ?? 0) + (index - to);
    };
    return { text, start, end };
  }

  private keep(...change: readonly [from: number, to: number, start: number, end: number]): void {
    const at = this.count * width;
    if (at === this.changes.length) {
      const larger = new Uint32Array(this.changes.length * 2);
      larger.set(this.changes);
      this.changes = larger;
    }
    this.changes.set(change, at);
    this.count += 1;
  }
}

/** A text made of `first.text`, with the way back to what `first` was made of. */
export function mappedOver(first: MappedText, second: MappedText): MappedText {
  return { text: second.text, start: (index) => first.start(second.start(index)), end: (index) => first.end(second.end(index)) };
}
