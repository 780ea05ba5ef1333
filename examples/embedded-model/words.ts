// What a text is about: its words, cut to their stems, and how well a tool fits them.
import type { ToolSpec } from '@guardloop/core';

const fillers = new Set(
  'a about all an and any are as at be been by can could did do does for from get give has have her his how i if in into is it its let me my of on one or our out over please say so that the them then there this to us was we were what which who will with would you your'.split(
    ' ',
  ),
);

/** `charged`, `charges` and `charge` are one word. */
function stem(word: string): string {
  return word.length > 4 ? word.replace(/(?:ing|ed|es|s|e)$/, '') : word.replace(/s$/, '');
}

/** The telling words of a text, as stems, each once. Ids and numbers are no words. */
export function wordsOf(text: string): ReadonlySet<string> {
  const words = text
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase()
    .match(/(?<![\w-])\p{L}{2,}(?![\w-]*\d)/gu);
  return new Set((words ?? []).filter((word) => !fillers.has(word)).map(stem));
}

const nameWords = (tool: ToolSpec): ReadonlySet<string> => wordsOf(tool.name.replaceAll(/[_-]/g, ' '));

/**
 * The tool whose name and description share the most with `words`; undefined if none shares enough. A word in the name counts for more, and a
 * word that several tools use for little: "order" says nothing where every tool is about orders.
 */
export function bestTool(words: ReadonlySet<string>, tools: readonly ToolSpec[]): ToolSpec | undefined {
  const known = tools.map((tool) => ({ tool, name: nameWords(tool), all: new Set([...nameWords(tool), ...wordsOf(tool.description)]) }));
  let best: ToolSpec | undefined;
  let bestScore = 0.4;
  for (const { tool, name, all } of known) {
    let score = 0;
    for (const word of words) {
      if (all.has(word)) score += (name.has(word) ? 1.5 : 1) / known.filter((other) => other.all.has(word)).length ** 2;
    }
    if (score > bestScore) [best, bestScore] = [tool, score];
  }
  return best;
}
