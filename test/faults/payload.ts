// Results far above what a store keeps in a row: stored whole, or refused in words.

import { defineAgent, defineTool, withDetails } from '@guardloop/core';
import { durable, durableAgent } from '@guardloop/durable';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';
import type { StoreKind } from './field.js';
import { openField } from './field.js';
import { openEngine, openStore } from './open-store.js';
import type { Row } from './report.js';

const megabyte = 1024 * 1024;
const large = 30 * megabyte;
/** No run of it compresses well, and it holds what databases do not take in texts. */
const text = (chars: number): string => {
  const piece = Array.from({ length: 4_096 }, (_, index) => String.fromCharCode(32 + ((index * 7_919) % 90))).join('');
  return `\u0000\ud800${piece.repeat(Math.ceil(chars / piece.length)).slice(0, chars - 2)}`;
};

const tools = {
  'the model is shown the head of it': defineTool({
    name: 'big',
    description: 'Big.',
    input: z.object({}),
    flow: { effect: 'read' },
    execute: () => text(large),
  }),
  'a projection gives all of it, which core cuts': defineTool({
    name: 'big',
    description: 'Big.',
    input: z.object({}),
    flow: { effect: 'read' },
    project: (output: string) => output,
    execute: () => text(large),
  }),
  'it is details for the application': defineTool({
    name: 'big',
    description: 'Big.',
    input: z.object({}),
    flow: { effect: 'read' },
    execute: () => withDetails('small', { all: text(large) }),
  }),
};

export async function largePayload(store: StoreKind): Promise<readonly Row[]> {
  const field = await openField(store);
  const failures: string[] = [];
  const notes: string[] = [];
  try {
    for (const [name, tool] of Object.entries(tools)) {
      const place = await openStore(field.address('payload'));
      const model = scriptedModel([callTool('big'), say('Done.')], { record: false });
      const agent = defineAgent({ name: 'desk', instructions: '', model, tools: [tool] });
      const runs = durable({ store: place, engine: await openEngine(field.engine('payload')), agents: { desk: durableAgent(agent) } });
      try {
        await runs.worker();
        const began = performance.now();
        const { run } = await runs.submit('desk', 'Go.');
        const result = await runs.result(run.id, { waitMs: 60_000 });
        const ms = Math.round(performance.now() - began);
        if (result.status === 'completed') {
          if (auditLog(result.log).length > 0) failures.push(`${name}: ${auditLog(result.log)[0]}`);
          const again = await place.load(run.session);
          const chars = JSON.stringify(again.find(({ type }) => type === 'tool.end')).length;
          notes.push(`${name}: stored, ${(chars / megabyte).toFixed(1)} MB of log, ${ms} ms`);
        } else if (result.status === 'failed') notes.push(`${name}: told, ${result.error.code}`);
        else failures.push(`${name}: it stands ${JSON.stringify('run' in result ? result.run : result.status).slice(0, 400)}`);
      } finally {
        await runs.close();
        await place.close();
      }
    }
  } finally {
    await field.close();
  }
  return [{ fault: 'a result of 30 MB', where: store, tried: Object.keys(tools).length, failures, note: notes.join('; ') }];
}
