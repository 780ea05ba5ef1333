import type { ToolSpec } from '@guardloop/core/model';
import { GuardloopError } from '@guardloop/core/model';
import { isObject } from './blocks.js';

const legal = /^[a-zA-Z0-9_.-]{1,64}$/;
const checked = new WeakSet<ToolSpec>();

/** Throws `CONFIG_INVALID` for a tool whose input has a field of a name that Claude's API refuses, and the whole request with it. */
export function checkToolKeys(tools: readonly ToolSpec[], model: string): void {
  if (!model.includes('claude')) return;
  for (const tool of tools) {
    if (checked.has(tool)) continue;
    const key = Object.keys(isObject(tool.schema.properties) ? tool.schema.properties : {}).find((name) => !legal.test(name));
    if (key !== undefined) {
      throw new GuardloopError(
        'CONFIG_INVALID',
        `The input of tool ${tool.name} has a field ${key}, and Anthropic takes names of 1 to 64 letters of a to z, digits, _, . and - alone. Name it otherwise.`,
      );
    }
    checked.add(tool);
  }
}
