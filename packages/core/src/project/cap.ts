import { GuardloopError } from '../errors.js';
import { cutAfter, cutBefore } from './grapheme.js';
import { wellFormed } from './well-formed.js';

/** Characters (UTF-16 units) of one result that the model sees when its tool has no projection. */
export const resultCapChars = 16_000;
/** Characters of all results of one turn together; the calls of the turn share it evenly. */
export const turnCapChars = 48_000;

export interface CappedText {
  readonly text: string;
  /** Core's words about the cut; undefined where nothing was cut. */
  readonly note?: string | undefined;
}

/** Throws CONFIG_INVALID for a size that is none. */
export function checkMaxChars(maxChars: unknown, owner: string): number {
  if (typeof maxChars === 'number' && maxChars >= 1 && (Number.isSafeInteger(maxChars) || maxChars === Number.POSITIVE_INFINITY))
    return maxChars;
  throw new GuardloopError(
    'CONFIG_INVALID',
    `${owner}: maxChars must be a whole number of characters, 1 or more. Give one, for example 2_000.`,
  );
}

/** The head and the tail of a text with a mark between them: at most `maxChars` characters and the mark, never a part of a character. */
export function headAndTail(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const tailChars = Math.floor(maxChars / 2);
  const headEnd = cutBefore(text, maxChars - tailChars);
  const tailStart = tailChars === 0 ? text.length : Math.max(headEnd, cutAfter(text, text.length - tailChars));
  const mark = `\n[… ${tailStart - headEnd} of ${text.length} characters left out …]\n`;
  return wellFormed(text.slice(0, headEnd)) + mark + wellFormed(text.slice(tailStart));
}

function looksLikeJson(text: string): boolean {
  const first = text.slice(0, 100).trimStart()[0];
  const last = text.slice(-100).trimEnd().at(-1);
  return (first === '{' && last === '}') || (first === '[' && last === ']');
}

const cutWords = 'The result was too long and was cut';

/** Whether the words beside a content tell of a cut by {@link capText}. */
export const tellsOfCut = (note: string | undefined): boolean => note?.startsWith(cutWords) === true;

/** The cut that is made where no projection was given. Time does not grow with the text. */
export function capText(text: string, maxChars: number): CappedText {
  if (text.length <= maxChars) return { text };
  const note = `${cutWords}: its beginning and end are shown, ${maxChars} of its ${text.length} characters at most.`;
  return {
    text: headAndTail(text, maxChars),
    note: looksLikeJson(text) ? `${note} It was JSON; what is shown is no longer valid JSON.` : note,
  };
}
