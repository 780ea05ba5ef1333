import type { RunResult } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, deny, halt, run, withContext } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { ClientCapabilities } from '@modelcontextprotocol/sdk/types.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { AgentServer, ServeOptions } from '../index.js';
import { mcpServer, serveAgent } from '../index.js';

function gateOf<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let open: (value: T) => void = () => undefined;
  const promise = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { promise, resolve: (value) => open(value) };
}
const clientOf = async (server: AgentServer, capabilities: ClientCapabilities = {}): Promise<Client> => {
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  const client = new Client({ name: 'test', version: '1' }, { capabilities });
  await client.connect(near);
  onTestFinished(async () => {
    await client.close();
    await server.close();
  });
  return client;
};
const call = async (client: Client, input = 'go') => client.callTool({ name: 'desk', arguments: { input } });
const textOf = (result: Awaited<ReturnType<typeof call>>): string =>
  (result.content as readonly { readonly text?: string }[]).map(({ text }) => text).join('\n');

const desk = (steps: Parameters<typeof scriptedModel>[0], more: object = {}) =>
  defineAgent({ name: 'desk', description: 'Answers.', instructions: '', model: scriptedModel(steps), ...more });

describe('a served agent', () => {
  it('is one tool, and a call is a run of its own', async () => {
    const results: RunResult[] = [];
    const client = await clientOf(serveAgent(desk([say('Hello.')]), { onResult: (result) => results.push(result) }));
    expect((await client.listTools()).tools).toMatchObject([
      { name: 'desk', description: 'Answers.', inputSchema: { required: ['input'] } },
    ]);
    expect(textOf(await call(client))).toBe('Hello.');
    expect(textOf(await call(client))).toBe('Hello.');
    expect(results.map(({ status }) => status)).toEqual(['completed', 'completed']);
    expect(results[0]?.runId).not.toBe(results[1]?.runId);
    expect(results.flatMap(({ log }) => auditLog(log))).toEqual([]);
    await expect(client.callTool({ name: 'other', arguments: {} })).rejects.toThrow('There is no such tool');
    await expect(client.callTool({ name: 'desk', arguments: { input: 7 } })).rejects.toThrow('expected string');
    await expect(client.callTool({ name: 'desk', arguments: { input: 'x', more: 1 } })).rejects.toThrow('nothing else');
  });

  it('gives a structured answer as such', async () => {
    const agent = desk([say('{"n":1}')], { output: z.object({ n: z.number() }) });
    expect(await call(await clientOf(serveAgent(agent)))).toMatchObject({ structuredContent: { n: 1 }, content: [{ text: '{"n":1}' }] });
  });

  it('lets nothing out that a guardrail refuses, nor its reasons', async () => {
    const secret = defineGuardrail({
      name: 'no-secrets',
      on: ['input', 'output'],
      check: ({ content }) => (content.includes('hunter2') ? halt('it names the vault') : allow()),
    });
    const steps = [say('The password is hunter2.')];
    for (const [options, agent, input] of [
      [{}, desk(steps, { guardrails: [secret], refusal: 'I cannot say.' }), 'go'],
      [{ run: { guardrails: [secret] } }, desk(steps), 'go'],
      [{}, desk([say('x')], { guardrails: [secret] }), 'hunter2'],
    ] as const) {
      const result = await call(await clientOf(serveAgent(agent as never, options as ServeOptions<unknown>)), input);
      expect(result.isError).toBe(true);
      expect(JSON.stringify(result)).not.toMatch(/hunter2|vault|no-secrets/);
      expect(textOf(result)).toMatch(/^(I cannot say\.|This was refused\.)$/);
    }
  });

  it('says how else a run ended, without anybody’s words', async () => {
    const broken = scriptedModel([]);
    const failing = defineAgent({
      name: 'desk',
      description: 'Answers.',
      instructions: () => {
        throw new Error('secret path /etc/x');
      },
      model: broken,
    });
    const failed = await call(await clientOf(serveAgent(failing)));
    expect(failed.isError).toBe(true);
    expect(JSON.stringify(failed)).not.toContain('secret');
    const look = defineTool({ name: 'look', description: 'L.', input: z.object({}), flow: { effect: 'read' }, execute: () => 'x' });
    const looping = desk([callTool('look'), callTool('look'), say('x')], { tools: [look] });
    const exhausted = await call(await clientOf(serveAgent(looping, { run: { limits: { turns: 1 } } })));
    expect(textOf(exhausted)).toBe('The agent came to its limit of turns.');
  });
});

describe('approvals of a served run', () => {
  const setUp = () => {
    const done: unknown[] = [];
    const refund = defineTool({
      name: 'refund',
      description: 'R.',
      input: z.object({ cents: z.number() }),
      approval: true,
      execute: ({ cents }) => {
        done.push(cents);
        return 'refunded';
      },
    });
    return { done, agent: desk([callTool('refund', { cents: 5 }), say('Done.')], { tools: [refund] }) };
  };
  const answering = async (server: AgentServer, answer: object, asked: unknown[] = []): Promise<Client> => {
    const [near, far] = InMemoryTransport.createLinkedPair();
    await server.connect(far);
    const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: { form: {} } } });
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params);
      return answer as never;
    });
    await client.connect(near);
    onTestFinished(() => client.close());
    return client;
  };

  it('end the call and say that a person must decide, unless the host says otherwise', async () => {
    const { agent, done } = setUp();
    const asked: unknown[] = [];
    const statuses: string[] = [];
    const client = await answering(
      serveAgent(agent, { onResult: ({ status }) => statuses.push(status) }),
      { action: 'accept', content: { decision: 'approve' } },
      asked,
    );
    const result = await call(client);
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain('A person has to decide about refund');
    expect([done, asked, statuses]).toEqual([[], [], ['interrupted']]);
  });

  it('are put to nobody where the arguments are too long to be shown whole', async () => {
    const done: string[] = [];
    const pay = defineTool({
      name: 'pay',
      description: 'P.',
      input: z.object({ note: z.string(), to: z.string() }),
      approval: true,
      execute: ({ to }) => {
        done.push(to);
        return 'paid';
      },
    });
    for (const [length, expected] of [
      [3_000, ['bert']],
      [9_000, []],
    ] as const) {
      done.length = 0;
      const asked: { readonly message?: string }[] = [];
      const steps = [callTool('pay', { note: 'x'.repeat(length), to: 'bert' }), say('Done.')];
      const server = serveAgent(desk(steps, { tools: [pay] }), { approvals: 'client' });
      await call(await answering(server, { action: 'accept', content: { decision: 'approve' } }, asked));
      expect(asked.map(({ message }) => message?.includes('"to":"bert"'))).toEqual(expected.map(() => true));
      expect(done).toEqual(expected);
    }
  });

  it('are put to the person at the client, where the host lets it and the client can', async () => {
    for (const [answer, expected, effect] of [
      [{ action: 'accept', content: { decision: 'approve' } }, 'Done.', [5]],
      [{ action: 'accept', content: { decision: 'reject', note: 'No.' } }, 'Done.', []],
      [{ action: 'decline' }, 'Done.', []],
      [{ action: 'cancel' }, 'A person has to decide', []],
      [{ action: 'accept', content: { decision: 'yes' } }, 'A person has to decide', []],
      [{ action: 'accept' }, 'A person has to decide', []],
    ] as const) {
      const { agent, done } = setUp();
      const asked: { readonly message?: string }[] = [];
      const result = await call(await answering(serveAgent(agent, { approvals: 'client' }), answer, asked));
      expect(textOf(result)).toContain(expected);
      expect(done).toEqual(effect);
      expect(asked[0]?.message).toContain('refund with {"cents":5}');
    }
    const { agent, done } = setUp();
    expect(textOf(await call(await clientOf(serveAgent(agent, { approvals: 'client' }))))).toContain('A person has to decide');
    expect(done).toEqual([]);
  });

  it('are answered by a function of the host’s; undefined and throwing decide nothing', async () => {
    const { agent, done } = setUp();
    const approve = serveAgent(agent, {
      approvals: (approval) => ('tool' in approval && approval.tool === 'refund' ? 'approve' : undefined),
    });
    expect(textOf(await call(await clientOf(approve)))).toBe('Done.');
    expect(done).toEqual([5]);
    const undecided = setUp();
    expect(textOf(await call(await clientOf(serveAgent(undecided.agent, { approvals: () => undefined }))))).toContain(
      'A person has to decide',
    );
    const broken = setUp();
    const throwing = serveAgent(broken.agent, {
      approvals: () => {
        throw new Error('secret');
      },
    });
    await expect(call(await clientOf(throwing))).rejects.toThrow(/^MCP error -32603: The agent could not be run\.$/);
    expect([undecided.done, broken.done]).toEqual([[], []]);
  });
});

describe('a call of a served agent', () => {
  it('is told how far it is, and cancels its run', async () => {
    const started = gateOf<void>();
    const results: RunResult[] = [];
    const wait = defineTool({
      name: 'wait',
      description: 'W.',
      input: z.object({}),
      execute: (_input, { signal }) => {
        started.resolve();
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve('stopped')));
      },
    });
    const client = await clientOf(
      serveAgent(desk([callTool('wait'), say('x')], { tools: [wait] }), { onResult: (result) => results.push(result) }),
    );
    const controller = new AbortController();
    const steps: number[] = [];
    const calling = client.request({ method: 'tools/call', params: { name: 'desk', arguments: { input: 'go' } } }, CallToolResultSchema, {
      signal: controller.signal,
      onprogress: ({ progress }) => steps.push(progress),
    });
    await started.promise;
    await new Promise((resolve) => setTimeout(resolve, 20));
    controller.abort();
    await expect(calling).rejects.toThrow();
    await expect.poll(() => results.map(({ status }) => status)).toEqual(['cancelled']);
    expect(steps).toEqual([1, 2]);
  });

  it('has the context that the host makes of its caller, or is refused', async () => {
    const { defineAgent: define } = withContext<{ readonly user: string }>();
    const agent = define({
      name: 'desk',
      description: 'D.',
      instructions: ({ context }) => `Serve ${context.user}.`,
      model: scriptedModel([say('Hi.')]),
    });
    expect(textOf(await call(await clientOf(serveAgent(agent, { context: ({ input }) => ({ user: input }) }))))).toBe('Hi.');
    const refusing = serveAgent(agent, {
      context: () => {
        throw new Error('secret');
      },
    });
    await expect(call(await clientOf(refusing))).rejects.toThrow(/^MCP error -32600: The call was refused\.$/);
  });

  it('waits in no queue: beyond `maxRuns` it is told to come back', async () => {
    const gate = gateOf<string>();
    const wait = defineTool({ name: 'wait', description: 'W.', input: z.object({}), execute: () => gate.promise });
    const client = await clientOf(serveAgent(desk([callTool('wait'), say('Done.')], { tools: [wait] }), { maxRuns: 1 }));
    const first = call(client);
    expect(textOf(await call(client))).toBe('The agent is busy. Call again later.');
    gate.resolve('ok');
    expect(textOf(await first)).toBe('Done.');
    expect(textOf(await call(client))).toBe('Done.');
  });
});

describe('over HTTP', () => {
  const open = async (url: string, token?: string): Promise<Client> => {
    const client = new Client({ name: 'test', version: '1' });
    const transport = new StreamableHTTPClientTransport(
      new URL(url),
      token === undefined ? {} : { requestInit: { headers: { authorization: token } } },
    );
    await client.connect(transport as Parameters<Client['connect']>[0]);
    onTestFinished(() => client.close());
    return client;
  };

  it('an agent can be a tool of another, guarded on both sides', async () => {
    const server = serveAgent(desk([say('The answer is 7.')]));
    const { url, close } = await server.listen();
    onTestFinished(close);
    const mcp = await mcpServer({ name: 'far', url });
    onTestFinished(() => mcp.close());
    const model = scriptedModel([callTool('far__desk', { input: 'go' }), say('ok')]);
    const seen: string[] = [];
    const watch = defineGuardrail({
      name: 'w',
      on: ['toolOutput'],
      check: ({ content }) => {
        seen.push(content);
        return deny('no');
      },
    });
    const result = await run(defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools], guardrails: [watch] }), 'go');
    expect(seen).toEqual(['The answer is 7.']);
    expect(JSON.stringify(result)).not.toContain('The answer is 7');
    expect(auditLog(result.log)).toEqual([]);
  });

  it('a caller is asked who he is, and a session is his alone', async () => {
    const callers: unknown[] = [];
    const server = serveAgent(desk([say('Hi.')]), {
      context: ({ caller }) => void callers.push(caller?.details),
    });
    const authenticate = (request: Request) => {
      const name = /^Bearer (\w+)$/.exec(request.headers.get('authorization') ?? '')?.[1];
      if (name === 'breaks') throw new Error('secret');
      return name === undefined ? undefined : { id: name, details: name.toUpperCase() };
    };
    const { url, close } = await server.listen({ authenticate });
    onTestFinished(close);
    await expect(open(url)).rejects.toThrow();
    await expect(open(url, 'Bearer breaks')).rejects.toThrow();
    const anna = await open(url, 'Bearer anna');
    expect(textOf(await call(anna))).toBe('Hi.');
    expect(callers).toEqual(['ANNA']);
    const session = (anna.transport as { readonly sessionId?: string }).sessionId ?? '';
    const stolen = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: 'Bearer bob',
        'mcp-session-id': session,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'desk', arguments: { input: 'x' } } }),
    });
    expect(stolen.status).toBe(404);
    expect(callers).toHaveLength(1);
  });

  it('a person at the client is asked over the stream of the call', async () => {
    const done: number[] = [];
    const refund = defineTool({
      name: 'refund',
      description: 'R.',
      input: z.object({ cents: z.number() }),
      approval: true,
      execute: ({ cents }) => {
        done.push(cents);
        return 'refunded';
      },
    });
    const server = serveAgent(desk([callTool('refund', { cents: 5 }), say('Done.')], { tools: [refund] }), { approvals: 'client' });
    const { url, close } = await server.listen();
    onTestFinished(close);
    const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { decision: 'approve' } }) as never);
    await client.connect(new StreamableHTTPClientTransport(new URL(url)) as Parameters<Client['connect']>[0]);
    onTestFinished(() => client.close());
    expect(textOf(await call(client))).toBe('Done.');
    expect(done).toEqual([5]);
  });

  it('is a function of a request too, for a server of the host’s own', async () => {
    const handle = serveAgent(desk([say('Hi.')])).http({ authenticate: 'anyone', hosts: ['agents.example'] });
    const post = (body: object, headers: Record<string, string> = {}) =>
      handle(
        new Request('https://agents.example/desk', {
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
          body: JSON.stringify({ jsonrpc: '2.0', ...body }),
        }),
      );
    const begun = await post({
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    });
    const session = begun.headers.get('mcp-session-id') ?? '';
    expect([begun.status, session === '']).toEqual([200, false]);
    await begun.text();
    const called = await post(
      { id: 2, method: 'tools/call', params: { name: 'desk', arguments: { input: 'go' } } },
      { 'mcp-session-id': session },
    );
    expect(await called.text()).toContain('Hi.');
    expect((await post({ id: 3, method: 'tools/list' })).status).toBe(400);
  });

  it('requests for other names and from other pages are refused, and so are paths and methods that are none', async () => {
    const { url, close } = await serveAgent(desk([say('Hi.')])).listen();
    onTestFinished(close);
    const { port } = new URL(url);
    const { request } = await import('node:http');
    const statusOf = (headers: Record<string, string>, method = 'POST', path = '/mcp'): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const sent = request(
          { host: '127.0.0.1', port, path, method, headers: { 'content-type': 'application/json', ...headers } },
          (response) => {
            response.resume();
            resolve(response.statusCode);
          },
        );
        sent.on('error', reject);
        sent.end(method === 'POST' ? '{}' : undefined);
      });
    expect(await statusOf({ host: 'evil.example' })).toBe(403);
    expect(await statusOf({ origin: 'https://evil.example' })).toBe(403);
    expect(await statusOf({ origin: 'null' })).toBe(403);
    expect(await statusOf({}, 'POST', '/other')).toBe(404);
    expect(await statusOf({}, 'TRACE')).toBe(405);
    expect(await statusOf({ host: 'a b' })).toBe(400);
    expect(await statusOf({}, 'GET')).toBe(400);
    expect(await statusOf({ 'mcp-session-id': 'made-up' })).toBe(404);
    expect([400, 406]).toContain(await statusOf({}));
  });

  it('sessions that are many or quiet end, and a client begins anew', async () => {
    const server = serveAgent(desk([say('Hi.')]));
    const { url, close } = await server.listen({ maxSessions: 1 });
    onTestFinished(close);
    const one = await mcpServer({ name: 'one', url });
    onTestFinished(() => one.close());
    await open(url);
    const model = scriptedModel([callTool('one__desk', { input: 'x' }), say('ok')]);
    const result = await run(defineAgent({ name: 'a', instructions: '', model, tools: [...one.tools] }), 'go');
    expect(result.events.filter(({ type }) => type === 'tool.end')).toMatchObject([{ status: 'ok', content: 'Hi.' }]);
  });

  it('needs to know who calls and by which name, where others than this machine reach it', async () => {
    await expect(serveAgent(desk([])).listen({ host: '0.0.0.0' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(() => serveAgent(desk([])).http({ hosts: ['x'] } as never)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    expect(() => serveAgent(desk([])).http({ authenticate: 'anyone', hosts: [] })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    );
  });
});

it.each([
  [{ nmae: 'x' }, 'Did you mean'],
  [{ tool: { name: 'a b' } }, '`tool.name`'],
  [{ approvals: 'clinet' }, "'refuse', 'client'"],
  [{ maxRuns: 0 }, '`maxRuns`'],
  [{ context: {} }, '`context`'],
  [{ onResult: 'log' }, '`onResult`'],
  [{ onError: {} }, '`onError`'],
  [{ approvalTimeoutMs: Number.NaN }, '`approvalTimeoutMs`'],
])('wrong options of serveAgent are refused: %j', (options, words) => {
  expect(() => serveAgent(desk([]), options as never)).toThrow(words);
});

it('an agent without a description is not served', () => {
  const agent = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([]) });
  expect(() => serveAgent(agent)).toThrow('clients choose by it');
  expect(() => serveAgent(agent, { tool: { description: 'Answers.' } })).not.toThrow();
});

it.each([[undefined], [null], ['desk'], [{}], [Promise.resolve(desk([]))]])('what is no agent is not served: %j', (given) => {
  expect(() => serveAgent(given as never)).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('no agent') }),
  );
});

it.each([[{ port: 70_000 }], [{ port: '80' }], [{ port: -1 }], [{ host: '' }], [{ host: 7 }], [{ path: 'mcp' }], [{ path: '/a?b' }]])(
  'a place where nothing can listen is refused: %j',
  async (options) => {
    await expect(serveAgent(desk([])).listen(options as never)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  },
);
