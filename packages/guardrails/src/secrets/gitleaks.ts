import { optionFault } from '@guardloop/core/model';
import { parse } from 'smol-toml';
import type { SecretAllowance, SecretRule } from './rules.js';
import { compileAllowance, userPattern } from './rules.js';

/** What {@link fromGitleaks} has read. */
export interface GitleaksRules {
  readonly rules: readonly SecretRule[];
  /** Rules, and parts of rules, that say nothing about a text: those that know a file by its path, for example. */
  readonly leftOut: readonly { readonly id: string; readonly why: string }[];
}

type Table = Readonly<Record<string, unknown>>;
const where = 'fromGitleaks(…)';

/**
 * Reads a gitleaks configuration (TOML, versions 8.x) given as its text: `rules` with `regex`, `secretGroup`, `entropy`, `keywords`,
 * `allowlist` or `allowlists` (`regexes`, `regexTarget`, `stopwords`, `condition`), and the allowlists for all rules. Paths and commits
 * are not looked at. `extend` is not followed: give the extended file too. Throws CONFIG_INVALID for a text that is no TOML, and for a
 * rule that cannot be used, which it names.
 */
export function fromGitleaks(text: string): GitleaksRules {
  const file = readToml(text);
  const leftOut: { id: string; why: string }[] = [];
  if (file.extend !== undefined) leftOut.push({ id: 'extend', why: 'other files are not read; give fromGitleaks their text' });
  const everywhere = allowlists(file, 'the allowlist of all rules');
  const rules: SecretRule[] = [];
  for (const [index, rule] of tables(file.rules, 'rules').entries()) {
    const id = rule.id;
    if (typeof id !== 'string' || id === '') throw optionFault(where, `rule number ${index + 1} has no id. Give it one.`);
    if (rule.regex === undefined) {
      if (rule.path === undefined) throw optionFault(where, `rule ${id} has neither a regex nor a path. Give it a regex, or take it out.`);
      leftOut.push({ id, why: 'it knows a file by its path; a text has none' });
      continue;
    }
    if (rule.path !== undefined) leftOut.push({ id, why: 'only its path was left out: it is run on every text' });
    rules.push(readRule(id, rule, everywhere));
  }
  return { rules, leftOut };
}

function readToml(text: string): Table {
  if (typeof text !== 'string') throw optionFault(where, 'it was not given a text. Give the text of the file: readFileSync(path, "utf8").');
  try {
    return parse(text);
  } catch (error) {
    // The first line of the message; the others quote the file.
    const [why = 'it is no TOML'] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw optionFault(where, `the text is no TOML: ${why}. Give the text of a gitleaks.toml.`);
  }
}

function readRule(id: string, rule: Table, everywhere: readonly SecretAllowance[]): SecretRule {
  const place = `${where}, rule ${id}`;
  if (typeof rule.regex !== 'string') throw optionFault(place, 'regex is no text.');
  userPattern(place, rule.regex);
  const allow = [...everywhere, ...allowlists(rule, `rule ${id}`)];
  return {
    id,
    pattern: rule.regex,
    keywords: texts(rule.keywords, `${place}, keywords`),
    group: number(rule.secretGroup, `${place}, secretGroup`),
    entropy: number(rule.entropy, `${place}, entropy`),
    ...(allow.length > 0 ? { allow } : {}),
  };
}

function allowlists(table: Table, owner: string): readonly SecretAllowance[] {
  const place = `${where}, ${owner}`;
  const lists = [
    ...tables(table.allowlist === undefined ? [] : [table.allowlist], `${owner}, allowlist`),
    ...tables(table.allowlists, `${owner}, allowlists`),
  ];
  return lists.flatMap((list) => {
    const patterns = texts(list.regexes, `${place}, regexes`);
    const words = texts(list.stopwords, `${place}, stopwords`);
    if (patterns.length === 0 && words.length === 0) return [];
    const isAll = typeof list.condition === 'string' && /^(and|&&)$/i.test(list.condition);
    // With AND, a path or commit must fit too: of a text that cannot be said, so nothing is let pass.
    if (isAll && (list.paths !== undefined || list.commits !== undefined)) return [];
    const target = list.regexTarget === 'match' || list.regexTarget === 'line' ? list.regexTarget : 'secret';
    const allowance = { patterns, words, in: target, when: isAll ? 'all' : 'any' } as const;
    compileAllowance(place, allowance);
    return [allowance];
  });
}

function tables(value: unknown, name: string): readonly Table[] {
  if (value === undefined) return [];
  const isList = Array.isArray(value) && value.every((entry) => typeof entry === 'object' && entry !== null);
  if (!isList) throw optionFault(where, `${name} is no list of tables.`);
  return value as readonly Table[];
}

function texts(value: unknown, place: string): readonly string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string')) throw optionFault(place, 'it is no list of texts.');
  return value as readonly string[];
}

function number(value: unknown, place: string): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'number') throw optionFault(place, 'it is no number.');
  return value;
}
