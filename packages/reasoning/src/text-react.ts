import type { Mode, ModeInfo } from '@guardloop/core';
import { defineMode } from '@guardloop/core';
import { checkOptionNames } from '@guardloop/core/model';
import { joined } from './react.js';
import { textModel } from './text-model.js';

/** Options of {@link textReact}. */
export interface TextReactOptions {
  /** The action that ends the run. Default `Finish`. */
  readonly stop?: string | undefined;
  /** Turns of a run that starts at the agent and has no limit of its own. Default 12. */
  readonly turns?: number | undefined;
  /** The form and the tools as they are put to the model after the agent's instructions: a text, or what makes it. Default: {@link textContract}. */
  readonly contract?: string | ((info: ModeInfo) => string) | undefined;
}

/** The contract of `textReact`, as the model is told: the form, an example of each line, and the tools with the schemas of their arguments. */
export function textContract({ tools, stop }: ModeInfo): string {
  const described = tools
    .filter(({ name }) => name !== stop)
    .map(({ name, description, schema }) => `- ${name}: ${description} Arguments: ${JSON.stringify(schema)}`);
  const end = tools.find(({ name }) => name === stop);
  const answer =
    end !== undefined && (end.schema.properties as { answer?: { type?: unknown } } | undefined)?.answer?.type === 'string'
      ? 'the whole answer'
      : `the answer as JSON of this schema: ${JSON.stringify(end?.schema ?? {})}`;
  return [
    'Answer in this form, and write nothing else:',
    'Thought: what you know, what is missing, and what the next action is for',
    'Action: the name of one tool',
    'Action Input: its arguments, as one JSON object',
    'Then stop. You are given the result as an Observation; never write one yourself.',
    'A tool with one required argument can be called in short: Action: name[argument]',
    'One turn is one Thought and one Action, or a Thought alone. An Action without a Thought is not run.',
    `When nothing is missing, end with Action: ${stop}[${answer}]`,
    described.length === 0 ? 'There are no tools.' : `The tools:\n${described.join('\n')}`,
  ].join('\n');
}

/**
 * ReAct as text, for models that have no calls of their own: `Thought:`, `Action:`, `Action Input:`, `Observation:` lines, numbered or not.
 * What is in no such form is discarded, and the model is told what is wrong; that counts in `limits.repairs`. Throws CONFIG_INVALID.
 */
export function textReact(options: TextReactOptions = {}): Mode {
  checkOptionNames('textReact(…)', options, { stop: true, turns: true, contract: true } satisfies {
    readonly [K in keyof TextReactOptions]-?: true;
  });
  const { stop = 'Finish', turns = 12, contract = textContract } = options;
  return defineMode({
    name: 'text-react',
    stop: { name: stop },
    turns,
    instructions: (instructions, info) => joined(instructions, typeof contract === 'string' ? contract : contract(info)),
    model: (model) => textModel(model, stop),
  });
}
