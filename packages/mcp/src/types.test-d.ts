import type { JsonObject, Model, Tool } from '@guardloop/core';
import { defineAgent, withContext } from '@guardloop/core';
import { describe, expectTypeOf, it } from 'vitest';
import type { McpServer, Pins } from './index.js';
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
