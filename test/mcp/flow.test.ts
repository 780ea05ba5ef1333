// What the user says of tools, and what servers claim.
import type { ResolvedFlow } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, run } from '@guardloop/core';
import type { McpServerOptions } from '@guardloop/mcp';
import { mcpServer } from '@guardloop/mcp';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fakeServer, tool } from './fake-server.js';

const withArguments = (...names: string[]) => ({
  inputSchema: { type: 'object', properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) },
});
const tools = () => [
  tool('read_mail', { ...withArguments('folder'), annotations: { readOnlyHint: true, idempotentHint: true } }),
  tool('write_mail', { ...withArguments('to', 'text'), annotations: { readOnlyHint: false } }),
  tool('write_note', withArguments('text')),
  tool('wipe', { annotations: { readOnlyHint: true, destructiveHint: false } }),
];

/** The flow with which guardrails see each tool, by its name. */
const flows = async (options: Partial<McpServerOptions>): Promise<ReadonlyMap<string, ResolvedFlow>> => {
  const server = await fakeServer({ tools });
  const mcp = await mcpServer({ name: 's', url: server.url, ...options } as McpServerOptions);
  onTestFinished(() => mcp.close());
  const seen = new Map<string, ResolvedFlow>();
  const watch = defineGuardrail({
    name: 'w',
    on: ['toolInput'],
    check: ({ tool: name, flow }) => {
      seen.set(name.replace('s__', ''), flow);
      return allow();
    },
  });
  const model = scriptedModel([mcp.tools.map(({ name }) => callTool(name)), say('ok')]);
  const result = await run(defineAgent({ name: 'a', instructions: '', model, tools: [...mcp.tools], guardrails: [watch] }), 'go');
  expect(auditLog(result.log)).toEqual([]);
  return seen;
};
const strictest = { effect: 'write', results: 'untrusted', authority: 'all', declared: false };

describe('what tools do', () => {
  it('is the strictest where the user says nothing, whatever the server claims', async () => {
    for (const flow of (await flows({})).values()) expect(flow).toEqual(strictest);
  });

  it('is what the user says, by name and by pattern; a pattern takes nothing away where it does not fit', async () => {
    const seen = await flows({
      flow: {
        'write_*': { effect: 'send', authority: ['to'] },
        read_mail: { effect: 'read', results: 'trusted', authority: [] },
      },
    });
    expect(seen.get('read_mail')).toEqual({ effect: 'read', results: 'trusted', authority: [], declared: true });
    expect(seen.get('write_mail')).toMatchObject({ effect: 'send', results: 'untrusted', authority: ['to'] });
    // It has no argument `to`: all that it has stay authorities.
    expect(seen.get('write_note')).toMatchObject({ effect: 'send', authority: 'all' });
    expect(seen.get('wipe')).toEqual(strictest);
  });

  it('is the server’s word only where the user trusts it, and never more than reading', async () => {
    const seen = await flows({ hints: 'trust', flow: { wipe: { effect: 'write' } } });
    expect(seen.get('read_mail')).toMatchObject({ effect: 'read', results: 'untrusted' });
    expect(seen.get('write_mail')).toEqual(strictest);
    expect(seen.get('wipe')).toMatchObject({ effect: 'write', results: 'untrusted' });
  });

  it('is refused where it names what is not there', async () => {
    const server = await fakeServer({ tools });
    const options = (change: object) => mcpServer({ name: 's', url: server.url, ...change } as McpServerOptions);
    for (const [change, words] of [
      [{ allow: ['read_mial'] }, 'read_mail'],
      [{ approval: ['wipe_'] }, '`approval`'],
      [{ approval: ['del_*'] }, '`approval`'],
      [{ flow: { wipee: {} } }, '`flow`'],
      [{ flow: { 'send_*': {} } }, '`flow`'],
      [{ flow: { write_note: { authority: ['to'] } } }, '`flow.authority`'],
    ] as const)
      await expect(options(change)).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(words) });
  });
});
