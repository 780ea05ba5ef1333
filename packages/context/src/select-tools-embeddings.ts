import type { Awaitable } from '@guardloop/core';
import { GuardloopError } from '@guardloop/core';
import type { ToolRanker } from './select-tools-ranker.js';
import { clipWords, textOfTool } from './select-tools-ranker.js';

/** Makes a vector of each text, in their order, all of one length. May be given some hundred texts at once. */
export type EmbedTexts = (texts: readonly string[], info: { readonly signal: AbortSignal }) => Awaitable<readonly ArrayLike<number>[]>;

/** Vectors that are kept; then the oldest go. */
const maxKept = 5_000;

/**
 * Ranks tools by how near the vectors of their names, descriptions and arguments are to that of what is said (cosine; what points away does
 * not fit). The vector of a tool is asked for once. Throws CONFIG_INVALID for what is no function, and, when it ranks, for a wrong number of vectors, or of different lengths.
 */
export function byEmbeddings(embed: EmbedTexts): ToolRanker {
  if (typeof embed !== 'function')
    throw new GuardloopError(
      'CONFIG_INVALID',
      'byEmbeddings was given no function. Give one that makes a vector of each of several texts.',
    );
  const known = new Map<string, readonly number[]>();
  return async (words, tools, { limit, signal }) => {
    const said = clipWords(words);
    const texts = tools.map((tool) => {
      const { name, description, arguments: names } = textOfTool(tool);
      return `${name}: ${description}${names.length === 0 ? '' : ` (${names.join(', ')})`}`;
    });
    const vectors = new Map(texts.flatMap((text) => entryOf(text, known.get(text))));
    const missing = [...new Set(texts)].filter((text) => !vectors.has(text));
    const [query, ...made] = await vectorsOf([said, ...missing], { embed, signal });
    for (const [index, text] of missing.entries()) {
      const vector = made[index] ?? [];
      vectors.set(text, vector);
      known.set(text, vector);
    }
    for (const oldest of known.keys()) {
      if (known.size <= maxKept) break;
      known.delete(oldest);
    }
    return tools
      .map(({ name }, index) => ({ name, nearness: product(query ?? [], vectors.get(texts[index] ?? '') ?? []) }))
      .filter(({ nearness }) => nearness > 0)
      .sort((left, right) => right.nearness - left.nearness)
      .slice(0, limit)
      .map(({ name }) => name);
  };
}

const entryOf = (text: string, vector: readonly number[] | undefined): [string, readonly number[]][] =>
  vector === undefined ? [] : [[text, vector]];

interface Embedding {
  readonly embed: EmbedTexts;
  readonly signal: AbortSignal;
}

/** Vectors of length one. */
async function vectorsOf(texts: readonly string[], { embed, signal }: Embedding): Promise<readonly (readonly number[])[]> {
  const given: unknown = await embed(texts, { signal });
  const vectors = Array.isArray(given) ? given.map(unitOf) : [];
  if (vectors.length !== texts.length)
    throw new GuardloopError(
      'CONFIG_INVALID',
      `The function of byEmbeddings gave ${vectors.length} vectors for ${texts.length} texts. Have it give one for each, in their order.`,
    );
  return vectors;
}

function unitOf(given: ArrayLike<number>): readonly number[] {
  const vector = Array.from(given);
  const length = Math.hypot(...vector);
  return length > 0 && Number.isFinite(length) ? vector.map((value) => value / length) : vector.map(() => 0);
}

function product(left: readonly number[], right: readonly number[]): number {
  if (left.length !== right.length)
    throw new GuardloopError(
      'CONFIG_INVALID',
      `The function of byEmbeddings gave vectors of ${left.length} and of ${right.length} numbers. Have it give vectors of one length.`,
    );
  let sum = 0;
  for (const [index, value] of left.entries()) sum += value * (right[index] ?? 0);
  return sum;
}
