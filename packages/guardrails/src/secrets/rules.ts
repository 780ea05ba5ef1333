// Rules of the user's own, and of a gitleaks file: patterns on a linear engine, run where a keyword of theirs stands.
import { optionFault } from '@guardloop/core/model';
import type { FindInText, TextFinding } from '../text/finding.js';
import { keywordScan } from '../text/keyword-scan.js';
import type { Pattern, PatternMatch } from '../text/pattern.js';
import { compilePattern } from '../text/pattern.js';
import { entropyOf } from './likeness.js';

/** One rule of the user's own. */
export interface SecretRule {
  /** Stands in reasons and placeholders. */
  readonly id: string;
  /** In the syntax of RE2 (no look-around, no back-references), as text or as a `RegExp`, whose flags `i`, `m` and `s` count. */
  readonly pattern: string | RegExp;
  /**
   * Words, upper or lower case: the pattern is run only around them, from 512 characters before to 2,048 behind (16,384 for a pattern
   * that has no longest match). Left out: over every text.
   */
  readonly keywords?: readonly string[] | undefined;
  /** Group of the pattern that is the secret. Default: the first group that took part, else the whole match. */
  readonly group?: number | undefined;
  /** Bits per character (Shannon) that the secret has at least. */
  readonly entropy?: number | undefined;
  /** What is no secret although it fits. */
  readonly allow?: readonly SecretAllowance[] | undefined;
}

/** What is let pass. Without `when: 'all'` one of the two is enough. */
export interface SecretAllowance {
  /** In the syntax of RE2; found anywhere in `in`. */
  readonly patterns?: readonly (string | RegExp)[] | undefined;
  /** Words that stand in the secret, upper or lower case. */
  readonly words?: readonly string[] | undefined;
  /** What `patterns` look at. Default `secret`. */
  readonly in?: 'secret' | 'match' | 'line' | undefined;
  readonly when?: 'any' | 'all' | undefined;
}

type IsAllowed = (candidate: { readonly text: string; readonly match: PatternMatch; readonly secret: string }) => boolean;

interface CompiledRule {
  readonly id: string;
  readonly pattern: Pattern;
  readonly group: number | undefined;
  readonly entropy: number;
  readonly allow: readonly IsAllowed[];
  /** Characters behind a keyword that a match may take. */
  readonly reach: number;
}

interface Stretch {
  readonly from: number;
  to: number;
}

const before = 512;
const reachBounded = 2_048;
const reachUnbounded = 16_384;

/** Compiles a pattern of the user's; throws CONFIG_INVALID that names where it stands. */
export function userPattern(where: string, pattern: unknown): Pattern {
  if (typeof pattern !== 'string' && !(pattern instanceof RegExp))
    throw optionFault(where, 'pattern is neither a text nor a RegExp. Give one of them.');
  const source = typeof pattern === 'string' ? pattern : pattern.source;
  const flags = typeof pattern === 'string' ? '' : pattern.flags.replace(/[^ims]/g, '');
  try {
    const compiled = compilePattern(flags === '' ? source : `(?${flags})${source}`);
    if (compiled.matches('').length > 0) throw new Error('it matches the empty text');
    return compiled;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw optionFault(where, `pattern cannot be used: ${why}. The syntax is that of RE2: no look-around, no back-references.`);
  }
}

/** A finder of rules; throws CONFIG_INVALID for a rule that cannot be used, by its id. */
export function ruleFinder(where: string, rules: readonly SecretRule[]): FindInText {
  const always: CompiledRule[] = [];
  const words: string[] = [];
  const owners: CompiledRule[] = [];
  for (const rule of rules) {
    const compiled = compileRule(where, rule);
    const keywords = (rule.keywords ?? []).filter((keyword) => keyword !== '');
    if (keywords.length === 0) always.push(compiled);
    else {
      for (const keyword of keywords) {
        words.push(keyword.toLowerCase());
        owners.push(compiled);
      }
    }
  }
  const scan = keywordScan(words, { ignoreCase: true });
  return (text) => {
    const due = new Map<CompiledRule, Stretch[]>();
    scan(text, (word, end) => {
      const owner = owners[word];
      if (owner === undefined) return;
      const stretches = due.get(owner) ?? [];
      due.set(owner, stretches);
      const last = stretches.at(-1);
      const from = Math.max(0, end - before);
      const to = Math.min(text.length, end + owner.reach);
      if (last !== undefined && from <= last.to) last.to = to;
      else stretches.push({ from, to });
    });
    const whole: readonly Stretch[] = [{ from: 0, to: text.length }];
    const jobs: readonly (readonly [CompiledRule, readonly Stretch[]])[] = [...always.map((rule) => [rule, whole] as const), ...due];
    return jobs.flatMap(([rule, stretches]) => stretches.flatMap((stretch) => findByRule(rule, text, toSpaces(text, stretch))));
  };
}

/** Ends of a stretch moved out to white space, if there is some near: what looks for the end of a line finds an end. */
function toSpaces(text: string, { from, to }: Stretch): Stretch {
  let [start, end] = [from, to];
  while (start > 0 && from - start < 200 && !/\s/.test(text.charAt(start - 1))) start -= 1;
  while (end < text.length && end - to < 200 && !/\s/.test(text.charAt(end))) end += 1;
  return { from: start, to: end };
}

function compileRule(where: string, rule: SecretRule): CompiledRule {
  if (typeof rule !== 'object' || rule === null || typeof rule.id !== 'string' || rule.id === '')
    throw optionFault(where, 'a rule has no id. Give each an id, which stands in reasons and placeholders.');
  const place = `${where}, rule ${rule.id}`;
  const { entropy = 0, group } = rule;
  if (typeof entropy !== 'number' || Number.isNaN(entropy))
    throw optionFault(place, 'entropy is no number. Give bits per character, such as 3.5.');
  if (group !== undefined && !(Number.isInteger(group) && group >= 0)) throw optionFault(place, 'group is no whole number from 0 on.');
  return {
    id: rule.id,
    pattern: userPattern(place, rule.pattern),
    // Something is repeated without a bound.
    reach: /[*+]|\{\d+,\}/.test(typeof rule.pattern === 'string' ? rule.pattern : rule.pattern.source) ? reachUnbounded : reachBounded,
    group,
    entropy,
    allow: (rule.allow ?? []).map((allowance) => compileAllowance(place, allowance)),
  };
}

/** Compiles one allowance; throws CONFIG_INVALID. */
export function compileAllowance(where: string, allowance: SecretAllowance): IsAllowed {
  const patterns = (allowance.patterns ?? []).map((pattern) => userPattern(`${where}, allow`, pattern));
  const words = (allowance.words ?? []).map((word) => word.toLowerCase());
  const isAll = allowance.when === 'all';
  return ({ text, match, secret }) => {
    const target = allowance.in === 'line' ? lineOf(text, match) : allowance.in === 'match' ? text.slice(match.start, match.end) : secret;
    const byPattern = patterns.some((pattern) => pattern.matches(target).length > 0);
    const lower = secret.toLowerCase();
    const byWord = words.some((word) => lower.includes(word));
    if (!isAll) return byPattern || byWord;
    return (patterns.length === 0 || byPattern) && (words.length === 0 || byWord) && patterns.length + words.length > 0;
  };
}

function lineOf(text: string, { start, end }: PatternMatch): string {
  const from = text.lastIndexOf('\n', start) + 1;
  const to = text.indexOf('\n', end);
  // A line has no bound; what an allowance looks at has.
  return text.slice(Math.max(from, start - 1_000), Math.min(to === -1 ? text.length : to, end + 1_000));
}

function findByRule(rule: CompiledRule, text: string, { from, to }: Stretch): readonly TextFinding[] {
  const found: TextFinding[] = [];
  for (const match of rule.pattern.matches(text, from, to)) {
    const group =
      rule.group === undefined || rule.group === 0
        ? match.groups.findIndex((value, index) => index > 0 && value !== undefined && value !== '')
        : rule.group;
    const place = (group > 0 ? match.place(group) : undefined) ?? match;
    const secret = text.slice(place.start, place.end);
    if (secret === '' || (rule.entropy > 0 && entropyOf(secret) < rule.entropy)) continue;
    if (rule.allow.some((isAllowed) => isAllowed({ text, match, secret }))) continue;
    found.push({ start: place.start, end: place.end, kind: rule.id });
  }
  return found;
}
