import { wellFormedText } from '@guardloop/core/model';

/** How a text is put to a model that takes only so much at a time. */
export interface PieceRule {
  /** Characters of one piece. */
  readonly chars: number;
  /** Characters that a piece repeats of the one before, so that nothing hides on a seam. */
  readonly overlap: number;
  /** A text of more pieces has none. */
  readonly most: number;
}

/** The text in pieces that leave nothing out; undefined where it is too long for that. Well-formed: strict providers refuse lone surrogates. */
export function piecesOf(text: string, { chars, overlap, most }: PieceRule): readonly string[] | undefined {
  const whole = wellFormedText(text);
  if (whole.length <= chars) return [whole];
  const step = chars - overlap;
  if (Math.ceil((whole.length - overlap) / step) > most) return undefined;
  const pieces: string[] = [];
  for (let start = 0; ; start += step) {
    pieces.push(wellFormedText(whole.slice(start, start + chars)));
    if (start + chars >= whole.length) return pieces;
  }
}
