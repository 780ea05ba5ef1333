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

it('what is no list of servers is told as such: one that was not awaited, one alone, none', () => {
  for (const given of [
    undefined,
    null,
    'x',
    serverOf('a', []),
    [undefined],
    [Promise.resolve(serverOf('a', []))],
    [{ name: 'a', tools: [] }],
  ])
    expect(() => mcpTools(given as never)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('await') }),
    );
  expect(() => mcpTools([], { onwarning: () => undefined } as object)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
});

it('who fails over a warning stops no tool', () => {
  const servers = [serverOf('a', ['same', 'one']), serverOf('b', ['same'])];
  const onWarning = (): never => {
    throw new Error('no');
  };
  expect(mcpTools(servers, { onWarning }).map(({ name }) => name)).toEqual(['one']);
});
