// A process of its own for the tests beside it: says `ready`, waits for a line, runs an agent on a session, and prints what came of it.
import { createInterface } from 'node:readline';
import { defineAgent, defineTool, run } from '@guardloop/core';
import { postgresStore } from '@guardloop/store-postgres';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const { options, session, text, sessionOptions } = JSON.parse(process.argv[2] ?? '{}');
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const tell = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

const f = defineTool({ name: 'f', description: 'F.', input: z.object({}), execute: () => `f of ${text}` });
const model = scriptedModel((request) => (request.messages.at(-1)?.role === 'tool' ? say(`${text} done`) : callTool('f')));
const agent = defineAgent({ name: 'a', instructions: '', model, tools: [f] });

tell('ready');
await lines.next();
const store = postgresStore(options);
try {
  const result = await run(agent, text, { session: { store, id: session, ...sessionOptions } });
  tell({ status: result.status });
} catch (error) {
  tell({ status: 'rejected', code: error.code });
}
await store.close();
process.exit(0);
