import { describe } from 'vitest';
import { approvalTests, cancelTests } from './conformance/ending.js';
import { faultTests } from './conformance/faults.js';
import { queueingTests } from './conformance/queueing.js';
import type { MakeHarness } from './conformance/suite.js';
import { watchingTests } from './conformance/watching.js';

export type { DurableHarness, MakeHarness } from './conformance/suite.js';

/**
 * Says whether an engine, over a store, drives durable runs as it should. Call it in a test file of vitest; tests take up to some seconds.
 */
export function durableConformance(name: string, makeHarness: MakeHarness): void {
  describe(`durable runs: ${name}`, { timeout: 60_000 }, () => {
    queueingTests(makeHarness);
    cancelTests(makeHarness);
    approvalTests(makeHarness);
    faultTests(makeHarness);
    watchingTests(makeHarness);
  });
}
