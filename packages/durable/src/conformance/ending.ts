import { defineAgent } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import type { MakeHarness } from './suite.js';
import { audited, ledgerTool, openWorld, until } from './suite.js';

const asking = (ledger: string[]) => {
  const { tool } = ledgerTool('pay', { approval: true, ledger });
  return defineAgent({ name: 'cashier', instructions: '', model: scriptedModel([callTool('pay'), say('Paid.')]), tools: [tool] });
};
const answers = () => defineAgent({ name: 'desk', instructions: '', model: scriptedModel((request) => say(`turn ${request.turn}`)) });

export function cancelTests(makeHarness: MakeHarness): void {
  describe('cancel', () => {
    it('ends a run that has not begun without beginning it', async () => {
      const { runs } = await (await openWorld(makeHarness)).start({ desk: answers() });
      await runs.submit('desk', 'Hi', { id: 'c1' });
      expect(await runs.cancel('c1', { reason: 'nobody wants it' })).toMatchObject({ status: 'cancelled', run: { state: 'ended' } });
      expect(await runs.cancel('c1')).toMatchObject({ status: 'ended' });
      await runs.worker();
      await runs.submit('desk', 'Hi', { id: 'c2' });
      await runs.result('c2');
      expect(await runs.result('c1')).toMatchObject({ status: 'cancelled', reason: 'nobody wants it', events: [] });
      expect(await runs.cancel('nobody')).toEqual({ status: 'unknown' });
    });

    it('reaches a run that another process is at work on', async () => {
      const ledger: string[] = [];
      const { tool } = ledgerTool('sleep', {
        ledger,
        during: () => new Promise((resolve) => setTimeout(resolve, 60_000).unref()),
      });
      const slow = defineAgent({ name: 'slow', instructions: '', model: scriptedModel([callTool('sleep'), say('done')]), tools: [tool] });
      const world = await openWorld(makeHarness);
      const [client, worker] = [await world.start({ slow }), await world.start({ slow })];
      await worker.runs.worker({ leaseMs: 3_000 });
      await client.runs.submit('slow', 'Sleep', { id: 'c3' });
      await until(() => ledger.length === 1);
      expect(await client.runs.cancel('c3', { reason: 'too slow' })).toMatchObject({ status: 'cancelling' });
      const result = await client.runs.result('c3');
      audited(result);
      expect(result).toMatchObject({ status: 'cancelled', reason: 'too slow' });
      expect(result.status === 'cancelled' && result.events.at(-1)).toMatchObject({ type: 'run.end', status: 'cancelled' });
    });

    it('S151: ends a run that waits for a person; a decision that comes later is late, and the session goes on', async () => {
      const ledger: string[] = [];
      const { runs } = await (await openWorld(makeHarness)).start({ cashier: asking(ledger), desk: answers() });
      await runs.worker();
      await runs.submit('cashier', 'Pay', { id: 'c4', session: 'chat' });
      const asked = await runs.result('c4');
      if (asked.status !== 'interrupted') throw new Error(asked.status);
      const id = asked.approvals[0]?.id ?? '';
      expect(await runs.cancel('c4')).toMatchObject({ status: 'cancelling' });
      expect(await runs.approvals.decide(id, 'approve')).toMatchObject({ status: 'late', why: 'void' });
      const result = await runs.result('c4', { until: 'end' });
      expect(result).toMatchObject({ status: 'cancelled' });
      expect(audited(result).filter(({ type }) => type === 'tool.end')).toMatchObject([{ status: 'aborted' }]);
      await until(async () => (await runs.approvals.get(id))?.state === 'void');
      expect(await runs.approvals.decide(id, 'approve')).toMatchObject({ status: 'late', why: 'void' });
      await runs.submit('desk', 'Hello?', { id: 'c5', session: 'chat' });
      const next = await runs.result('c5');
      audited(next);
      expect(next).toMatchObject({ status: 'completed' });
      expect(ledger).toEqual([]);
    });

    it('ends a waiting run whose agent nobody has any more', async () => {
      const world = await openWorld(makeHarness);
      const first = await world.start({ cashier: asking([]) });
      const worker = await first.runs.worker();
      await first.runs.submit('cashier', 'Pay', { id: 'c6' });
      expect(await first.runs.result('c6')).toMatchObject({ status: 'interrupted' });
      await worker.stop();
      const second = await world.start({ desk: answers() });
      await second.runs.worker();
      expect(await second.runs.cancel('c6')).toMatchObject({ status: 'cancelling' });
      const result = await second.runs.result('c6', { until: 'end' });
      audited(result);
      expect(result).toMatchObject({ status: 'cancelled' });
    });
  });
}

export function approvalTests(makeHarness: MakeHarness): void {
  describe('approvals', () => {
    it('are decided in another process, and taken up by a third', async () => {
      const ledger: string[] = [];
      const world = await openWorld(makeHarness);
      const [asker, person, taker] = [
        await world.start({ cashier: asking(ledger) }),
        await world.start({ cashier: asking(ledger) }),
        await world.start({ cashier: asking(ledger) }),
      ];
      const worker = await asker.runs.worker();
      await asker.runs.submit('cashier', 'Pay', { id: 'a1', owner: 'anna' });
      expect(await asker.runs.result('a1')).toMatchObject({ status: 'interrupted' });
      await until(() => worker.runs.length === 0);
      await worker.stop();
      const { items } = await person.runs.approvals.list({ state: 'open', tool: 'pay', owner: 'anna' });
      const [approval] = items;
      expect(items).toHaveLength(1);
      expect(await person.runs.approvals.decide(`${approval?.id}x`, 'approve')).toEqual({ status: 'unknown' });
      expect(await person.runs.approvals.decide(approval?.id ?? '', 'approve', { digest: '0'.repeat(64) })).toMatchObject({
        status: 'altered',
      });
      const decided = await Promise.all([
        person.runs.approvals.decide(approval?.id ?? '', 'approve', { by: 'berta' }),
        asker.runs.approvals.decide(approval?.id ?? '', { reject: 'no' }, { by: 'carl' }),
      ]);
      expect(decided.map(({ status }) => status).sort()).toEqual(['already', 'recorded']);
      await taker.runs.worker();
      const result = await person.runs.result('a1', { until: 'end' });
      const resolved = audited(result).find(({ type }) => type === 'approval.resolve');
      const isApproved = decided[0].status === 'recorded';
      expect(resolved).toMatchObject({ decision: isApproved ? 'approve' : 'reject', decidedBy: isApproved ? 'berta' : 'carl' });
      expect(ledger).toHaveLength(isApproved ? 1 : 0);
    });

    it('an edit that does not fit is put before people anew, and the run says why', async () => {
      const { tool } = ledgerTool('pay', { approval: true, input: { type: 'object', ...cents } as never });
      const agent = defineAgent({
        name: 'cashier',
        instructions: '',
        model: scriptedModel([callTool('pay', { cents: 5 }), say('Paid.')]),
        tools: [tool],
      });
      const { runs } = await (await openWorld(makeHarness)).start({ cashier: agent });
      await runs.worker();
      await runs.submit('cashier', 'Pay', { id: 'a2' });
      const asked = await runs.result('a2');
      const id = asked.status === 'interrupted' ? (asked.approvals[0]?.id ?? '') : '';
      expect(await runs.approvals.decide(id, { edit: { cents: 'many' } })).toMatchObject({ status: 'recorded' });
      const told = await until(async () => {
        const info = await runs.status('a2');
        return info?.state === 'waiting' && info.trouble ? info : undefined;
      });
      expect(told.trouble?.message).not.toContain('many');
      expect(await runs.approvals.get(id)).toMatchObject({ state: 'open' });
      expect(await runs.approvals.decide(id, { edit: { cents: 3 } })).toMatchObject({ status: 'recorded' });
      const result = await runs.result('a2', { until: 'end' });
      audited(result);
      expect(result).toMatchObject({ status: 'completed', text: 'Paid.' });
    });

    it('remind once each time, however many workers look, and expire', async () => {
      const reminded: number[] = [];
      const approvals = {
        remindAfterMs: 100,
        expireAfterMs: 1_500,
        onReminder: ({ reminders }: { reminders: number }) => reminded.push(reminders),
      };
      const world = await openWorld(makeHarness);
      const ledger: string[] = [];
      const processes = [
        await world.start({ cashier: asking(ledger) }, { approvals }),
        await world.start({ cashier: asking(ledger) }, { approvals }),
      ];
      for (const { runs } of processes) await runs.worker();
      const [{ runs } = {}] = processes;
      if (runs === undefined) throw new Error('no process');
      await runs.submit('cashier', 'Pay', { id: 'a3' });
      const result = await until(async () => {
        const seen = await runs.result('a3', { until: 'end' });
        return seen.status === 'completed' ? seen : undefined;
      });
      expect(audited(result).find(({ type }) => type === 'approval.resolve')).toMatchObject({ decision: 'reject', decidedBy: 'expiry' });
      expect(reminded.length).toBeGreaterThan(0);
      expect(reminded).toEqual(reminded.map((_, index) => index + 1));
      expect(ledger).toEqual([]);
    });

    it('hold up the session, unless the next run abandons the one that waits', async () => {
      const ledger: string[] = [];
      const { runs } = await (await openWorld(makeHarness)).start({ cashier: asking(ledger), desk: answers() });
      await runs.worker();
      await runs.submit('cashier', 'Pay', { id: 'a4', session: 'chat' });
      expect(await runs.result('a4')).toMatchObject({ status: 'interrupted' });
      await runs.submit('desk', 'Hello?', { id: 'a5', session: 'chat' });
      expect(await runs.result('a5', { waitMs: 300 })).toMatchObject({ status: 'queued' });
      await runs.submit('desk', 'Never mind', { id: 'a6', session: 'chat', unfinished: 'abandon' });
      const went = await runs.result('a6');
      audited(went);
      expect(went).toMatchObject({ status: 'completed' });
      expect(await runs.result('a4', { until: 'end' })).toMatchObject({ status: 'cancelled' });
      expect(await runs.result('a5')).toMatchObject({ status: 'completed' });
      expect(ledger).toEqual([]);
    });
  });
}

const cents = { properties: { cents: { type: 'number' } }, required: ['cents'] };
