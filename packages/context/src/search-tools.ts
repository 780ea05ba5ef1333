import { defineTool, toolError } from '@guardloop/core';
import type { JsonObject, ToolCall, ToolSpec } from '@guardloop/core/model';
import { z } from 'zod';

const maxNameChars = 200;

/**
 * Lets the model ask for tools that it is not shown. Add it to the `tools` of an agent whose model is wrapped by `selectTools`, which writes
 * what it found into the call, beside the words: so it stands in the log, and a resumed run shows the same tools.
 */
export const searchTools = defineTool({
  name: 'search_tools',
  description:
    'Finds further tools by what they are for. You see only some of your tools: where none of them does what you need, search for it in a few words. What is found is offered to you from then on.',
  input: z.looseObject({ query: z.string().describe('What the tool is to do, in a few words: send an email') }),
  flow: { effect: 'none', results: 'trusted', authority: [] },
  strict: false,
  execute: (input) => {
    const found = namesIn(input.found);
    if (found === undefined)
      throw toolError('There are no further tools to search here. Go on with those you have.', {
        errorClass: 'unavailable',
        retryable: false,
      });
    if (found.length === 0) return 'No further tool fits these words. Try other words, or go on with the tools you have.';
    return `Offered to you from now on: ${found.join(', ')}.`;
  },
});

/** Whether it is {@link searchTools}, and no other tool of its name. */
export const isSearch = ({ name, description }: Pick<ToolSpec, 'name' | 'description'>): boolean =>
  name === searchTools.name && description === searchTools.description;

/** The call with what was found. */
export const withFound = (input: JsonObject, found: readonly string[]): JsonObject => ({ ...input, found });

/** What a call of {@link searchTools} found. */
export const foundBy = ({ name, input }: ToolCall): readonly string[] => (name === searchTools.name ? (namesIn(input.found) ?? []) : []);

function namesIn(found: unknown): readonly string[] | undefined {
  return Array.isArray(found) ? found.filter((name) => typeof name === 'string' && name.length <= maxNameChars) : undefined;
}
