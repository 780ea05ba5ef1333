// Values that the user pointed to: fields of a record that the user's own words pick out among others.
import type { Evidence, ReadResult } from './evidence.js';
import type { RecordField, ResultRecord } from './records.js';
import { isShort, recordsWith, standingAmong } from './records.js';
import { foldedValue, isSame } from './same-value.js';
import { fieldWords } from './significant-words.js';
import type { ArgumentValue } from './values.js';

/**
 * Whether a value is a whole field of a record that the user named. Prose never counts, so what is written in a message, a page or a
 * description licenses nothing; who can write a whole field of the very record that the user names is believed about that field.
 */
export function isPointedTo(evidence: Evidence, { value }: ArgumentValue): boolean {
  if (!isShort(value)) return false;
  const folded = foldedValue(value);
  return evidence.results.some((result) =>
    recordsWith(result, folded).some((record) => hasField(record, value) && isNamed(evidence, result, record)),
  );
}

function hasField(record: ResultRecord, value: string | number): boolean {
  return record.fields.some((field) => isShort(field.value) && isSame(field.value, value));
}

/** What was found out about a record, as long as the user has said nothing new. */
const named = new WeakMap<ResultRecord, { readonly words: number; readonly isNamed: boolean }>();

/** Whether the user's words pick this record out among those it stands with, or the record that holds it. */
export function isNamed(evidence: Evidence, result: ReadResult, record: ResultRecord): boolean {
  const known = named.get(record);
  const words = evidence.userWords.size;
  if (known !== undefined && known.words === words) return known.isNamed;
  const fresh =
    isNamedByField(evidence, result, record) ||
    isAskedFor(evidence, result, record) ||
    (record.parent !== undefined && isNamed(evidence, result, record.parent));
  named.set(record, { words, isNamed: fresh });
  return fresh;
}

/**
 * The user's words name a field of it: the whole (`minutes.docx`, `rent`), each word of it (`grocery-list.txt`), or by a name that stands in
 * it (`Bob`, `Introductory`); and that sets it apart from most of its siblings. Among records that the user asked for by their words it is enough that it sets it apart from one.
 */
function isNamedByField(evidence: Evidence, result: ReadResult, record: ResultRecord): boolean {
  const count = record.siblings.length;
  const most = isOfUser(evidence, result) ? count - 1 : Math.max(1, Math.floor(count / 2));
  const among = standingAmong(record.siblings);
  const isRare = (standing: number): boolean => count < 2 || standing <= most;
  return record.fields.some((field) => {
    if (!isShort(field.value)) return false;
    if (typeof field.value === 'number' && !isDistinct(field.value)) return false;
    const words = wordsOf(field);
    if (typeof field.value === 'string' && words.length === 0) return false;
    if (evidence.user.has(field.value) && isRare(among.value(field))) return true;
    if (words.some((word) => evidence.userNames.has(word) && isRare(among.word(word)))) return true;
    return words.every((word) => evidence.userWords.has(word)) && words.some((word) => isRare(among.word(word)));
  });
}

const wordsOf = ({ value }: RecordField): readonly string[] => (typeof value === 'string' ? fieldWords(value) : []);

/** A number that a user would not say by chance: 10.00, 1200, and not 3. */
const isDistinct = (value: number): boolean => Math.abs(value) >= 10;

/** It is the one record that a call gave whose every argument stands in the user's words. */
function isAskedFor(evidence: Evidence, result: ReadResult, record: ResultRecord): boolean {
  return record.siblings.length === 1 && result.records[0] === record && isOfUser(evidence, result);
}

/** Whether a result answers a call that was about something the user named: it has texts, and all of them are the user's words. */
export function isOfUser(evidence: Evidence, { input }: ReadResult): boolean {
  const texts = Object.values(input).filter((value): value is string => typeof value === 'string' && value.trim() !== '');
  return texts.length > 0 && texts.every((text) => evidence.user.has(text));
}
