import type { Tool } from '@guardloop/core';
import { defineTool } from '@guardloop/core';
import { checkOptionNames } from '@guardloop/core/model';
import { z } from 'zod';

/** Options of {@link askHuman}. */
export interface AskHumanOptions<N extends string = 'ask_human'> {
  /** Default `ask_human`. */
  readonly name?: N | undefined;
  /** Tells the model when to ask. Default: when it cannot go on without an answer that only a person has. */
  readonly description?: string | undefined;
}
/** What the model asks: a question, and the answers to choose from where there are such. */
export interface HumanQuestion {
  readonly question: string;
  readonly choices?: readonly string[] | undefined;
}

const question = z.object({
  question: z.string().min(1).describe('One question, with all that is needed to answer it.'),
  choices: z.array(z.string().min(1)).optional().describe('The answers to choose from, where there are such.'),
});

/**
 * A tool by which the model asks a person. A call of it interrupts the run: its approval has the question as `input` and says `caller`; give
 * the answer to `resume` as `{ result: answer }`, in any process, or `{ reject: words }` for none. The answer is taken for trusted: let only
 * people answer whose words may be followed. Throws CONFIG_INVALID.
 */
export function askHuman<const N extends string = 'ask_human'>(options: AskHumanOptions<N> = {}): Tool<unknown, N, HumanQuestion> {
  checkOptionNames('askHuman(…)', options, { name: true, description: true } satisfies { readonly [K in keyof AskHumanOptions]-?: true });
  const { name, description } = options;
  return defineTool({
    name: name ?? ('ask_human' as N),
    description: description ?? 'Asks a person. Use it when you cannot go on without something that only a person knows or may decide.',
    input: question,
    flow: { effect: 'none', results: 'trusted', authority: [] },
  });
}
