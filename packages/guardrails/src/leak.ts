import type { Guardrail, Surface } from '@guardloop/core';
import { checkWholeNumber, optionFault } from '@guardloop/core/model';
import type { RefusingOptions } from './refusing-guardrail.js';
import { checkRefusingOptions, refusingGuardrail } from './refusing-guardrail.js';
import { textsOf } from './subject-texts.js';
import { wordsOf } from './words.js';

/** Options of {@link leak}. */
export interface LeakOptions<C, S extends Surface = Surface> extends RefusingOptions<S> {
  /** Default `['output', 'toolInput', 'handoff']`. */
  readonly on?: readonly S[] | undefined;
  /** The texts that may not be told: an agent's instructions, or what makes them of the context. */
  readonly instructions: string | readonly string[] | ((context: C) => string | readonly string[]);
  /** Words in a row that count as a leak, whatever stands around them. From 8. Default 20. */
  readonly words?: number | undefined;
}

const ownNames = ['instructions', 'words'] as const;
const shingle = 8;
const defaultWords = 20;
const mostKnown = 100;

/**
 * A guardrail that refuses text which repeats instructions word for word, over so many words in a row; case, punctuation, line breaks and
 * invisible characters do not count. Other words for the same are not found, nor a translation. Throws CONFIG_INVALID.
 */
export function leak<C = unknown, const S extends Surface = 'output' | 'toolInput' | 'handoff'>(
  options: LeakOptions<C, S>,
): Guardrail<C, S> {
  const kind = { name: 'leak', on: ['output', 'toolInput', 'handoff'] as const, options: ownNames };
  checkRefusingOptions(kind, options);
  const { instructions, words = defaultWords } = options;
  const where = 'leak(…)';
  checkWholeNumber(where, { words }, shingle);
  if (typeof instructions !== 'function') {
    const texts = listOf(instructions);
    if (texts === undefined || texts.length === 0)
      throw optionFault(where, 'instructions is no text, list of texts or function. Give what may not be told.');
    const short = texts.find((text) => plainWords(text).length < words);
    if (short !== undefined)
      throw optionFault(
        where,
        `instructions has a text of ${plainWords(short).length} words, which is less than words (${words}): it could never be found. Lower words, or leave that text out.`,
      );
  }
  const known = new Map<string, ReadonlySet<string>>();
  const reason = (texts: readonly string[], context: C): string | undefined => {
    const told = listOf(typeof instructions === 'function' ? instructions(context) : instructions);
    if (told === undefined) throw new TypeError('instructions gave no text');
    const found = told.some((text) => {
      const shingles = shinglesOf(known, text);
      return texts.some((one) => longestRun(one, shingles) >= words);
    });
    return found
      ? 'it repeats the instructions of this assistant word for word; say in other words what the person needs to know'
      : undefined;
  };
  return refusingGuardrail<C, S>(
    {
      ...kind,
      reason: (subject, { context }) => {
        const texts = textsOf(subject);
        return reason(texts.length > 1 ? [...texts, texts.join(' ')] : texts, context);
      },
    },
    options,
  );
}

function listOf(given: unknown): readonly string[] | undefined {
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  return list.every((text): text is string => typeof text === 'string') ? list : undefined;
}

// One class: linear.
const invisible = /[\p{Cf}\p{M}'’]+/gu;

const plainWords = (text: string): readonly string[] => wordsOf(text.normalize('NFKD').replace(invisible, '').toLowerCase());

function shinglesOf(known: Map<string, ReadonlySet<string>>, text: string): ReadonlySet<string> {
  const before = known.get(text);
  if (before) return before;
  const words = plainWords(text);
  const shingles = new Set<string>();
  for (let at = 0; at + shingle <= words.length; at += 1) shingles.add(words.slice(at, at + shingle).join(' '));
  if (known.size >= mostKnown) known.clear();
  known.set(text, shingles);
  return shingles;
}

/** The most words in a row that stand so, eight at a time, in the instructions too. */
function longestRun(text: string, shingles: ReadonlySet<string>): number {
  const words = plainWords(text);
  let longest = 0;
  let run = 0;
  for (let at = 0; at + shingle <= words.length; at += 1) {
    run = shingles.has(words.slice(at, at + shingle).join(' ')) ? run + 1 : 0;
    if (run > longest) longest = run;
  }
  return longest === 0 ? 0 : longest + shingle - 1;
}
