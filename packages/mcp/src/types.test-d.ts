import type { JsonObject, Model, Tool } from '@guardloop/core';
import { allow, defineAgent, withContext } from '@guardloop/core';
import { describe, expectTypeOf, it } from 'vitest';
import type { McpServer, McpServerOptions, McpWarning, Pins } from './index.js';
import { approvePins, mcpServer, mcpTools, pinsOf, serveAgent } from './index.js';

declare const server: McpServer;
declare const model: Model;
interface Shop {
  readonly userId: string;
}

describe('types', () => {
  it('tools of a server fit any agent', () => {
    expectTypeOf(server.tools[0]).toEqualTypeOf<Tool<unknown, string, JsonObject> | undefined>();
    defineAgent({ name: 'a', instructions: '', model, tools: [...server.tools] });
    const { defineAgent: define } = withContext<Shop>();
    define({ name: 'a', instructions: '', model, tools: mcpTools([server]) });
  });

  it('a server is a program or an address, never both', () => {
    expectTypeOf(mcpServer({ name: 'x', command: 'node', args: ['a'] })).resolves.toEqualTypeOf<McpServer>();
    expectTypeOf(mcpServer({ name: 'x', url: 'https://x.example/mcp' })).resolves.toEqualTypeOf<McpServer>();
    // @ts-expect-error both
    void mcpServer({ name: 'x', command: 'node', url: 'https://x.example/mcp' });
    // @ts-expect-error neither
    void mcpServer({ name: 'x' });
    // @ts-expect-error no such effect
    void mcpServer({ name: 'x', command: 'node', flow: { a: { effect: 'delete' } } });
    // @ts-expect-error what a program does not take
    void mcpServer({ name: 'x', command: 'node', headers: {} });
  });

  it('a program or a place that is spread in leaves the types of the other options', () => {
    const program = { command: 'node', args: ['a'] };
    expectTypeOf(mcpServer({ name: 'x', ...program, stderr: 'inherit' })).resolves.toEqualTypeOf<McpServer>();
    void mcpServer({ name: 'x', ...program, stderr: (text) => expectTypeOf(text).toEqualTypeOf<string>(), hints: 'trust' });
    void mcpServer({
      name: 'x',
      ...program,
      checkDescription: (text, where) => {
        expectTypeOf([text, where]).toEqualTypeOf<string[]>();
        return allow();
      },
      onWarning: (warning) => expectTypeOf(warning).toEqualTypeOf<McpWarning>(),
    });
    const place = { url: 'https://x.example/mcp' };
    void mcpServer({
      name: 'x',
      ...place,
      headers: () => ({}),
      fetch: (url, init) => fetch(url, init),
      onWarning: (warning) => expectTypeOf(warning).toEqualTypeOf<McpWarning>(),
    });
    expectTypeOf(mcpServer({ name: 'x', ...program } as McpServerOptions)).resolves.toEqualTypeOf<McpServer>();
    // @ts-expect-error both
    void mcpServer({ name: 'x', ...program, ...place });
  });

  it('pins are plain JSON, of any server', () => {
    expectTypeOf(pinsOf(server)).toEqualTypeOf<Pins>();
    expectTypeOf(approvePins(server, 'all')).toEqualTypeOf<Pins>();
    // @ts-expect-error a list of names, or all
    approvePins(server, 'read');
  });

  it('a served agent with a context needs what makes it', () => {
    const { defineAgent: define } = withContext<Shop>();
    const agent = define({ name: 'a', instructions: '', model });
    serveAgent(agent, { context: () => ({ userId: 'u' }) });
    // @ts-expect-error no context
    serveAgent(agent);
    // @ts-expect-error another context
    serveAgent(agent, { context: () => ({ user: 'u' }) });
    serveAgent(defineAgent({ name: 'a', instructions: '', model }));
  });
});
