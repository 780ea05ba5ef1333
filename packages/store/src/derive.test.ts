import { defineAgent, defineTool, resume, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { memoryStore } from './index.js';
import type { SessionStand } from './kit.js';
import { deriveAll, deriveRecords } from './kit.js';

const openDoor = defineTool({
  name: 'open_door',
  description: 'Open.',
  input: { type: 'object', properties: {} },
  approval: true,
  execute: () => 'open',
});
const porter = () =>
  defineAgent({ name: 'porter', instructions: '', model: scriptedModel([callTool('open_door'), say('It is open.')]), tools: [openDoor] });

describe('deriveRecords', () => {
  it('tells a waiting run from an open and an ended one', async () => {
    const store = memoryStore();
    const agent = porter();
    const paused = await run(agent, 'Let me in.', { session: { store, id: 'door' } });
    expect(await store.sessions.get('door')).toMatchObject({ status: 'waiting', agent: 'porter', run: paused.runId });
    const [record] = (await store.approvals.list({ session: 'door' })).items;
    expect(record).toMatchObject({ state: 'open', run: paused.runId, session: 'door', reminders: 0 });
    expect(await store.approvals.decide(record?.id ?? '', 'approve', { by: 'anna' })).toMatchObject({ status: 'recorded' });
    const done = await resume(agent, { store, id: 'door' }, { decisions: { [record?.id ?? '']: 'approve' } });
    expect(done.status).toBe('completed');
    expect(auditLog(done.log)).toEqual([]);
    expect(await store.sessions.get('door')).toMatchObject({ status: 'completed', events: done.log.events.length });
    expect((await store.approvals.list()).items).toMatchObject([{ state: 'resolved', decidedBy: 'anna', decision: 'approve' }]);
  });

  it('gives the same batch by batch as for the whole log', async () => {
    const store = memoryStore();
    const agent = porter();
    await run(agent, 'Let me in.', { session: { store, id: 'door' } });
    await resume(agent, { store, id: 'door' }, { decisions: { [(await store.approvals.list()).items[0]?.id ?? '']: { reject: 'no' } } });
    const events = await store.load('door');
    const whole = deriveAll({ id: 'door' }, events);
    let session: SessionStand = { id: 'door' };
    const approvals = new Map<string, (typeof whole.approvals)[number]>();
    for (const event of events) {
      const unsettled = [...approvals.values()].filter(({ state }) => state === 'open' || state === 'decided');
      const derived = deriveRecords(session, unsettled, [event]);
      for (const approval of derived.approvals) approvals.set(approval.id, approval);
      session = { id: 'door', ...derived };
    }
    expect(session).toMatchObject({ run: whole.run, agent: whole.agent, status: whole.status, events: whole.events });
    expect([...approvals.values()]).toEqual(whole.approvals);
  });
});
