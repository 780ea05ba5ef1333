import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Observer, RunEvent } from '@guardloop/core';
import { asTool, defineAgent, defineTool, memorySession, run, stream } from '@guardloop/core';
import { mcpServer } from '@guardloop/mcp';
import { callTool, normalLog, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fakeServer } from '../mcp/fake-server.js';
import { serve } from './provider-server.js';
import { ofType, reaches, readAll, sleep, sound, unhandled } from './sound.js';

describe('K22', () => {
  describe('S178: an address with credentials', () => {
    const secrets = ['hunter2', 'tok-abc'];
    const hidden = (sink: unknown) => secrets.filter((secret) => reaches(sink, secret));

    it.each(['chat', 'claude'] as const)(
      'S178: of a model that cannot be reached or answers with an error, is in no error, log, event or session (%s)',
      async (dialect) => {
        const server = createServer((_, response) => {
          response.writeHead(400, { 'content-type': 'application/json' });
          response.end(JSON.stringify({ error: { type: 'invalid_request_error', message: 'bad key hunter2 at ?token=tok-abc' } }));
        });
        await new Promise<void>((resolve) => {
          server.listen(0, '127.0.0.1', resolve);
        });
        const { port } = server.address() as AddressInfo;
        const provider = await serve();
        const modelAt = (path: string) =>
          provider[dialect]({ baseURL: `http://user:hunter2@127.0.0.1:${port}${path}?token=tok-abc`, apiKey: 'tok-abc' });
        const seen: RunEvent[] = [];
        const session = { store: memorySession(), id: 's' };
        const results: unknown[] = [];
        for (const isOpen of [true, false]) {
          if (!isOpen) {
            server.closeAllConnections();
            await new Promise((resolve) => server.close(resolve));
          }
          const agent = defineAgent({ name: 'a', instructions: 'Help.', model: modelAt('/v1') });
          const { events, result } = await readAll(stream(agent, 'go', { session, observers: [(event) => void seen.push(event)] }));
          await sound(Promise.resolve(result));
          expect(result.status).toBe('failed');
          results.push(
            events,
            result,
            result.status === 'failed' && String(result.error),
            result.status === 'failed' && result.error.stack,
          );
        }
        expect(hidden([results, seen, await session.store.load('s')])).toEqual([]);
      },
    );

    it('S178: that a guardrail, a store, a view or an observer throws is in none of them either', async () => {
      const words = 'connect ECONNREFUSED https://user:hunter2@host/sse?token=tok-abc';
      const thrown = () => {
        throw new AggregateError([new Error(words)], words, { cause: new Error(words) });
      };
      const model = scriptedModel([say('ok')]);
      const agent = defineAgent({ name: 'a', instructions: '', model });
      const seen: RunEvent[] = [];
      const watch = { observers: [(event: RunEvent) => void seen.push(event), { 'run.start': thrown }] satisfies Observer[] };
      const viewed = await sound(run(agent, 'go', { view: thrown, ...watch }));
      expect(viewed.status).toBe('failed');
      const instructed = await sound(run(defineAgent({ name: 'a', instructions: thrown, model }), 'go', watch));
      expect(instructed.status).toBe('failed');
      const stored = await run(agent, 'go', { session: { store: { load: async () => [], append: async () => thrown() }, id: 's' } }).catch(
        (error: unknown) => error,
      );
      expect(stored).toMatchObject({ code: 'STORE_FAILED' });
      expect(ofType(seen, 'observer.error').length).toBeGreaterThan(0);
      expect(hidden([viewed, instructed, stored, seen, String(stored)])).toEqual([]);
    });
  });

  describe('S178: credentials for an MCP server', () => {
    it.each([
      ['signs of URLs', 'us/er', 'p@ss:w%rd?#quartz'],
      ['other scripts', 'jürgen', '密码€🔑quartz'],
      ['nothing but a password', '', 'quartz'],
    ])('S178: of %s reach it as they are, in UTF-8, and stand in no error', async (_what, user, password) => {
      const server = await fakeServer({
        onMessage: ({ method }) => (method === 'tools/list' ? { status: 500, body: password } : undefined),
      });
      const url = new URL(server.url);
      url.username = encodeURIComponent(user);
      url.password = encodeURIComponent(password);
      const thrown: unknown = await mcpServer({ name: 'x', url }).catch((error: unknown) => error);
      expect(thrown).toMatchObject({ name: 'McpUnavailable' });
      expect(reaches([thrown, String(thrown), (thrown as Error).stack, (thrown as Error).cause], 'quartz')).toBe(false);
      const sent = server.headers.map(({ authorization }) => authorization);
      expect(new Set(sent)).toEqual(new Set([`Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`]));
    });

    it.each([
      [undefined],
      [null],
      ['Bearer quartz'],
      [['authorization', 'quartz']],
      [{ authorization: undefined }],
      [{ authorization: 7 }],
    ])('S178: that a function of headers does not give, nothing is sent without them: %j', async (made) => {
      const server = await fakeServer({});
      const thrown: unknown = await mcpServer({ name: 'x', url: server.url, headers: () => made as never }).catch(
        (error: unknown) => error,
      );
      expect(thrown).toMatchObject({ name: 'McpUnavailable', message: expect.stringContaining('nothing was sent') });
      expect(reaches([thrown, String(thrown)], 'quartz')).toBe(false);
      expect(server.messages).toEqual([]);
    });
  });

  it('S182: events of concurrent streams tell whose they are, also of agents within agents, and one that is left disturbs none', async () => {
    const script = { main: [[say('a'), callTool('ask', { input: 'x' })], say('done')], helper: [callTool('look'), say('helped')] };
    const look = defineTool({
      name: 'look',
      description: 'L.',
      input: z.object({}),
      execute: async (_, { run: runId }) => {
        await sleep(5);
        return runId;
      },
    });
    const helper = defineAgent({ name: 'helper', instructions: '', model: scriptedModel(script), tools: [look] });
    const main = defineAgent({
      name: 'main',
      instructions: '',
      model: scriptedModel(script),
      tools: [asTool(helper, { name: 'ask', description: 'A.', stream: true })],
    });
    const watched = ['r1', 'r2', 'r3'].map((runId) => ({ runId, events: stream(main, 'go', { runId }) }));
    const left = watched[2];
    const reading = watched.slice(0, 2).map(async ({ runId, events }) => ({ runId, ...(await readAll(events)) }));
    for await (const event of left?.events ?? []) if (event.type === 'text.delta') break;
    const done = await Promise.all(reading);
    for (const { runId, events, result } of done) {
      await sound(Promise.resolve(result));
      expect(result.status).toBe('completed');
      expect(new Set(events.map((event) => event.run))).toEqual(new Set([runId, `${runId}/1.0`]));
      for (const event of events) expect(event.parent).toBe(event.run === runId ? undefined : runId);
      expect(ofType(events, 'tool.end').find(({ tool }) => tool === 'look')?.content).toBe(`${runId}/1.0`);
    }
    expect((await left?.events.result)?.status).toBe('cancelled');
  });

  describe('S183: observers that fail', () => {
    const look = defineTool({ name: 'look', description: 'L.', input: z.object({}), execute: async () => 'seen' });
    const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([callTool('look'), say('ok')]), tools: [look] });
    const bad: { readonly [name: string]: () => Observer } = {
      'throws at once': () => () => {
        throw new Error('exporter');
      },
      'rejects later': () => async () => {
        await sleep(1);
        throw new Error('exporter');
      },
      hangs: () => () => new Promise(() => undefined),
      'tries to change what it sees': () => (event) => {
        Object.assign(event, { run: 'other' });
      },
      'throws for one kind': () => ({
        'tool.end': () => {
          throw new Error('exporter');
        },
      }),
    };

    it.each(Object.keys(bad))('S183: one that %s changes and delays nothing, and the others go on being told', async (name) => {
      const rejections = unhandled();
      const plain = await sound(run(agent, 'go', { runId: 'r' }));
      const told: string[] = [];
      const observers = [bad[name]?.() ?? {}, (event: RunEvent) => void told.push(event.type)];
      const { events, result } = await readAll(stream(agent, 'go', { runId: 'r', observers }));
      await sound(Promise.resolve(result));
      expect(result).toMatchObject({ status: 'completed', output: 'ok' });
      expect(normalLog(result.log)).toEqual(normalLog(plain.log));
      expect(told.filter((type) => type !== 'observer.error')).toEqual(
        events.map(({ type }) => type).filter((type) => type !== 'observer.error'),
      );
      if (name.includes('throws')) expect(ofType(events, 'observer.error').length).toBeGreaterThan(0);
      await sleep(5);
      expect(rejections).toEqual([]);
    });
  });
});
