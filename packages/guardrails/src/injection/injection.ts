import type { Guardrail, Surface } from '@guardloop/core';
import { optionFault } from '@guardloop/core/model';
import type { SearchInText } from '../text/finding.js';
import { searchAlone } from '../text/finding.js';
import type { TextGuardrailOptions } from '../text/text-guardrail.js';
import { textGuardrail } from '../text/text-guardrail.js';
import { injectionIn } from './find-injection.js';

/** What {@link injection} takes. */
export interface InjectionOptions<S extends Surface = Surface> extends TextGuardrailOptions<S> {
  /**
   * Sum of weights from which signs near each other (within 800 characters) count, each kind once. An order to ignore earlier orders has 1 by
   * itself, urgency 0.2. Lower finds more and is wrong more often. Default 1.
   */
  readonly threshold?: number | undefined;
}

/** Where a person can be asked. */
const askable: readonly Surface[] = ['toolInput', 'handoff', 'output'];

/**
 * Looks for instructions that hide in data: orders to ignore earlier orders or to show the prompt, new roles, words to an assistant, secrecy
 * from the user, chat templates, imitated calls, orders to send something somewhere, the same in encodings (base64, hex, percent signs, other
 * alphabets, digits for letters, turned around) or in hidden characters. Phrases that are only quoted count a quarter.
 *
 * These are heuristics: whoever knows them words an instruction that they miss, and most plainly worded ones they miss anyway. Never the only
 * barrier: what holds is knowing where data came from and what a call would do with it (`dataFlow`). So it is advisory. Without `then` it stands
 * on `input` and `toolOutput` in `shadow`: it is logged and not obeyed; where all surfaces in `on` can ask, it asks a person. With `then` it is
 * obeyed: `redact` takes the sentences out that hold the signs. Throws CONFIG_INVALID.
 */
export function injection<const S extends Surface = 'input' | 'toolOutput'>(options: InjectionOptions<S> = {}): Guardrail<unknown, S> {
  const { find } = findInjection(options);
  const on: readonly Surface[] = options.on ?? ['input', 'toolOutput'];
  const canAsk = Array.isArray(on) && on.every((surface) => askable.includes(surface));
  const shadow = options.shadow ?? (options.then === undefined && !canAsk);
  return textGuardrail<S>(
    {
      name: 'injection',
      find,
      on: ['input', 'toolOutput'],
      then: { input: 'deny', toolInput: 'ask', toolOutput: 'deny', handoff: 'ask', output: 'ask' },
      options: ['threshold'],
    },
    { ...options, shadow } as TextGuardrailOptions<S>,
  );
}

/** Of {@link injection}: its search alone. Throws CONFIG_INVALID. */
export function findInjection(options: Pick<InjectionOptions, 'threshold'> = {}): { readonly find: SearchInText } {
  const { threshold = 1 } = options;
  if (typeof threshold !== 'number' || !(threshold > 0) || !Number.isFinite(threshold))
    throw optionFault('injection(…)', 'threshold is no number above 0. Give one, for example 0.8; the default is 1.');
  return { find: searchAlone((text) => injectionIn(text, threshold)) };
}
