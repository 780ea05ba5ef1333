import { defineAgent } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import type { NumberedEvent } from '../types.js';
import type { MakeHarness } from './suite.js';
import { gate, ledgerTool, openWorld, until } from './suite.js';

/** What a reader has on the screen after these events: the log's numbers, and the text. */
function screen(events: readonly NumberedEvent[]) {
  let text = '';
  const seqs: number[] = [];
  for (const { event } of events) {
    if (event.type === 'text.delta') text += event.text;
    else if (event.type === 'text.retract') text = text.slice(0, text.length - event.chars);
    else seqs.push(event.seq);
  }
  return { text, seqs };
}

export function watchingTests(makeHarness: MakeHarness): void {
  describe('events', () => {
    it('of a run come from any process, live, and again from any number', async () => {
      const half = gate();
      const { tool } = ledgerTool('look', { repeatable: true });
      const model = scriptedModel((request) =>
        request.turn === 1 ? [say('Let me look. '), callTool('look')] : say(['It ', 'is ', 'there.']),
      );
      const pausing = scriptedModel(
        async (request) => {
          if (request.turn === 2) await half.opened;
          return request.turn === 1 ? [say('Let me look. '), callTool('look')] : say(['It ', 'is ', 'there.']);
        },
        { delayMs: 5 },
      );
      const world = await openWorld(makeHarness);
      const make = (given: typeof model) => ({ desk: defineAgent({ name: 'desk', instructions: '', model: given, tools: [tool] }) });
      const [worker, watcher] = [await world.start(make(pausing)), await world.start(make(model))];
      await worker.runs.worker();
      await watcher.runs.submit('desk', 'Where?', { id: 'e1' });
      const seen: NumberedEvent[] = [];
      for await (const each of watcher.runs.events('e1')) {
        seen.push(each);
        if (each.event.type === 'tool.end') half.open();
      }
      expect(screen(seen).text).toBe('Let me look. It is there.');
      const log = await watcher.runs.store.load('e1');
      expect(screen(seen).seqs).toEqual(log.map(({ seq }) => seq));
      for (const [index, { number }] of seen.entries()) {
        const rest: NumberedEvent[] = [];
        for await (const each of worker.runs.events('e1', { after: number })) rest.push(each);
        expect(screen([...seen.slice(0, index + 1), ...rest])).toEqual(screen(seen));
      }
    });

    it('show text before the log has it, and its rest to who reconnects', async () => {
      const isHalf = gate();
      const goesOn = gate();
      const model = scriptedModel(() => say(['One. ', 'Two. ', 'Three.']), {
        pace: async () => {
          pieces += 1;
          if (pieces === 3) {
            isHalf.open();
            await goesOn.opened;
          }
        },
      });
      let pieces = 0;
      const world = await openWorld(makeHarness);
      const desk = defineAgent({ name: 'desk', instructions: '', model });
      const [worker, watcher] = [await world.start({ desk }), await world.start({ desk })];
      await worker.runs.worker();
      await watcher.runs.submit('desk', 'Count', { id: 'e2' });
      await isHalf.opened;
      const before: NumberedEvent[] = [];
      for await (const each of watcher.runs.events('e2')) {
        before.push(each);
        if (screen(before).text === 'One. Two. ') break;
      }
      expect((await watcher.runs.store.load('e2')).some(({ type }) => type === 'model.end')).toBe(false);
      const after = before.at(-1)?.number ?? '';
      goesOn.open();
      const rest: NumberedEvent[] = [];
      for await (const each of watcher.runs.events('e2', { after })) rest.push(each);
      expect(screen(rest).text).toBe('Three.');
      const glued = screen([...before, ...rest]);
      expect(glued.seqs).toEqual((await watcher.runs.store.load('e2')).map(({ seq }) => seq));
    });

    it('go on over a wait for a person, or end there', async () => {
      const { tool } = ledgerTool('pay', { approval: true });
      const cashier = defineAgent({
        name: 'cashier',
        instructions: '',
        model: scriptedModel([callTool('pay'), say('Paid.')]),
        tools: [tool],
      });
      const { runs } = await (await openWorld(makeHarness)).start({ cashier });
      await runs.worker();
      await runs.submit('cashier', 'Pay', { id: 'e3' });
      const upToWait: NumberedEvent[] = [];
      for await (const each of runs.events('e3', { until: 'wait' })) upToWait.push(each);
      expect(upToWait.at(-1)?.event).toMatchObject({ type: 'approval.request' });
      const all: NumberedEvent[] = [];
      for await (const each of runs.events('e3')) {
        all.push(each);
        if (each.event.type === 'approval.request') await runs.approvals.decide(each.event.approval.id, 'approve');
      }
      expect(all.at(-1)?.event).toMatchObject({ type: 'run.end', status: 'completed' });
    });

    it('refuse a number that is none, and a run that is not there', async () => {
      const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say('Hi.')]) });
      const { runs } = await (await openWorld(makeHarness)).start({ desk });
      expect(() => runs.events('e4', { after: 'yesterday' })).toThrow(/no number of an event/);
      await expect(runs.events('e4').next()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
      const leaving = new AbortController();
      await runs.submit('desk', 'Hi', { id: 'e5' });
      const waiting = runs.events('e5', { signal: leaving.signal }).next();
      leaving.abort();
      expect(await waiting).toEqual({ value: undefined, done: true });
      await until(async () => (await runs.status('e5'))?.state === 'queued');
    });
  });
}
