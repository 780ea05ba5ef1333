import { describe, invalid, isList, isName, property } from './definition-reader.js';
import type { AgentSpec } from './specs.js';

/** Whose model it is, and which provider tools it accepts as unguarded. */
export interface ModelOwner {
  /** Opens the message: `Agent billing`. */
  readonly owner: string;
  readonly unguarded: readonly string[];
}

/** A model, or a function that gives one. Throws CONFIG_INVALID; what a function gives is checked by `checkModel` when it was called. */
export function readModel(given: unknown, owner: ModelOwner): AgentSpec['model'] {
  if (typeof given === 'function' && property(given, 'stream') === undefined) return given as AgentSpec['model'];
  checkModel(given, owner);
  return given as AgentSpec['model'];
}

/** Throws CONFIG_INVALID for what is no model, and for one with provider tools that its owner does not list as unguarded. */
export function checkModel(model: unknown, { owner, unguarded }: ModelOwner): void {
  if (!isName(property(model, 'id')) || !isName(property(model, 'provider')) || typeof property(model, 'stream') !== 'function') {
    invalid(
      `${owner} has ${describe(model)} as \`model\`. Give a model made by an adapter, such as openai('gpt-5'): an object with \`id\`, \`provider\` and \`stream\`.`,
    );
  }
  const providerTools = property(model, 'providerTools') ?? [];
  if (!isList(providerTools))
    invalid(`${owner} has a model whose \`providerTools\` are ${describe(providerTools)}. Its adapter has to give a list of names.`);
  for (const tool of providerTools) {
    if (unguarded.includes(tool as string)) continue;
    invalid(
      `${owner} has a model with ${describe(tool)}, a tool that the provider runs where no guardrail can see it. ` +
        `List it: providerTools: [{ name: ${describe(tool)}, unguarded: true }], or take it from the model.`,
    );
  }
}
