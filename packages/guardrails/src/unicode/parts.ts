/** A part of a text, so that work on a long one takes memory of a part only. */
export interface TextPart {
  /** What belongs to the part: from `start` up to `end` in the whole text. */
  readonly start: number;
  readonly end: number;
  /** Where `text` begins in the whole text. */
  readonly offset: number;
  /** The part, and what stands around it. */
  readonly text: string;
}

const partLength = 16_384;

/** A text in parts, each with so many characters more on either side. */
export function* partsOf(text: string, around: number): Generator<TextPart> {
  for (let start = 0; start < text.length || start === 0; start += partLength) {
    const end = Math.min(text.length, start + partLength);
    const offset = Math.max(0, start - around);
    yield { start, end, offset, text: text.slice(offset, end + around) };
  }
}

/** A text cut behind white space, and nowhere else: a part may be longer where there is none. */
export function* partsAtSpace(text: string): Generator<TextPart> {
  const space = /\s/g;
  let start = 0;
  do {
    space.lastIndex = start + partLength;
    const cut = start + partLength < text.length ? space.exec(text) : null;
    const end = cut === null ? text.length : cut.index + 1;
    yield { start, end, offset: start, text: text.slice(start, end) };
    start = end;
  } while (start < text.length);
}
