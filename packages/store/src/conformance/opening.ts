import { describe, expect, it } from 'vitest';
import type { Suite } from './suite.js';
import { codeOf, inputEvent, newId, waitingRun } from './suite.js';

let databases = 0;

/** Making the tables, by many at once; and what a closed store does. */
export function testOpening({ open, options }: Suite): void {
  describe('opening', () => {
    it('S126: makes what it needs, however many open a new database at once', async () => {
      databases += 1;
      const database = `fresh${Date.now().toString(36)}${databases}`;
      const stores = await Promise.all(Array.from({ length: 10 }, () => open({ database })));
      const ids = stores.map(() => newId());
      await Promise.all(stores.map((store, index) => store.append(ids[index] ?? '', [inputEvent(1, `text ${index}`)], 0)));
      await Promise.all(stores.map((store, index) => waitingRun(store, ids[index] ?? '')));
      if (!options.isLasting) return;
      const again = await open({ database });
      for (const id of ids) expect(await again.sessions.get(id)).toMatchObject({ status: 'waiting' });
      expect((await again.approvals.list()).items).toHaveLength(10);
    }, 60_000);

    it('ends what is under way before it closes, and refuses or does what comes later', async () => {
      const store = await open({ database: 'closed' });
      const id = newId();
      let told = 0;
      store.watch(id, () => {
        told += 1;
      });
      const appending = store.append(id, [inputEvent(1, 'x')], 0);
      await store.close();
      await appending;
      await store.close();
      const before = told;
      expect([undefined, 'STORE_FAILED']).toContain(await codeOf(store.append(id, [inputEvent(2, 'x')], 1)));
      if (options.isLasting) {
        const again = await open({ database: 'closed' });
        expect((await again.load(id)).length).toBeGreaterThanOrEqual(1);
        await again.append(newId(), [inputEvent(1, 'x')], 0);
      }
      expect(told).toBe(before);
    });
  });
}
