import { DefinitionReader, describe, invalid, isList, property } from './definition-reader.js';
import { wrap } from './detailed.js';
import type { PartialResult, PartialWords } from './types.js';

/**
 * For a tool to return: a part of what there is, with a sentence that says so. The model sees the JSON of `completeness`, `summary`, `more`
 * and `result`, all of it guarded as one; the tool's `output` schema and `project` are about `output` alone. Throws CONFIG_INVALID.
 */
export function partial<R>(output: R, words: PartialWords): PartialResult<R> {
  const summary = property(words, 'summary');
  const more = property(words, 'more');
  if (typeof summary !== 'string' || summary === '')
    invalid(`partial was given ${describe(summary)} as \`summary\`. Give one sentence that says what this is a part of.`);
  if (more !== undefined && typeof more !== 'string')
    invalid(`partial was given ${describe(more)} as \`more\`. Give one sentence that says how to come by the rest, or leave it out.`);
  if (!isList(words)) new DefinitionReader({ place: 'What partial was told' }, words, ['summary', 'more']);
  return wrap(output, { words: more === undefined ? { summary } : { summary, more } }) as unknown as PartialResult<R>;
}
