import { optionFault, recordOf } from '@guardloop/core/model';
import type OpenAI from 'openai';

/**
 * A tool that the provider runs itself, as its API describes it: `{ type: 'web_search' }`. Its calls and results pass no guardrail: `coverage`
 * lists it, and an agent must accept it as unguarded.
 */
export type ProviderTool = Exclude<OpenAI.Responses.Tool, { readonly type: CallerTool }>;

/** Tools whose calls the API hands to the caller to run. */
type CallerTool =
  | 'function'
  | 'custom'
  | 'namespace'
  | 'tool_search'
  | 'computer'
  | 'computer_use_preview'
  | 'local_shell'
  | 'apply_patch'
  | 'programmatic_tool_calling';

const callerTools: Readonly<Record<CallerTool, true>> = {
  function: true,
  custom: true,
  namespace: true,
  tool_search: true,
  computer: true,
  computer_use_preview: true,
  local_shell: true,
  apply_patch: true,
  programmatic_tool_calling: true,
};

/** The names under which `coverage` lists the tools: the type, and for an MCP server its label (`mcp:shop`). Throws `CONFIG_INVALID`. */
export function providerToolNames(where: string, tools: readonly ProviderTool[]): readonly string[] {
  if (!Array.isArray(tools)) throw optionFault(where, 'providerTools must be a list of tools, such as [{ type: "web_search" }].');
  const names = tools.map((tool: unknown, index) => nameOf(tool, `${where}: entry ${index + 1} of providerTools`));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw optionFault(where, `providerTools holds ${twice} twice. Give each tool once.`);
  return names;
}

function nameOf(tool: unknown, where: string): string {
  const fields = recordOf(tool);
  const type = fields?.type;
  if (fields === undefined || typeof type !== 'string' || type === '')
    throw optionFault(where, "it has no type. Give a tool as the API describes it, such as { type: 'web_search' }.");
  const isLocalShell = type === 'shell' && !String(recordOf(fields.environment)?.type).startsWith('container_');
  if (Object.hasOwn(callerTools, type) || isLocalShell) {
    throw optionFault(
      where,
      `${type} is no tool that the provider runs: it hands the calls to the caller. Define it as a tool of the agent.`,
    );
  }
  if (type !== 'mcp') return type;
  if (typeof fields.server_label !== 'string' || fields.server_label === '') throw optionFault(where, 'an mcp tool needs a server_label.');
  if (fields.require_approval !== 'never') {
    throw optionFault(
      where,
      "the provider would ask for approval of its calls, and nobody could answer. Set require_approval: 'never', or connect the server as tools of the agent, where guardrails and approvals stand.",
    );
  }
  return `mcp:${fields.server_label}`;
}
