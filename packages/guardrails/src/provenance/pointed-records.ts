// Values that the user pointed to: fields of a record that the user's own words pick out among others.
import type { Evidence, ReadResult } from './evidence.js';
import { isSame } from './grounds.js';
import type { ResultRecord } from './records.js';
import { significantWords } from './significant-words.js';
import type { ArgumentValue } from './values.js';

/** Characters up to which a field can name a record, or be an argument: longer ones are prose, which anybody may have written. */
const longestField = 120;

/**
 * Whether a value is a whole field of a record that the user named. Prose never counts, so what is written in a message, a page or a
 * description licenses nothing; who can write a whole field of the very record that the user names is believed about that field.
 */
export function isPointedTo(evidence: Evidence, { value }: ArgumentValue): boolean {
  if (String(value).length > longestField) return false;
  return evidence.results.some((result) => result.records.some((record) => hasField(record, value) && isNamed(evidence, result, record)));
}

function hasField(record: ResultRecord, value: string | number): boolean {
  return record.fields.some((field) => isShort(field.value) && isSame(field.value, value));
}

const isShort = (value: string | number): boolean => typeof value === 'number' || (value.length <= longestField && !value.includes('\n'));

/** Whether the user's words pick this record out among those it stands with, or the record that holds it. */
export function isNamed(evidence: Evidence, result: ReadResult, record: ResultRecord): boolean {
  const known = named.get(record);
  const words = evidence.userWords.size;
  if (known !== undefined && known.words === words) return known.isNamed;
  const fresh =
    isNamedByField(evidence, record) ||
    isAskedFor(evidence, result, record) ||
    (record.parent !== undefined && isNamed(evidence, result, record.parent));
  named.set(record, { words, isNamed: fresh });
  return fresh;
}

/** What was found out about a record, as long as the user has said nothing new. */
const named = new WeakMap<ResultRecord, { readonly words: number; readonly isNamed: boolean }>();

/** The user's words name a field of it that at most half of its siblings share: `Introductory meeting`, `rent`, `Bob`. */
function isNamedByField(evidence: Evidence, record: ResultRecord): boolean {
  return record.fields.some(({ name, value }) => {
    if (!isShort(value)) return false;
    if (typeof value === 'number')
      return isDistinct(value) && evidence.user.has(value) && isRare(record, (each) => each.name === name && each.value === value);
    return significantWords(value).some(
      (word) =>
        evidence.userWords.has(word) &&
        isRare(record, (each) => typeof each.value === 'string' && isShort(each.value) && significantWords(each.value).includes(word)),
    );
  });
}

/** A number that a user would not say by chance: 10.00, 1200, and not 3. */
const isDistinct = (value: number): boolean => Math.abs(value) >= 10;

function isRare(record: ResultRecord, test: (field: ResultRecord['fields'][number]) => boolean): boolean {
  const { siblings } = record;
  if (siblings.length < 2) return true;
  let count = 0;
  for (const sibling of siblings) if (sibling.fields.some(test)) count += 1;
  return count * 2 <= siblings.length || count === 1;
}

/** It is the one record that a call gave whose every argument stands in the user's words. */
function isAskedFor(evidence: Evidence, result: ReadResult, record: ResultRecord): boolean {
  return record.siblings.length === 1 && result.records[0] === record && isOfUser(evidence, result);
}

/** Whether a result answers a call that was about something the user named: it has texts, and all of them are the user's words. */
export function isOfUser(evidence: Evidence, { input }: ReadResult): boolean {
  const texts = Object.values(input).filter((value): value is string => typeof value === 'string' && value.trim() !== '');
  return texts.length > 0 && texts.every((text) => evidence.user.has(text));
}
