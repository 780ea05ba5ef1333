// Runs that were begun by another version: of the log, and of their agent.
import { readFileSync } from 'node:fs';
import type { Log } from '@guardloop/core';
import { defineAgent, defineTool } from '@guardloop/core';
import type { Durable } from '@guardloop/durable';
import { durable, durableAgent } from '@guardloop/durable';
import type { Store } from '@guardloop/store';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';
import { makeDesk } from '../fixtures/desk.js';
import type { StoreKind } from './field.js';
import { openField } from './field.js';
import { openStore } from './open-store.js';
import type { Row } from './report.js';
import { until } from './trial.js';

export async function oldVersions(kind: StoreKind): Promise<readonly Row[]> {
  const field = await openField(kind);
  const failures: string[] = [];
  try {
    for (const [name, act] of Object.entries({
      'a log of 0.1.0': oldLog,
      'an agent whose tool is gone': goneTool,
      'a changed schema and a new tool': changedAgent,
    })) {
      const store = await openStore(field.address('versions'));
      try {
        failures.push(...(await act(store)).map((flaw) => `${name}: ${flaw}`));
      } catch (thrown) {
        failures.push(`${name}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
      } finally {
        await store.close();
      }
    }
  } finally {
    await field.close();
  }
  return [
    {
      fault: 'a run of an old version',
      where: `${kind}, worker`,
      tried: 3,
      failures,
      note: 'a kept log of 0.1.0; a tool that is gone; a changed agent',
    },
  ];
}

/** A log that version 0.1.0 wrote and left at an approval is taken on by a worker of this one. */
async function oldLog(store: Store): Promise<readonly string[]> {
  const file = new URL('../../fixtures/log-0.1.0.json', import.meta.url);
  const { events } = JSON.parse(readFileSync(file, 'utf8')) as Log;
  const { triage, guardrails } = makeDesk();
  const runs = durable({ store, agents: { desk: durableAgent(triage, { options: { guardrails } }) } });
  try {
    const id = events[0]?.run ?? '';
    await runs.submit('desk', 'Refund o1, my card is 4111', { id, session: 'old' });
    await store.append('old', events, 0);
    await runs.worker();
    await waiting(runs, id);
    const [approval] = (await runs.approvals.list({ run: id, state: 'open' })).items;
    await runs.approvals.decide(approval?.id ?? '', 'approve');
    const result = await runs.result(id, { until: 'end', waitMs: 30_000 });
    if (result.status !== 'completed') return [`it ended ${result.status}`];
    return [...(result.text === 'Refunded to ####.' ? [] : [`it answered ${result.text}`]), ...auditLog(result.log)];
  } finally {
    await runs.close();
  }
}

const effects: string[] = [];
const refundTool = (fields: z.ZodObject) =>
  defineTool({
    name: 'refund',
    description: 'Refunds.',
    input: fields,
    flow: { effect: 'write' },
    approval: true,
    execute: () => {
      effects.push('refund');
      return 'refunded';
    },
  });
const extra = defineTool({ name: 'extra', description: 'New.', input: z.object({}), flow: { effect: 'read' }, execute: () => 'x' });
const firstRefund = refundTool(z.object({ id: z.string() }));
const agentWith = (tools: readonly ReturnType<typeof refundTool | (() => typeof extra)>[]) =>
  defineAgent({ name: 'desk', instructions: '', model: scriptedModel([callTool('refund', { id: 'o1' }), say('Done.')]), tools });

/** Runs until it waits, under one deployment. */
async function begin(store: Store, id: string): Promise<void> {
  const runs = durable({ store, agents: { desk: agentWith([firstRefund]) } });
  try {
    await runs.worker();
    await runs.submit('desk', 'Refund.', { id });
    await waiting(runs, id);
  } finally {
    await runs.close();
  }
}

async function waiting(runs: Pick<Durable<never>, 'status'>, id: string): Promise<void> {
  await until('the run waits', async () => (await runs.status(id))?.state === 'waiting');
}

/** The tool that waits for its approval is gone: told before any effect, with the choices; a deployment that has it goes on. */
async function goneTool(store: Store): Promise<readonly string[]> {
  const id = 'gone';
  const flaws: string[] = [];
  effects.length = 0;
  await begin(store, id);
  const without = durable({ store, agents: { desk: agentWith([extra]) }, retry: { firstMs: 200, mostMs: 200 } });
  try {
    await without.worker();
    const [approval] = (await without.approvals.list({ run: id, state: 'open' })).items;
    await without.approvals.decide(approval?.id ?? '', 'approve');
    await until('the trouble is told', async () => (await without.status(id))?.trouble !== undefined);
    const trouble = (await without.status(id))?.trouble;
    if (!(trouble?.choices.includes('deploy') && trouble.choices.includes('cancel')))
      flaws.push(`the choices are ${trouble?.choices.join(', ')}`);
    if (!trouble?.message.includes('refund')) flaws.push(`it is not told which tool: ${trouble?.message}`);
    if (effects.length > 0) flaws.push('there was an effect');
  } finally {
    await without.close();
  }
  const again = durable({ store, agents: { desk: agentWith([firstRefund, extra]) } });
  try {
    await again.worker();
    const result = await again.result(id, { until: 'end', waitMs: 30_000 });
    if (result.status !== 'completed' || effects.length !== 1) flaws.push(`it ended ${result.status} with ${effects.length} effects`);
    else flaws.push(...auditLog(result.log));
  } finally {
    await again.close();
  }
  return flaws;
}

/** A deployment with another schema and one more tool finishes the run, unless it is told to take nothing but the same. */
async function changedAgent(store: Store): Promise<readonly string[]> {
  const id = 'changed';
  const flaws: string[] = [];
  effects.length = 0;
  await begin(store, id);
  const changed = agentWith([refundTool(z.object({ id: z.string(), why: z.string().optional() })), extra]);
  const strict = durable({ store, agents: { desk: durableAgent(changed, { accept: 'same' }) }, retry: { firstMs: 200, mostMs: 200 } });
  try {
    await strict.worker();
    const [approval] = (await strict.approvals.list({ run: id, state: 'open' })).items;
    await strict.approvals.decide(approval?.id ?? '', 'approve');
    await until('the trouble is told', async () => (await strict.status(id))?.trouble !== undefined);
    if (effects.length > 0) flaws.push('there was an effect');
  } finally {
    await strict.close();
  }
  const next = durable({ store, agents: { desk: changed } });
  try {
    await next.worker();
    const result = await next.result(id, { until: 'end', waitMs: 30_000 });
    if (result.status !== 'completed' || effects.length !== 1) flaws.push(`it ended ${result.status} with ${effects.length} effects`);
    else flaws.push(...auditLog(result.log));
  } finally {
    await next.close();
  }
  return flaws;
}
