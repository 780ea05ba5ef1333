import { afterEscape, endsEscape } from '../text/escapes.js';
import type { FindInText, TextFinding } from '../text/finding.js';
import { keywordScan } from '../text/keyword-scan.js';
import type { Assignment } from './assignments.js';
import { readAssignments } from './assignments.js';
import type { NamedKind, PatternKind, PrefixKind, SecretKind } from './kind.js';
import { longestShortSecret } from './kind.js';
import { entropyOf, hasLetterAndDigit, isPlaceholder } from './likeness.js';
import type { NameWords } from './name-words.js';
import { hasWords, wordsOfName } from './name-words.js';
import { commandCredentials, isWrittenSecret, nameSays } from './written.js';

/** What is looked for. */
export interface SecretSearch {
  readonly kinds: readonly SecretKind[];
  /** Which of the kinds without a format. */
  readonly written: ReadonlySet<string>;
  readonly isLong: boolean;
}

/** A kind as it is tried where a keyword of it stands. */
interface Probe {
  readonly kind: SecretKind;
  /** Sticky. */
  readonly pattern: RegExp;
  readonly secret: number;
  readonly inWord: boolean;
  begin(text: string, keyword: number): number;
}

const isAlphanumeric = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);

/** Makes the search: one pass for keywords, one for assignments, and patterns tried only at what these find. */
export function secretFinder({ kinds, written, isLong }: SecretSearch): FindInText {
  const words: string[] = [];
  const probes: Probe[] = [];
  const named: NamedKind[] = [];
  for (const kind of kinds) {
    if ('names' in kind) named.push(kind);
    else {
      for (const keyword of 'starts' in kind ? kind.starts : kind.keywords) {
        words.push(keyword);
        probes.push('starts' in kind ? prefixProbe(kind, keyword) : patternProbe(kind));
      }
    }
  }
  const scan = keywordScan(words);
  const values = named.map((kind) => ({ kind, pattern: new RegExp(`^[${kind.of}]{${bounds(kind.length)}}$`) }));
  const readName = (text: string): NameReading => {
    const name = wordsOfName(text);
    return { kinds: values.filter(({ kind }) => isNamed(kind, name)), says: nameSays(name.plain) };
  };
  const longest = isLong ? 2_048 : longestShortSecret;
  return (text, { key }) => {
    const found: TextFinding[] = [];
    scan(text, (word, end) => {
      const probe = probes[word];
      if (probe !== undefined) tryProbe(probe, { text, keyword: end - (words[word]?.length ?? 0) }, found);
    });
    const readings = new Map<string, NameReading>();
    const reading = (name: string): NameReading => {
      const known = readings.get(name);
      if (known !== undefined) return known;
      const made = readName(name);
      readings.set(name, made);
      return made;
    };
    const judge = (assignment: Assignment): void =>
      judgeAssignment({ text, assignment, reading: reading(assignment.name), written }, found);
    const isWanted = (name: string): boolean => reading(name).kinds.length > 0 || reading(name).says !== undefined;
    readAssignments(text, { isWanted, found: judge }, longest);
    for (const assignment of ofKey(text, key, longest)) judge(assignment);
    return written.has('command-credentials') ? [...found, ...commandCredentials(text, longest)] : found;
  };
}

function isNamed({ names }: NamedKind, name: NameWords): boolean {
  return names.some((words) => hasWords(name, words));
}

interface NameReading {
  readonly kinds: readonly { readonly kind: NamedKind; readonly pattern: RegExp }[];
  readonly says: 'password' | 'secret' | undefined;
}

/** A text that is the whole value of a field in JSON is given to that field's name. */
function ofKey(text: string, key: string | undefined, longest: number): readonly Assignment[] {
  if (key === undefined || key.length > 200 || text.length > longest + 64) return [];
  const value = text.trim();
  if (value.length < 4 || /\s/.test(value)) return [];
  const start = text.indexOf(value);
  return [{ name: key, start, end: start + value.length, isQuoted: true }];
}

function judgeAssignment(
  {
    text,
    assignment,
    reading,
    written,
  }: { readonly text: string; readonly assignment: Assignment; readonly reading: NameReading; readonly written: ReadonlySet<string> },
  found: TextFinding[],
): void {
  const { start, end } = assignment;
  const value = text.slice(start, end);
  const named = assignment.isProse ? undefined : reading.kinds.find(({ kind, pattern }) => pattern.test(value) && isLikely(kind, value));
  if (named !== undefined) {
    found.push({ start, end, kind: named.kind.id });
    return;
  }
  const { says } = reading;
  if (says === undefined) return;
  const kind = says === 'password' ? 'password' : 'secret-value';
  if (!written.has(kind) || !isWrittenSecret(says, value, assignment)) return;
  // It may be the sentence's or the password's: one sign too many tells nobody anything, one left over does.
  const hasMark = !assignment.isQuoted && !assignment.isProse && /[!?]/.test(text.charAt(end));
  found.push({ start, end: hasMark ? end + 1 : end, kind });
}

function tryProbe(probe: Probe, { text, keyword }: { readonly text: string; readonly keyword: number }, found: TextFinding[]): void {
  const begin = afterEscape(text, probe.begin(text, keyword), keyword + 1);
  if (begin < 0) return;
  const isInWord = begin > 0 && isAlphanumeric(text.charCodeAt(begin - 1));
  // Behind an escape a text begins: what looks behind should not see the letters of it.
  const cut = isInWord && endsEscape(text, begin) ? begin : 0;
  if (isInWord && cut === 0 && !probe.inWord) return;
  probe.pattern.lastIndex = begin - cut;
  const match = probe.pattern.exec(cut === 0 ? text : text.slice(cut));
  if (match === null || cut + match.index + match[0].length <= keyword) return;
  const value = match[probe.secret] ?? match[0];
  if (!isLikely(probe.kind, value)) return;
  const start = cut + match.index + (probe.secret === 0 ? 0 : match[0].indexOf(value));
  found.push({ start, end: start + value.length, kind: probe.kind.id });
}

/** Whether what has the shape of a kind is one. */
function isLikely(kind: SecretKind, value: string): boolean {
  if (kind.proof?.(value)) return true;
  const body = 'starts' in kind ? value.slice(kind.starts.find((start) => value.startsWith(start))?.length ?? 0) : value;
  if (!kind.keepsPlaceholders && isPlaceholder(body)) return false;
  if (kind.mixed && !hasLetterAndDigit(body)) return false;
  if (kind.entropy !== undefined && entropyOf(body) < kind.entropy) return false;
  return kind.check?.(value) ?? true;
}

function bounds(length: number | readonly [number, number]): string {
  return typeof length === 'number' ? `${length}` : `${length[0]},${length[1]}`;
}

function prefixProbe(kind: PrefixKind, start: string): Probe {
  const ends = /[-_]/.test(kind.of) ? `[${kind.of}]` : `[${kind.of}A-Za-z0-9_]`;
  const pattern = new RegExp(`${start.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')}[${kind.of}]{${bounds(kind.length)}}(?!${ends})`, 'y');
  return { kind, pattern, secret: 0, inWord: false, begin: (_text, keyword) => keyword };
}

function patternProbe(kind: PatternKind): Probe {
  const { back = 0 } = kind;
  return {
    kind,
    pattern: new RegExp(kind.pattern.source, `${kind.pattern.flags.replace(/[gy]/g, '')}y`),
    secret: kind.secret ?? 0,
    inWord: kind.inWord ?? false,
    begin: typeof back === 'number' ? (_text, keyword) => keyword - back : walkBack(back),
  };
}

function walkBack({ of, max }: { readonly of: string; readonly max: number }): Probe['begin'] {
  const alphabet = new RegExp(`[${of}]`);
  const table = Uint8Array.from({ length: 128 }, (_, code) => (alphabet.test(String.fromCharCode(code)) ? 1 : 0));
  return (text, keyword) => {
    let at = keyword;
    const least = Math.max(0, keyword - max);
    while (at > least && table[text.charCodeAt(at - 1)] === 1) at -= 1;
    return at;
  };
}
