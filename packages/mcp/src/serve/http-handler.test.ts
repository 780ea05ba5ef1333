import { Agent as Connections, request as send } from 'node:http';
import { defineAgent, defineTool } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { ListenOptions } from '../index.js';
import { serveAgent } from '../index.js';

const greeting = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
};
const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'desk', arguments: { input: 'go' } } };

function gateOf<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let open: (value: T) => void = () => undefined;
  const promise = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { promise, resolve: (value) => open(value) };
}
interface Answered {
  readonly status: number;
  readonly session: string;
  readonly text: string;
}
/** One request over one connection that is kept. */
function clientOf(url: string): (body: unknown, headers?: Readonly<Record<string, string>>) => Promise<Answered> {
  const agent = new Connections({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return (body, headers = {}) =>
    new Promise((resolve, reject) => {
      const accept = 'application/json, text/event-stream';
      const asked = send(url, { agent, method: 'POST', headers: { 'content-type': 'application/json', accept, ...headers } }, (answer) => {
        let text = '';
        answer.on('data', (chunk) => {
          text += String(chunk);
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, session: String(answer.headers['mcp-session-id'] ?? ''), text }));
      });
      asked.on('error', reject);
      asked.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
}
const serve = async (listen: ListenOptions, tools: Parameters<typeof defineAgent>[0]['tools'] = []) => {
  const steps = tools.length === 0 ? [say('hi')] : [callTool('slow', {}), say('hi')];
  const agent = defineAgent({ name: 'desk', description: 'Answers.', instructions: '', model: scriptedModel(steps), tools });
  const server = serveAgent(agent);
  onTestFinished(() => server.close());
  const { url } = await server.listen(listen);
  return { server, url, ask: clientOf(url) };
};
const byName: ListenOptions['authenticate'] = (request) => ({ id: request.headers.get('authorization') ?? '' });

describe('a served agent over HTTP', () => {
  it.each([
    [{ authentcate: () => undefined }, 'Did you mean authenticate?'],
    [{ maxBodyByte: 1 }, 'Did you mean maxBodyBytes?'],
    [{ maxSessions: Number.NaN }, '`maxSessions`'],
    [{ idleMs: 0 }, '`idleMs`'],
    [{ maxBodyBytes: '1' }, '`maxBodyBytes`'],
    [{ hosts: [] }, '`hosts`'],
    [{ authenticate: 'nobody' }, '`authenticate`'],
  ])('has options that are checked: %j', async (options, words) => {
    await expect(serve(options as ListenOptions)).rejects.toThrow(words);
    const server = serveAgent(defineAgent({ name: 'desk', description: 'Answers.', instructions: '', model: scriptedModel([say('hi')]) }));
    expect(() => server.http({ authenticate: 'anyone', hosts: ['localhost'], ...options } as never)).toThrow(words);
  });

  it('refuses callers who have no id: they would share their sessions', async () => {
    for (const caller of [{}, { id: '' }, { id: undefined }]) {
      const { ask } = await serve({ authenticate: () => caller as { readonly id: string } });
      expect((await ask(greeting)).status).toBe(401);
    }
  });

  it('gives up sessions of the caller who has most of them', async () => {
    const { ask } = await serve({ authenticate: byName, maxSessions: 3 });
    const { session } = await ask(greeting, { authorization: 'anna' });
    for (let count = 0; count < 5; count += 1) await ask(greeting, { authorization: 'bert' });
    expect((await ask(call, { authorization: 'anna', 'mcp-session-id': session })).text).toContain('hi');
  });

  it('does not take a session for quiet that is at work', async () => {
    const [started, finish] = [gateOf<void>(), gateOf<string>()];
    const wait = (): Promise<string> => {
      started.resolve();
      return finish.promise;
    };
    const slow = defineTool({ name: 'slow', description: 'Waits.', input: z.object({}), execute: wait });
    const { ask, url } = await serve({ idleMs: 1, maxSessions: 2 }, [slow]);
    const { session } = await ask(greeting);
    const answered = ask(call, { 'mcp-session-id': session });
    await started.promise;
    const other = clientOf(url);
    for (let count = 0; count < 4; count += 1) {
      await other(greeting);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    finish.resolve('x');
    expect((await answered).text).toContain('hi');
  });

  it('ends the run of a call whose client has gone, and not that of another', async () => {
    const [started, ended] = [gateOf<void>(), gateOf<boolean>()];
    const wait = (signal: AbortSignal): Promise<string> => {
      started.resolve();
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          ended.resolve(true);
          resolve('');
        });
      });
    };
    const slow = defineTool({ name: 'slow', description: 'Waits.', input: z.object({}), execute: (_, { signal }) => wait(signal) });
    const { ask, url } = await serve({}, [slow]);
    const { session } = await ask(greeting);
    const accept = 'application/json, text/event-stream';
    const headers = { 'content-type': 'application/json', accept, 'mcp-session-id': session };
    const asked = send(url, { method: 'POST', headers });
    asked.on('error', () => undefined);
    asked.end(JSON.stringify(call));
    await started.promise;
    asked.destroy();
    expect(await ended.promise).toBe(true);
    const list = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} };
    expect((await ask(list, { 'mcp-session-id': session })).text).toContain('desk');
  });

  it('answers on a connection on which it has refused a body unread', async () => {
    const { ask } = await serve({ maxBodyBytes: 1_000 });
    for (const headers of [{}, { host: 'elsewhere.example' }])
      expect((await ask('x'.repeat(2_000_000), headers)).status).toBeGreaterThan(400);
    expect((await ask(greeting)).status).toBe(200);
  });

  it('is over when it was closed: nothing listens, and a handler refuses', async () => {
    const { server, ask } = await serve({});
    const handle = server.http({ authenticate: 'anyone', hosts: ['localhost'] });
    await server.close();
    await expect(ask(greeting)).rejects.toThrow();
    expect((await handle(new Request('http://localhost/mcp', { method: 'POST', body: JSON.stringify(greeting) }))).status).toBe(503);
  });
});
