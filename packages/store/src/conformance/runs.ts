import { describe, expect, it } from 'vitest';
import type { RunChange, RunQuery } from '../contract.js';
import type { Suite } from './suite.js';
import { all, codeOf, inputEvent, newId, newRun, oddText } from './suite.js';

/** Run records: submitted once, found, changed by compare-and-set. */
export function testRuns({ store, other, pass }: Suite): void {
  describe('runs', () => {
    it('keeps a submitted run as it was given, with its session', async () => {
      const [owner, tenant] = [newId('owner'), newId('tenant')];
      const submission = { input: oddText, [oddText]: [1, null, true, { deep: [oddText] }], context: {} };
      const submitted = newRun({ owner, tenant, submission, priority: 3, dueAt: 77, abandons: true });
      const { created, run } = await store().runs.create(submitted);
      expect(created).toBe(true);
      expect(run).toMatchObject({ ...submitted, state: 'queued', attempts: 0, version: 1 });
      const read = await other().runs.get(submitted.id);
      expect(read).toEqual(run);
      expect([read?.status, read?.cancel, read?.lease, read?.trouble]).toEqual([undefined, undefined, undefined, undefined]);
      expect(await other().sessions.get(submitted.session)).toMatchObject({ owner, tenant, events: 0 });
      expect(await store().runs.get(newId())).toBeUndefined();
    });

    it('creates a run once, however many submit it', async () => {
      const submitted = newRun();
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          (index % 2 ? store() : other()).runs.create({ ...submitted, submission: { index }, priority: index }),
        ),
      );
      const winners = outcomes.filter(({ created }) => created);
      expect(winners).toHaveLength(1);
      const record = await store().runs.get(submitted.id);
      expect(record).toEqual(winners[0]?.run);
      for (const { run } of outcomes) expect(run).toEqual(record);
    });

    it('leaves a session that is there to its owner', async () => {
      const submitted = newRun({ owner: 'second' });
      await store().append(submitted.session, [inputEvent(1, 'x')], 0);
      await store().runs.create(submitted);
      const session = await other().sessions.get(submitted.session);
      expect([session?.events, session?.owner]).toEqual([1, undefined]);
      await store().append(submitted.session, [inputEvent(2, 'x')], 1);
    });

    it('refuses a run for a session of another owner or tenant, and has written nothing then', async () => {
      const [owner, tenant, session] = [newId('owner'), newId('tenant'), newId()];
      await store().sessions.create(session, { owner, tenant });
      const before = await store().sessions.get(session);
      const others = [{ owner }, { owner: 'another', tenant }, { owner, tenant: 'another' }, { tenant: 'another' }, { owner: 'another' }];
      for (const belonging of others) {
        const run = newRun({ session, ...belonging });
        const refused = await store()
          .runs.create(run)
          .catch((thrown: unknown) => thrown);
        expect(refused).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(session) });
        expect(String(refused)).not.toMatch(new RegExp(`${owner}|${tenant}`));
        expect(await other().runs.get(run.id)).toBeUndefined();
      }
      expect(await other().sessions.get(session)).toEqual(before);
      expect((await other().runs.list({ session })).items).toEqual([]);
      for (const belonging of [{ owner, tenant }, { tenant }, {}])
        expect((await store().runs.create(newRun({ session, ...belonging }))).created).toBe(true);
    });

    it('lets one of many owners have a session that they submit for at once', async () => {
      const session = newId();
      const submitted = Array.from({ length: 12 }, (_, index) => newRun({ session, owner: `user ${index % 4}` }));
      const outcomes = await Promise.allSettled(submitted.map((run, index) => (index % 2 ? store() : other()).runs.create(run)));
      const { owner } = (await store().sessions.get(session)) ?? {};
      expect(owner).toMatch(/^user \d$/);
      expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual(submitted.map((run) => run.owner === owner));
      for (const outcome of outcomes) if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'CONFIG_INVALID' });
      expect((await store().runs.list({ session })).items.map((run) => run.owner)).toEqual([owner, owner, owner]);
    });

    it('lists by session, state, queue, agent, owner and tenant, latest first, page by page', async () => {
      const [owner, tenant, queue] = [newId('owner'), newId('tenant'), newId('queue')];
      const made: string[] = [];
      for (let index = 0; index < 7; index += 1) {
        const { run } = await store().runs.create(newRun({ owner, tenant, queue, agent: 'lister', dueAt: index < 4 ? 0 : 1e15 }));
        made.unshift(run.id);
      }
      const list = other().runs.list;
      expect((await all(list, { queue, limit: 3 })).map(({ id }) => id)).toEqual(made);
      expect((await list({ queue, limit: 7 })).next).toBeUndefined();
      const last = await store().runs.get(made[0] ?? '');
      const matching = { session: last?.session, state: 'queued', queue, agent: 'lister', owner, tenant } as const;
      expect((await list(matching)).items.map(({ id }) => id)).toEqual([made[0]]);
      const others = { session: newId(), state: 'ended', queue: 'x', agent: 'x', owner: 'x', tenant: 'x' } as const;
      for (const [name, value] of Object.entries(others)) expect((await list({ ...matching, [name]: value })).items).toEqual([]);
      expect((await all(list, { queue, due: true, limit: 3 })).map(({ id }) => id)).toEqual(made.slice(3));
      expect((await all(list, { queue, due: false, limit: 2 })).map(({ id }) => id)).toEqual(made.slice(0, 3));
    });

    it('lists runs with trouble, or without', async () => {
      const queue = newId('queue');
      const [first, second, third] = [newRun({ queue }), newRun({ queue }), newRun({ queue })];
      for (const run of [first, second, third]) await store().runs.create(run);
      const trouble = { code: 'RESUME_MISMATCH', message: 'A tool is another.', accept: true } as const;
      for (const { id } of [first, third]) await store().runs.update(id, 1, { trouble });
      const idsOf = async (query: RunQuery) => (await all(other().runs.list, { queue, limit: 1, ...query })).map(({ id }) => id);
      expect(await idsOf({ trouble: true })).toEqual([third.id, first.id]);
      expect(await idsOf({ trouble: false })).toEqual([second.id]);
      expect((await other().runs.list({ queue, trouble: true })).items[0]?.trouble).toEqual(trouble);
      await store().runs.update(third.id, 2, { trouble: null });
      expect(await idsOf({ trouble: true, state: 'queued' })).toEqual([first.id]);
    });

    it('changes a record where its version is the one that was read, once of twenty at once', async () => {
      const { run } = await store().runs.create(newRun());
      const changes = Array.from({ length: 20 }, (_, index): RunChange => ({ cancel: { reason: `${oddText} ${index}` } }));
      const outcomes = await Promise.all(changes.map((change, index) => (index % 2 ? store() : other()).runs.update(run.id, 1, change)));
      const [winner, ...more] = outcomes.filter((outcome) => outcome !== undefined);
      expect(more).toEqual([]);
      expect(winner?.version).toBe(2);
      expect(winner?.cancel?.reason).toContain(oddText);
      expect(await store().runs.get(run.id)).toEqual(winner);
      expect(await store().runs.update(run.id, 1, { cancel: null })).toBeUndefined();
      expect(await store().runs.update(newId(), 1, { cancel: null })).toBeUndefined();
    });

    it('sets what a change names, takes away what is null, and leaves the rest', async () => {
      const submitted = newRun();
      await store().runs.create(submitted);
      await pass(3);
      const trouble = { code: 'RESUME_MISMATCH', message: `the agent is another ${oddText}` };
      const change = (version: number, changes: RunChange) => store().runs.update(submitted.id, version, changes);
      const set = await change(1, { state: 'waiting', dueAt: 99, attempts: 4, cancel: { reason: 'no more' }, trouble });
      expect(set).toMatchObject({ ...submitted, state: 'waiting', dueAt: 99, attempts: 4, cancel: { reason: 'no more' }, trouble });
      expect(set?.updatedAt).toBeGreaterThan(set?.createdAt ?? Number.POSITIVE_INFINITY);
      expect(await change(2, {})).toMatchObject({
        state: 'waiting',
        dueAt: 99,
        attempts: 4,
        cancel: { reason: 'no more' },
        trouble,
        version: 3,
      });
      const cleared = await change(3, { cancel: null, trouble: null, state: 'ended', status: 'cancelled' });
      expect([cleared?.cancel, cleared?.trouble, cleared?.state, cleared?.status]).toEqual([undefined, undefined, 'ended', 'cancelled']);
      expect(await other().runs.get(submitted.id)).toEqual(cleared);
      const replaced = await change(4, { submission: { instead: [oddText] }, cancel: { reason: 'why' } });
      expect(replaced).toMatchObject({ submission: { instead: [oddText] }, cancel: { reason: 'why' }, state: 'ended' });
      expect(await other().runs.get(submitted.id)).toEqual(replaced);
      await change(5, { cancel: null });
      expect((await other().runs.get(submitted.id))?.submission).toEqual({ instead: [oddText] });
      const anew = await change(6, { state: 'queued' });
      expect([anew?.state, anew?.status]).toEqual(['queued', undefined]);
    });

    it('refuses runs and claims that make no sense', async () => {
      const wrong = [
        { id: '' },
        { session: '' },
        { agent: '' },
        { agent: Array.from({ length: 1_001 }, (_, index) => String.fromCharCode(33 + ((index * index) % 90))).join('') },
        { queue: '' },
        { queue: 'x'.repeat(1_001) },
        { owner: '' },
        { priority: 0.5 },
        { dueAt: -1 },
        { dueAt: Number.NaN },
      ];
      for (const change of wrong) expect(await codeOf(store().runs.create(newRun(change))), JSON.stringify(change)).toBe('CONFIG_INVALID');
      const queues = [{ queue: 'default' }];
      for (const change of [
        { owner: '' },
        { leaseMs: 0 },
        { leaseMs: 0.5 },
        { leaseMs: 3_600_001 },
        { queues: [{ queue: 'q', concurrency: -1 }] },
      ])
        expect(await codeOf(store().runs.claim({ owner: 'w', leaseMs: 1_000, queues, ...change }))).toBe('CONFIG_INVALID');
      expect(await codeOf(store().runs.renew(newId(), 1, 0))).toBe('CONFIG_INVALID');
    });
  });
}
