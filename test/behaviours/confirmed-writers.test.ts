import type { SessionStore } from '@guardloop/core';
import { defineAgent, defineTool, GuardloopError, memorySession, run, toolError } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

/** A view of a store whose writer loses the session once `isLost` says so. */
function leased(isLost: () => boolean): SessionStore {
  const origin = memorySession();
  return {
    origin,
    load: (id, afterSeq) => origin.load(id, afterSeq),
    append: (id, events, afterSeq) => origin.append(id, events, afterSeq),
    confirm: (id) => (isLost() ? Promise.reject(new GuardloopError('LOG_CONFLICT', `another has ${id}`)) : undefined),
  };
}

function noting({ fails = 0, before = (): void => undefined } = {}) {
  const effects: string[] = [];
  const note = defineTool({
    name: 'note',
    description: 'Write a note.',
    input: z.object({}),
    flow: { effect: 'write' },
    repeatable: true,
    retry: { attempts: 3, backoffMs: 0 },
    execute: () => {
      effects.push('note');
      before();
      if (effects.length <= fails) throw toolError('It is busy.', { errorClass: 'unavailable', retryable: true });
      return 'noted';
    },
  });
  const model = scriptedModel([callTool('note'), say('Done.')]);
  return { agent: defineAgent({ name: 'desk', instructions: '', model, tools: [note] }), effects };
}

describe('a writer whose session another one has', () => {
  it('begins no repeatable tool, and ends by the conflict', async () => {
    const { agent, effects } = noting();
    const result = await run(agent, 'Note it', { session: { store: leased(() => true), id: 's' } });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'LOG_CONFLICT' } });
    expect(effects).toEqual([]);
  });

  it('tries no tool again', async () => {
    let isLost = false;
    const { agent, effects } = noting({
      fails: 1,
      before: () => {
        isLost = true;
      },
    });
    const result = await run(agent, 'Note it', { session: { store: leased(() => isLost), id: 's' } });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'LOG_CONFLICT' } });
    expect(effects).toEqual(['note']);
  });

  it('goes on where it has it', async () => {
    const { agent, effects } = noting();
    expect(await run(agent, 'Note it', { session: { store: leased(() => false), id: 's' } })).toMatchObject({ status: 'completed' });
    expect(effects).toEqual(['note']);
  });

  it('that cannot be asked has failed', async () => {
    const { agent, effects } = noting();
    const store: SessionStore = { ...leased(() => false), confirm: () => Promise.reject(new Error('away')) };
    const result = await run(agent, 'Note it', { session: { store, id: 's' } });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'STORE_FAILED', isRetryable: true } });
    expect(effects).toEqual([]);
  });
});
