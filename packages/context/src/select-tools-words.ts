import type { ToolSpec } from '@guardloop/core/model';
import MiniSearch from 'minisearch';
import type { ToolRanker } from './select-tools-ranker.js';
import { clipWords, textOfTool } from './select-tools-ranker.js';

/** English words that say nothing of what a tool is for. */
const idle = new Set(
  (
    'a an and are as at be by can could do for from have i if in is it me my of on or please ' +
    'that the their them there this to was we what which who will with would you your'
  ).split(' '),
);
const maxTermChars = 64;
/** Scripts that put no spaces between words. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

let segmenter: Intl.Segmenter | undefined;

/** The words of a text; of a name, its parts: `get_order`, `get-order` and `getOrder` are two words. */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  const parted = text
    .normalize('NFKC')
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2');
  for (const [word] of parted.toLowerCase().matchAll(/[\p{L}\p{M}\p{N}]+/gu)) {
    if (!unspaced.test(word)) words.push(word.slice(0, maxTermChars));
    else {
      segmenter ??= new Intl.Segmenter('en', { granularity: 'word' });
      for (const { segment } of segmenter.segment(word)) words.push(segment);
    }
  }
  return words;
}

/**
 * Ranks tools by the words that their names, descriptions and names of arguments share with what is said, a word of the name counting twice.
 * A word of at least four letters finds those that begin with it. Searches in process, at once; the index is built once for a list of tools.
 */
export function byWords(): ToolRanker {
  const indexes = new WeakMap<readonly ToolSpec[], MiniSearch>();
  return (words, tools, { limit }) => {
    let index = indexes.get(tools);
    if (index === undefined) {
      index = indexOf(tools);
      indexes.set(tools, index);
    }
    const found = index.search(clipWords(words), { boost: { name: 2 }, prefix: (term) => term.length > 3 });
    found.sort((left, right) => right.score - left.score || left.id - right.id);
    return found.slice(0, limit).flatMap(({ id }) => tools[id]?.name ?? []);
  };
}

function indexOf(tools: readonly ToolSpec[]): MiniSearch {
  const index = new MiniSearch({
    fields: ['name', 'description', 'arguments'],
    tokenize: wordsOf,
    processTerm: (term) => (idle.has(term) ? null : term),
  });
  index.addAll(
    tools.map((tool, id) => {
      const { name, description, arguments: names } = textOfTool(tool);
      return { id, name, description, arguments: names.join(' ') };
    }),
  );
  return index;
}
