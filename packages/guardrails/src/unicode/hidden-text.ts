import type { Guardrail, Surface } from '@guardloop/core';
import { optionFault, suggest } from '@guardloop/core/model';
import type { FindInText, SearchInText } from '../text/finding.js';
import { searchAlone } from '../text/finding.js';
import type { TextGuardrailOptions } from '../text/text-guardrail.js';
import { textGuardrail } from '../text/text-guardrail.js';
import type { HiddenKind } from './find-hidden.js';
import { findHidden, hiddenKinds, hiddenReach } from './find-hidden.js';

export type { HiddenKind } from './find-hidden.js';

/** What {@link hiddenText} takes. */
export interface HiddenTextOptions<S extends Surface = Surface> extends TextGuardrailOptions<S> {
  /** Kinds that are left alone, for example `private-use` where texts hold icons. Default: none. */
  readonly keep?: readonly HiddenKind[] | undefined;
}

/**
 * Takes characters out that people do not see and models read: tag characters, zero-width characters, direction controls that are not in
 * pairs or override, runs of variation selectors, soft hyphens, interlinear marks, invisible fillers, private-use characters; and writes words
 * that mix Latin letters with look-alikes of other scripts in Latin ones. Left alone: emoji with joiners, skin colours, keycaps and flags
 * (those of England, Scotland and Wales too), joiners in Persian, Arabic and Indic words, direction marks and paired isolates in Hebrew and
 * Arabic text, combining marks, variants of ideographs, Mongolian letters and mathematical signs.
 *
 * Stands on all surfaces; default `redact`: what is hidden is removed. Answers flow through it. A word that is written wholly in another
 * script's look-alikes is not seen, and data in legitimate places (one joiner or none between two Persian letters) neither. Throws
 * CONFIG_INVALID.
 */
export function hiddenText<const S extends Surface = Surface>(options: HiddenTextOptions<S> = {}): Guardrail<unknown, S> {
  const { placeholder } = options;
  const { find, window } = findHiddenText(options);
  const marked: FindInText = (text, place) => find(text, place).map(({ start, end, kind }) => ({ start, end, kind }));
  return textGuardrail<S>(
    { name: 'hidden-text', find: placeholder === undefined ? find : marked, then: 'redact', window, options: ['keep'] },
    options,
  );
}

/** Of {@link hiddenText}: its search alone, and how far it looks. What it finds has `with`: what is to stand in its place. Throws CONFIG_INVALID. */
export function findHiddenText(options: Pick<HiddenTextOptions, 'keep'> = {}): { readonly find: SearchInText; readonly window: number } {
  const { keep = [] } = options;
  for (const kind of Array.isArray(keep) ? (keep as readonly unknown[]) : [keep]) {
    if (hiddenKinds.includes(kind as HiddenKind)) continue;
    const hint = typeof kind === 'string' ? suggest(kind, hiddenKinds) || suggestBeginning(kind) : '';
    throw optionFault('hiddenText(…)', `keep is no list of kinds. ${hint}The kinds are ${hiddenKinds.join(', ')}.`);
  }
  const kept: ReadonlySet<string> = new Set(keep);
  return { find: searchAlone((text) => findHidden(text, kept)), window: hiddenReach };
}

function suggestBeginning(kind: string): string {
  const meant = hiddenKinds.find((each) => kind !== '' && each.startsWith(kind.toLowerCase()));
  return meant === undefined ? '' : `Did you mean ${meant}? `;
}
