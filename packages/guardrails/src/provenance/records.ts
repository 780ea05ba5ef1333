// What a tool gave, as records: objects with fields of their own, and plain lists of values.
import type { JsonObject, JsonValue } from '@guardloop/core';
import { foldedValue } from './same-value.js';
import { fieldWords } from './significant-words.js';

/** An object in a result, with its own scalars; lists of scalars are part of it, objects in it are records of their own. */
export interface ResultRecord {
  readonly fields: readonly RecordField[];
  /** The records it stands among: of one list, or alone. */
  readonly siblings: readonly ResultRecord[];
  /** The record that holds it as a field, not in a list. */
  readonly parent: ResultRecord | undefined;
}
export interface RecordField {
  readonly name: string;
  readonly value: string | number;
}

const deepest = 64;
const mostRecords = 5_000;
const plainName = /^[\w-]{1,40}$/;

/** The records of a result, as many as there are up to 5,000. A list of scalars is a list of records with one field without a name. */
export function recordsOf(result: JsonValue): readonly ResultRecord[] {
  const found: ResultRecord[] = [];
  walk(result, { found, depth: 0, parent: undefined });
  return found;
}

interface Walk {
  readonly found: ResultRecord[];
  readonly depth: number;
  readonly parent: ResultRecord | undefined;
}

const isScalar = (value: unknown): value is string | number => typeof value === 'string' || typeof value === 'number';
const isObject = (value: JsonValue): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

function walk(value: JsonValue, { found, depth, parent }: Walk): void {
  if (depth > deepest || found.length >= mostRecords || typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) {
    readObject(value as JsonObject, { found, depth, parent, siblings: [] });
    return;
  }
  const siblings: ResultRecord[] = [];
  for (const item of value as readonly JsonValue[]) {
    if (found.length >= mostRecords) return;
    if (isScalar(item)) {
      const record: ResultRecord = { fields: [{ name: '', value: item }], siblings, parent: undefined };
      siblings.push(record);
      found.push(record);
    } else if (isObject(item)) readObject(item, { found, depth: depth + 1, parent: undefined, siblings });
    else walk(item, { found, depth: depth + 1, parent: undefined });
  }
}

function readObject(object: JsonObject, { found, depth, parent, siblings }: Walk & { readonly siblings: ResultRecord[] }): void {
  const fields: RecordField[] = [];
  const record: ResultRecord = { fields, siblings, parent };
  siblings.push(record);
  found.push(record);
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined) continue;
    // Of a map, such as rights by e-mail address, the names are data.
    if (!plainName.test(name)) fields.push({ name: '', value: name });
    if (isScalar(value)) fields.push({ name, value });
    else if (Array.isArray(value) && value.every((item) => isScalar(item as JsonValue))) {
      for (const item of value as readonly (string | number)[]) fields.push({ name, value: item });
    } else walk(value, { found, depth: depth + 1, parent: record });
  }
}

/** What a result's text holds as JSON; undefined where it is no JSON object or list. */
export function parseResult(content: string): JsonValue | undefined {
  const first = content.trimStart().charAt(0);
  if (first !== '{' && first !== '[') return undefined;
  try {
    return JSON.parse(content) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Characters up to which a field can name a record, or be an argument: longer ones are prose, which anybody may have written. */
const longestField = 120;
/** Whether a value is a name, a number or the like, and no prose. */
export const isShort = (value: string | number): boolean =>
  typeof value === 'number' || (value.length <= longestField && !value.includes('\n'));

const byValue = new WeakMap<object, ReadonlyMap<string, readonly ResultRecord[]>>();

/** The records of a result that may have a short field of this value, as `foldedValue` gives it. Looked up, whatever the size of the result. */
export function recordsWith(result: { readonly records: readonly ResultRecord[] }, folded: string): readonly ResultRecord[] {
  let index = byValue.get(result);
  if (index === undefined) {
    const made = new Map<string, ResultRecord[]>();
    for (const record of result.records) {
      for (const field of record.fields) {
        if (!isShort(field.value)) continue;
        const form = foldedValue(field.value);
        const known = made.get(form);
        if (known === undefined) made.set(form, [record]);
        else if (known.at(-1) !== record) known.push(record);
      }
    }
    index = made;
    byValue.set(result, made);
  }
  return index.get(folded) ?? [];
}

/** How many records of a list have a word, or a field with a value. */
export interface Standing {
  word(word: string): number;
  value(field: RecordField): number;
}
const standings = new WeakMap<readonly ResultRecord[], Standing>();

/** Counts once for each list. */
export function standingAmong(siblings: readonly ResultRecord[]): Standing {
  let standing = standings.get(siblings);
  if (standing === undefined) {
    const words = new Map<string, number>();
    const values = new Map<string, number>();
    for (const { fields } of siblings) {
      const short = fields.filter(({ value }) => isShort(value));
      const own = new Set(short.flatMap(({ value }) => (typeof value === 'string' ? fieldWords(value) : [])));
      for (const word of own) words.set(word, (words.get(word) ?? 0) + 1);
      for (const key of new Set(short.map(keyOf))) values.set(key, (values.get(key) ?? 0) + 1);
    }
    standing = { word: (word) => words.get(word) ?? 0, value: (field) => values.get(keyOf(field)) ?? 0 };
    standings.set(siblings, standing);
  }
  return standing;
}

const keyOf = ({ name, value }: RecordField): string => `${name}\n${foldedValue(value)}`;
