import type { Guardrail, Subject, Surface } from '@guardloop/core';
import { optionFault, suggest } from '@guardloop/core/model';
import { francAll } from 'franc-min';
import { codeOf, languageCodes, scriptsOf, shortCodeOf } from './language-codes.js';
import type { ProsePiece } from './language-pieces.js';
import { prosePieces } from './language-pieces.js';
import type { RefusingOptions } from './refusing-guardrail.js';
import { checkRefusingOptions, refusingGuardrail } from './refusing-guardrail.js';
import { textsOf } from './subject-texts.js';

/** Options of {@link language}. */
export interface LanguageOptions<S extends Surface = Surface> extends RefusingOptions<S> {
  /** Default `['input', 'output']`. */
  readonly on?: readonly S[] | undefined;
  /** ISO 639 codes of two or three letters: `en`, `deu`. Those that franc-min knows, 82 languages of more than 8 million speakers. */
  readonly allowed: readonly string[];
  /** What becomes of text whose language cannot be told: too short, too mixed, code, names, a language that is not known. Default `allow`. */
  readonly unknown?: 'allow' | 'refuse' | undefined;
  /** Letters that a piece of text must have to be judged, where its script does not settle it; to be refused, 40 in any case. From 20. Default 30. */
  readonly minLetters?: number | undefined;
  /** The share of the judged letters that may stand in other languages: quotations. From 0 to 1. Default 0.2. */
  readonly tolerance?: number | undefined;
}

const ownNames = ['allowed', 'unknown', 'minLetters', 'tolerance'] as const;
const defaultLetters = 30;
/** In a script of its own a language is told from fewer letters. */
const scriptLetters = 12;
/**
 * How far franc's score of the best language, which is 1, must stand above another one's to tell them apart: the shorter, the farther. Below it
 * Spanish of one line is taken for Portuguese, and Russian for Bulgarian.
 */
const marginOf = (letters: number): number => 0.08 + 8 / letters;
/** To refuse, more: on lines of names and short questions in English franc is wrong by as much as this. */
const refusingLetters = 40;
const refusingMarginOf = (letters: number): number => 0.1 + 14 / letters;

/**
 * A guardrail that refuses text in other languages than those allowed. Code, addresses and short pieces are left out; each longer piece is
 * judged by itself, so that a paragraph in another language does not pass beside a long one. Throws CONFIG_INVALID.
 */
export function language<const S extends Surface = 'input' | 'output'>(options: LanguageOptions<S>): Guardrail<unknown, S> {
  const kind = { name: 'language', on: ['input', 'output'] as const, options: ownNames };
  checkRefusingOptions(kind, options);
  const { allowed, unknown = 'allow', minLetters = defaultLetters, tolerance = 0.2 } = options;
  const where = 'language(…)';
  const codes = readAllowed(where, allowed);
  if (unknown !== 'allow' && unknown !== 'refuse')
    throw optionFault(where, "unknown is neither 'allow' nor 'refuse'. Give one, or leave it out.");
  if (!Number.isSafeInteger(minLetters) || minLetters < 20) throw optionFault(where, 'minLetters must be a whole number from 20.');
  if (!(typeof tolerance === 'number' && tolerance >= 0 && tolerance <= 1))
    throw optionFault(where, 'tolerance must be a number from 0 to 1.');
  const rule: Rule = { allowed: codes, scripts: new Set([...codes].flatMap((code) => [...scriptsOf(code)])), minLetters };
  const wanted = `it must be in ${[...codes].map(shortCodeOf).join(', ')}`;
  const reason = (subject: Subject): string | undefined => {
    const sums = judge(textsOf(subject).join('\n'), rule);
    const judged = sums.allowed + sums.other;
    if (judged === 0) return unknown === 'allow' || !sums.hasText ? undefined : `its language cannot be told; ${wanted}`;
    return sums.other / judged > tolerance ? `it is, or part of it is, in another language; ${wanted}` : undefined;
  };
  return refusingGuardrail<unknown, S>({ ...kind, reason }, options);
}

function readAllowed(where: string, given: unknown): ReadonlySet<string> {
  if (!Array.isArray(given) || given.length === 0)
    throw optionFault(where, "allowed is no list of languages. Give codes, such as ['en', 'de'].");
  return new Set(
    given.map((code: unknown) => {
      const known = typeof code === 'string' ? codeOf(code) : undefined;
      if (known === undefined)
        throw optionFault(
          where,
          `allowed names ${JSON.stringify(code)?.slice(0, 40)}, which is no language that can be told. ${typeof code === 'string' ? suggest(code, languageCodes) : ''}Give ISO 639 codes, such as en or deu.`,
        );
      return known;
    }),
  );
}

interface Rule {
  readonly allowed: ReadonlySet<string>;
  readonly scripts: ReadonlySet<string>;
  readonly minLetters: number;
}
interface Sums {
  readonly allowed: number;
  readonly other: number;
  /** There is something that could be in a language. */
  readonly hasText: boolean;
}

/** Letters in allowed and in other languages; of those that cannot be told, none. */
function judge(text: string, rule: Rule): Sums {
  const sums = { allowed: 0, other: 0, hasText: false };
  for (const piece of prosePieces(text)) {
    const { letters } = piece;
    sums.hasText ||= letters > 0;
    const found = verdictOf(piece, rule);
    if (found !== undefined) sums[found] += letters;
  }
  return sums;
}

function verdictOf({ prose, seen: letters }: ProsePiece, { allowed, scripts, minLetters }: Rule): 'allowed' | 'other' | undefined {
  if (letters < scriptLetters) return undefined;
  const ranked = francAll(prose);
  const best = ranked[0]?.[0];
  if (best === undefined || best === 'und') return undefined;
  // A language that alone has its script, or one that is not written in any script of those allowed.
  if (![...scriptsOf(best)].some((script) => scripts.has(script))) return 'other';
  if (ranked.length === 1) return allowed.has(best) ? 'allowed' : 'other';
  if (letters < minLetters || isNames(prose)) return undefined;
  const scoreOf = (isWanted: (code: string) => boolean): number => ranked.find(([code]) => isWanted(code))?.[1] ?? 0;
  const lead = scoreOf((code) => allowed.has(code)) - scoreOf((code) => !allowed.has(code));
  if (lead >= marginOf(letters)) return 'allowed';
  return letters >= refusingLetters && lead <= -refusingMarginOf(letters) ? 'other' : undefined;
}

/** Most words begin with a capital, and not all are of capitals: names and addresses. */
function isNames(prose: string): boolean {
  const words = prose.split(' ');
  const capitals = words.filter((one) => /^\p{Lu}/u.test(one)).length;
  return capitals > words.length * 0.6 && prose !== prose.toUpperCase();
}

/**
 * The language of a text, as an ISO 639 code of two letters where there is one, else of three; `unknown` where it cannot be told: too short, too
 * mixed, code, names.
 */
export function detectLanguage(text: string): string {
  const letters = new Map<string, number>();
  let sum = 0;
  for (const piece of prosePieces(text)) {
    sum += piece.letters;
    const ranked = piece.seen < scriptLetters ? [] : francAll(piece.prose);
    const [first, second] = ranked;
    const isTold =
      first !== undefined &&
      first[0] !== 'und' &&
      (second === undefined || (piece.seen >= defaultLetters && first[1] - second[1] >= marginOf(piece.seen)));
    if (isTold) letters.set(first[0], (letters.get(first[0]) ?? 0) + piece.letters);
  }
  const most = [...letters].sort((left, right) => right[1] - left[1])[0];
  return most !== undefined && most[1] > sum / 2 ? shortCodeOf(most[0]) : 'unknown';
}
