import { sessionConformance } from '@guardloop/testing/conformance';
import { describe } from 'vitest';
import type { Store } from '../contract.js';
import { testAgainstMemory } from './against-memory.js';
import { testApprovals } from './approvals.js';
import { testClaims } from './claims.js';
import { testContents } from './contents.js';
import { testLiveTexts, testWatching } from './live-and-watch.js';
import { testOpening } from './opening.js';
import { testRuns } from './runs.js';
import { testSessions } from './sessions.js';
import type { StoreConformanceOptions, StoreSetting } from './suite.js';
import { prepare } from './suite.js';
import { testTimeToLive } from './time-to-live.js';

export type { StoreConformanceOptions, StoreSetting } from './suite.js';

/**
 * The suite that every `Store` runs: all of `sessionConformance`, then records of sessions, approvals and runs, claims by many workers at
 * once, times to live, live texts, watching, and where the store has them encryption, payloads, and opening by many at once; and random
 * work, to whose answers those of `memoryStore` are the reference. Call it at the top level of a vitest file; it needs vitest and
 * `@guardloop/testing`.
 *
 * `open` is called for every store that a test needs, several at once too. Storage need not be empty. Stores are closed at the end.
 *
 * ```ts
 * storeConformance('memoryStore', ({ ttlMs, now }) => memoryStore({ ttlMs, now }), { hasClock: true });
 * ```
 */
export function storeConformance(
  name: string,
  open: (setting: StoreSetting) => PromiseLike<Store> | Store,
  options: StoreConformanceOptions = {},
): void {
  const { batchSize, isLasting } = options;
  sessionConformance(name, () => open({ database: 'logs' }), {
    batchSize,
    close: (store) => store.close(),
    ...(isLasting ? { reopen: () => open({ database: 'logs' }) } : {}),
  });
  describe(`${name} is a store`, () => {
    const suite = prepare(open, options);
    testSessions(suite);
    testTimeToLive(suite);
    testApprovals(suite);
    testRuns(suite);
    testClaims(suite);
    testLiveTexts(suite);
    testWatching(suite);
    testContents(suite);
    testOpening(suite);
    testAgainstMemory(suite);
  });
}
