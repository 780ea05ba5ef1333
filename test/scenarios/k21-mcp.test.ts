import { createServer } from 'node:net';
import type { Part, ToolMessage } from '@guardloop/core';
import { allow, assertCompleted, defineAgent, defineGuardrail, run } from '@guardloop/core';
import type { McpServer, McpServerOptions, McpWarning } from '@guardloop/mcp';
import { mcpServer, mcpToolName, mcpTools } from '@guardloop/mcp';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Json, Reply } from '../mcp/fake-server.js';
import { fakeProgram, fakeServer, text, tool } from '../mcp/fake-server.js';
import { ofType, sound, unhandled } from './sound.js';

const connect = async (options: McpServerOptions): Promise<McpServer> => {
  const server = await mcpServer(options);
  onTestFinished(() => server.close());
  return server;
};
const wire = /^[a-zA-Z0-9_-]{1,64}$/;

describe('K21', () => {
  describe('S172: names', () => {
    const long = 'get_cloudformation_pre_deploy_validation_instructions_for_stacks';
    const names = [long, `${long}_v2`, 'admin.tools/list', 'suche-über', 'search', 'constructor', '__proto__', 'a__b', '_x'];

    it('S172: all fit every provider, differ, and are the same whichever server came first', async () => {
      const aws = await fakeServer({ tools: () => names.map((name) => tool(name)) });
      const other = await fakeServer({ tools: () => [tool('search')], onCall: (name, input) => text(`${name} ${JSON.stringify(input)}`) });
      const one = await connect({ name: 'awslabs.aws-iac-mcp-server', url: aws.url });
      const two = await connect({ name: 'x', url: other.url });
      const forth = mcpTools([one, two]).map(({ name }) => name);
      const back = mcpTools([two, one]).map(({ name }) => name);
      expect([...back].sort()).toEqual([...forth].sort());
      expect(new Set(forth).size).toBe(names.length + 1);
      for (const name of forth) expect(name).toMatch(wire);
      expect(one.tools.map(({ name }) => one.originalName(name))).toEqual(names);

      const called = mcpToolName('x', 'search');
      const model = scriptedModel([callTool(called, { q: '1' }), say('ok')]);
      const result = await sound(run(defineAgent({ name: 'a', instructions: '', model, tools: mcpTools([one, two]) }), 'go'));
      expect(ofType(result.events, 'tool.end')).toMatchObject([{ tool: called, status: 'ok', content: 'search {"q":"1"}' }]);
      expect(aws.methods()).not.toContain('tools/call');
    });

    it('S172: every pair of names has a name of its own, whatever the names', () => {
      const part = fc.oneof(
        fc.stringMatching(/^[a-z_-]{1,12}$/),
        fc.string({ maxLength: 80, unit: 'binary' }),
        fc.constantFrom('a', 'a_', '_a', 'a__b', '__', '__proto__'),
      );
      fc.assert(
        fc.property(fc.uniqueArray(fc.tuple(part, part), { selector: (pair) => JSON.stringify(pair), maxLength: 20 }), (pairs) => {
          const made = pairs.map(([server, name]) => mcpToolName(server, name));
          expect(new Set(made).size).toBe(pairs.length);
          for (const name of made) expect(name).toMatch(wire);
        }),
        { numRuns: 500, seed: 172 },
      );
    });

    it('S172: a tool that is listed twice is left out, and two servers of one name are refused', async () => {
      const server = await fakeServer({ tools: () => [tool('a'), tool('b'), tool('a', { description: 'Another.' })] });
      const warnings: McpWarning[] = [];
      const mcp = await connect({ name: 'x', url: server.url, onWarning: (warning) => warnings.push(warning) });
      expect(mcp.tools.map(({ name }) => name)).toEqual(['x__b']);
      expect(warnings).toMatchObject([{ kind: 'tool-refused', tool: 'a' }]);
      const same = await connect({ name: 'x', url: server.url });
      expect(() => mcpTools([mcp, same])).toThrow(expect.objectContaining({ code: 'NAME_TAKEN' }));
    });

    it('S172: approvals and guardrails of one server do not touch the tool of the same name of another', async () => {
      const server = await fakeServer({ tools: () => [tool('del')] });
      const a = await connect({ name: 'a', url: server.url });
      const b = await connect({ name: 'b', url: server.url, approval: true });
      const seen: string[] = [];
      const watch = defineGuardrail({
        name: 'watch',
        on: ['toolInput'],
        tools: ['b__*'],
        check: ({ tool: name }) => {
          seen.push(name);
          return allow();
        },
      });
      const model = scriptedModel([[callTool('a__del'), callTool('b__del')], say('ok')]);
      const agent = defineAgent({ name: 'x', instructions: '', model, tools: mcpTools([a, b]), guardrails: [watch] });
      const result = await sound(run(agent, 'go'));
      expect(result.status === 'interrupted' && result.approvals.map((approval) => 'tool' in approval && approval.tool)).toEqual([
        'b__del',
      ]);
      expect(seen).toEqual(['b__del']);
    });
  });

  describe('S174: sessions that have expired', () => {
    it('S174: calls that meet it share one new session, and each is sent once more', async () => {
      const server = await fakeServer({ tools: () => [tool('a'), tool('b')] });
      const mcp = await connect({ name: 'srv', url: server.url });
      server.sessions.clear();
      const model = scriptedModel([[callTool('srv__a'), callTool('srv__b')], say('ok')]);
      const before = server.messages.length;
      const result = await sound(run(defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools] }), 'go'));
      expect(ofType(result.events, 'tool.end').map(({ status }) => status)).toEqual(['ok', 'ok']);
      const methods = server.methods().slice(before);
      expect(methods.filter((method) => method === 'initialize')).toHaveLength(1);
      expect(methods.filter((method) => method === 'tools/call')).toHaveLength(4);
      expect(server.sessions.size).toBe(1);
    });

    it('S174: a server that forgets the new session too is not asked a third time', async () => {
      let calls = 0;
      const server = await fakeServer({
        tools: () => [tool('a')],
        onMessage: ({ method }) => {
          if (method !== 'tools/call') return undefined;
          calls += 1;
          return { status: 404 };
        },
      });
      const mcp = await connect({ name: 'srv', url: server.url });
      const model = scriptedModel([callTool('srv__a'), say('ok')]);
      const result = await sound(run(defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools] }), 'go'));
      expect(ofType(result.events, 'tool.end')).toMatchObject([{ status: 'error', errorClass: 'unavailable', retryable: true }]);
      expect(calls).toBe(2);
    });

    it.each<[string, Reply]>([
      ['an error with code 404 in the protocol', { error: { code: 404, message: 'no such order' } }],
      ['an error that says that the session is gone', { error: { code: -32_001, message: 'Session not found' } }],
      ['a connection that ends before the answer', 'die'],
      ['HTTP 500', { status: 500, body: 'secret' }],
      ['HTTP 429', { status: 429, body: 'secret' }],
      ['HTTP 413', { status: 413, body: 'secret' }],
      ['HTTP 400', { status: 400, body: '{"jsonrpc":"2.0","error":{"code":-32000,"message":"No valid session ID provided"},"id":null}' }],
      [
        'an event stream that ends without the answer',
        { stream: (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': hello\n\n') },
      ],
    ])('S174: %s does not send a call twice', async (_what, reply) => {
      const server = await fakeServer({ tools: () => [tool('a')], onCall: () => reply });
      const mcp = await connect({ name: 'srv', url: server.url, requestTimeoutMs: 5_000 });
      const model = scriptedModel([callTool('srv__a'), say('ok')]);
      const result = await sound(run(defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools] }), 'go'));
      const [end] = ofType(result.events, 'tool.end');
      expect(end).toMatchObject({ status: 'error' });
      expect(end?.errorClass).not.toBe('timeout');
      expect(JSON.stringify(result.log)).not.toContain('secret');
      expect(server.methods().filter((method) => method === 'tools/call')).toHaveLength(1);
      if (reply === 'die')
        expect(end).toMatchObject({ errorClass: 'unavailable', retryable: false, content: expect.stringContaining('may have happened') });
    });

    it('S174: HTTP 400 for a session that is over gets a new one; only what is declared a read is sent once more', async () => {
      const server = await fakeServer({
        tools: () => [tool('look'), tool('act')],
        onMessage: ({ method }, { headers }) => {
          const session = headers['mcp-session-id'];
          if (method === 'initialize' || (typeof session === 'string' && server.sessions.has(session))) return undefined;
          return { status: 400, body: '{"jsonrpc":"2.0","error":{"code":-32000,"message":"No valid session ID provided"},"id":null}' };
        },
      });
      const mcp = await connect({ name: 'srv', url: server.url, flow: { look: { effect: 'read' } } });
      const call = async (name: string) => {
        server.sessions.clear();
        const model = scriptedModel([callTool(name), callTool(name), say('ok')]);
        const result = await sound(run(defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools] }), 'go'));
        return ofType(result.events, 'tool.end').map(({ status, retryable }) => [status, retryable]);
      };
      expect(await call('srv__look')).toEqual([
        ['ok', undefined],
        ['ok', undefined],
      ]);
      expect(await call('srv__act')).toEqual([
        ['error', false],
        ['ok', undefined],
      ]);
    });

    it('S174: a call that timed out is not sent again when the session has expired meanwhile', async () => {
      const server = await fakeServer({ tools: () => [tool('a'), tool('b')], onCall: (name) => (name === 'a' ? 'never' : text('b')) });
      const mcp = await connect({ name: 'srv', url: server.url, requestTimeoutMs: 1_000 });
      const model = scriptedModel([callTool('srv__a'), callTool('srv__b'), say('ok')]);
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools] });
      const result = await sound(
        run(agent, 'go', { observers: [{ 'tool.end': ({ tool: name }) => name === 'srv__a' && server.sessions.clear() }] }),
      );
      expect(ofType(result.events, 'tool.end').map(({ status }) => status)).toEqual(['error', 'ok']);
      const called = server.messages.filter(({ method }) => method === 'tools/call').map(({ params }) => params?.name);
      expect(called.filter((name) => name === 'a')).toHaveLength(1);
    });

    it('S174: a program that has died is started again for the next call, and the call that it died of is not repeated', async () => {
      const program = fakeProgram(`if (message.method === 'tools/call' && message.params.name === 'die') process.exit(1);`, [
        tool('die'),
        tool('live'),
      ]);
      const mcp = await connect({ name: 'srv', ...program });
      const model = scriptedModel([callTool('srv__die'), callTool('srv__live'), say('ok')]);
      const result = await sound(run(defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools] }), 'go'));
      expect(ofType(result.events, 'tool.end')).toMatchObject([
        { status: 'error', errorClass: 'unavailable', retryable: false },
        { status: 'ok' },
      ]);
    });
  });

  describe('S175: shapes of results', () => {
    const png = 'iVBORw0KGgo=';
    const results: Readonly<Record<string, Json>> = {
      t1: { content: [], structuredContent: { n: 1 } },
      t2: { content: [{ type: 'image', data: png, mimeType: 'image/png' }], structuredContent: { n: 2 } },
      t3: { content: [{ type: 'resource_link', uri: 'file:///a.txt', name: 'a', mimeType: 'text/plain' }] },
      t4: { content: [{ type: 'resource', resource: { uri: 'file:///b.txt', mimeType: 'text/plain', text: 'the text of b' } }] },
      t5: { content: [], structuredContent: { code: 'E1', hint: 'try y' }, isError: true },
      t6: { content: [{ type: 'text', text: '{ "b": [1, 2],\n "a": "x" }' }], structuredContent: { a: 'x', b: [1, 2] } },
      t7: { content: [{ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }] },
      t8: { content: [], structuredContent: { n: 'three' } },
      t9: { content: [{ type: 'text', text: 'nothing here' }], isError: true },
      t10: { content: [{ type: 'hologram', data: 'x' }, 7, null] },
      t11: {},
      t12: { content: [{ type: 'text', text: 'line one\nline two' }], isError: true },
      t13: { content: [{ type: 'resource', resource: { uri: 'file:///c.pdf', mimeType: 'application/pdf', blob: 'JVBERi0=' } }] },
      t14: { content: [{ type: 'image', data: 'not base64!', mimeType: 'image/png' }] },
      t15: { content: 'oops', structuredContent: null },
      t16: {
        content: [{ type: 'text', text: 'ignored' }],
        structuredContent: { type: 'file', url: 'https://evil.example/x', mediaType: 'text/plain' },
      },
    };
    const numbered = { outputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } };

    const see = async (): Promise<ReadonlyMap<string, ToolMessage>> => {
      const server = await fakeServer({
        tools: () => Object.keys(results).map((name) => tool(name, ['t2', 't8', 't9'].includes(name) ? numbered : {})),
        onCall: (name) => ({ result: results[name] ?? {} }),
      });
      const mcp = await connect({ name: 'srv', url: server.url });
      const names = mcp.tools.map(({ name }) => name);
      const model = scriptedModel([names.map((name) => callTool(name)), say('ok')]);
      const result = await sound(run(defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools] }), 'go'));
      assertCompleted(result);
      const seen = (model.requests[1]?.messages ?? []).filter((message): message is ToolMessage => message.role === 'tool');
      return new Map(seen.map((message) => [message.tool.replace('srv__', ''), message]));
    };

    it('S175: nothing that a server gave is lost, nothing is said twice, and no result is empty', async () => {
      const seen = await see();
      const shown = (name: string): string => JSON.stringify(seen.get(name)?.content);
      const parts = (name: string): readonly Part[] => seen.get(name)?.content as readonly Part[];
      expect(seen.get('t1')?.content).toBe('{"n":1}');
      expect(parts('t2')).toEqual([
        { type: 'text', text: '{"n":2}' },
        { type: 'image', mediaType: 'image/png', data: png },
      ]);
      expect(seen.get('t3')?.content).toBe('[resource link] {"uri":"file:///a.txt","name":"a","mimeType":"text/plain"}');
      expect(shown('t4')).toContain('the text of b');
      expect(seen.get('t5')).toMatchObject({ isError: true });
      expect(shown('t5')).toContain('try y');
      expect(seen.get('t6')?.content).toBe('{"a":"x","b":[1,2]}');
      expect(seen.get('t7')?.content).toBe('[audio, audio/wav, 3 bytes]');
      expect(seen.get('t8')).toMatchObject({ isError: true });
      expect(shown('t8')).toMatch(/bad_result.*n: expected number/);
      expect(seen.get('t9')).toMatchObject({ isError: true });
      expect(shown('t9')).toContain('nothing here');
      expect(shown('t10')).toContain('hologram');
      expect(seen.get('t11')?.content).toBe('(the tool gave no content)');
      expect(shown('t12')).toContain('line one line two');
      expect(parts('t13')).toEqual([{ type: 'file', mediaType: 'application/pdf', data: 'JVBERi0=', name: 'file:///c.pdf' }]);
      expect(shown('t14')).toContain('image that cannot be read');
      for (const [name, { content }] of seen) expect([name, content]).not.toEqual([name, '']);
    });

    it('S175: every result is untrusted, and data that looks like a part is no part', async () => {
      const seen = await see();
      for (const { label } of seen.values()) expect(label.integrity).toBe(label.origin === 'developer' ? 'trusted' : 'untrusted');
      expect(seen.get('t16')?.content).toMatch(/^\{"type":"file","url":"https:\/\/evil\.example\/x".*\nignored$/);
    });
  });
});

describe('K16', () => {
  describe('S179: deadlines and streams that drop', () => {
    it('S179: a server that never answers initialize fails after connectTimeoutMs, over HTTP, over stdio and where nobody speaks at all', async () => {
      const silent = await fakeServer({ onMessage: ({ method }) => (method === 'initialize' ? 'never' : undefined) });
      await expect(mcpServer({ name: 'a', url: silent.url, connectTimeoutMs: 100 })).rejects.toThrow('did not get ready within 100 ms');
      await expect(mcpServer({ name: 'a', ...fakeProgram('return true;'), connectTimeoutMs: 300 })).rejects.toThrow(
        'did not get ready within 300 ms',
      );
      const mute = createServer(() => undefined);
      await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
      onTestFinished(() => void mute.close());
      const address = mute.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      await expect(mcpServer({ name: 'a', url: `http://127.0.0.1:${port}/`, connectTimeoutMs: 100 })).rejects.toThrow('within 100 ms');
    });

    it('S179: a server that never lists its tools fails after requestTimeoutMs, or is skipped', async () => {
      const server = await fakeServer({ onMessage: ({ method }) => (method === 'tools/list' ? 'never' : undefined) });
      await expect(mcpServer({ name: 'a', url: server.url, requestTimeoutMs: 100 })).rejects.toMatchObject({
        name: 'McpUnavailable',
        message: expect.stringContaining('did not answer within 100 ms'),
      });
      const warnings: McpWarning[] = [];
      const skipped = await connect({
        name: 'a',
        url: server.url,
        requestTimeoutMs: 100,
        onUnavailable: 'skip',
        onWarning: (warning) => warnings.push(warning),
      });
      expect(skipped.tools).toEqual([]);
      expect(warnings).toMatchObject([{ kind: 'unavailable', server: 'a' }]);
    });

    it.each(['http', 'stdio'])('S179: a call without an answer ends as a timeout, and the server is told (%s)', async (way) => {
      const server = await fakeServer({ tools: () => [tool('slow')], onCall: () => 'never' });
      const told: string[] = [];
      const program = fakeProgram(
        `if (message.method === 'notifications/cancelled') process.stderr.write(JSON.stringify(message)); return message.method === 'tools/call';`,
        [tool('slow')],
      );
      const mcp = await connect(
        way === 'http'
          ? { name: 'srv', url: server.url, requestTimeoutMs: 1_000 }
          : { name: 'srv', ...program, requestTimeoutMs: 1_500, stderr: (words: string) => told.push(words) },
      );
      const model = scriptedModel([callTool('srv__slow'), say('timeout handled')]);
      const result = await sound(run(defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools] }), 'go'));
      assertCompleted(result);
      expect(ofType(result.events, 'tool.end')).toMatchObject([
        { status: 'error', errorClass: 'timeout', retryable: false, content: expect.stringContaining('may have happened') },
      ]);
      if (way === 'stdio') await expect.poll(() => told.join('')).toContain('"requestId":2');
      else {
        const call = server.messages.find(({ method }) => method === 'tools/call');
        await expect
          .poll(() => server.messages.at(-1))
          .toMatchObject({ method: 'notifications/cancelled', params: { requestId: call?.id } });
      }
    });

    it('S179: the request that was given up is let go of, so that no connection stays', async () => {
      const gone: string[] = [];
      const server = await fakeServer({
        tools: () => [tool('slow')],
        onMessage: ({ method }, request) => {
          if (method === 'tools/call') request.socket.once('close', () => gone.push('call'));
          return undefined;
        },
        onCall: () => 'never',
      });
      const mcp = await connect({ name: 'srv', url: server.url, requestTimeoutMs: 1_000 });
      const model = scriptedModel([callTool('srv__slow'), say('ok')]);
      await sound(run(defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools] }), 'go'));
      await expect.poll(() => gone).toEqual(['call']);
    });

    it('S179: a late answer is nobody’s, and the next call gets its own', async () => {
      const late: (() => void)[] = [];
      const server = await fakeServer({
        tools: () => [tool('a')],
        onCall: (_name, input) =>
          input.wait === true ? new Promise((resolve) => late.push(() => resolve(text('late')))) : text('on time'),
      });
      const mcp = await connect({ name: 'srv', url: server.url, requestTimeoutMs: 1_000 });
      const model = scriptedModel([callTool('srv__a', { wait: true }), callTool('srv__a', {}), say('ok')]);
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools] });
      const paused = await sound(run(agent, 'go', { observers: [{ 'tool.end': () => late.shift()?.() }] }));
      expect(
        ofType(paused.events, 'tool.end')
          .map(({ content }) => content)
          .at(-1),
      ).toBe('on time');
    });

    it('S179: a run that is cancelled tells the server, and the run ends', async () => {
      const controller = new AbortController();
      const server = await fakeServer({
        tools: () => [tool('slow')],
        onCall: () => {
          controller.abort();
          return 'never';
        },
      });
      const mcp = await connect({ name: 'srv', url: server.url });
      const model = scriptedModel([callTool('srv__slow'), say('x')]);
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools] });
      const result = await sound(run(agent, 'go', { signal: controller.signal }));
      expect(result.status).toBe('cancelled');
      await expect.poll(() => server.methods()).toContain('notifications/cancelled');
    });

    it('S179: the stream for the server’s own messages may drop and fail: calls go on, and nothing is unhandled', async () => {
      const rejections = unhandled();
      let streams = 0;
      const server = await fakeServer({
        tools: () => [tool('a')],
        onStream: (response) => {
          streams += 1;
          if (streams === 1) {
            response.writeHead(200, { 'content-type': 'text/event-stream' });
            response.write(': open\n\n');
            setTimeout(() => response.destroy(), 20);
          } else response.writeHead(500).end();
        },
      });
      const mcp = await connect({ name: 'srv', url: server.url });
      await expect.poll(() => streams).toBeGreaterThan(1);
      const model = scriptedModel([callTool('srv__a'), say('ok')]);
      const result = await sound(run(defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools] }), 'go'));
      expect(ofType(result.events, 'tool.end')).toMatchObject([{ status: 'ok' }]);
      expect(rejections).toEqual([]);
    });
  });
});
