import type { RunResult } from '@guardloop/core';
import { defineAgent, defineTool, endUnfinished, GuardloopError, memorySession, resume, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const asks = defineTool({ name: 'pay', description: 'Pays.', input: z.object({}), approval: true, execute: () => 'paid' });
const agent = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([callTool('pay'), say('Paid.')]), tools: [asks] });

async function waiting() {
  const session = { store: memorySession(), id: 's' };
  const result = await run(agent, 'Pay.', { session, runId: 'r1' });
  if (result.status !== 'interrupted') throw new Error(result.status);
  return { session, approval: result.approvals[0]?.id ?? '' };
}
const sound = async (session: Awaited<ReturnType<typeof waiting>>['session']) => {
  const events = await session.store.load(session.id);
  expect(auditLog({ version: 1, events })).toEqual([]);
  return events;
};

describe('an unfinished run', () => {
  it('is ended without its agent: its calls end, and it can be decided no more', async () => {
    const { session, approval } = await waiting();
    expect(await endUnfinished(session, { status: 'cancelled' })).toBe(true);
    const events = await sound(session);
    expect(events.slice(-3).map(({ type }) => type)).toEqual(['run.resume', 'tool.end', 'run.end']);
    expect(events.at(-1)).toMatchObject({ type: 'run.end', run: 'r1', status: 'cancelled' });
    await expect(resume(agent, session, { decisions: { [approval]: 'approve' } }).result).rejects.toMatchObject({
      code: 'RESUME_MISMATCH',
    });
  });

  it('ends failed with the error that is given', async () => {
    const { session } = await waiting();
    const error = new GuardloopError('INTERNAL', 'It was tried too often.');
    expect(await endUnfinished(session, { status: 'failed', error })).toBe(true);
    expect((await sound(session)).at(-1)).toMatchObject({
      status: 'failed',
      error: { code: 'INTERNAL', message: 'It was tried too often.' },
    });
  });

  it('makes room for the next run of its session', async () => {
    const { session } = await waiting();
    await endUnfinished(session, { status: 'cancelled', reason: new Error('secret words') });
    const next: RunResult = await run(agent, 'Again.', { session });
    expect(next.status).toBe('interrupted');
    expect(JSON.stringify(await sound(session))).not.toContain('secret words');
  });

  it('is left alone where another is meant, and where none is open', async () => {
    const { session } = await waiting();
    const before = await session.store.load('s');
    expect(await endUnfinished(session, { status: 'cancelled' }, 'r2')).toBe(false);
    expect(await session.store.load('s')).toEqual(before);
    expect(await endUnfinished(session, { status: 'cancelled' }, 'r1')).toBe(true);
    expect(await endUnfinished(session, { status: 'cancelled' }, 'r1')).toBe(false);
    expect(await endUnfinished({ store: session.store, id: 'other' }, { status: 'cancelled' })).toBe(false);
  });

  it('is ended once by two who try at once', async () => {
    const { session } = await waiting();
    const both = await Promise.allSettled([
      endUnfinished(session, { status: 'cancelled' }),
      endUnfinished(session, { status: 'cancelled' }),
    ]);
    expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect((await sound(session)).filter(({ type }) => type === 'run.end')).toHaveLength(1);
  });

  it('is not looked for where there is no session', async () => {
    await expect(endUnfinished(undefined as never, { status: 'cancelled' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});
