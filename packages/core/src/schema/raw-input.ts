import type { JsonValue } from '../model/types.js';
import type { SchemaIssue } from './compiled.js';

/** Levels of nesting of an input; a deeper one is refused before it is parsed. */
export const maxInputDepth = 64;
/** Characters of an input's JSON, escapes not counted; a longer one is refused before it is parsed. */
export const maxInputChars = 1_000_000;

const tooDeep: SchemaIssue = Object.freeze({ path: '', expected: `at most ${maxInputDepth} levels of nesting` });
const tooLong: SchemaIssue = Object.freeze({ path: '', expected: `at most ${maxInputChars} characters of JSON` });
const noJson: SchemaIssue = Object.freeze({ path: '', expected: 'plain JSON' });
const prototypeField: SchemaIssue = Object.freeze({ path: '', expected: 'no field named __proto__, and no constructor with a prototype' });

interface Count {
  chars: number;
}

/** What is wrong with an input whatever its schema: too deep, too long, not JSON, or with a field that could change a prototype. */
export function rawIssue(raw: JsonValue): SchemaIssue | undefined {
  return typeof raw === 'object' && raw !== null
    ? survey(raw, 1, { chars: 0 })
    : typeof raw === 'string' && raw.length > maxInputChars
      ? tooLong
      : undefined;
}

function survey(value: object, depth: number, count: Count): SchemaIssue | undefined {
  if (depth > maxInputDepth) return tooDeep;
  if (Array.isArray(value)) {
    count.chars += 2;
    for (const element of value as readonly unknown[]) {
      const issue = surveyField(element, depth, count);
      if (issue) return issue;
    }
    return undefined;
  }
  count.chars += 2;
  for (const key of Object.keys(value)) {
    if (key === '__proto__') return prototypeField;
    const field = (value as { readonly [key: string]: unknown })[key];
    if (key === 'constructor' && typeof field === 'object' && field !== null && Object.hasOwn(field, 'prototype')) return prototypeField;
    count.chars += key.length + 3;
    const issue = surveyField(field, depth, count);
    if (issue) return issue;
  }
  return undefined;
}

function surveyField(field: unknown, depth: number, count: Count): SchemaIssue | undefined {
  if (typeof field === 'object' && field !== null) {
    count.chars += 1;
    const issue = survey(field, depth + 1, count);
    if (issue) return issue;
  } else if (!isJson(field)) return noJson;
  else count.chars += typeof field === 'string' ? field.length + 3 : String(field).length + 1;
  return count.chars > maxInputChars ? tooLong : undefined;
}

function isJson(field: unknown): boolean {
  return typeof field === 'number'
    ? Number.isFinite(field)
    : typeof field !== 'bigint' && typeof field !== 'function' && typeof field !== 'symbol';
}
