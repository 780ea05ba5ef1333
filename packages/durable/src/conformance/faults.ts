import { defineAgent } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import type { MakeHarness } from './suite.js';
import { audited, gate, ledgerTool, openWorld, shortLeaseMs, types, until } from './suite.js';

export function faultTests(makeHarness: MakeHarness): void {
  describe('faults', () => {
    it('another worker takes over a run whose worker died in a model call', async () => {
      const isIn = gate();
      const never = gate();
      const ledger: string[] = [];
      const { tool } = ledgerTool('mail', { ledger });
      const make = (dies: boolean) =>
        defineAgent({
          name: 'desk',
          instructions: '',
          model: scriptedModel(async (request) => {
            if (request.turn === 1) return callTool('mail');
            if (!dies) return say('Mailed.');
            isIn.open();
            await never.opened;
            return say('too late');
          }),
          tools: [tool],
        });
      const world = await openWorld(makeHarness);
      const first = await world.start({ desk: make(true) });
      await first.runs.worker({ leaseMs: shortLeaseMs, name: 'first' });
      await first.runs.submit('desk', 'Mail', { id: 'f1' });
      await isIn.opened;
      first.frail.freeze();
      const second = await world.start({ desk: make(false) });
      await second.runs.worker({ leaseMs: shortLeaseMs, name: 'second' });
      const result = await second.runs.result('f1');
      expect(result).toMatchObject({ status: 'completed', text: 'Mailed.' });
      expect(types(audited(result)).filter((type) => type === 'run.resume')).toHaveLength(1);
      expect(ledger).toHaveLength(1);
      never.open();
    });

    it.each([
      ['asks a person', false],
      ['runs it again with its idempotency key, where it is repeatable', true],
    ])('where its worker died in a tool, the next one %s', async (_, repeatable) => {
      const ledger: string[] = [];
      const never = gate();
      const dying = ledgerTool('charge', { ledger, repeatable, during: () => never.opened });
      const living = ledgerTool('charge', { ledger, repeatable });
      const model = () => scriptedModel([callTool('charge'), say('Charged.')]);
      const world = await openWorld(makeHarness);
      const first = await world.start({ desk: defineAgent({ name: 'desk', instructions: '', model: model(), tools: [dying.tool] }) });
      await first.runs.worker({ leaseMs: shortLeaseMs });
      await first.runs.submit('desk', 'Charge', { id: 'f2' });
      await until(() => ledger.length === 1);
      first.frail.freeze();
      const second = await world.start({ desk: defineAgent({ name: 'desk', instructions: '', model: model(), tools: [living.tool] }) });
      await second.runs.worker({ leaseMs: shortLeaseMs });
      const result = await second.runs.result('f2');
      if (!repeatable) {
        if (result.status !== 'interrupted') throw new Error(result.status);
        const [asked] = result.approvals;
        expect(asked?.approval).toMatchObject({ mayHaveRun: true });
        await second.runs.approvals.decide(asked?.id ?? '', 'approve');
      }
      const end = await second.runs.result('f2', { until: 'end' });
      audited(end);
      expect(end).toMatchObject({ status: 'completed', text: 'Charged.' });
      expect(ledger).toHaveLength(2);
      expect(new Set(ledger).size).toBe(1);
      never.open();
    });

    it.each([
      ['no effect', false],
      ['no repeatable one either', true],
    ])('a frozen worker whose run was taken over starts %s when it wakes', async (_, repeatable) => {
      const isIn = gate();
      const goesOn = gate();
      const ledger: string[] = [];
      const make = (who: string, waits: boolean) => {
        const { tool } = ledgerTool('charge', { repeatable, during: async () => void ledger.push(who) });
        return defineAgent({
          name: 'desk',
          instructions: '',
          model: scriptedModel(async (request) => {
            if (request.turn > 1) return say(`${who} is done.`);
            if (waits) {
              isIn.open();
              await goesOn.opened;
            }
            return callTool('charge');
          }),
          tools: [tool],
        });
      };
      const world = await openWorld(makeHarness);
      const first = await world.start({ desk: make('first', true) });
      const sleeper = await first.runs.worker({ leaseMs: shortLeaseMs });
      await first.runs.submit('desk', 'Charge', { id: 'f3' });
      await isIn.opened;
      first.frail.freeze();
      const second = await world.start({ desk: make('second', false) });
      await second.runs.worker({ leaseMs: shortLeaseMs });
      const result = await second.runs.result('f3');
      first.frail.thaw();
      goesOn.open();
      await until(() => sleeper.runs.length === 0);
      expect(ledger).toEqual(['second']);
      expect(result).toMatchObject({ status: 'completed', text: 'second is done.' });
      const events = audited(await second.runs.result('f3'));
      expect(events.filter(({ type }) => type === 'run.end')).toHaveLength(1);
    });

    it('nor one that had just written that the effect begins', async () => {
      const ledger: string[] = [];
      const make = (who: string) => {
        const { tool } = ledgerTool('charge', { during: async () => void ledger.push(who) });
        return defineAgent({ name: 'desk', instructions: '', model: scriptedModel([callTool('charge'), say('Charged.')]), tools: [tool] });
      };
      const world = await openWorld(makeHarness);
      const first = await world.start({ desk: make('first') });
      first.frail.freezeAfter('tool.start');
      const sleeper = await first.runs.worker({ leaseMs: shortLeaseMs });
      await first.runs.submit('desk', 'Charge', { id: 'f12' });
      const second = await world.start({ desk: make('second') });
      await until(async () => types(await second.runs.store.load('f12')).includes('tool.start'));
      await second.runs.worker({ leaseMs: shortLeaseMs });
      const asked = await second.runs.result('f12');
      if (asked.status !== 'interrupted') throw new Error(asked.status);
      await second.runs.approvals.decide(asked.approvals[0]?.id ?? '', 'approve');
      const result = await second.runs.result('f12', { until: 'end' });
      audited(result);
      expect(result).toMatchObject({ status: 'completed', text: 'Charged.' });
      first.frail.thaw();
      await until(() => sleeper.runs.length === 0);
      expect(ledger).toEqual(['second']);
    });

    it('a tool may take longer than the lease', async () => {
      const ledger: string[] = [];
      const { tool } = ledgerTool('slow', { ledger, during: () => new Promise((resolve) => setTimeout(resolve, 2.5 * shortLeaseMs)) });
      const agent = () =>
        defineAgent({ name: 'desk', instructions: '', model: scriptedModel([callTool('slow'), say('done')]), tools: [tool] });
      const world = await openWorld(makeHarness);
      const processes = [await world.start({ desk: agent() }), await world.start({ desk: agent() })];
      for (const { runs } of processes) await runs.worker({ leaseMs: shortLeaseMs });
      await processes[0]?.runs.submit('desk', 'Go', { id: 'f4' });
      const result = await processes[1]?.runs.result('f4');
      expect(result).toMatchObject({ status: 'completed' });
      expect(ledger).toHaveLength(1);
    });

    it('a worker that stops hands its runs back, with what their tools gave', async () => {
      const isIn = gate();
      const goesOn = gate();
      const ledger: string[] = [];
      const { tool } = ledgerTool('mail', {
        ledger,
        during: () => {
          isIn.open();
          return goesOn.opened;
        },
      });
      const agent = () =>
        defineAgent({ name: 'desk', instructions: '', model: scriptedModel([callTool('mail'), say('Mailed.')]), tools: [tool] });
      const world = await openWorld(makeHarness);
      const first = await world.start({ desk: agent() });
      const worker = await first.runs.worker();
      await first.runs.submit('desk', 'Mail', { id: 'f5' });
      await isIn.opened;
      const stopping = worker.stop({ graceMs: 30_000 });
      goesOn.open();
      await stopping;
      expect(await first.runs.status('f5')).toMatchObject({ state: 'queued' });
      const second = await world.start({ desk: agent() });
      await second.runs.worker();
      const result = await second.runs.result('f5');
      audited(result);
      expect(result).toMatchObject({ status: 'completed', text: 'Mailed.' });
      expect(ledger).toHaveLength(1);
    });

    it('a worker that may wait no longer hands back what is in flight: the next one finds it in the log', async () => {
      const isIn = gate();
      const never = gate();
      const make = (hangs: boolean) => {
        const { tool } = ledgerTool('mail', {
          during: () => {
            isIn.open();
            return hangs ? never.opened : undefined;
          },
        });
        return defineAgent({ name: 'desk', instructions: '', model: scriptedModel([callTool('mail'), say('Mailed.')]), tools: [tool] });
      };
      const world = await openWorld(makeHarness);
      const first = await world.start({ desk: make(true) });
      const worker = await first.runs.worker();
      await first.runs.submit('desk', 'Mail', { id: 'f6' });
      await isIn.opened;
      await worker.stop({ graceMs: 0 });
      const second = await world.start({ desk: make(false) });
      await second.runs.worker();
      const result = await second.runs.result('f6');
      audited(result);
      expect(result).toMatchObject({ status: 'interrupted', approvals: [{ approval: { mayHaveRun: true } }] });
      never.open();
    });

    it('a store that fails is told, and the run goes on when it answers again', async () => {
      const ledger: string[] = [];
      const { tool } = ledgerTool('mail', { ledger });
      const { runs, frail } = await (await openWorld(makeHarness)).start({
        desk: defineAgent({ name: 'desk', instructions: '', model: scriptedModel([callTool('mail'), say('Mailed.')]), tools: [tool] }),
      });
      frail.failAppends(6);
      await runs.submit('desk', 'Mail', { id: 'f7' });
      await runs.worker();
      const told = await until(async () => (await runs.status('f7'))?.trouble);
      expect(told).toMatchObject({ code: 'STORE_FAILED', choices: ['wait', 'cancel'] });
      const result = await runs.result('f7');
      audited(result);
      expect(result).toMatchObject({ status: 'completed', run: { state: 'ended' } });
      expect((await runs.status('f7'))?.trouble).toBeUndefined();
      expect(ledger).toHaveLength(1);
    });

    it('a run whose agent is nowhere waits, says so, and goes on where it comes to be', async () => {
      const world = await openWorld(makeHarness);
      const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say('Hi.')]) });
      const first = await world.start({ other: desk });
      await first.runs.worker({ leaseMs: 200 });
      const submitter = await world.start({ desk });
      await submitter.runs.submit('desk', 'Hi', { id: 'f8' });
      const told = await until(async () => (await first.runs.status('f8'))?.trouble);
      expect(told).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('desk'), choices: ['deploy', 'cancel'] });
      await submitter.runs.worker();
      expect(await submitter.runs.result('f8')).toMatchObject({ status: 'completed', text: 'Hi.' });
      expect((await submitter.runs.status('f8'))?.trouble).toBeUndefined();
    });

    it('S145: a run whose tool is gone is told before any effect, and finished by the next deployment', async () => {
      const ledger: string[] = [];
      const make = (names: readonly string[]) =>
        defineAgent({
          name: 'desk',
          instructions: '',
          model: scriptedModel([callTool('refund'), say('Refunded.')]),
          tools: names.map((name) => ledgerTool(name, { ledger, approval: true }).tool),
        });
      const world = await openWorld(makeHarness);
      const first = await world.start({ desk: make(['refund']) });
      const old = await first.runs.worker();
      await first.runs.submit('desk', 'Refund', { id: 'f9' });
      const asked = await first.runs.result('f9');
      if (asked.status !== 'interrupted') throw new Error(asked.status);
      await old.stop();
      const second = await world.start({ desk: make(['repay']) });
      const wrong = await second.runs.worker();
      await second.runs.approvals.decide(asked.approvals[0]?.id ?? '', 'approve');
      const told = await until(async () => (await second.runs.status('f9'))?.trouble);
      expect(told).toMatchObject({
        code: 'RESUME_MISMATCH',
        message: expect.stringContaining('refund'),
        choices: ['deploy', 'cancel'],
      });
      expect(ledger).toEqual([]);
      await wrong.stop();
      const third = await world.start({ desk: make(['refund', 'repay']) });
      await third.runs.worker();
      const result = await third.runs.result('f9', { until: 'end' });
      audited(result);
      expect(result).toMatchObject({ status: 'completed', text: 'Refunded.' });
      expect(ledger).toHaveLength(1);
    });

    it('a run that never gets on is given up, and the session goes on', async () => {
      const desk = (dies: boolean) =>
        defineAgent({
          name: 'desk',
          instructions: '',
          model: scriptedModel(async () => {
            if (dies) await new Promise(() => undefined);
            return say('Hi.');
          }),
        });
      const world = await openWorld(makeHarness);
      let entries = 0;
      for (let times = 0; times < 3; times += 1) {
        const each = await world.start({ desk: desk(true) });
        if (times === 0) await each.runs.submit('desk', 'Hi', { id: 'f10', session: 'chat' });
        await each.runs.worker({ leaseMs: 400 });
        await until(async () => types(await each.runs.store.load('chat')).filter((type) => type === 'model.start').length > entries);
        entries += 1;
        each.frail.freeze();
      }
      const last = await world.start({ desk: desk(false) }, { maxAttempts: 2 });
      await last.runs.worker();
      const result = await last.runs.result('f10');
      audited(result);
      expect(result).toMatchObject({ status: 'failed', error: { code: 'INTERNAL', message: expect.stringContaining('taken up 2 times') } });
      await last.runs.submit('desk', 'Hi', { id: 'f11', session: 'chat' });
      expect(await last.runs.result('f11')).toMatchObject({ status: 'completed' });
    });
  });
}
