// Values that the user pointed to: fields of a record that the user's own words pick out among others.
import type { Evidence, ReadResult } from './evidence.js';
import type { RecordField, ResultRecord } from './records.js';
import { isShort, recordsWith, standingAmong } from './records.js';
import { foldedValue, isSame } from './same-value.js';
import { fieldWords, isFileName } from './significant-words.js';
import { argumentValues } from './values.js';

/**
 * Whether a value is a whole field of a record that the user named, and no other record that the words name as well has another value there.
 * Prose never counts, so what is written in a message, a page or a description licenses nothing; who can write a whole field of the very
 * record that the user names is believed about that field. What the call itself held is only repeated by its result.
 */
export function isPointedTo(evidence: Evidence, value: string | number): boolean {
  if (!isShort(value)) return false;
  const folded = foldedValue(value);
  return evidence.results.some((result) =>
    recordsWith(result, folded).some((record) => {
      const field = record.fields.find((each) => isLicensing(each) && isSame(each.value, value));
      if (field === undefined || !isNamed(evidence, result, record) || result.echoes(value)) return false;
      if (typeof value === 'string' && addressLike.test(value) && !isNamedWell(evidence, result, record)) return false;
      return !isContested(evidence, result, { record, field });
    }),
  );
}

/** Fields that hold prose, by their usual names: whoever writes to the user fills them. */
const prose = new Set(
  'body text content description message messages note notes comment comments summary snippet bio caption memo reason remark remarks preview excerpt details answer reply instructions'.split(
    ' ',
  ),
);
/** Of these, names may be arguments, and addresses not. */
const titles = new Set('subject title headline topic'.split(' '));
const addressLike = /[@/\\]|\.\p{L}{2}|\d{6}/u;

function isLicensing({ name, value }: RecordField): boolean {
  const lower = name.toLowerCase();
  if (!isShort(value) || prose.has(lower)) return false;
  return !titles.has(lower) || typeof value === 'number' || !addressLike.test(value);
}

/** Whether the words name another record of the same tool as well, with another value in that field: then nobody knows which one was meant. */
function isContested(
  evidence: Evidence,
  result: ReadResult,
  { record, field }: { readonly record: ResultRecord; readonly field: RecordField },
): boolean {
  // An amount does not say where something goes: of several that the words fit, any will do.
  if (field.name === '' || (typeof field.value === 'number' && !idLike.test(field.name))) return false;
  const rivals = namedRecords(evidence, result.tool);
  // Words that name so many are no name.
  if (rivals.length > mostNamed) return true;
  return rivals.some(
    (other) =>
      other !== record &&
      other.fields.some(({ name }) => name === field.name) &&
      !other.fields.some((each) => isSame(each.value, field.value)),
  );
}
const mostNamed = 200;

interface NamedRecords {
  readonly userLength: number;
  /** How many results were looked at. */
  results: number;
  readonly found: ResultRecord[];
}
const namedByTool = new WeakMap<Evidence, Map<string, NamedRecords>>();

/** All records of a tool's results that the user's words name; looks only at results that are new. */
function namedRecords(evidence: Evidence, tool: string): readonly ResultRecord[] {
  let tools = namedByTool.get(evidence);
  if (tools === undefined) {
    tools = new Map();
    namedByTool.set(evidence, tools);
  }
  let known = tools.get(tool);
  if (known === undefined || known.userLength !== evidence.userLength) {
    known = { userLength: evidence.userLength, results: 0, found: [] };
    tools.set(tool, known);
  }
  for (; known.results < evidence.results.length; known.results += 1) {
    const result = evidence.results[known.results];
    if (result?.tool === tool) known.found.push(...result.records.filter((record) => isNamed(evidence, result, record)));
  }
  return known.found;
}

const idLike = /(?:^|[_-])(?:id|no|nr|number|key)_?$|[a-z](?:Id|No|Number|Key)$|^uid$/i;

/** What was found out about a record, as long as nothing more was read. */
const named = new WeakMap<ResultRecord, { readonly length: number; readonly isNamed: boolean }>();

/** Whether the user's words pick this record out among those it stands with, or the record that holds it. */
export function isNamed(evidence: Evidence, result: ReadResult, record: ResultRecord): boolean {
  const known = named.get(record);
  if (known !== undefined && known.length === evidence.userLength) return known.isNamed;
  const fresh =
    isNamedByField(evidence, result, record) ||
    isAskedFor(evidence, result, record) ||
    (record.parent !== undefined && isNamed(evidence, result, record.parent));
  named.set(record, { length: evidence.userLength, isNamed: fresh });
  return fresh;
}

/**
 * The user's words name a field of it: the whole (`minutes.docx`, `rent`), each word of it (`grocery-list.txt`), or by a name that stands in
 * it (`Bob`, `Introductory`); and that sets it apart from most of its siblings. Among records that the user asked for by their words it is
 * enough that it sets it apart from one. A record that stands alone is named by a name, a file or a phrase that the user wrote whole.
 */
export function isNamedByField(evidence: Evidence, result: ReadResult, record: ResultRecord): boolean {
  const count = record.siblings.length;
  const most = isOfUser(evidence, result) ? count - 1 : Math.max(1, Math.floor(count / 2));
  const among = standingAmong(record.siblings);
  const isRare = (standing: number): boolean => count < 2 || standing <= most;
  return record.fields.some((field) => {
    const { name, value } = field;
    if (!isShort(value) || prose.has(name.toLowerCase())) return false;
    if (typeof value === 'number') return isDistinct(value) && evidence.user.has(value) && isRare(among.value(field));
    const words = fieldWords(value);
    if (words.length === 0 && !isTelling(value)) return false;
    const isWhole = evidence.user.has(value);
    if (count < 2) return isWhole && (isTelling(value) || words.some((word) => evidence.userNames.has(word)));
    if (isWhole && isRare(among.value(field))) return true;
    if (words.some((word) => evidence.userNames.has(word) && isRare(among.word(word)))) return true;
    return words.length > 0 && words.every((word) => evidence.userWords.has(word)) && words.some((word) => isRare(among.word(word)));
  });
}

/**
 * Whether a record is named by more than one common word, which anybody would put into the title of a message: by a name, a file, a phrase of
 * two words or a number that stands whole in the user's words, or because it was asked for by them.
 */
function isNamedWell(evidence: Evidence, result: ReadResult, record: ResultRecord): boolean {
  if (isOfUser(evidence, result) || (record.parent !== undefined && isNamedWell(evidence, result, record.parent))) return true;
  return record.fields.some(({ name, value }) => {
    if (!isShort(value) || prose.has(name.toLowerCase())) return false;
    if (typeof value === 'number') return isDistinct(value) && evidence.user.has(value);
    const words = fieldWords(value);
    if (words.some((word) => evidence.userNames.has(word))) return true;
    return (isTelling(value) || words.length > 1) && evidence.user.has(value);
  });
}

/** A file's name and an e-mail address tell one thing from others, whatever their words are. */
const isTelling = (value: string): boolean => isFileName(value) || /^[^\s@]+@[^\s@]+$/.test(value);

/** A number that a user would not say by chance: 10.00, 1200, and not 3. */
const isDistinct = (value: number): boolean => Math.abs(value) >= 10;

/** It is the one record that a call gave whose every argument stands in the user's words. */
function isAskedFor(evidence: Evidence, result: ReadResult, record: ResultRecord): boolean {
  return record.siblings.length === 1 && result.records[0] === record && isOfUser(evidence, result);
}

const ofUser = new WeakMap<ReadResult, { readonly length: number; readonly isOfUser: boolean }>();

/** Whether a result answers a call that was about something the user named: all its texts and numbers are the user's, and one of them tells. */
export function isOfUser(evidence: Evidence, result: ReadResult): boolean {
  const known = ofUser.get(result);
  if (known !== undefined && known.length === evidence.userLength) return known.isOfUser;
  const values = argumentValues(result.input, { names: 'all', fields: [] }).filter(({ value }) => value !== '' && value !== true);
  const fresh =
    values.some(({ value }) => typeof value === 'string' && (fieldWords(value).length > 0 || isTelling(value))) &&
    values.every(({ value }) => value !== true && evidence.user.has(value));
  ofUser.set(result, { length: evidence.userLength, isOfUser: fresh });
  return fresh;
}
