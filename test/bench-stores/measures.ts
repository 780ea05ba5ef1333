import type { LogEvent, SessionStore } from '@guardloop/core';
import { assertCompleted, defineAgent, defineTool, run } from '@guardloop/core';
import type { Store } from '@guardloop/store';
import type { Script } from '@guardloop/testing';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';
import type { Measured } from './stores.js';

const instructions =
  'You help customers of a shop with their orders. Be brief, be kind, and never promise what the shop cannot hold. '.repeat(8);
const order = {
  id: 'o-17',
  status: 'shipped',
  lines: Array.from({ length: 6 }, (_, index) => ({ sku: `sku-${index}`, cents: 1_250 * (index + 1) })),
};

/** It keeps no copies of what it is asked, which grow with the conversation. */
const fakeModel = (script: Script) => scriptedModel(script, { record: false });

function at(times: readonly number[], share: number): number {
  const sorted = [...times].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
const median = (times: readonly number[]): number => at(times, 0.5);

/** Steps of model and tool in a run. */
const steps = 12;

/** An agent that looks orders up, one after another, and then answers. The tool is a declared write: the run waits for the store before it starts. */
function clerk(calls: number) {
  const change = defineTool({
    name: 'change_order',
    description: 'Change an order.',
    input: z.object({ orderId: z.string(), note: z.string() }),
    flow: { effect: 'write', authority: ['orderId'] },
    execute: () => order,
  });
  const model = fakeModel((request) => {
    const done = request.messages.filter(({ role }) => role === 'tool').length;
    return done < calls
      ? callTool('change_order', { orderId: `o-${done}`, note: 'The customer asks for another address, and has given it in full.' })
      : say('Your orders are changed. Is there anything else that I can do for you?');
  });
  return defineAgent({ name: 'clerk', instructions, model, tools: [change] });
}

/** The store with every call timed. */
function timed(store: SessionStore): { readonly store: SessionStore; readonly appends: number[]; readonly batches: number[] } {
  const appends: number[] = [];
  const batches: number[] = [];
  return {
    appends,
    batches,
    store: {
      load: (id, afterSeq) => store.load(id, afterSeq),
      async append(id, events: readonly LogEvent[], afterSeq) {
        const from = performance.now();
        await store.append(id, events, afterSeq);
        appends.push(performance.now() - from);
        batches.push(events.length);
      },
    },
  };
}

/** Milliseconds of the appends of real runs, and of a whole step of model and tool. */
export async function measureSteps({ store }: Measured, runs: number): Promise<Readonly<Record<string, number>>> {
  const agent = clerk(steps);
  const all = timed(store);
  const whole: number[] = [];
  for (let index = 0; index < runs + 10; index += 1) {
    if (index === 10) for (const list of [all.appends, all.batches]) list.length = 0;
    const from = performance.now();
    assertCompleted(
      await run(agent, 'Please change all my orders.', {
        session: { store: all.store, id: `steps-${index}` },
        limits: { turns: steps + 1 },
      }),
    );
    if (index >= 10) whole.push((performance.now() - from) / (steps + 1));
  }
  return {
    appendMedian: median(all.appends),
    append95: at(all.appends, 0.95),
    append99: at(all.appends, 0.99),
    eventsInAnAppend: all.batches.reduce((sum, count) => sum + count, 0) / all.batches.length,
    appendsInAStep: all.batches.length / runs / (steps + 1),
    stepMedian: median(whole),
  };
}

/** Milliseconds of the 10th and of the 100th message of conversations, and how they compare. */
export async function measureMessages({ store }: Measured, sessions: number): Promise<Readonly<Record<string, number>>> {
  const agent = defineAgent({
    name: 'clerk',
    instructions,
    model: fakeModel((request) => say(`That was message ${request.messages.length}. Your order is on its way, and will be there soon.`)),
  });
  const times = new Map<number, number[]>();
  for (let session = 0; session < sessions; session += 1)
    for (let message = 1; message <= 102; message += 1) {
      const from = performance.now();
      assertCompleted(
        await run(agent, `Message ${message}: where is my order, please?`, { session: { store, id: `messages-${session}` } }),
      );
      const ms = performance.now() - from;
      if (session > 0) times.set(message, [...(times.get(message) ?? []), ms]);
    }
  const around = (message: number): number => median([-2, -1, 0, 1, 2].flatMap((offset) => times.get(message + offset) ?? []));
  return { message10: around(10), message100: around(100), ratio: around(100) / around(10) };
}

/** Milliseconds of reading the end of short and long logs, as a run does that enters a session its process knows. */
export async function measureTails({ store }: Measured): Promise<Readonly<Record<string, number>>> {
  const tail = async (id: string): Promise<number> => {
    const { length } = await store.load(id);
    const times: number[] = [];
    for (let index = 0; index < 200; index += 1) {
      const from = performance.now();
      await store.load(id, length - 1);
      times.push(performance.now() - from);
    }
    return median(times);
  };
  return { tailOfShort: await tail('steps-3'), tailOfLong: await tail('messages-1') };
}

/** Bytes in the store of a run that waits for an approval, and how long it takes to list and decide one of many. */
export async function measureWaiting(measured: Measured, count: number): Promise<Readonly<Record<string, number>>> {
  const refund = defineTool({
    name: 'refund_order',
    description: 'Refund an order.',
    input: z.object({ orderId: z.string(), cents: z.number(), reason: z.string() }),
    flow: { effect: 'send', authority: ['orderId', 'cents'] },
    approval: true,
    execute: () => order,
  });
  const agent = defineAgent({
    name: 'clerk',
    instructions,
    model: fakeModel((request) =>
      request.messages.at(-1)?.role === 'user'
        ? callTool('refund_order', { orderId: 'o-17', cents: 4_900, reason: 'The parcel was damaged when it arrived, says the customer.' })
        : say('Refunded.'),
    ),
    tools: [refund],
  });
  const { store } = measured;
  const before = await measured.bytes();
  for (let index = 0; index < count; index += 1) {
    const session = `waiting-${index}`;
    await submitted(store, session);
    await run(agent, 'My parcel came damaged. I would like my money back, please.', { session: { store, id: session } });
  }
  const bytes = ((await measured.bytes()) - before) / count;
  const from = performance.now();
  const { items } = await store.approvals.list({ state: 'open', limit: 100 });
  const listMs = performance.now() - from;
  const decideFrom = performance.now();
  for (const { id } of items) await store.approvals.decide(id, 'approve', { by: 'ann' });
  return { bytesEach: bytes, list100: listMs, decide: (performance.now() - decideFrom) / items.length };
}

async function submitted(store: Store, session: string): Promise<void> {
  await store.runs.create({
    id: `${session}-run`,
    session,
    agent: 'clerk',
    queue: 'waiting',
    priority: 100,
    dueAt: 0,
    submission: { input: 'My parcel came damaged. I would like my money back, please.', context: { user: 'u-1' } },
    abandons: false,
  });
}

/** Milliseconds of a claim and of a renewal, beside the waiting ones. */
export async function measureClaims({ store }: Measured, count: number): Promise<Readonly<Record<string, number>>> {
  for (let index = 0; index < count; index += 1)
    await store.runs.create({
      id: `claim-${index}`,
      session: `claim-${index}`,
      agent: 'clerk',
      queue: 'work',
      priority: 100,
      dueAt: 0,
      submission: { input: 'Hello.' },
      abandons: false,
    });
  const claims: number[] = [];
  const renewals: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const from = performance.now();
    const claimed = await store.runs.claim({
      owner: 'w',
      leaseMs: 60_000,
      queues: [{ queue: 'work', concurrency: count, tenantConcurrency: count }],
    });
    claims.push(performance.now() - from);
    if (claimed?.lease === undefined) throw new Error('Nothing was claimed.');
    const renewFrom = performance.now();
    await store.runs.renew(claimed.id, claimed.lease.token, 60_000);
    renewals.push(performance.now() - renewFrom);
    const current = await store.runs.get(claimed.id);
    if (current) await store.runs.update(current.id, current.version, { state: 'ended', status: 'completed' });
  }
  return { claim: median(claims), claim95: at(claims, 0.95), renew: median(renewals) };
}
