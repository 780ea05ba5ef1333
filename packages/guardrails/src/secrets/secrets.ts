import type { Guardrail, Surface } from '@guardloop/core';
import { checkOptionNames, optionFault, suggest } from '@guardloop/core/model';
import type { FindInText, SearchInText, TextFinding, TextPlace } from '../text/finding.js';
import { covering, searchAlone } from '../text/finding.js';
import { foldText } from '../text/fold.js';
import type { Pattern } from '../text/pattern.js';
import type { TextGuardrailOptions } from '../text/text-guardrail.js';
import { textGuardrail, textOptionNames } from '../text/text-guardrail.js';
import type { SecretKindId } from './built-in.js';
import { builtInKinds, writtenKinds } from './built-in.js';
import { findEncoded } from './encoded.js';
import { secretFinder } from './find.js';
import type { GitleaksRules } from './gitleaks.js';
import type { SecretGroup, SecretKind } from './kind.js';
import { longestShortSecret } from './kind.js';
import type { SecretRule } from './rules.js';
import { ruleFinder, userPattern } from './rules.js';

/** What {@link secrets} looks for, beside the options of all text guardrails. */
export interface SecretsOptions<S extends Surface = Surface> extends TextGuardrailOptions<S> {
  /** Ids of kinds, or groups of them. Default: all. */
  readonly kinds?: readonly (SecretKindId | SecretGroup)[] | undefined;
  /** Kinds and groups that are left out. */
  readonly without?: readonly (SecretKindId | SecretGroup)[] | undefined;
  /** Rules of your own. */
  readonly rules?: readonly SecretRule[] | undefined;
  /** Rules of a gitleaks file: `fromGitleaks(text)`. */
  readonly gitleaks?: GitleaksRules | undefined;
  /** Values that are no secrets: exact texts, or patterns in the syntax of RE2. */
  readonly allow?: readonly (string | RegExp)[] | undefined;
  /** Looks into base64 and hexadecimal too. Default false. */
  readonly encoded?: boolean | undefined;
  /**
   * Looks for what may be longer than 1,000 characters too: private keys, long JSON Web Tokens. Default true. Such a guardrail needs the
   * whole answer; with false, and without `rules` and `gitleaks`, answers flow through it.
   */
  readonly long?: boolean | undefined;
}

const name = 'secrets';
const ownOptions = [
  'kinds',
  'without',
  'rules',
  'gitleaks',
  'allow',
  'encoded',
  'long',
] as const satisfies readonly (keyof SecretsOptions)[];
/** Of the guardrail: its search is given all of them. */
const optionNames = Object.fromEntries([...textOptionNames, ...ownOptions].map((option) => [option, true as const]));
const groups = [...new Set([...builtInKinds.map(({ group }) => group), ...writtenKinds.map(({ group }) => group)])].sort();

/** All built-in kinds: id, what it is, and its group. */
export function secretKinds(): readonly { readonly id: SecretKindId; readonly words: string; readonly group: SecretGroup }[] {
  return [...builtInKinds, ...writtenKinds].map(({ id, words, group }) => ({ id, words, group }));
}

/**
 * Finds keys, tokens, passwords and private keys by how their makers write them, and redacts them as `[github-token]` (`then` for
 * another answer). A text in JSON is read with its field's name. Throws CONFIG_INVALID for options that make no sense.
 */
export function secrets<const S extends Surface = Surface>(options: SecretsOptions<S> = {}): Guardrail<unknown, S> {
  const { find, kinds, window } = search(options);
  return textGuardrail({ name, find, kinds, then: 'redact', window, options: ownOptions }, options);
}

/** Of {@link secrets}: its search alone, and how far it looks. Throws CONFIG_INVALID. */
export function findSecrets(options: Pick<SecretsOptions, (typeof ownOptions)[number]> = {}): {
  readonly find: SearchInText;
  readonly window: number | undefined;
} {
  const { find, window } = search(options);
  return { find: searchAlone(find), window };
}

function search(options: Pick<SecretsOptions, (typeof ownOptions)[number]>): {
  readonly find: FindInText;
  readonly kinds: readonly string[];
  readonly window: number | undefined;
} {
  const where = `${name}(…)`;
  checkOptionNames(where, options, optionNames);
  const isLong = readFlag(where, 'long', options.long ?? true);
  const isEncoded = readFlag(where, 'encoded', options.encoded ?? false);
  const isChosen = readChoice(where, options);
  const chosen = (builtInKinds as readonly SecretKind[]).filter((kind) => isChosen(kind) && (isLong || !kind.long));
  const written = new Set<string>(writtenKinds.filter(isChosen).map(({ id }) => id));
  const own = [...(options.rules ?? []), ...readGitleaks(where, options.gitleaks)];
  const finders: FindInText[] = [secretFinder({ kinds: chosen, written, isLong })];
  if (own.length > 0) finders.push(ruleFinder(where, own));
  const all: FindInText = (text, place) => finders.flatMap((find) => find(text, place));
  const withEncoded = isEncoded ? [all, findEncoded(all, isLong ? 16_384 : longestShortSecret)] : [all];
  const isAllowed = readAllow(where, options.allow);
  const search: FindInText = (text, place) => withEncoded.flatMap((find) => find(text, place));
  const find: FindInText = (text, place) =>
    covering([...search(text, place), ...inFolded(text, place, search)].filter(({ start, end }) => !isAllowed(text.slice(start, end))));
  const kinds = [...chosen, ...own].map(({ id }) => id);
  return { find, kinds: [...kinds, ...written], window: isLong || own.length > 0 ? undefined : longestShortSecret + 124 };
}

// One class: linear. Full-width letters and digits, and what nobody sees.
const disguise = /[\u00ad\u200b-\u200f\u2060-\u2064\ufeff\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]/;

/** What is found once that is read as what it looks like; beside what stands there as it is, since folding also joins words. */
function inFolded(text: string, place: TextPlace, find: FindInText): readonly TextFinding[] {
  if (!disguise.test(text)) return [];
  const { text: plain, offset } = foldText(text);
  return find(plain, place).map(({ start, end, kind }) => {
    const last = offset(end - 1);
    return { start: offset(start), end: last + ((text.codePointAt(last) ?? 0) > 0xffff ? 2 : 1), kind };
  });
}

function readFlag(where: string, option: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw optionFault(where, `${option} is neither true nor false.`);
  return value;
}

function readChoice(
  where: string,
  { kinds, without }: Pick<SecretsOptions, 'kinds' | 'without'>,
): (kind: { readonly id: string; readonly group: string }) => boolean {
  const ids = new Set<string>(secretKinds().map(({ id }) => id));
  const known = [...ids, ...groups];
  const read = (option: string, given: unknown): ReadonlySet<string> | undefined => {
    if (given === undefined) return undefined;
    if (!Array.isArray(given)) throw optionFault(where, `${option} is no list. Give ids of kinds, or groups: ${groups.join(', ')}.`);
    for (const entry of given as unknown[]) {
      if (typeof entry !== 'string' || !known.includes(entry)) {
        const hint = typeof entry === 'string' ? suggest(entry, known) : '';
        throw optionFault(
          where,
          `${option} names ${String(entry)}, which is no kind and no group. ${hint}secretKinds() lists all; groups are ${groups.join(', ')}.`,
        );
      }
    }
    return new Set(given as string[]);
  };
  const [only, not] = [read('kinds', kinds), read('without', without)];
  return ({ id, group }) => (only === undefined || only.has(id) || only.has(group)) && !(not?.has(id) || not?.has(group));
}

function readGitleaks(where: string, given: unknown): readonly SecretRule[] {
  if (given === undefined) return [];
  const rules: unknown = typeof given === 'object' && given !== null ? (given as { rules?: unknown }).rules : undefined;
  if (!Array.isArray(rules))
    throw optionFault(where, 'gitleaks is not what fromGitleaks gives. Write gitleaks: fromGitleaks(textOfTheFile).');
  return rules as readonly SecretRule[];
}

function readAllow(where: string, given: readonly (string | RegExp)[] | undefined): (value: string) => boolean {
  if (given === undefined) return () => false;
  if (!Array.isArray(given)) throw optionFault(where, 'allow is no list. Give exact values, or patterns.');
  const exact = new Set<string>();
  const patterns: Pattern[] = [];
  for (const entry of given as readonly unknown[]) {
    if (typeof entry === 'string') exact.add(entry);
    else patterns.push(userPattern(`${where}, allow`, entry));
  }
  return (value) => exact.has(value) || patterns.some((pattern) => pattern.matches(value).length > 0);
}
