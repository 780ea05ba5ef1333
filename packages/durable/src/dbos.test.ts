import type { RunRecord } from '@guardloop/store';
import { describe, expect, it } from 'vitest';
import { kickId, kickOptions, runOfKick } from './dbos/kicks.js';
import { dbosEngine } from './dbos.js';

const record = (change: Partial<RunRecord> = {}): RunRecord => ({
  id: 'r1',
  session: 'planted-session',
  agent: 'planted-agent',
  queue: 'default',
  priority: 100,
  state: 'queued',
  submission: { input: 'planted words' },
  abandons: false,
  attempts: 0,
  dueAt: 5_000,
  createdAt: 5_000,
  updatedAt: 5_000,
  version: 3,
  ...change,
});
const databaseUrl = 'postgresql://guardloop@127.0.0.1:1/none';

describe('dbosEngine', () => {
  it('refuses options that make no sense, with what was expected and no password', () => {
    const wrong: readonly [object, RegExp][] = [
      [{}, /`databaseUrl` is not the address of a PostgreSQL database/],
      [{ databaseUrl: 'mysql://user:hunter2@host/db' }, /`databaseUrl`/],
      [{ databaseUrl, polMs: 5 }, /no option `polMs`.*pollMs/],
      [{ databaseUrl, pollMs: 1 }, /`pollMs` is 1/],
      [{ databaseUrl, schema: '' }, /`schema`/],
      [{ databaseUrl, application: 'a:b' }, /`application`/],
      [{ databaseUrl, logger: 'console' }, /`logger`/],
      [{ databaseUrl, keepMs: Number.NaN }, /`keepMs`/],
    ];
    for (const [options, message] of wrong) {
      expect(() => dbosEngine(options as never)).toThrow(
        expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) }),
      );
      expect(() => dbosEngine(options as never)).not.toThrow(/hunter2/);
    }
  });

  it('a kick whose database is away is no error: it waits `kickMs`, and workers find the run by looking', async () => {
    const engine = dbosEngine({ databaseUrl, kickMs: 20 });
    await engine.kick(record());
    await engine.close();
    await expect(engine.kick(record())).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});

describe('what DBOS is told of a run', () => {
  it('is its id, version, queue and priority, for workers that read this log', () => {
    expect(kickOptions('shop', record({ priority: 7 }))).toEqual({
      workflowName: 'advance',
      workflowClassName: 'guardloop',
      queueName: 'shop:default',
      workflowID: 'shop:r1:3',
      appVersion: 'shop-log-1',
      priority: 7,
    });
    expect(JSON.stringify(kickOptions('shop', record()))).not.toContain('planted');
  });

  it('delays by how long the record is ahead of its own change, whatever the clock of this process says', () => {
    expect(kickOptions('shop', record({ dueAt: 65_000 }))?.delaySeconds).toBe(60);
    expect(kickOptions('shop', record({ dueAt: 4_000 }))?.delaySeconds).toBeUndefined();
  });

  it('keeps priorities within what DBOS takes', () => {
    expect(kickOptions('shop', record({ priority: -5 }))?.priority).toBe(0);
    expect(kickOptions('shop', record({ priority: Number.MAX_SAFE_INTEGER }))?.priority).toBe(2 ** 31 - 1);
  });

  it('names no run whose id PostgreSQL cannot hold', () => {
    expect(kickOptions('shop', record({ id: 'r\u0000' }))).toBeUndefined();
    expect(kickOptions('shop', record({ queue: 'q\ud800' }))).toBeUndefined();
    expect(kickOptions('shop', record({ id: 'r😀' }))).toBeDefined();
  });

  it('gives the run back from the id of its kick, also where the run has colons', () => {
    for (const id of ['r1', 'a:b:7', ':']) expect(runOfKick('shop', kickId('shop', { id, version: 12 }))).toBe(id);
  });
});
