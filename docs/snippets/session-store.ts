import assert from 'node:assert/strict';
import { defineAgent, run } from '@guardloop/core';
import { say, scriptedModel } from '@guardloop/testing';

// #region store

import type { LogEvent, SessionStore } from '@guardloop/core';
import { GuardloopError } from '@guardloop/core';

export function jsonSession(): SessionStore {
  const logs = new Map<string, readonly string[]>();
  return {
    async load(id, afterSeq = 0) {
      return (logs.get(id) ?? []).slice(afterSeq).map((line): LogEvent => JSON.parse(line));
    },
    async append(id, events, afterSeq) {
      const lines = logs.get(id) ?? [];
      // Compare and store in one step; in a database: a transaction, or a unique key on id and seq.
      if (lines.length !== afterSeq)
        throw new GuardloopError('LOG_CONFLICT', `The log ${id} holds ${lines.length} events, not ${afterSeq}.`);
      logs.set(id, [...lines, ...events.map((event) => JSON.stringify(event))]);
    },
  };
}
// #endregion
const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel((request) => say(`${request.messages.length}`)) });
const first = { store: jsonSession(), id: 'a' };
await run(desk, 'First.', { session: first });
const stored = await run(desk, 'Second.', { session: first });
assert.equal(stored.status === 'completed' && stored.text, '3');
// #region conflict
const store = jsonSession();
const results = await Promise.allSettled([
  run(desk, 'One.', { session: { store, id: 'a' } }),
  run(desk, 'Two.', { session: { store, id: 'a' } }),
]);
// #endregion
const lost = results.filter((each) => each.status === 'rejected');
assert.equal(lost.length, 1);
assert.match(String(lost[0]?.reason), /Another writer|has not ended/);

// #region queue
const inOrder = await Promise.all([
  run(desk, 'Three.', { session: { store, id: 'b', onConflict: 'queue' } }),
  run(desk, 'Four.', { session: { store, id: 'b', onConflict: 'queue', waitMs: 10_000 } }), // default 60,000
]);
// #endregion
assert.deepEqual(
  inOrder.map((each) => each.status === 'completed' && each.text),
  ['1', '3'],
);
