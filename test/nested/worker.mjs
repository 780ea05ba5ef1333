// Started by other-process.test.ts, once for each step of a run: node worker.mjs <folder> run | resume <decisions as JSON> | crash <decisions as JSON>
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { allow, asTool, defineAgent, defineGuardrail, defineTool, GuardloopError, halt, resume, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const [folder, command, given = '{}'] = process.argv.slice(2);

/** A store of one file a session, a line of JSON an event. */
const store = {
  async load(id, afterSeq = 0) {
    const file = join(folder, `${id}.jsonl`);
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
    return lines.slice(afterSeq).map((line) => JSON.parse(line));
  },
  async append(id, events, afterSeq) {
    const found = (await this.load(id)).length;
    if (found !== afterSeq) throw new GuardloopError('LOG_CONFLICT', `Session ${id} ends with event ${found}, not ${afterSeq}.`);
    appendFileSync(join(folder, `${id}.jsonl`), events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  },
};

const effects = [];
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({ id: z.string() }),
  approval: true,
  execute: ({ id }, { idempotencyKey }) => {
    effects.push(`${id} ${idempotencyKey}`);
    appendFileSync(join(folder, 'effects.txt'), `${id} ${idempotencyKey}\n`);
    // The machine is gone between the effect and its record.
    if (command === 'crash') process.exit(9);
    return `paid ${id}`;
  },
});
const model = scriptedModel({
  front: [[callTool('ask_desk', { input: 'x' }), callTool('pay', { id: 'front' })], say('All is paid.')],
  desk: [[callTool('pay', { id: 'desk' }), callTool('ask_clerk', { input: 'x' })], say('Desk is done.')],
  clerk: [[callTool('pay', { id: 'clerk' }), callTool('pay', { id: 'clerk too' })], say('Clerk is done.')],
});
const guardrails = [
  defineGuardrail({
    name: 'of-run',
    on: ['input', 'toolInput', 'toolOutput', 'output'],
    check: ({ content }) => (content.includes('evil') ? halt('no') : allow()),
  }),
];
const clerk = defineAgent({ name: 'clerk', instructions: 'Clerk.', model, tools: [pay] });
const desk = defineAgent({
  name: 'desk',
  instructions: 'Desk.',
  model,
  tools: [pay, asTool(clerk, { name: 'ask_clerk', description: 'Asks.' })],
});
const front = defineAgent({
  name: 'front',
  instructions: 'Front.',
  model,
  tools: [pay, asTool(desk, { name: 'ask_desk', description: 'Asks.' })],
});
const session = { store, id: 's' };

const result =
  command === 'run'
    ? await run(front, 'go', { session, guardrails, runId: 'r' })
    : await resume(front, session, { guardrails, decisions: JSON.parse(given) });
writeFileSync(
  join(folder, 'told.json'),
  JSON.stringify({
    status: result.status,
    output: result.status === 'completed' ? result.output : undefined,
    by: result.status === 'blocked' ? result.by : undefined,
    approvals: result.status === 'interrupted' ? result.approvals : [],
    effects,
    faults: auditLog(result.log),
    asked: model.requests.map(({ agent, turn }) => `${agent} ${turn}`),
    usage: result.usage,
    messages: result.messages,
  }),
);
