// Names and the values that are given to them: `name = "value"`, `"name": "value"`, `--name value`, `<name>value</name>`, `name is value`.
import { afterEscape } from '../text/escapes.js';

/** A value with its name, by offsets in the text. */
export interface Assignment {
  /** As it stands, without what is around it. */
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly isQuoted: boolean;
  /** Written in words, `the password is …`, where most of what follows is no secret. */
  readonly isProse?: true;
}

const longestName = 80;
const longestValue = 2_048;
const shortestValue = 4;

const isNameCode = (code: number): boolean =>
  (code >= 0x61 && code <= 0x7a) ||
  (code >= 0x41 && code <= 0x5a) ||
  (code >= 0x30 && code <= 0x39) ||
  code === 0x5f ||
  code === 0x2d ||
  code === 0x2e;
const star = 0x2a;
const isSpace = (code: number): boolean => code === 0x20 || code === 0x09;
const isQuote = (code: number): boolean => code === 0x22 || code === 0x27 || code === 0x60;

/** Told of each assignment, from left to right. */
export interface AssignmentReader {
  /** Whether the value of such a name is of interest. */
  isWanted(name: string): boolean;
  found(assignment: Assignment): void;
}

/**
 * Reads all assignments in one pass: looks back no further than a name, forth no further than `longest` characters of a value.
 */
export function readAssignments(text: string, reader: AssignmentReader, longest = longestValue): void {
  const run: Run = { end: 0, values: 0 };
  const step = (at: number): Step => ({ text, at, longest, run, reader });
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x3d || code === 0x3a || code === 0x3e || code === 0xff1a) at = aroundSign(step(at));
    else if (code === 0x2d && text.charCodeAt(at + 1) === 0x2d) at = afterFlag(step(at));
    else if (code === 0x69 && text.startsWith(' is ', at - 1)) afterWord(step(at));
  }
}

/** What was read last without quotes. Values begin in it again and again where signs follow each other: of such only the first few are read. */
interface Run {
  end: number;
  values: number;
}
const mostInRun = 4;

interface Step {
  readonly text: string;
  readonly at: number;
  readonly longest: number;
  readonly run: Run;
  readonly reader: AssignmentReader;
}

/** `name = value`, `name: value`, `name := value`, `name => value`, `<name>value`. Returns where the scan goes on. */
function aroundSign(step: Step): number {
  const { text, at, reader } = step;
  let after = at + 1;
  while (after < text.length && after < at + 3 && '=>~'.includes(text.charAt(after))) after += 1;
  const isProse = text.startsWith(' is:', at - 3);
  const word = nameBefore(text, at);
  // `API key: …`: which key it is says the word before it.
  const name = isProse ? nameBefore(text, at - 3, 2) : word?.toLowerCase() === 'key' ? nameBefore(text, at, 2) : word;
  if (name === undefined || !reader.isWanted(name)) return after - 1;
  const value = valueAt(step, after);
  if (value !== undefined) reader.found({ name, ...value, ...(isProse ? { isProse } : {}) });
  return after - 1;
}

/** `--name value`; `--name=value` is found at its sign. */
function afterFlag(step: Step): number {
  const { text, at, reader } = step;
  let end = at + 2;
  while (end < text.length && end < at + 2 + longestName && isNameCode(text.charCodeAt(end))) end += 1;
  if (!isSpace(text.charCodeAt(end))) return end - 1;
  const name = text.slice(at + 2, end);
  if (name === '' || !reader.isWanted(name)) return end - 1;
  const value = valueAt(step, end);
  if (value !== undefined && text.charAt(value.start) !== '-') reader.found({ name, ...value });
  return end - 1;
}

function afterWord(step: Step): void {
  const { text, at, reader } = step;
  const name = nameBefore(text, at - 1, 2);
  if (name === undefined || !reader.isWanted(name)) return;
  const value = valueAt(step, at + 2);
  if (value !== undefined) reader.found({ name, ...value, isProse: true });
}

/** The name that ends at an offset, over spaces and quotes; with `words`, so many words of it. */
function nameBefore(text: string, at: number, words = 1): string | undefined {
  let end = at;
  const least = Math.max(0, at - 12);
  while (
    end > least &&
    (isSpace(text.charCodeAt(end - 1)) || isQuote(text.charCodeAt(end - 1)) || '])\\:?+|*'.includes(text.charAt(end - 1)))
  )
    end -= 1;
  let start = end;
  let left = words;
  const first = Math.max(0, end - longestName);
  while (start > first) {
    const code = text.charCodeAt(start - 1);
    if (isNameCode(code)) start -= 1;
    else if (isSpace(code) && left > 1) {
      left -= 1;
      start -= 1;
    } else break;
  }
  start = afterEscape(text, start, end);
  if (start === end) return undefined;
  return text.slice(start, end);
}

function valueAt({ text, longest, run }: Step, from: number): { start: number; end: number; isQuoted: boolean } | undefined {
  const opening = openingAt(text, from);
  const { start, quote } = opening;
  if (quote === undefined && start < run.end && run.values >= mostInRun) return undefined;
  const limit = Math.min(text.length, start + longest + 1);
  let end = start;
  while (end < limit && !endsValue(text.charCodeAt(end), quote)) end += 1;
  if (quote === undefined) {
    run.values = start < run.end ? run.values + 1 : 1;
    run.end = end;
  }
  if (end - start > longest) return undefined;
  const isClosed = end === text.length || text.charCodeAt(end) === quote || text.charCodeAt(end) === 0x5c;
  const last = quote === undefined ? withoutPunctuation(text, start, end) : isClosed ? end : undefined;
  return last === undefined || last - start < shortestValue ? undefined : { start, end: last, isQuoted: quote !== undefined };
}

/** Where a value begins, over spaces and an opening quote. Escaped quotes stand in JSON within JSON. */
function openingAt(text: string, from: number): { readonly start: number; readonly quote: number | undefined } {
  let start = from;
  const last = Math.min(text.length, from + 12);
  // Stars around a name or a value are Markdown's.
  while (start < last && (isSpace(text.charCodeAt(start)) || text.charCodeAt(start) === star)) start += 1;
  while (start < last && text.charCodeAt(start) === 0x5c) start += 1;
  const code = text.charCodeAt(start);
  return isQuote(code) ? { start: start + 1, quote: code } : { start, quote: undefined };
}

/** The end of a value without the sentence's punctuation behind it, and Markdown's stars; undefined where it was cut short with an ellipsis. */
function withoutPunctuation(text: string, start: number, from: number): number | undefined {
  if (text.startsWith('...', from - 3)) return undefined;
  const end = beforePunctuation(text, start, from);
  return end > start + 1 && text.startsWith('**', end - 2) ? beforePunctuation(text, start, end - 2) : end;
}

function beforePunctuation(text: string, start: number, from: number): number {
  let end = from;
  while (end > start && '.,;:!?)]}'.includes(text.charAt(end - 1)) && !opens(text.slice(start, end))) end -= 1;
  return end;
}

function opens(value: string): boolean {
  const last = value.charAt(value.length - 1);
  return (last === ')' && value.includes('(')) || (last === '}' && value.includes('{')) || (last === ']' && value.includes('['));
}

function endsValue(code: number, quote: number | undefined): boolean {
  if (code <= 0x20 || code > 0x7e) return quote === undefined || code === 0x0a || code === 0x0d;
  if (quote !== undefined) return code === quote || code === 0x5c;
  return isQuote(code) || code === 0x2c || code === 0x3b || code === 0x3c || code === 0x3e || code === 0x26 || code === 0x5c;
}
