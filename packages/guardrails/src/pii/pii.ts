import type { Guardrail, Surface } from '@guardloop/core';
import { checkOptionNames, optionFault, suggest } from '@guardloop/core/model';
import type { FindInText, SearchInText } from '../text/finding.js';
import { covering, searchAlone } from '../text/finding.js';
import type { TextGuardrailOptions } from '../text/text-guardrail.js';
import { textGuardrail, textOptionNames } from '../text/text-guardrail.js';
import type { PiiKindId } from './built-in.js';
import { builtInKinds, readKinds } from './built-in.js';
import { piiFinder } from './find.js';
import type { PiiGroup, PiiKind } from './kind.js';
import { phoneRegions } from './phone.js';

/** What {@link pii} looks for, beside the options of all text guardrails. */
export interface PiiOptions<S extends Surface = Surface> extends TextGuardrailOptions<S> {
  /** Ids of kinds, or groups of them. Default: all but `postal-address`, which is found in a few countries' forms only. */
  readonly kinds?: readonly (PiiKindId | PiiGroup)[] | undefined;
  /** Kinds and groups that are left out. */
  readonly without?: readonly (PiiKindId | PiiGroup)[] | undefined;
  /**
   * ISO 3166 codes of the countries whose people the agent serves, such as `['DE', 'AT']`: their telephone numbers are known without a
   * word like `call` near, and of the national numbers only theirs are looked for. Default: national numbers of all countries.
   */
  readonly regions?: readonly string[] | undefined;
}

const name = 'pii';
const ownOptions = ['kinds', 'without', 'regions'] as const satisfies readonly (keyof PiiOptions)[];
const all: readonly { readonly id: PiiKindId; readonly words: string; readonly group: PiiGroup; readonly region?: string }[] = [
  ...readKinds,
  ...builtInKinds,
];
/** Of the guardrail: its search is given all of them. */
const optionNames = Object.fromEntries([...textOptionNames, ...ownOptions].map((option) => [option, true as const]));
const groups = [...new Set(all.map(({ group }) => group))].sort();

/** Characters that any finding has at most, and as far as context is looked for. */
const window = 256;

/** All kinds: id, what it is, its group, and of a national number its country. */
export function piiKinds(): readonly {
  readonly id: PiiKindId;
  readonly words: string;
  readonly group: PiiGroup;
  readonly region?: string;
}[] {
  return all.map(({ id, words, group, region }) => ({ id, words, group, ...(region === undefined ? {} : { region }) }));
}

/**
 * Finds personal data by its form, its checksum and the words near it, and redacts it as `[email]` (`then` for another answer). Numbers
 * without a form of their own count only near a word that says what they are. Throws CONFIG_INVALID for options that make no sense.
 */
export function pii<const S extends Surface = Surface>(options: PiiOptions<S> = {}): Guardrail<unknown, S> {
  const { find, kinds } = search(options);
  return textGuardrail({ name, find, kinds, then: 'redact', window, options: ownOptions }, options);
}

/** Of {@link pii}: its search alone. Throws CONFIG_INVALID. */
export function findPii(options: Pick<PiiOptions, (typeof ownOptions)[number]> = {}): { readonly find: SearchInText } {
  return { find: searchAlone(search(options).find) };
}

function search(options: Pick<PiiOptions, (typeof ownOptions)[number]>): { readonly find: FindInText; readonly kinds: readonly string[] } {
  const where = `${name}(…)`;
  checkOptionNames(where, options, optionNames);
  const regions = readRegions(where, options.regions);
  const isChosen = readChoice(where, options);
  const isHere = ({ region }: { readonly region?: string }): boolean =>
    regions === undefined || region === undefined || regions.includes(region);
  const kinds = (builtInKinds as readonly PiiKind[]).filter((kind) => isChosen(kind) && isHere(kind));
  const read = new Set<string>(readKinds.filter(isChosen).map(({ id }) => id));
  const find = piiFinder({ kinds, read, phoneRegions: regions ?? [] });
  return { find: (text, place) => covering(find(text, place)), kinds: [...kinds.map(({ id }) => id), ...read] };
}

function readRegions(where: string, given: unknown): readonly string[] | undefined {
  if (given === undefined) return undefined;
  const known = phoneRegions();
  if (!Array.isArray(given)) throw optionFault(where, "regions is no list. Give codes of countries, such as ['DE', 'AT'].");
  for (const region of given as unknown[]) {
    if (typeof region === 'string' && known.includes(region)) continue;
    const upper = typeof region === 'string' ? region.toUpperCase() : '';
    const hint = upper === 'UK' ? 'Did you mean GB? ' : known.includes(upper) ? `Did you mean ${upper}? ` : '';
    throw optionFault(
      where,
      `regions names ${String(region)}, which is no country's code. ${hint}Give two letters of ISO 3166, such as DE.`,
    );
  }
  return given as readonly string[];
}

function readChoice(
  where: string,
  { kinds, without }: Pick<PiiOptions, 'kinds' | 'without'>,
): (kind: { readonly id: string; readonly group: string }) => boolean {
  const known = [...all.map(({ id }) => id), ...groups];
  const read = (option: string, given: unknown): ReadonlySet<string> | undefined => {
    if (given === undefined) return undefined;
    if (!Array.isArray(given)) throw optionFault(where, `${option} is no list. Give ids of kinds, or groups: ${groups.join(', ')}.`);
    for (const entry of given as unknown[]) {
      if (typeof entry === 'string' && (known as string[]).includes(entry)) continue;
      const hint = typeof entry === 'string' ? suggest(entry, known) : '';
      throw optionFault(
        where,
        `${option} names ${String(entry)}, which is no kind and no group. ${hint}piiKinds() lists all; groups are ${groups.join(', ')}.`,
      );
    }
    return new Set(given as string[]);
  };
  const [only, not] = [read('kinds', kinds), read('without', without)];
  return ({ id, group }) =>
    (only === undefined ? id !== 'postal-address' : only.has(id) || only.has(group)) && !(not?.has(id) || not?.has(group));
}
