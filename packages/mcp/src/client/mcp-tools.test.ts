import { defineTool } from '@guardloop/core';
import { expect, it } from 'vitest';
import type { McpServer, McpWarning } from '../index.js';
import { mcpTools } from '../index.js';

const serverOf = (name: string, tools: readonly string[]): McpServer =>
  ({
    name,
    tools: tools.map((tool) => defineTool({ name: tool, description: 'T.', input: { type: 'object' }, execute: () => 'x' })),
    originalName: (tool: string) => `its ${tool}`,
  }) as unknown as McpServer;

it('tools of two servers that have one name after all are left out, both, whichever server comes first', () => {
  const servers = [serverOf('a', ['same', 'one']), serverOf('b', ['same', 'two'])];
  for (const order of [servers, [...servers].reverse()]) {
    const warnings: McpWarning[] = [];
    const tools = mcpTools(order, { onWarning: (warning) => warnings.push(warning) });
    expect(tools.map(({ name }) => name).sort()).toEqual(['one', 'two']);
    expect(warnings.map(({ server, tool, kind }) => [server, tool, kind]).sort()).toEqual([
      ['a', 'its same', 'name-taken'],
      ['b', 'its same', 'name-taken'],
    ]);
  }
});
