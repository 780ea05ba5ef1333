import type { Log, LogEvent } from '@guardloop/core';
import { asTool, defineAgent, defineTool, run } from '@guardloop/core';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { callTool, say } from '../script.js';
import { scriptedModel } from '../scripted-model.js';
import { auditLog } from './audit-log.js';

const send = defineTool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: z.object({ to: z.string() }),
  flow: { effect: 'send' },
  execute: () => 'Sent.',
});
const model = scriptedModel((request) => {
  if (request.agent === 'helper') return request.turn === 1 ? callTool('send_mail', { to: 'anna' }) : say('Helped.');
  return request.turn < 3 ? callTool('ask_helper', { input: `${request.turn}` }) : say('Done.');
});
const helper = defineAgent({ name: 'helper', instructions: '', model, tools: [send] });
const agent = defineAgent({
  name: 'desk',
  instructions: '',
  model,
  tools: [asTool(helper, { name: 'ask_helper', description: 'Helps.', effects: 'shared' })],
});

const changed = (log: Log, change: (event: LogEvent) => LogEvent): Log => ({ version: 1, events: log.events.map(change) });

test('a call that ends with what a run beside it has done passes, and nothing else in its place', async () => {
  const { log } = await run(agent, 'hello', { runId: 'r1' });
  expect(auditLog(log)).toEqual([]);
  const copy = (more: object) =>
    auditLog(changed(log, (event) => (event.type === 'tool.end' && event.copyOf !== undefined ? { ...event, ...more } : event)));
  expect(copy({ copyOf: 'r1/1.0/1.1' })).toEqual([expect.stringContaining('which is no ended call of send_mail')]);
  expect(copy({ content: 'Not sent.' })).toEqual([expect.stringContaining('but ends otherwise')]);
  const guarded = changed(log, (event) =>
    event.type === 'run.start' && event.run === 'r1/2.0'
      ? { ...event, manifest: { ...event.manifest, agent: [{ name: 'own', surfaces: ['handoff'], phases: ['check'] }] } }
      : event,
  );
  expect(auditLog(guarded)).toEqual([expect.stringContaining('no run beside it under the same guardrails')]);
});
