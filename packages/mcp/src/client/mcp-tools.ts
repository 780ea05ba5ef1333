import { GuardloopError } from '@guardloop/core';
import { checkOptionNames } from '@guardloop/core/model';
import type { McpServer } from './mcp-server.js';
import type { McpTool } from './offer.js';
import type { McpWarning } from './options.js';
import { invalid } from './options.js';

interface McpToolsOptions {
  readonly onWarning?: ((warning: McpWarning) => void) | undefined;
}

/**
 * The tools of several servers for one agent. Each keeps its name whatever the others are and whichever came first; tools of two servers that
 * have one name after all are left out, both, with a warning. Throws NAME_TAKEN for two servers of one name, and CONFIG_INVALID for what is no list
 * of servers.
 */
export function mcpTools<C>(servers: readonly McpServer<C>[], options: McpToolsOptions = {}): readonly McpTool<C>[] {
  const given: unknown = servers;
  if (!Array.isArray(given) || !given.every(isServer))
    invalid('mcpTools was given no list of servers. Give what `mcpServer` resolves to: mcpTools([await mcpServer({ … })]).');
  checkOptionNames('mcpTools(…)', options, { onWarning: true });
  const { onWarning } = options;
  if (onWarning !== undefined && typeof onWarning !== 'function') invalid('mcpTools has `onWarning` that is no function.');
  const names = new Set<string>();
  for (const { name } of servers) {
    if (names.has(name))
      throw new GuardloopError(
        'NAME_TAKEN',
        `Two MCP servers are called ${name}, so that their tools could not be told apart. Give one another name.`,
      );
    names.add(name);
  }
  const counts = new Map<string, number>();
  for (const { tools } of servers) for (const { name } of tools) counts.set(name, (counts.get(name) ?? 0) + 1);
  return servers.flatMap(({ name: server, tools, originalName }) =>
    tools.filter((tool) => {
      if (counts.get(tool.name) === 1) return true;
      const message = `Its tool would be called ${tool.name}, as one of another server; neither is offered. Give one of the servers another name.`;
      try {
        onWarning?.({ server, tool: originalName(tool.name), kind: 'name-taken', message });
      } catch {
        // Whoever listens may not stop the others.
      }
      return false;
    }),
  );
}

function isServer(given: unknown): boolean {
  const { name, tools, originalName } = (typeof given === 'object' && given !== null ? given : {}) as Partial<McpServer>;
  return typeof name === 'string' && Array.isArray(tools) && typeof originalName === 'function';
}
