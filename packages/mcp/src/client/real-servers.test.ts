// Against the two servers from npm, as they are.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { LogEvent, ToolMessage } from '@guardloop/core';
import { allow, assertCompleted, defineAgent, defineGuardrail, definePolicy, deny, resume, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { McpServer, McpServerOptions, McpWarning } from '../index.js';
import { mcpServer, mcpTools, pinsOf } from '../index.js';

const require = createRequire(import.meta.url);
const filesystem = join(require.resolve('@modelcontextprotocol/server-filesystem/package.json'), '../dist/index.js');
const everythingServer = join(require.resolve('@modelcontextprotocol/server-everything/package.json'), '../dist/index.js');
const connect = async (options: McpServerOptions): Promise<McpServer> => {
  const server = await mcpServer(options);
  onTestFinished(() => server.close());
  return server;
};
const folderOf = (files: Readonly<Record<string, string>>): string => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-')));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
};
const files = (folder: string, more: Partial<McpServerOptions> = {}): McpServerOptions =>
  ({ name: 'files', command: process.execPath, args: [filesystem, folder], ...more }) as McpServerOptions;
const everything = (more: Partial<McpServerOptions> = {}): McpServerOptions =>
  ({ name: 'every', command: process.execPath, args: [everythingServer], ...more }) as McpServerOptions;
const endsOf = (events: readonly LogEvent[]) => events.flatMap((event) => (event.type === 'tool.end' ? [event] : []));

describe('server-filesystem', () => {
  it('reads a file: its text once, untrusted, seen by guardrails', async () => {
    const folder = folderOf({ 'a.txt': 'hello' });
    const mcp = await connect(files(folder));
    expect(mcp.refused).toEqual([]);
    expect(mcp.tools.map(({ name }) => name)).toContain('files__write_file');
    const seen: string[] = [];
    const watch = defineGuardrail({
      name: 'w',
      on: ['toolInput', 'toolOutput'],
      check: ({ surface, content }) => {
        seen.push(`${surface} ${content}`);
        return allow();
      },
    });
    const path = join(folder, 'a.txt');
    const model = scriptedModel([callTool('files__read_text_file', { path }), say('done')]);
    const result = await run(defineAgent({ name: 'a', instructions: '', model, tools: mcpTools([mcp]), guardrails: [watch] }), 'go');
    assertCompleted(result);
    expect(endsOf(result.events)).toMatchObject([{ status: 'ok', content: '{"content":"hello"}', label: { integrity: 'untrusted' } }]);
    expect(seen).toEqual([`toolInput {"path":${JSON.stringify(path)}}`, 'toolOutput {"content":"hello"}']);
    expect(auditLog(result.log)).toEqual([]);
  });

  it('offers what is allowed, with the flow that the user says, and writes after an approval only', async () => {
    const folder = folderOf({});
    const mcp = await connect(
      files(folder, {
        allow: ['read_*', 'write_file'],
        flow: { 'read_*': { effect: 'read', authority: ['path'] }, write_file: { effect: 'write', authority: ['path'] } },
        approval: ['write_*'],
      }),
    );
    expect(mcp.tools.map(({ name }) => name)).toEqual([
      'files__read_file',
      'files__read_text_file',
      'files__read_media_file',
      'files__read_multiple_files',
      'files__write_file',
    ]);
    const path = join(folder, 'b.txt');
    const model = scriptedModel([callTool('files__write_file', { path, content: 'x' }), say('done')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools] });
    const paused = await run(agent, 'go');
    if (paused.status !== 'interrupted') throw new Error(paused.status);
    expect(paused.approvals).toMatchObject([{ tool: 'files__write_file', flow: { effect: 'write', authority: ['path'] } }]);
    expect(() => readFileSync(path)).toThrow();
    const done = await resume(agent, paused.log, { decisions: { [paused.approvals[0]?.id ?? '']: 'approve' } });
    expect(done.status).toBe('completed');
    expect(readFileSync(path, 'utf8')).toBe('x');
    expect(auditLog(done.log)).toEqual([]);
  });

  it('is under the policy of the agent by the names of its tools', async () => {
    const folder = folderOf({ 'a.txt': 'hello' });
    const mcp = await connect(files(folder));
    const policy = definePolicy({ name: 'p', rules: [{ tool: 'files__read_*', then: 'allow' }], otherwise: 'deny' });
    const model = scriptedModel([
      [
        callTool('files__read_text_file', { path: join(folder, 'a.txt') }),
        callTool('files__write_file', { path: join(folder, 'x'), content: 'x' }),
      ],
      say('done'),
    ]);
    const result = await run(defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools], guardrails: [policy] }), 'go');
    expect(endsOf(result.events).map(({ tool, status }) => [tool, status])).toContainEqual(['files__write_file', 'denied']);
    expect(() => readFileSync(join(folder, 'x'))).toThrow();
  });

  it('tells an error of a tool in its words, and bad arguments never reach it', async () => {
    const folder = folderOf({});
    const mcp = await connect(files(folder));
    const model = scriptedModel([
      callTool('files__read_text_file', { path: '/etc/passwd' }),
      callTool('files__read_text_file', { path: 7 }),
      say('done'),
    ]);
    const result = await run(defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools] }), 'go');
    const [outside, misfit] = endsOf(result.events);
    expect(outside).toMatchObject({ status: 'error', errorClass: 'failed', content: expect.stringContaining('Access denied') });
    expect(misfit).toMatchObject({ errorClass: 'invalid_input' });
  });

  it('has pins that hold from start to start, as JSON', async () => {
    const folder = folderOf({});
    const pins = JSON.parse(JSON.stringify(pinsOf(await connect(files(folder))))) as ReturnType<typeof pinsOf>;
    const again = await connect(files(folder, { pins }));
    expect([again.refused, again.tools.length]).toEqual([[], pins.tools.length]);
  });

  it('that was killed is started again for the next call', async () => {
    const folder = folderOf({ 'a.txt': 'hello' });
    const pids: number[] = [];
    const program = pathToFileURL(filesystem).href;
    const mcp = await connect({
      name: 'files',
      command: process.execPath,
      args: ['-e', `process.stderr.write('pid ' + process.pid + '\\n'); import(${JSON.stringify(program)})`, 'x', folder],
      stderr: (words) => {
        const pid = /pid (\d+)/.exec(words)?.[1];
        if (pid !== undefined) pids.push(Number(pid));
      },
    });
    const model = scriptedModel([callTool('files__read_text_file', { path: join(folder, 'a.txt') }), say('done')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools] });
    await expect.poll(() => pids.length).toBe(1);
    process.kill(pids[0] ?? 0, 'SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(endsOf((await run(agent, 'go')).events)).toMatchObject([{ status: 'ok' }]);
    await expect.poll(() => pids.length).toBe(2);
  });
});

describe('server-everything', () => {
  it('offers all but what needs a task, and says why', async () => {
    const warnings: McpWarning[] = [];
    const mcp = await connect(everything({ onWarning: (warning) => warnings.push(warning) }));
    expect(mcp.tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['every__echo', 'every__get-sum', 'every__get-tiny-image']));
    expect(mcp.refused).toEqual([
      {
        tool: 'simulate-research-query',
        why: 'definition',
        reason: 'Tool simulate-research-query runs only as a task of its own, which is not supported.',
      },
    ]);
    expect(warnings).toMatchObject([{ kind: 'tool-refused', tool: 'simulate-research-query' }]);
    expect(mcp.about?.name).toBe('mcp-servers/everything');
    expect(typeof mcp.about?.instructions).toBe('string');
  });

  it('gives every kind of content as parts', async () => {
    const mcp = await connect(everything());
    const model = scriptedModel([
      [
        callTool('every__echo', { message: 'hi' }),
        callTool('every__get-tiny-image', {}),
        callTool('every__get-structured-content', { location: 'Chicago' }),
        callTool('every__get-resource-links', { count: 2 }),
        callTool('every__get-resource-reference', { resourceType: 'Text', resourceId: 1 }),
        callTool('every__get-annotated-message', { messageType: 'error', includeImage: true }),
      ],
      say('done'),
    ]);
    const result = await run(defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools] }), 'go');
    assertCompleted(result);
    expect(auditLog(result.log)).toEqual([]);
    const seen = (model.requests[1]?.messages ?? []).filter((message): message is ToolMessage => message.role === 'tool');
    const [echo, image, structured, links, reference, annotated] = seen.map(({ content }) => content);
    expect(echo).toBe('Echo: hi');
    expect(image).toMatchObject([{ type: 'text' }, { type: 'image', mediaType: 'image/png' }, { type: 'text' }]);
    expect(JSON.parse(String(structured))).toEqual({ temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 });
    expect(links).toContain('[resource link] {"uri":"demo://');
    expect(reference).toMatch(/\[resource demo:\/\/[^\]]+\]\n/);
    expect(annotated).toMatchObject([{ type: 'text' }, { type: 'image' }]);
  });

  it('tells how far a long call is, and stops it', async () => {
    const mcp = await connect(everything());
    const controller = new AbortController();
    const steps: unknown[] = [];
    const model = scriptedModel([callTool('every__trigger-long-running-operation', { duration: 60, steps: 600 }), say('done')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools] });
    const result = await run(agent, 'go', {
      signal: controller.signal,
      observers: [
        {
          'tool.progress': ({ step }) => {
            if (steps.push(step) === 3) controller.abort();
          },
        },
      ],
    });
    expect(result.status).toBe('cancelled');
    expect(steps).toEqual([1, 2, 3]);
  });

  it('gives resources and prompts as untrusted input', async () => {
    const mcp = await connect(everything());
    const listed = await mcp.resources.list();
    expect(listed[0]).toMatchObject({ uri: expect.stringContaining('demo://'), mimeType: 'text/markdown' });
    expect((await mcp.resources.templates()).map(({ uriTemplate }) => uriTemplate)).toContain('demo://resource/dynamic/text/{resourceId}');
    const parts = await mcp.resources.read('demo://resource/dynamic/text/1');
    expect(parts).toMatchObject([
      { type: 'text', text: expect.stringContaining('demo://resource/dynamic/text/1'), label: { integrity: 'untrusted' } },
    ]);
    const blob = await mcp.resources.read('demo://resource/dynamic/blob/1');
    expect(blob[0]?.type).toBe('file');
    await expect(mcp.resources.read('demo://nothing')).rejects.toThrow(/^Server every answered with error -?\d+\.$/);

    const prompts = await mcp.prompts.list();
    expect(prompts.find(({ name }) => name === 'args-prompt')?.arguments).toMatchObject([
      { name: 'city', required: true },
      { required: false },
    ]);
    const { history } = await mcp.prompts.get('args-prompt', { city: 'Graz' });
    expect(history).toMatchObject([{ role: 'user', text: expect.stringContaining('Graz') }]);
    const model = scriptedModel([say('ok')]);
    const agent = defineAgent({ name: 'a', instructions: '', model });
    const result = await run(agent, [{ type: 'text', text: 'Sum this up.' }, ...parts], { history: [...history] });
    assertCompleted(result);
    expect(result.messages[0]?.label.integrity).toBe('untrusted');
    expect(auditLog(result.log)).toEqual([]);
  });

  it('lets the model list and read resources itself, with untrusted results', async () => {
    const mcp = await connect(everything());
    const model = scriptedModel([
      [
        callTool('every-resources__list'),
        callTool('every-resources__read', { uri: 'demo://resource/dynamic/text/2' }),
        callTool('every-resources__read', { uri: 'demo://none' }),
      ],
      say('ok'),
    ]);
    const stop = defineGuardrail({
      name: 's',
      on: ['toolInput'],
      check: ({ content }) => (content.includes('secret') ? deny('no') : allow()),
    });
    const result = await run(
      defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.resources.tools], guardrails: [stop] }),
      'go',
    );
    const ends = [...endsOf(result.events)].sort((a, b) => (a.callId < b.callId ? -1 : 1));
    expect(ends.map(({ status, label }) => [status, label.integrity])).toEqual([
      ['ok', 'untrusted'],
      ['ok', 'untrusted'],
      ['error', 'untrusted'],
    ]);
    expect(String(ends[1]?.content)).toContain('demo://resource/dynamic/text/2');
  });
});

describe('server-everything over HTTP', () => {
  const port = async (): Promise<number> => {
    const probe = createServer();
    await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
    const address = probe.address();
    await new Promise<void>((resolve) => probe.close(() => resolve()));
    return typeof address === 'object' && address !== null ? address.port : 0;
  };
  const start = async (at: number): Promise<() => Promise<void>> => {
    const child = spawn(process.execPath, [everythingServer, 'streamableHttp'], {
      env: { ...process.env, PORT: String(at) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    await new Promise<void>((resolve) => {
      child.stderr.on('data', (chunk) => {
        if (String(chunk).includes('listening')) resolve();
      });
    });
    const stop = async (): Promise<void> => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
      child.kill('SIGKILL');
      await gone;
    };
    onTestFinished(stop);
    return stop;
  };

  it('calls, and goes on after the server was started anew', async () => {
    const at = await port();
    const stop = await start(at);
    const mcp = await connect({ name: 'every', url: `http://127.0.0.1:${at}/mcp`, flow: { echo: { effect: 'read' } } });
    const call = async (message: string) => {
      const model = scriptedModel([callTool('every__echo', { message }), say('ok')]);
      const result = await run(defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools] }), 'go');
      expect(auditLog(result.log)).toEqual([]);
      return endsOf(result.events)[0];
    };
    expect(await call('one')).toMatchObject({ status: 'ok', content: 'Echo: one' });
    await stop();
    expect(await call('two')).toMatchObject({ status: 'error', errorClass: 'unavailable', retryable: true });
    await start(at);
    expect(await call('three')).toMatchObject({ status: 'ok', content: 'Echo: three' });
  });
});
