import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { LogEvent } from '@guardloop/core';
import { auditLog } from '@guardloop/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** A process with three runs on one session, over a store of files: a batch is a file, whose name can be taken once. */
const program = `
import { link, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defineAgent, defineTool, GuardloopError, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const [folder, name] = process.argv.slice(-2);
const store = {
  async load(id, afterSeq = 0) {
    const events = [];
    for (;;) {
      const batch = await readFile(join(folder, String(events.length)), 'utf8').catch(() => undefined);
      if (batch === undefined) return events.slice(afterSeq);
      events.push(...JSON.parse(batch));
    }
  },
  async append(id, events, afterSeq) {
    const draft = join(folder, 'draft-' + name + '-' + afterSeq);
    await writeFile(draft, JSON.stringify(events));
    await link(draft, join(folder, String(afterSeq))).catch(() => {
      throw new GuardloopError('LOG_CONFLICT', 'stale');
    });
  },
};
const work = defineTool({ name: 'work', description: 'W.', input: z.object({}), flow: { effect: 'write' }, execute: () => name });
const model = scriptedModel(({ messages }) => (messages.at(-1).role === 'user' ? callTool('work') : say('done by ' + name)));
const agent = defineAgent({ name: 'a', instructions: '', model, tools: [work] });
const session = { store, id: 's', onConflict: 'queue' };
const results = await Promise.all([0, 1, 2].map((nth) => run(agent, name + nth, { session })));
console.log(JSON.stringify(results.map(({ status }) => status)));
`;

describe('three processes on one session', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'guardloop-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('queue: all runs come through, one after another, and each process keeps its order', { timeout: 60_000 }, async () => {
    const cwd = new URL('..', import.meta.url);
    const start = (name: string) =>
      promisify(execFile)(process.execPath, ['--input-type=module', '-e', program, '--', folder, name], { cwd });
    const ended = await Promise.all(['x', 'y', 'z'].map(start));
    for (const { stdout } of ended) expect(JSON.parse(stdout)).toEqual(['completed', 'completed', 'completed']);

    const batches = (await readdir(folder)).filter((file) => /^\d+$/.test(file)).sort((left, right) => Number(left) - Number(right));
    const texts = await Promise.all(batches.map((file) => readFile(join(folder, file), 'utf8')));
    const events = texts.flatMap((text) => JSON.parse(text) as LogEvent[]);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(auditLog({ version: 1, events })).toEqual([]);
    // No run begins before the one before it has ended.
    const runs = events.flatMap((event) => (event.type === 'run.start' || event.type === 'run.end' ? [event.type] : []));
    expect(runs).toEqual(Array.from({ length: 9 }, () => ['run.start', 'run.end']).flat());
    const said = events.flatMap((event) => (event.type === 'input.accept' ? event.items : [])).map((item) => JSON.stringify(item));
    const inOrder = said.map((item) => /"text":"([xyz]\d)"/.exec(item)?.[1] ?? '');
    for (const name of ['x', 'y', 'z'])
      expect(inOrder.filter((each) => each.startsWith(name))).toEqual([0, 1, 2].map((nth) => `${name}${nth}`));
    expect(events.filter(({ type }) => type === 'tool.start')).toHaveLength(9);
  });
});
