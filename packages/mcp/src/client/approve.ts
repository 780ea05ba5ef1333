import { suggest } from '@guardloop/core/model';
import type { McpServer } from './mcp-server.js';
import { insidesOf } from './mcp-server.js';
import { invalid } from './options.js';
import type { Pin, Pins } from './pins.js';
import { makePins } from './pins.js';
import { showName } from './show-text.js';

/** The tools that the server offers now, as pins: plain JSON, to be kept in a file. For a server without pins this approves what it has. */
export function pinsOf(server: McpServer<never>): Pins {
  const { serverName, standing } = insidesOf(server);
  return makePins(serverName, [...standing.values()]);
}

/**
 * The pins with new or changed tools approved, after a person has read their `diff`: by name, or `all`. Tools that are `missing` go when `all`
 * is given, or when they are named. Connect anew with them: the tools of a server that is connected stay as they are. Throws CONFIG_INVALID
 * for a tool that no pin stands in the way of: one that is unfit to be read cannot be approved.
 */
export function approvePins(server: McpServer<never>, tools: readonly string[] | 'all'): Pins {
  const { serverName, standing, refused } = insidesOf(server);
  if (tools !== 'all' && !(Array.isArray(tools) && tools.every((name: unknown) => typeof name === 'string')))
    invalid("approvePins was given no list of tools' names. Give those that a person has approved, such as ['read_file'], or 'all'.");
  const open = refused.filter(({ why }) => why === 'new' || why === 'changed' || why === 'missing');
  const names = tools === 'all' ? open.map(({ tool }) => tool) : tools;
  const pins = new Map<string, Pin>(standing);
  for (const { tool, why, former } of open) if (former !== undefined && why !== 'new') pins.set(tool, former);
  for (const name of names) {
    const found = open.find(({ tool }) => tool === name);
    if (found === undefined) {
      const choices = open.map(({ tool }) => showName(tool));
      invalid(
        `Server ${serverName} has no tool ${showName(name)} that waits for approval. ${suggest(name, choices)}${choices.length === 0 ? 'None does.' : `Those that do are ${choices.join(', ')}.`}`,
      );
    }
    if (found.pin !== undefined) pins.set(name, found.pin);
    else pins.delete(name);
  }
  return makePins(serverName, [...pins.values()]);
}
