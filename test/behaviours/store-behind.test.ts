import type { LogEvent, SessionStore } from '@guardloop/core';
import { defineAgent, defineTool, handoff, memorySession, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

/** A store whose appends wait from the one on that ends an answer of this turn. */
function stalling(turn: number) {
  const inner = memorySession();
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  let isStalled = false;
  const store: SessionStore = {
    load: inner.load,
    async append(id, events, afterSeq) {
      isStalled ||= events.some((event: LogEvent) => event.type === 'model.end' && event.turn === turn);
      if (isStalled) await gate;
      await inner.append(id, events, afterSeq);
    },
  };
  return { store, release: () => release() };
}

const read = defineTool({
  name: 'read',
  description: 'Reads.',
  input: z.object({ page: z.number() }),
  flow: { effect: 'read' },
  execute: ({ page }) => `page ${page}`,
});
const pages = Array.from({ length: 6 }, (_, page) => callTool('read', { page }));
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));

describe('a store that falls behind', () => {
  it.each([1, 3])('holds up the next model call once it does not take the answer of turn %d', async (turn) => {
    const { store, release } = stalling(turn);
    const model = scriptedModel([...pages, say('Read.')]);
    const agent = defineAgent({ name: 'reader', instructions: '', model, tools: [read] });
    const running = run(agent, 'Read.', { session: { store, id: 's' }, limits: { turns: 20 } });
    await settle();
    expect(model.requests).toHaveLength(turn);
    release();
    const result = await running;
    expect(result.status).toBe('completed');
    expect(auditLog(result.log)).toEqual([]);
    expect(model.requests).toHaveLength(7);
    expect(await store.load('s')).toEqual(result.log.events);
  });

  it('holds up the first call of an agent that was handed the conversation', async () => {
    const { store, release } = stalling(1);
    const second = scriptedModel(() => say('Done.'));
    const billing = defineAgent({ name: 'billing', instructions: '', model: second });
    const triage = defineAgent({
      name: 'triage',
      instructions: '',
      model: scriptedModel([callTool('transfer_to_billing', { input: 'Refund.' })]),
      handoffs: [handoff(billing)],
    });
    const running = run(triage, 'Refund.', { session: { store, id: 's' } });
    await settle();
    expect(second.requests).toHaveLength(0);
    release();
    expect((await running).status).toBe('completed');
    expect(second.requests).toHaveLength(1);
  });

  it('lets a run that is cancelled meanwhile end without another call', async () => {
    const { store, release } = stalling(1);
    const model = scriptedModel([...pages, say('Read.')]);
    const agent = defineAgent({ name: 'reader', instructions: '', model, tools: [read] });
    const controller = new AbortController();
    const running = run(agent, 'Read.', { session: { store, id: 's' }, signal: controller.signal });
    await settle();
    controller.abort();
    release();
    expect((await running).status).toBe('cancelled');
    expect(model.requests).toHaveLength(1);
  });
});
