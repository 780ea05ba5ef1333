import { describe, expect, it } from 'vitest';
import { GuardloopError } from '../errors.js';
import type { LogEvent } from '../state/events.js';
import { memorySession } from './memory.js';

const event = (seq: number): LogEvent => ({
  type: 'input.accept',
  seq,
  at: 0,
  run: 'r1',
  agent: 'triage',
  subject: 'r1/input',
  revision: 0,
  items: [
    { role: 'user', id: `i${seq}`, via: 'user', parts: [{ type: 'text', text: 'hi' }], label: { origin: 'user', integrity: 'trusted' } },
  ],
});

describe('memorySession', () => {
  it.each([
    [{ ttlMs: 1_000 }, 'an option "ttlMs"'],
    ['chat-1', 'something'],
    [null, 'something'],
  ])('takes no options, and says so: %#', (given, described) => {
    expect(() => (memorySession as (given: unknown) => unknown)(given)).toThrow(
      expect.objectContaining({
        code: 'CONFIG_INVALID',
        message: expect.stringMatching(
          new RegExp(`^memorySession was given ${described} and takes nothing.* Call it as memorySession\\(\\)\\.`),
        ),
      }),
    );
    expect((memorySession as (given: unknown) => unknown)(undefined)).toBeDefined();
  });

  it('gives the tail after a number, and nothing for an unknown id', async () => {
    const store = memorySession();
    await store.append('chat', [event(1), event(2)], 0);
    await store.append('chat', [event(3)], 2);
    expect((await store.load('chat')).map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect((await store.load('chat', 2)).map(({ seq }) => seq)).toEqual([3]);
    expect(await store.load('chat', 9)).toEqual([]);
    expect(await store.load('other')).toEqual([]);
  });

  it('refuses a stale writer with LOG_CONFLICT and stores nothing of its batch', async () => {
    const store = memorySession();
    await store.append('chat', [event(1)], 0);
    const error = await store.append('chat', [event(1), event(2)], 0).catch((thrown: unknown) => thrown);
    expect(GuardloopError.is(error) && error.code).toBe('LOG_CONFLICT');
    expect(await store.load('chat')).toEqual([event(1)]);
  });

  it('refuses a writer that is ahead of the log, also on an unknown id', async () => {
    const store = memorySession();
    await expect(store.append('chat', [event(4)], 3)).rejects.toMatchObject({ code: 'LOG_CONFLICT' });
    expect(await store.load('chat')).toEqual([]);
  });

  it('refuses events that are not numbered one after another', async () => {
    const store = memorySession();
    await expect(store.append('chat', [event(1), event(3)], 0)).rejects.toMatchObject({ code: 'LOG_INVALID' });
    expect(await store.load('chat')).toEqual([]);
  });

  it('keeps the log from being changed through what it was given or gave', async () => {
    const store = memorySession();
    const batch = [event(1)];
    await store.append('chat', batch, 0);
    batch.pop();
    const loaded = await store.load('chat');
    expect(() => (loaded as LogEvent[]).splice(0)).not.toThrow();
    const [kept] = await store.load('chat');
    expect(kept).toEqual(event(1));
    expect(() => Object.assign(kept?.type === 'input.accept' ? (kept.items[0]?.label ?? {}) : {}, { integrity: 'untrusted' })).toThrow(
      TypeError,
    );
  });
});
