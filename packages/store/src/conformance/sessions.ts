import type { GuardloopError } from '@guardloop/core';
import { defineAgent, resume, run } from '@guardloop/core';
import { auditLog, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import type { Belonging } from '../contract.js';
import type { Suite } from './suite.js';
import { all, approvalIds, codeOf, inputEvent, newId, newRun, oddText, waitingRun } from './suite.js';

const talker = () => defineAgent({ name: 'talker', instructions: '', model: scriptedModel(() => say('Hello.')) });

/** Records of sessions: claimed, derived, listed, deleted. */
export function testSessions({ store, other, pass }: Suite): void {
  describe('sessions', () => {
    it('knows nothing of a session that never was', async () => {
      expect(await store().sessions.get(newId())).toBeUndefined();
      expect(await store().sessions.delete(newId())).toBe(false);
    });

    it('keeps a record that follows the log, with each append', async () => {
      const id = newId();
      const before = await store().now();
      const done = await run(talker(), 'Hello.', { session: { store: store(), id } });
      const record = await store().sessions.get(id);
      expect(record).toMatchObject({ id, events: done.log.events.length, run: done.runId, agent: 'talker', status: 'completed' });
      expect(record?.createdAt).toBeGreaterThanOrEqual(before);
      expect(record?.updatedAt).toBeGreaterThanOrEqual(record?.createdAt ?? Number.POSITIVE_INFINITY);
      expect(record?.expiresAt).toBeUndefined();
      expect(auditLog(done.log)).toEqual([]);

      const { agent, result } = await waitingRun(store(), id);
      expect(await other().sessions.get(id)).toMatchObject({ run: result.runId, agent: 'cashier', status: 'waiting' });
      const [approval = ''] = result.approvals.map((each) => each.id);
      const paid = await resume(agent, { store: other(), id }, { decisions: { [approval]: 'approve' } });
      expect(auditLog(paid.log)).toEqual([]);
      expect(await store().sessions.get(id)).toMatchObject({ run: result.runId, status: 'completed', events: paid.log.events.length });
    });

    it('shows a run that has not ended as open', async () => {
      const id = newId();
      const done = await run(talker(), 'Hello.', { session: { store: store(), id: newId() } });
      await store().append(id, done.log.events.slice(0, -1), 0);
      expect(await store().sessions.get(id)).toMatchObject({ run: done.runId, status: 'open', events: done.log.events.length - 1 });
    });

    it('S218: keeps the time of its creation over all appends', async () => {
      const id = newId();
      const { session } = await store().sessions.create(id);
      for (let seq = 0; seq < 3; seq += 1) {
        await pass(3);
        await store().append(id, [inputEvent(seq + 1, 'x')], seq);
      }
      const record = await store().sessions.get(id);
      expect(record?.createdAt).toBe(session.createdAt);
      expect(record?.updatedAt).toBeGreaterThan(session.createdAt);
    });

    it('lets one owner claim an id, and keeps whose it is', async () => {
      const id = newId();
      const claims = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          (index % 2 ? store() : other()).sessions.create(id, { owner: `user ${index}`, tenant: 't' }),
        ),
      );
      const winners = claims.filter(({ created }) => created);
      expect(winners).toHaveLength(1);
      const [winner] = winners;
      for (const { session } of claims) expect(session).toMatchObject({ id, owner: winner?.session.owner, tenant: 't', events: 0 });
      await waitingRun(store(), id);
      expect(await store().sessions.get(id)).toMatchObject({ owner: winner?.session.owner, tenant: 't', status: 'waiting' });
      expect((await store().approvals.list({ session: id })).items).toMatchObject([{ owner: winner?.session.owner, tenant: 't' }]);
      expect(await store().sessions.create(id, { owner: 'late' })).toMatchObject({ created: false, session: { status: 'waiting' } });
    });

    it('refuses filters that no list has, and an owner or a tenant that is undefined', async () => {
      const lists = [store().sessions.list, store().approvals.list, store().runs.list] as ((query: object) => Promise<unknown>)[];
      for (const list of lists) {
        const misspelt = await list({ ownr: 'anna' }).catch((thrown: unknown) => thrown);
        expect(misspelt).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('Did you mean owner?') });
        for (const query of [{ owner: undefined }, { tenant: undefined, limit: 1 }])
          expect(await codeOf(list(query)), JSON.stringify(Object.keys(query))).toBe('CONFIG_INVALID');
        expect(await codeOf(list({ limit: 1, after: undefined }))).toBeUndefined();
      }
    });

    it('refuses a state, a status or a surface that nothing has, rather than find nothing', async () => {
      const { sessions, approvals, runs } = store();
      const asked: readonly [string, Promise<unknown>][] = [
        ['waiting', sessions.list({ status: 'wating' as 'waiting' })],
        ['open', approvals.list({ state: 'opened' as 'open' })],
        ['output', approvals.list({ surface: 'ouput' as 'output' })],
        ['ended', runs.list({ state: 'end' as 'ended' })],
        ['object', runs.list(null as unknown as object)],
      ];
      for (const [word, listing] of asked)
        expect(await listing.catch((thrown: unknown) => thrown), word).toMatchObject({
          code: 'CONFIG_INVALID',
          message: expect.stringContaining(word),
        });
      expect(await codeOf(runs.list({ state: undefined, session: newId() }))).toBeUndefined();
    });

    it('lists by owner, tenant and status, latest change first, page by page', async () => {
      const [owner, tenant] = [newId('owner'), newId('tenant')];
      const made: string[] = [];
      for (let index = 0; index < 7; index += 1) {
        const id = newId();
        await store().sessions.create(id, index < 5 ? { owner, tenant } : { tenant });
        await pass(2);
        made.unshift(id);
      }
      const [first = ''] = made.slice(-1);
      await run(talker(), 'Hello.', { session: { store: store(), id: first } });
      const expected = [first, ...made.slice(0, -1)];
      const list = other().sessions.list;
      expect((await all(list, { tenant, limit: 3 })).map(({ id }) => id)).toEqual(expected);
      expect((await list({ tenant, limit: 7 })).next).toBeUndefined();
      expect((await list({ tenant, limit: 3 })).items).toHaveLength(3);
      expect((await all(list, { owner, limit: 2 })).map(({ id }) => id)).toEqual(
        expected.filter((id) => id === first || made.indexOf(id) > 1),
      );
      expect((await list({ owner, status: 'completed' })).items.map(({ id }) => id)).toEqual([first]);
      expect((await list({ owner: newId() })).items).toEqual([]);
    });

    it('refuses what is no page', async () => {
      for (const limit of [0, -1, 1.5, 1_001, Number.NaN]) expect(await codeOf(store().sessions.list({ limit }))).toBe('CONFIG_INVALID');
      for (const list of [store().sessions.list, store().approvals.list, store().runs.list])
        for (const after of ['', 'x', 'eyJhIjoxfQ', 'W10']) expect(await codeOf(list({ after }))).toBe('CONFIG_INVALID');
    });

    it('refuses what is no place in a list, numbers included that none of its items could have', async () => {
      for (const number of ['1e309', '-1e309', '1e30', '1.5', 'null', '9007199254740993']) {
        const place = (keys: string): string => btoa(keys).replaceAll('=', '');
        const { sessions, approvals, runs } = store();
        expect(await codeOf(runs.list({ after: place(`[${number}]`) })), number).toBe('CONFIG_INVALID');
        for (const { list } of [sessions, approvals])
          expect(await codeOf(list({ after: place(`[${number},"a"]`) })), number).toBe('CONFIG_INVALID');
      }
    });

    it('deletes the log, approvals, run records and live text together, and nothing else', async () => {
      const [id, neighbour] = [newId(), newId()];
      const kept = await waitingRun(store(), neighbour);
      const { result } = await waitingRun(store(), id, ['a', 'b']);
      const submitted = newRun({ session: id });
      await store().runs.create(submitted);
      await store().live.put(id, { seq: 1, run: result.runId, agent: 'cashier', turn: 1, text: 'Hel', epoch: 0 });
      const approvals = await approvalIds(store(), id);
      expect(approvals).toHaveLength(2);
      expect(await store().sessions.delete(id)).toBe(true);
      expect(await other().sessions.delete(id)).toBe(false);
      expect(await other().load(id)).toEqual([]);
      expect(await store().sessions.get(id)).toBeUndefined();
      for (const approval of approvals) expect(await store().approvals.get(approval)).toBeUndefined();
      expect((await store().approvals.list({ session: id })).items).toEqual([]);
      expect(await store().runs.get(submitted.id)).toBeUndefined();
      expect((await store().runs.list({ session: id })).items).toEqual([]);
      expect(await store().live.get(id)).toBeUndefined();
      expect(await codeOf(store().append(id, [inputEvent(result.log.events.length + 1, 'x')], result.log.events.length))).toBe(
        'LOG_CONFLICT',
      );
      await store().append(id, [inputEvent(1, 'anew')], 0);
      expect(await store().sessions.get(id)).toMatchObject({ events: 1 });
      expect((await store().sessions.get(id))?.run).toBeUndefined();
      expect(await store().load(neighbour)).toHaveLength(kept.result.log.events.length);
      expect(await approvalIds(store(), neighbour)).toHaveLength(1);
    });

    it('takes a session up anew under an id that was deleted while somebody wrote', async () => {
      const id = newId();
      const first = await waitingRun(store(), id);
      await store().sessions.delete(id);
      const second = await waitingRun(other(), id);
      await waitingRun(store(), newId());
      expect(await approvalIds(store(), id)).toEqual([second.result.approvals[0]?.id]);
      const [approval = ''] = await approvalIds(store(), id);
      const done = await resume(second.agent, { store: store(), id }, { decisions: { [approval]: 'approve' } });
      expect([done.status, first.paid, second.paid]).toEqual(['completed', [], ['a']]);
      expect(await store().sessions.get(id)).toMatchObject({ run: second.result.runId, status: 'completed' });
    });

    it('takes any characters in ids and names', async () => {
      const [id, owner, tenant] = [`${newId()}${oddText}`, `${newId()}${oddText}`, `${newId()}${oddText}`];
      await store().sessions.create(id, { owner, tenant });
      await waitingRun(store(), id);
      expect(await other().sessions.get(id)).toMatchObject({ id, owner, tenant });
      for (const query of [{ owner }, { tenant }]) expect((await store().sessions.list(query)).items.map((each) => each.id)).toEqual([id]);
      const [approval] = (await store().approvals.list({ owner, tenant, session: id })).items;
      expect(approval).toMatchObject({ session: id, owner, tenant });
      const submitted = newRun({ id: `${newId()}${oddText}`, session: id, agent: oddText, queue: `${newId()}${oddText}`, owner, tenant });
      await store().runs.create(submitted);
      expect(await store().runs.get(submitted.id)).toMatchObject(submitted);
      expect((await store().runs.list({ queue: submitted.queue })).items).toMatchObject([submitted]);
      expect(await store().sessions.delete(id)).toBe(true);
      expect(await store().sessions.get(id)).toBeUndefined();
    });

    it('refuses ids that are none', async () => {
      for (const id of ['', 'x'.repeat(1_001), '\u6f22'.repeat(334)]) {
        expect(await codeOf(store().sessions.create(id))).toBe('CONFIG_INVALID');
        expect(await codeOf(store().append(id, [inputEvent(1, 'x')], 0))).toBe('CONFIG_INVALID');
      }
      for (const ttlMs of [0, -1, 0.5, Number.NaN])
        expect(await codeOf(store().sessions.create(newId(), { ttlMs }))).toBe('CONFIG_INVALID');
      const wide = '\u6f22'.repeat(333);
      expect(await store().sessions.create(`${wide}x`, { owner: wide, tenant: wide })).toMatchObject({ created: true });
      for (const id of [null, undefined, 5, {}] as unknown as readonly string[])
        for (const get of [store().sessions.get, store().runs.get, store().approvals.get])
          expect([undefined, 'CONFIG_INVALID']).toContain(await get(id).catch((thrown: GuardloopError) => thrown.code));
      const wrong: readonly unknown[] = [
        { ownr: 'anna' },
        { owner: 5 },
        { owner: '' },
        { tenant: null },
        { owner: 'x'.repeat(1_001) },
        null,
        'anna',
      ];
      for (const given of wrong)
        expect(await codeOf(store().sessions.create(newId(), given as Belonging)), JSON.stringify(given)).toBe('CONFIG_INVALID');
    });
  });
}
