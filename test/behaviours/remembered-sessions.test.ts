import type { LogEvent, RunResult, SessionStore } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, memorySession, resume, run } from '@guardloop/core';
import type { Step } from '@guardloop/testing';
import { auditLog, callTool, normalLog, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

/** A store that tells what was read of it, and whose sessions can be deleted. */
function watchedStore() {
  let inner = memorySession();
  const reads: { readonly afterSeq: number; readonly events: number }[] = [];
  const store: SessionStore = {
    async load(id, afterSeq = 0) {
      const events = await inner.load(id, afterSeq);
      reads.push({ afterSeq, events: events.length });
      return events;
    },
    append: (id, events, afterSeq) => inner.append(id, events, afterSeq),
  };
  return { store, reads, other: { load: inner.load, append: inner.append } as SessionStore, clear: () => (inner = memorySession()) };
}

const look = defineTool({
  name: 'look',
  description: 'Look.',
  input: z.object({ at: z.string() }),
  flow: { effect: 'read' },
  execute: ({ at }) => `saw ${at}`,
});
const send = defineTool({ name: 'send', description: 'Send.', input: z.object({}), approval: true, execute: () => 'sent' });
const passes = defineGuardrail({ name: 'passes', on: ['input', 'output'], check: () => allow() });
const agentOf = (...steps: readonly Step[]) =>
  defineAgent({ name: 'desk', instructions: '', model: scriptedModel(steps), tools: [look, send], guardrails: [passes] });
const talks = agentOf(say('Well.'));

const completed = (result: RunResult): RunResult => {
  expect(result.status).toBe('completed');
  expect(auditLog(result.log)).toEqual([]);
  return result;
};

describe('a session that this process knows', () => {
  it('is read from its last event on, however long it is', async () => {
    const { store, reads } = watchedStore();
    const session = { store, id: 's' };
    for (let turn = 0; turn < 20; turn += 1) completed(await run(talks, `${turn}`, { session }));
    expect(reads.slice(1).map(({ events }) => events)).toEqual(Array.from({ length: 19 }, () => 1));
  });

  it('leaves the result of each run as it was when it was given', async () => {
    const session = { store: memorySession(), id: 's' };
    const first = await run(talks, 'One.', { session });
    const before = structuredClone({ log: first.log, events: first.events, messages: first.messages });
    const second = await run(talks, 'Two.', { session });
    expect({ log: first.log, events: first.events, messages: first.messages }).toEqual(before);
    expect(second.messages.slice(0, first.messages.length)).toEqual(before.messages);
    expect(second.messages).toHaveLength(2 * first.messages.length);
  });

  it('takes in what another process has appended since', async () => {
    const { store, reads, other } = watchedStore();
    await run(talks, 'One.', { session: { store, id: 's' } });
    await run(talks, 'Elsewhere.', { session: { store: other, id: 's' } });
    const third = completed(await run(talks, 'Three.', { session: { store, id: 's' } }));
    expect(reads.at(-1)?.events).toBeGreaterThan(1);
    expect(third.messages.filter(({ role }) => role === 'user')).toHaveLength(3);
    expect(third.log.events).toEqual(await store.load('s'));
  });

  it('is empty once it was deleted, and another once it was begun anew', async () => {
    const { store, clear } = watchedStore();
    await run(talks, 'One.', { session: { store, id: 's' } });
    clear();
    expect(completed(await run(talks, 'New.', { session: { store, id: 's' } })).messages).toHaveLength(2);
    clear();
    for (const input of ['A.', 'B.']) await run(talks, input, { session: { store: { load: store.load, append: store.append }, id: 's' } });
    expect(completed(await run(talks, 'C.', { session: { store, id: 's' } })).messages).toHaveLength(6);
  });

  it('is not kept while its run waits for people', async () => {
    const { store, reads } = watchedStore();
    const session = { store, id: 's' };
    const asks = agentOf(callTool('send'), say('Sent.'));
    const paused = await run(asks, 'Send.', { session });
    if (paused.status !== 'interrupted') throw new Error(paused.status);
    completed(await resume(asks, session, { decisions: { [paused.approvals[0]?.id ?? '']: 'approve' } }));
    expect(reads.map(({ afterSeq }) => afterSeq)).toEqual([0, 0]);
  });

  it('is read whole after a store that failed', async () => {
    const { store, reads } = watchedStore();
    let isBroken = false;
    const failing: SessionStore = {
      load: store.load,
      append: async (id, events, afterSeq) => {
        if (isBroken && events.some(({ type }) => type === 'run.end')) throw new Error('disk');
        await store.append(id, events, afterSeq);
      },
    };
    const session = { store: failing, id: 's' };
    await run(talks, 'One.', { session });
    isBroken = true;
    expect((await run(talks, 'Two.', { session })).status).toBe('failed');
    isBroken = false;
    completed(await run(talks, 'Three.', { session, unfinished: 'abandon' }));
    expect(reads.at(-1)?.afterSeq).toBe(0);
  });

  it('gives every conversation the same log as one that is read whole each time', async () => {
    const step = fc.constantFrom('say', 'look', 'send', 'foreign');
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        const logs: unknown[] = [];
        for (const isRemembered of [true, false]) {
          const inner = memorySession();
          const fresh = (): SessionStore => ({ load: inner.load, append: inner.append });
          const kept = fresh();
          for (const [turn, kind] of steps.entries()) {
            const store = isRemembered && kind !== 'foreign' ? kept : fresh();
            const session = { store, id: 's' };
            const agent =
              kind === 'look'
                ? agentOf(callTool('look', { at: `${turn}` }), say('Seen.'))
                : kind === 'send'
                  ? agentOf(callTool('send'), say('Sent.'))
                  : talks;
            const result = await run(agent, `turn ${turn}`, { session });
            if (result.status === 'interrupted')
              completed(await resume(agent, session, { decisions: { [result.approvals[0]?.id ?? '']: 'approve' } }));
            else completed(result);
          }
          logs.push(normalLog({ version: 1, events: (await inner.load('s')) as readonly LogEvent[] }));
        }
        expect(logs[0]).toEqual(logs[1]);
      }),
      { numRuns: 40, seed: 7 },
    );
  });
});
