// A worker in a process of its own. Settings come as JSON; what it does stands in the ledger, a line each: `start|end <tool's key> <worker>`.
import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineAgent, defineTool } from '@guardloop/core';
import { durable, durableAgent, embeddedEngine } from '@guardloop/durable';
import { dbosEngine } from '@guardloop/durable/dbos';
import { restateEngine } from '@guardloop/durable/restate';
import { postgresStore } from '@guardloop/store-postgres';
import { sqliteStore } from '@guardloop/store-sqlite';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const settings = JSON.parse(process.argv[2]);
const { name, ledger, leaseMs = 3_000, concurrency = 4, queues = {}, store: place, dbos, restate, options } = settings;

const tell = (word, key) => appendFileSync(ledger, `${word} ${key} ${name}\n`);
const tool = (id, flow, approval) =>
  defineTool({
    name: id,
    description: 'Works for a while.',
    input: z.object({ ms: z.number() }),
    flow,
    approval,
    async execute({ ms }, { idempotencyKey }) {
      tell('start', idempotencyKey);
      if (ms === 0) while (!existsSync(`${ledger}.open`)) await sleep(20);
      else await sleep(ms);
      tell('end', idempotencyKey);
      return `worked ${ms}`;
    },
  });
const tools = [tool('look', { effect: 'read' }, false), tool('work', { effect: 'write' }, false), tool('ask', { effect: 'write' }, true)];
// The user's text says which tools are called, one after another, and for how many milliseconds; 0: until the gate is open. `look 500, work 10`.
const model = scriptedModel(({ messages }) => {
  const user = messages.findLastIndex(({ role }) => role === 'user');
  const [{ text }] = messages[user].parts;
  const steps = text === '' ? [] : text.split(', ');
  const done = messages.slice(user).filter(({ role }) => role === 'tool').length;
  const [next, ms] = (steps[done] ?? '').split(' ');
  return next === '' || next === undefined ? say(`done: ${text}`) : callTool(next, { ms: Number(ms) });
});
const desk = defineAgent({ name: 'desk', instructions: '', model, tools });

const store = place.postgres === undefined ? sqliteStore(place.sqlite) : postgresStore(place.postgres);
const chosen = dbos === undefined ? restate && restateEngine(restate) : dbosEngine(dbos);
const engine = chosen ?? embeddedEngine({ pollMs: 50 });
const agents = { desk: durableAgent(desk, { options: () => options }) };
const runs = durable({ store, engine, agents, queues, onError: () => undefined });
const worker = await runs.worker({ name, leaseMs, concurrency });
process.on('unhandledRejection', (reason) => {
  process.stderr.write(`unhandled: ${reason?.stack ?? reason}\n`);
  process.exitCode = 1;
});
process.on('SIGTERM', async () => {
  await worker.stop({ graceMs: 5_000 });
  await runs.close();
  await store.close();
  process.stdout.write('stopped\n');
  process.exit();
});
process.stdout.write('ready\n');
