import type { ToolSpec } from '@guardloop/core/model';
import { GuardloopError, optionFault, wireName } from '@guardloop/core/model';
import type { ProviderTool } from './tool-fields.js';

/** Tools that Anthropic defines and hands the calls of back: no answer of theirs would ever come. */
const handedBack = /^(?:bash|text_editor|computer|computer_toolset|browser_toolset|memory)_\d|^custom$/;

/** Throws `CONFIG_INVALID` for tools that Anthropic does not run itself, and for two of one name. */
export function checkProviderTools(where: string, tools: readonly ProviderTool[] | undefined): void {
  const names = new Set<string>();
  for (const { type, name } of tools ?? []) {
    if (handedBack.test(type)) {
      throw optionFault(
        where,
        `providerTools names ${name} (${type}), whose calls Anthropic hands back. Define it as a tool of the agent.`,
      );
    }
    if (names.has(name)) throw optionFault(where, `providerTools names ${name} twice. Leave one out.`);
    names.add(name);
  }
}

/** Throws `NAME_TAKEN` where a tool of the agent has the name of one that Anthropic runs: the API takes a name once. */
export function checkNames(tools: readonly ToolSpec[], providerTools: readonly ProviderTool[]): void {
  if (providerTools.length === 0) return;
  const taken = new Set(providerTools.map(({ name }) => name));
  const clash = tools.find(({ name }) => taken.has(wireName(name)));
  if (clash === undefined) return;
  throw new GuardloopError(
    'NAME_TAKEN',
    `Tool ${clash.name} has the name of a tool that Anthropic runs (providerTools). Give the agent's tool another name.`,
  );
}
