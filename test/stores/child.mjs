// A process of its own for the tests beside it: `node child.mjs <task as JSON>`. Says `ready`, waits for a line, does it, and prints what came of it.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { defineAgent, defineTool, run } from '@guardloop/core';
import { postgresStore } from '@guardloop/store-postgres';
import { sqliteStore } from '@guardloop/store-sqlite';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const task = JSON.parse(process.argv[2] ?? '{}');
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const tell = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const open = () => (task.postgres ? postgresStore(task.postgres) : sqliteStore(task.sqlite));

/** Takes the write lock of a SQLite file, tells so, and lets go at the next line. */
async function lock() {
  const Database = createRequire(import.meta.resolve('@guardloop/store-sqlite'))('libsql');
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
  const { text, session, sessionOptions } = task;
  const store = open();
  const f = defineTool({ name: 'f', description: 'F.', input: z.object({}), execute: () => `f of ${text}` });
  const model = scriptedModel((request) => (request.messages.at(-1)?.role === 'tool' ? say(`${text} done`) : callTool('f')));
  const agent = defineAgent({ name: 'a', instructions: '', model, tools: [f] });
  try {
    const { status } = await run(agent, text, { session: { store, id: session, ...sessionOptions } });
    return { status };
  } catch (error) {
    return { status: 'rejected', code: error.code };
  } finally {
    await store.close();
  }
}

/** One append, as its outcome. */
async function append() {
  const store = open();
  const outcome = await store.append(task.session, task.events, task.events[0].seq - 1).then(
    () => ({ status: 'stored' }),
    ({ code, message, isRetryable }) => ({ status: 'rejected', code, message, isRetryable }),
  );
  await store.close();
  return outcome;
}

tell('ready');
await lines.next();
tell(await { lock, run: runOnce, append }[task.kind]());
process.exit(0);
