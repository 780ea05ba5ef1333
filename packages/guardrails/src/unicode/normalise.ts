import { optionFault } from '@guardloop/core/model';
import { lookAlikeOf } from './look-alikes.js';
import type { MappedText } from './mapped-text.js';
import { mappedOver, TextChanges } from './mapped-text.js';

/** What {@link normalise} takes. */
export interface NormaliseOptions {
  /** Map capitals to small letters, `ß` to `ss`. Default true. */
  readonly case?: boolean | undefined;
  /**
   * Map letters of other scripts that look like a Latin one to that letter (Cyrillic `а`, Greek `ο`), so that a word list finds them. Makes
   * Russian and Greek text unreadable: for comparing only. Default false.
   */
  readonly lookAlikes?: boolean | undefined;
}

/** Nothing that Unicode calls ignorable is seen; interlinear marks and the empty Braille cell neither. One class, so linear. */
const invisible = /[\p{Default_Ignorable_Code_Point}\ufff9-\ufffb\u2800]+/gu;
/**
 * What NFKC may change, piece by piece: a character with its marks (at most 32, as in UAX 15's stream-safe form: longer runs take more than
 * linear time), Hangul letters, or one character beyond ASCII. Linear: alternatives of bounded length.
 */
const composable = /[\u1100-\u11ff]{1,3}|\P{M}\p{M}{1,32}|\P{ASCII}/gsu;
const isAscii = (text: string): boolean => !/\P{ASCII}/u.test(text);

/**
 * A text in the form in which words can be looked for: without invisible characters, in Unicode's NFKC (full-width, styled and decomposed
 * letters become plain ones), in small letters. `start` and `end` lead back to the text that was given, for redaction; that text itself is
 * left as it is. Look-alikes of other scripts stay what they are unless `lookAlikes` says otherwise. Time grows with the length; never throws
 * on text.
 */
export function normalise(text: string, options: NormaliseOptions = {}): MappedText {
  if (typeof text !== 'string') throw optionFault('normalise(…)', 'what is given is no text. Give a string.');
  const { case: mapsCase = true, lookAlikes = false } = options;
  let made: MappedText = { text, start: (index) => index, end: (index) => index };
  const then = (next: MappedText): void => {
    made = made.text === next.text ? made : mappedOver(made, next);
  };
  if (!isAscii(text)) {
    then(replaceAll(made.text, invisible, () => ''));
    then(replaceAll(made.text, composable, (piece) => piece.normalize('NFKC')));
    // What was composed of letters and marks may be ignorable in turn, such as a Hangul filler.
    then(replaceAll(made.text, invisible, () => ''));
  }
  if (lookAlikes) then(replaceAll(made.text, /\P{ASCII}/gu, (letter) => lookAlikeOf(letter) ?? letter));
  if (mapsCase) {
    then(replaceAll(made.text, /[\u0130\u00df\u1e9e]/g, (letter) => (letter === '\u0130' ? 'i' : 'ss')));
    // Of all other characters the small form is as long (Unicode's SpecialCasing), so offsets stay.
    const small = made.text.toLowerCase().replaceAll('ς', 'σ');
    made = { ...made, text: small };
  }
  return made;
}

function replaceAll(text: string, pattern: RegExp, by: (piece: string) => string): MappedText {
  const changes = new TextChanges(text);
  for (const { 0: piece, index } of text.matchAll(pattern)) {
    const other = by(piece);
    if (other !== piece) changes.replace(index, index + piece.length, other);
  }
  return changes.done();
}
