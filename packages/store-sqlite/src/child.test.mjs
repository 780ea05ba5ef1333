// A process of its own for the tests beside it: `node child.test.mjs <task as JSON>`. Says `ready`, waits for a line, does it, and prints what came of it.
import { createInterface } from 'node:readline';
import { defineAgent, defineTool, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import Database from 'libsql';
import { z } from 'zod';
import { sqliteStore } from '../dist/index.js';

const task = JSON.parse(process.argv[2] ?? '{}');
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const tell = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

/** Takes the write lock, tells so, and lets go at the next line. */
async function lock() {
  const connection = new Database(task.file, { timeout: 5_000 });
  connection.exec('begin immediate');
  tell('locked');
  await lines.next();
  connection.exec('commit');
  connection.close();
  return 'unlocked';
}

/** One run with a tool call. */
async function runOnce() {
  const store = sqliteStore({ file: task.file, ...task.options });
  const f = defineTool({ name: 'f', description: 'F.', input: z.object({}), execute: () => `f of ${task.text}` });
  const model = scriptedModel((request) => (request.messages.at(-1)?.role === 'tool' ? say(`${task.text} done`) : callTool('f')));
  const agent = defineAgent({ name: 'a', instructions: '', model, tools: [f] });
  try {
    const result = await run(agent, task.text, { session: { store, id: task.session, ...task.sessionOptions } });
    return { status: result.status, events: result.log.events.length };
  } catch (error) {
    return { status: 'rejected', code: error.code };
  } finally {
    await store.close();
  }
}

/** One append, as its outcome. */
async function append() {
  const store = sqliteStore({ file: task.file, ...task.options });
  const outcome = await store.append(task.session, task.events, task.events[0].seq - 1).then(
    () => ({ status: 'stored' }),
    (error) => ({ status: 'rejected', code: error.code, message: error.message, isRetryable: error.isRetryable }),
  );
  await store.close().catch(() => {});
  return outcome;
}

tell('ready');
await lines.next();
tell(await { lock, run: runOnce, append }[task.kind]());
process.exit(0);
