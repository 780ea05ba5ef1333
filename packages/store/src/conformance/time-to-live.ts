import { run } from '@guardloop/core';
import { describe, expect, it } from 'vitest';
import type { Suite } from './suite.js';
import { approvalIds, codeOf, inputEvent, newId, newRun, until, waitingRun } from './suite.js';

const hour = 3_600_000;
/** Short, and still long enough for a slow machine to make a run in it. */
const short = 2_000;

/** Times to live: counted anew from each append, of all parts of a session at once. */
export function testTimeToLive({ store, other, open, pass, options }: Suite): void {
  describe('time to live', () => {
    it('S218: counts anew from each append, by the time that the session was made with', async () => {
      const id = newId();
      const { session } = await store().sessions.create(id, { ttlMs: hour });
      expect(session.expiresAt).toBe(session.createdAt + hour);
      await pass(5);
      await store().append(id, [inputEvent(1, 'x')], 0);
      const record = await other().sessions.get(id);
      expect(record?.expiresAt).toBe((record?.updatedAt ?? 0) + hour);
      expect(record?.expiresAt).toBeGreaterThan(session.expiresAt ?? Number.POSITIVE_INFINITY);
    });

    it("is the store's, where a session has none of its own", async () => {
      const timed = await open({ database: 'timed', ttlMs: hour });
      const [appended, created] = [newId(), newId()];
      await timed.append(appended, [inputEvent(1, 'x')], 0);
      await timed.sessions.create(created, { ttlMs: 2 * hour });
      const [first, second] = [await timed.sessions.get(appended), await timed.sessions.get(created)];
      expect((first?.expiresAt ?? 0) - (first?.updatedAt ?? 0)).toBe(hour);
      expect((second?.expiresAt ?? 0) - (second?.updatedAt ?? 0)).toBe(2 * hour);
    });

    it('S218: ends all parts of a session at once: then it is empty, and no error', async () => {
      const id = newId();
      const owner = newId('owner');
      await store().sessions.create(id, { owner, ttlMs: short });
      const { result } = await waitingRun(store(), id);
      const approvals = result.approvals.map((each) => each.id);
      await store().live.put(id, { seq: 1, run: result.runId, agent: 'cashier', turn: 1, text: 'Hel', epoch: 0 });
      const submitted = newRun({ session: id, owner, queue: newId('queue') });
      await store().runs.create(submitted);
      await pass(short);
      await until(async () => (await other().sessions.get(id)) === undefined);
      expect(await store().load(id)).toEqual([]);
      expect(await other().load(id, 3)).toEqual([]);
      expect((await store().sessions.list({ owner })).items).toEqual([]);
      expect((await store().approvals.list({ owner })).items).toEqual([]);
      for (const approval of approvals) {
        expect(await store().approvals.get(approval)).toBeUndefined();
        expect(await store().approvals.decide(approval, 'approve')).toEqual({ status: 'unknown' });
        expect(await store().approvals.schedule(approval, { remindAt: 1 })).toBe(false);
      }
      expect(await store().runs.get(submitted.id)).toBeUndefined();
      expect((await store().runs.list({ owner })).items).toEqual([]);
      expect(await store().runs.claim({ owner: 'w', leaseMs: hour, queues: [{ queue: submitted.queue }] })).toBeUndefined();
      expect(await store().live.get(id)).toBeUndefined();
      expect(await store().sessions.delete(id)).toBe(false);
    });

    it('leaves the ids of its questions to others', async () => {
      const [id, next] = [newId(), newId()];
      await store().sessions.create(id, { ttlMs: short });
      const { agent, result } = await waitingRun(store(), id);
      const [question = ''] = await approvalIds(store(), id);
      await pass(short);
      await until(async () => (await other().sessions.get(id)) === undefined);
      const { runId } = result;
      expect(await run(agent, 'Pay.', { runId, session: { store: store(), id: next } })).toMatchObject({ status: 'interrupted' });
      await store().sweep();
      expect(await other().approvals.get(question)).toMatchObject({ session: next, state: 'open' });
    });

    it('S218: begins anew where a session has expired, and tells a writer who comes back to it', async () => {
      const id = newId();
      await store().sessions.create(id, { owner: 'first', ttlMs: short });
      const { result } = await waitingRun(store(), id);
      const last = result.log.events.length;
      await pass(short);
      await until(async () => (await store().sessions.get(id)) === undefined);
      expect(await codeOf(store().append(id, [inputEvent(last + 1, 'x')], last))).toBe('LOG_CONFLICT');
      await store().append(id, [inputEvent(1, 'anew')], 0);
      expect(await other().load(id)).toHaveLength(1);
      const record = await other().sessions.get(id);
      expect(record).toMatchObject({ id, events: 1 });
      expect([record?.owner, record?.run, record?.status, record?.expiresAt]).toEqual([undefined, undefined, undefined, undefined]);
      expect(await approvalIds(store(), id)).toEqual([]);
    });

    it('keeps a session until a run that was submitted for later is due', async () => {
      const submitted = newRun({ dueAt: (await store().now()) + 10 * hour });
      await store().sessions.create(submitted.session, { ttlMs: hour });
      await store().runs.create(submitted);
      expect((await other().sessions.get(submitted.session))?.expiresAt).toBeGreaterThanOrEqual(submitted.dueAt + hour);
    });

    it('keeps it whatever is appended by other runs meanwhile, and however the run is changed', async () => {
      const dueAt = (await store().now()) + 10 * hour;
      const submitted = newRun({ dueAt });
      const { session } = submitted;
      await store().sessions.create(session, { ttlMs: hour });
      await store().runs.create(submitted);
      await store().append(session, [inputEvent(1, 'x')], 0);
      await other().append(session, [inputEvent(2, 'x')], 1);
      expect((await other().sessions.get(session))?.expiresAt).toBeGreaterThanOrEqual(dueAt + hour);
      await store().runs.update(submitted.id, 1, { dueAt: dueAt + hour });
      expect((await other().sessions.get(session))?.expiresAt).toBeGreaterThanOrEqual(dueAt + 2 * hour);
    });

    it('keeps a session for as long as somebody has a run of it', async () => {
      const submitted = newRun({ queue: newId('queue') });
      const { id, session, queue } = submitted;
      await store().sessions.create(session, { ttlMs: 60_000 });
      await store().runs.create(submitted);
      const claimed = await other().runs.claim({ owner: 'w', leaseMs: hour, queues: [{ queue }] });
      const { token = 0, until = Number.POSITIVE_INFINITY } = claimed?.lease ?? {};
      const claimedUntil = (await store().sessions.get(session))?.expiresAt;
      expect(claimedUntil).toBeGreaterThanOrEqual(until);
      await pass(5);
      await store().runs.renew(id, token, hour);
      expect((await other().sessions.get(session))?.expiresAt).toBeGreaterThan(claimedUntil ?? Number.POSITIVE_INFINITY);
    });

    it('sweeps what has expired, and leaves what has not', async () => {
      const swept = await open({ database: 'swept', ttlMs: short });
      const [gone, kept] = [newId(), newId()];
      await swept.append(gone, [inputEvent(1, `swept-${gone} ${'x'.repeat(20_000)}`)], 0);
      await swept.sessions.create(kept, { ttlMs: hour });
      await pass(short);
      await until(async () => (await swept.sessions.get(gone)) === undefined);
      expect(await swept.sweep()).toBeGreaterThanOrEqual(0);
      expect(await swept.sweep()).toBe(0);
      expect(await swept.sessions.get(kept)).toMatchObject({ id: kept });
      if (options.raw) expect(await options.raw('swept')).not.toContain(`swept-${gone}`);
    });
  });
}
