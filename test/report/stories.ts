// Logs of real runs in which a bit of everything happens.
import type { Log, Surface } from '@guardloop/core';
import {
  allow,
  ask,
  asTool,
  defineAgent,
  defineGuardrail,
  defineTool,
  deny,
  halt,
  memorySession,
  resume,
  rewrite,
  run,
} from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const everywhere: readonly Surface[] = ['input', 'toolInput', 'toolOutput', 'handoff', 'output'];
/** Stands in what guardrails refuse, and nowhere in a log. */
export const secret = 'SWORDFISH';

/** Every card number of a text, masked. */
const mask = defineGuardrail({
  name: 'mask',
  version: '2',
  on: everywhere as ['input', 'toolOutput', 'output'],
  rewrite: ({ content }) => {
    const spans = [...content.matchAll(/411-1/g)].map(({ index }) => ({ start: index, end: index + 5, with: '####' }));
    return spans.length > 0 ? rewrite(spans, 'a card number') : allow();
  },
});
const noSecrets = defineGuardrail({
  name: 'no-secrets',
  on: everywhere as ['input', 'toolOutput', 'output'],
  check: ({ content }) => (content.includes(secret) ? deny('a secret word') : allow()),
});
const noPoems = defineGuardrail({
  name: 'no-poems',
  on: ['input'],
  check: ({ content }) => (content.includes('poem') ? halt('not our business', { reply: 'Sorry.' }) : allow()),
});
const suspicious = defineGuardrail({
  name: 'suspicious',
  on: ['output'],
  shadow: true,
  check: ({ content }) => (content.includes('Refunded') ? deny('sounds too sure') : allow()),
});
const flaky = defineGuardrail({
  name: 'flaky',
  on: ['toolOutput'],
  onError: 'allow',
  check: () => {
    throw new Error('down');
  },
});
const large = defineGuardrail({
  name: 'large',
  on: ['toolInput'],
  tools: ['refund'],
  check: ({ raw }) => (Number(raw.cents) > 5_000 ? ask('a large refund') : allow()),
});

export const guardrails = [mask, noSecrets, noPoems, suspicious, flaky];

export function openDesk() {
  const find = defineTool({
    name: 'find',
    description: 'Finds an order.',
    input: z.object({ id: z.string() }),
    flow: { effect: 'read' },
    execute: ({ id }) => ({ id, cards: ['411-1', '411-1'] }),
  });
  const remove = defineTool({
    name: 'remove',
    description: 'Removes.',
    input: z.object({ what: z.string() }),
    flow: { effect: 'write' },
    execute: () => 'removed',
  });
  const refund = defineTool({
    name: 'refund',
    description: 'Refunds an order.',
    input: z.object({ id: z.string(), cents: z.number() }),
    flow: { effect: 'send', authority: ['cents'] },
    execute: ({ id, cents }) => `refunded ${cents} for ${id}`,
  });
  const model = scriptedModel({
    clerk: [callTool('find', { id: 'o1' }, 'c1'), say('It is paid.')],
    triage: [
      [say('Let me look.'), callTool('ask_clerk', { input: 'Is o1 paid?' }, 'c1'), callTool('remove', { what: secret }, 'c2')],
      say(`The word is ${secret}.`),
      callTool('transfer_to_billing', {}, 'c3'),
    ],
    billing: [callTool('refund', { id: 'o1', cents: 9_000 }, 'c4'), say('Refunded.')],
  });
  const clerk = defineAgent({ name: 'clerk', instructions: 'Look.', model, tools: [find] });
  const billing = defineAgent({
    name: 'billing',
    description: 'Refunds.',
    instructions: 'Refund.',
    model,
    tools: [refund],
    guardrails: [large],
  });
  return defineAgent({
    name: 'triage',
    instructions: 'Route.',
    model,
    tools: [asTool(clerk, { name: 'ask_clerk', description: 'Asks the clerk.' }), remove],
    handoffs: [billing],
  });
}

export const request = 'Refund o1, my card is 411-1';

/** A run that waits for a person. */
export async function waitingLog(): Promise<Log> {
  return (await run(openDesk(), request, { guardrails, runId: 'r1' })).log;
}

/** A session: a run that a person let go on, and one that was stopped at the door. */
export async function sessionLog(): Promise<Log> {
  const session = { store: memorySession(), id: 's' };
  const waiting = await run(openDesk(), request, { guardrails, runId: 'r1', session });
  const [approval] = waiting.status === 'interrupted' ? waiting.approvals : [];
  await resume(openDesk(), session, { guardrails, decisions: { [approval?.id ?? '']: 'approve' } });
  return (await run(openDesk(), `Write a poem about ${secret}.`, { guardrails, runId: 'r2', session })).log;
}

/** A log of many events: one agent looks things up over and over, in a session of many runs. */
export async function longLog(runs: number): Promise<Log> {
  const session = { store: memorySession(), id: 'long' };
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    input: z.object({ id: z.string() }),
    flow: { effect: 'read', results: 'trusted' },
    execute: ({ id }) => `${id}: ${'all is as it was. '.repeat(12)}`,
  });
  const turns = Array.from({ length: 6 }, (_, turn) =>
    Array.from({ length: 4 }, (_each, index) => callTool('look', { id: `${turn}-${index}` }, `c${turn}-${index}`)),
  );
  const model = scriptedModel([...turns, say('Done.')]);
  const agent = defineAgent({ name: 'looker', instructions: '', model, tools: [look] });
  let log: Log = { version: 1, events: [] };
  for (let index = 0; index < runs; index += 1) {
    const text = index === runs - 1 ? `poem ${secret}` : `look ${index}`;
    log = (await run(agent, text, { guardrails: [mask, noSecrets, noPoems], session, runId: `r${index}` })).log;
  }
  return log;
}
