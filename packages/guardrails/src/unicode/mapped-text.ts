/** A text that was made of another, with the way back. */
export interface MappedText {
  readonly text: string;
  /** Offset in the original of what made the character at `index`; of `text.length`, the original's end. */
  start(index: number): number;
  /** Exclusive offset in the original of what made the characters before `index`. */
  end(index: number): number;
}

const unchanged = (source: string): MappedText => ({ text: source, start: (index) => index, end: (index) => index });

/** Writes a changed copy of a text from left to right, and knows the way back. */
export class TextChanges {
  private readonly pieces: string[] = [];
  /** Of each change: where it begins and ends in the new text, and in the original. */
  private readonly changes: { readonly from: number; readonly to: number; readonly start: number; readonly end: number }[] = [];
  private read = 0;
  private length = 0;

  constructor(private readonly source: string) {}

  /** Puts `text` in the place of `source.slice(start, end)`. To be called in order, no piece over another. */
  replace(start: number, end: number, text: string): void {
    if (start > this.read) {
      this.pieces.push(this.source.slice(this.read, start));
      this.length += start - this.read;
    }
    this.pieces.push(text);
    this.changes.push({ from: this.length, to: this.length + text.length, start, end });
    this.length += text.length;
    this.read = end;
  }

  done(): MappedText {
    const { changes, source } = this;
    if (changes.length === 0) return unchanged(source);
    const text = this.pieces.join('') + source.slice(this.read);
    /** The last change that begins at or before `index`, and makes at least one character or stands wholly before it. */
    const before = (index: number): number => {
      let low = 0;
      let high = changes.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((changes[middle]?.from ?? 0) <= index) low = middle + 1;
        else high = middle;
      }
      return low - 1;
    };
    const start = (index: number): number => {
      const change = changes[before(index)];
      if (change === undefined) return index;
      return index < change.to ? change.start : change.end + (index - change.to);
    };
    const end = (index: number): number => {
      if (index <= 0) return 0;
      const change = changes[before(index - 1)];
      if (change === undefined) return index;
      return index - 1 < change.to ? change.end : change.end + (index - change.to);
    };
    return { text, start, end };
  }
}

/** A text made of `first.text`, with the way back to what `first` was made of. */
export function mappedOver(first: MappedText, second: MappedText): MappedText {
  return { text: second.text, start: (index) => first.start(second.start(index)), end: (index) => first.end(second.end(index)) };
}
