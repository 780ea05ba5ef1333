import type { Awaitable, Guardrail, Subject, Surface } from '@guardloop/core';
import { optionFault, suggest } from '@guardloop/core/model';
import type { RefusingOptions } from './refusing-guardrail.js';
import { checkRefusingOptions, refusingGuardrail } from './refusing-guardrail.js';
import { wordsOf } from './words.js';

/** What a length is counted in: characters as people see code points, words, or what a function of yours counts, such as tokens. */
export type LengthUnit = 'characters' | 'words' | ((text: string) => Awaitable<number>);

/** Options of {@link length}. */
export interface LengthOptions<S extends Surface = Surface> extends RefusingOptions<S> {
  /** Default `['input', 'output']`. */
  readonly on?: readonly S[] | undefined;
  /** At least so many. Default: no least. */
  readonly min?: number | undefined;
  /** At most so many. Default: no most. */
  readonly max?: number | undefined;
  /**
   * Default `characters`: code points. `words` are runs of letters and digits; in scripts without spaces (Han, Kana, Thai, Lao, Khmer, Burmese)
   * each character is one. A function must give a whole number from 0.
   */
  readonly unit?: LengthUnit | undefined;
  /** What the unit is called in reasons, where it is a function. Default `tokens`. */
  readonly unitName?: string | undefined;
}

const ownNames = ['min', 'max', 'unit', 'unitName'] as const;
const units = ['characters', 'words'] as const;

/**
 * A guardrail that refuses what is too long or too short. What it measures is `content`: all new items of an input together, of a structured
 * value its JSON. Text beside calls may be short: `min` looks at final answers only. Throws CONFIG_INVALID.
 */
export function length<const S extends Surface = 'input' | 'output'>(options: LengthOptions<S>): Guardrail<unknown, S> {
  const kind = { name: 'length', on: ['input', 'output'] as const, options: ownNames };
  checkRefusingOptions(kind, options);
  const { min, max, unit = 'characters', unitName } = options;
  const where = 'length(…)';
  if (min === undefined && max === undefined) throw optionFault(where, 'it has neither min nor max. Give one, or both.');
  for (const [name, value] of Object.entries({ min, max }))
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= (name === 'max' ? 1 : 0)))
      throw optionFault(where, `${name} must be a whole number from ${name === 'max' ? 1 : 0}.`);
  if (min !== undefined && max !== undefined && min > max)
    throw optionFault(where, `min is ${min} and max is ${max}: nothing is both. Correct one.`);
  if (typeof unit !== 'function' && !units.includes(unit)) {
    const hint = typeof unit === 'string' ? suggest(unit, units) : '';
    throw optionFault(
      where,
      `unit is neither 'characters' nor 'words' nor a function. ${hint}For tokens give a function that counts them.`,
    );
  }
  if (unitName !== undefined && typeof unitName !== 'string') throw optionFault(where, 'unitName is no text. Give one, or leave it out.');
  const name = typeof unit === 'function' ? (unitName ?? 'tokens') : unit;
  const bounds: Bounds = { min, max, name };
  return refusingGuardrail<unknown, S>(
    {
      ...kind,
      reason: (subject) => {
        const { content } = subject;
        const counted = unit === 'characters' ? charactersOf(content) : unit === 'words' ? wordsOf(content).length : unit(content);
        return typeof counted === 'number'
          ? judge(bounds, subject, counted)
          : Promise.resolve(counted).then((count) => judge(bounds, subject, count));
      },
    },
    options,
  );
}

interface Bounds {
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly name: string;
}

function judge({ min, max, name }: Bounds, subject: Subject, count: number): string | undefined {
  if (!Number.isSafeInteger(count) || count < 0) throw new TypeError('a length is no whole number from 0');
  if (max !== undefined && count > max) return `it has ${count} ${name}; at most ${max} are allowed`;
  const isBeside = subject.surface === 'output' && (!subject.final || subject.kind === 'reasoning');
  return min !== undefined && count < min && !isBeside ? `it has ${count} ${name}; at least ${min} are needed` : undefined;
}

/** Code points; a lone surrogate is one. */
function charactersOf(text: string): number {
  let count = text.length;
  for (let index = 0; index + 1 < text.length; index += 1) {
    const isPair = (text.charCodeAt(index) & 0xfc00) === 0xd800 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00;
    if (!isPair) continue;
    count -= 1;
    index += 1;
  }
  return count;
}
