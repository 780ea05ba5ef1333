import type { Projection } from '../define/types.js';
import { GuardloopError } from '../errors.js';
import type { JsonValue } from '../model/types.js';
import { checkMaxChars, headAndTail, resultCapChars } from './cap.js';
import { fitFields } from './fit-fields.js';
import { saysOtherwise } from './json-words.js';
import { describeMissing } from './missing-fields.js';
import { checkOptionNames } from './option-names.js';
import type { Shown } from './own-projection.js';
import { ownProjection } from './own-projection.js';
import { FieldSelection, nothing } from './select-fields.js';

interface Size {
  /** Characters (UTF-16 units) of JSON at most; a line beside it says what is missing. Default 16,000. */
  readonly maxChars?: number | undefined;
}
/** What {@link jsonFields} takes. */
export interface JsonFieldsOptions<K extends string> extends Size {
  /** Names of fields that stay with their whole value, wherever they stand. */
  readonly keep: readonly K[];
}
/** What {@link jsonFields} takes to keep what the agent's tools ask for. */
export interface ArgumentFieldsOptions extends Size {
  /** Every field stays that is an input field of a tool or handoff of the agent, at any depth, by its name. */
  readonly keep: 'arguments';
}

function structured(output: unknown): JsonValue | undefined {
  if (typeof output === 'object') return output as JsonValue;
  if (typeof output !== 'string' || !/^\s*[{[]/.test(output)) return undefined;
  try {
    return JSON.parse(output) as JsonValue;
  } catch {
    return undefined;
  }
}

/**
 * Shows the model the fields named in `keep`, and identifiers, counts, `status`, `code` and errors, wherever they stand; the rest is left out
 * and counted. What is shown is valid JSON of at most `maxChars`; a note beside it says what is missing. Where the kept fields alone are
 * longer, the bound holds: lists lose elements from their end, and long texts their middles. Output that is no JSON is cut to its head and
 * tail.
 */
export function jsonFields(options: ArgumentFieldsOptions): Projection;
export function jsonFields<const K extends string>(options: JsonFieldsOptions<K>): Projection<unknown, K>;
export function jsonFields(options: ArgumentFieldsOptions | JsonFieldsOptions<string>): Projection<unknown, string> {
  checkOptionNames('jsonFields', options, ['keep', 'maxChars']);
  const maxChars = checkMaxChars(options?.maxChars ?? resultCapChars, 'jsonFields');
  const given: unknown = options?.keep;
  if (given !== 'arguments' && (!Array.isArray(given) || given.some((name) => typeof name !== 'string'))) {
    throw new GuardloopError(
      'CONFIG_INVALID',
      "jsonFields: keep must be a list of field names, or 'arguments'. Give names as strings, for example keep: ['orderId'].",
    );
  }
  const named: ReadonlySet<string> | undefined = given === 'arguments' ? undefined : new Set(given as readonly string[]);
  return ownProjection<string>((output, { content, arguments: ofTools }) => {
    const value = structured(output);
    if (value === undefined || value === null) return cutText(content, maxChars);
    try {
      const shown = showFields(value, { keep: named ?? ofTools, maxChars });
      return typeof output === 'string' && saysOtherwise(output) ? { ...shown, isReworded: true } : shown;
    } catch {
      // Nested deeper than can be looked into.
      return cutText(content, maxChars);
    }
  });
}

const cutText = (content: string, maxChars: number): Shown => ({
  text: headAndTail(content, maxChars),
  isWhole: content.length <= maxChars,
});

function showFields(value: JsonValue, { keep, maxChars }: { readonly keep: ReadonlySet<string>; readonly maxChars: number }): Shown {
  const selection = new FieldSelection(keep);
  const selected = selection.select(value);
  const { text, missing } = fitFields(selected === nothing ? {} : selected, { keep, maxChars, missing: selection.missing });
  const mark = describeMissing(missing, true);
  return { text, isWhole: mark === undefined, mark, note: describeMissing(missing, false) };
}
