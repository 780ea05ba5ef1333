import type { Projection } from '../define/types.js';
import { checkMaxChars, headAndTail } from './cap.js';
import { checkOptionNames } from './option-names.js';
import { ownProjection } from './own-projection.js';

/** What {@link headTail} takes. */
export interface HeadTailOptions {
  /** Characters (UTF-16 units) kept, half of them from the beginning; the mark between the halves comes on top. */
  readonly maxChars: number;
}

/** Shows the model the beginning and the end of a long output, with a mark that says how much is missing. Never parts a character. */
export function headTail(options: HeadTailOptions): Projection {
  checkOptionNames('headTail', options, ['maxChars']);
  const maxChars = checkMaxChars(options?.maxChars, 'headTail');
  return ownProjection((_output, { content }) => ({ text: headAndTail(content, maxChars), isWhole: content.length <= maxChars }));
}
