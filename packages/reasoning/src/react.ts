import type { Mode, ModeInfo } from '@guardloop/core';
import { defineMode } from '@guardloop/core';
import { checkOptionNames, optionFault } from '@guardloop/core/model';

/** What the modes of this package take. */
export interface ReactOptions {
  /**
   * Where a thought may stand. `said` (the default): in text beside the calls, or in the model's own reasoning. `argument`: also in a required
   * argument `thought` that is added to each tool, for models that jump to the call.
   */
  readonly thought?: 'said' | 'argument' | undefined;
  /** The name of the call that ends the run. Default `final_answer`. */
  readonly stop?: string | undefined;
  /** Turns of a run that starts at the agent and has no limit of its own. Default 12. */
  readonly turns?: number | undefined;
  /** The contract as it is put to the model after the agent's instructions: a text, or what makes it. Default: {@link reactContract}. */
  readonly contract?: string | ((info: ModeInfo) => string) | undefined;
}

/** The contract of `react`, as the model is told. */
export function reactContract({ stop }: ModeInfo): string {
  return [
    'Work in turns of thought, action, observation.',
    'Before each action write a thought: one or two sentences on what you know, what is missing, and what the action is for. An action without a thought is not run.',
    'An action is a call of a tool. Its result is your observation: read it before you decide what comes next.',
    `When nothing is missing, call ${stop} alone, with the whole answer. Nothing else ends the work: text beside it is a thought, and the person does not see it.`,
  ].join('\n');
}

/** Strict thought, action, observation: no action without a thought, and only the call that ends it ends the run. Throws CONFIG_INVALID. */
export function react(options: ReactOptions = {}): Mode {
  checkOptionNames('react(…)', options, { thought: true, stop: true, turns: true, contract: true } satisfies {
    readonly [K in keyof ReactOptions]-?: true;
  });
  const { thought = 'said', stop, turns = 12, contract = reactContract } = options;
  if (thought !== 'said' && thought !== 'argument')
    throw optionFault('react(…)', "thought is neither 'said' nor 'argument'. Give one, or leave it out.");
  if (typeof contract !== 'string' && typeof contract !== 'function')
    throw optionFault('react(…)', 'contract is neither a text nor a function. Give one of them, or leave it out.');
  return defineMode({
    name: 'react',
    stop: { name: stop },
    turns,
    thoughtArgument: thought === 'argument' ? 'thought' : undefined,
    instructions: (instructions, info) => joined(instructions, typeof contract === 'string' ? contract : contract(info)),
  });
}

/** The agent's instructions, and after them the mode's. */
export function joined(instructions: string, contract: string): string {
  return [instructions, contract].filter((text) => text !== '').join('\n\n');
}
