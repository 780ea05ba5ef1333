import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { mcpServer } from '../index.js';

const require = createRequire(import.meta.url);
const programOf = (name: string): string => join(require.resolve(`@modelcontextprotocol/${name}/package.json`), '../dist/index.js');

describe('the real servers', () => {
  it('reads a file through server-filesystem, with untrusted results', async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-')));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'a.txt'), 'hello');
    const files = await mcpServer({ name: 'files', command: process.execPath, args: [programOf('server-filesystem'), folder] });
    onTestFinished(() => files.close());
    expect(files.refused).toEqual([]);
    console.log(files.tools.map(({ name }) => name));
    const model = scriptedModel([callTool('files__read_text_file', { path: join(folder, 'a.txt') }), say('done')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [...files.tools] });
    const result = await run(agent, 'go');
    console.log(
      JSON.stringify(
        result.events.filter((e) => e.type === 'tool.end'),
        null,
        1,
      ),
    );
    expect(auditLog(result.log)).toEqual([]);
  });
  it('lists all of server-everything', async () => {
    const every = await mcpServer({ name: 'every', command: process.execPath, args: [programOf('server-everything')] });
    onTestFinished(() => every.close());
    console.log(
      every.tools.map(({ name }) => name),
      every.refused,
    );
    console.log((await every.resources.list()).slice(0, 3), await every.resources.templates(), await every.prompts.list());
    const names = every.tools.map(({ name }) => name);
    const model = scriptedModel([
      [
        callTool('every__get-tiny-image', {}),
        callTool('every__get-structured-content', { location: 'Chicago' }),
        callTool('every__get-resource-links', { count: 2 }),
        callTool('every__get-resource-reference', { resourceType: 'Text', resourceId: 1 }),
        callTool('every__get-annotated-message', { messageType: 'error', includeImage: true }),
        callTool('every__get-sum', { a: 1, b: 2 }),
      ],
      say('done'),
    ]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [...every.tools] });
    const result = await run(agent, 'go');
    console.log(
      result.status,
      JSON.stringify(
        result.events.filter((e) => e.type === 'tool.end'),
        null,
        1,
      ).slice(0, 6000),
    );
    expect(names).toContain('every__echo');
  });
});
