import { describe, expect, it } from 'vitest';
import type { LiveText } from '../contract.js';
import type { Suite } from './suite.js';
import { approvalIds, inputEvent, newId, newRun, oddText, until, waitingRun } from './suite.js';

const piece = (text: string): LiveText => ({ seq: 3, run: 'r1', agent: 'desk', turn: 1, text, epoch: 0 });

/** The text of an answer that is being written. */
export function testLiveTexts({ store, other }: Suite): void {
  describe('live texts', () => {
    it('gives the last text, to any process', async () => {
      const id = newId();
      await store().append(id, [inputEvent(1, 'x')], 0);
      expect(await other().live.get(id)).toBeUndefined();
      await store().live.put(id, piece('Hel'));
      await store().live.put(id, piece(`Hello ${oddText}`));
      expect(await other().live.get(id)).toEqual(piece(`Hello ${oddText}`));
      await store().live.put(id, { ...piece('Anew'), epoch: 1 });
      expect(await other().live.get(id)).toEqual({ ...piece('Anew'), epoch: 1 });
      await store().live.put(id, undefined);
      expect(await other().live.get(id)).toBeUndefined();
    });

    it('keeps none for a session that is not there', async () => {
      const id = newId();
      await store().live.put(id, piece('Hel'));
      await store().live.put(id, undefined);
      expect(await store().live.get(id)).toBeUndefined();
      expect(await store().sessions.get(id)).toBeUndefined();
    });

    it('changes nothing of the log', async () => {
      const id = newId();
      await store().append(id, [inputEvent(1, 'x')], 0);
      const before = await store().sessions.get(id);
      await store().live.put(id, piece('x'.repeat(50_000)));
      expect((await other().live.get(id))?.text).toHaveLength(50_000);
      expect(await store().load(id)).toHaveLength(1);
      expect(await store().sessions.get(id)).toMatchObject({ events: 1, updatedAt: before?.updatedAt });
    });
  });
}

/** Being told of changes. */
export function testWatching({ store, other }: Suite): void {
  describe('watching', () => {
    it('tells of events, decisions, runs and live texts, whoever made them', async () => {
      const id = newId();
      await store().append(id, [inputEvent(1, 'x')], 0);
      let [one, any] = [0, 0];
      const ends = [
        other().watch(id, (session) => {
          if (session === id || session === undefined) one += 1;
        }),
        other().watch(undefined, (session) => {
          if (session === id || session === undefined) any += 1;
        }),
      ];
      const told = async (change: () => Promise<unknown>) => {
        const before = [one, any] as const;
        await change();
        await until(() => one > before[0] && any > before[1]);
      };
      await told(() => store().append(id, [inputEvent(2, 'x')], 1));
      await told(() => store().live.put(id, piece('Hel')));
      const submitted = newRun({ session: id });
      await told(() => store().runs.create(submitted));
      await told(() => store().runs.update(submitted.id, 1, { cancel: { reason: 'no more' } }));
      await told(() => store().sessions.delete(id));
      await told(() => waitingRun(store(), id));
      const [approval = ''] = await approvalIds(store(), id);
      await told(() => store().approvals.decide(approval, 'approve'));
      for (const end of ends) end();
    });

    it('tells nobody who has ended it, and goes on for others when one throws', async () => {
      const id = newId();
      let [ended, throwing, other_] = [0, 0, 0];
      const end = store().watch(id, () => {
        ended += 1;
      });
      const ends = [
        store().watch(id, () => {
          throwing += 1;
          throw new Error('a listener of the test');
        }),
        other().watch(id, () => {
          other_ += 1;
        }),
      ];
      end();
      end();
      for (let seq = 0; seq < 2; seq += 1) {
        const before = [throwing, other_] as const;
        await store().append(id, [inputEvent(seq + 1, 'x')], seq);
        await until(() => throwing > before[0] && other_ > before[1]);
      }
      expect(ended).toBe(0);
      for (const each of ends) each();
    });
  });
}
