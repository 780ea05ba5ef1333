import type { JsonValue } from '@guardloop/core';
import { describe, expectTypeOf, it } from 'vitest';
import type { ApprovalRecord, DecideOutcome, SessionExport, SessionRecord, Store } from './index.js';
import { exportSession, memoryStore } from './index.js';
import { makeCodec } from './kit.js';

describe('types of a store', () => {
  const store = memoryStore();

  it('take only decisions, states and fields that there are', () => {
    expectTypeOf(store).toEqualTypeOf<Store>();
    expectTypeOf(store.approvals.decide).parameter(1).not.toEqualTypeOf<string>();
    // @ts-expect-error no decision
    void store.approvals.decide('id', 'yes');
    // @ts-expect-error no status of a session
    void store.sessions.list({ status: 'interrupted' });
    // @ts-expect-error no state of a run
    void store.runs.list({ state: 'done' });
    // @ts-expect-error everybody's, where a name is missing
    void store.sessions.list({ owner: undefined });
    // @ts-expect-error no filter
    void store.runs.list({ status: 'failed' });
    // @ts-expect-error no option
    memoryStore({ ttl: 5 });
    expectTypeOf<SessionRecord['status']>().toEqualTypeOf<
      'open' | 'waiting' | 'completed' | 'blocked' | 'exhausted' | 'cancelled' | 'failed' | undefined
    >();
    expectTypeOf<Parameters<Store['runs']['create']>[0]['submission']>().toEqualTypeOf<JsonValue>();
  });

  it('give the approval with every outcome but one', () => {
    const told = (outcome: DecideOutcome): ApprovalRecord | undefined => (outcome.status === 'unknown' ? undefined : outcome.approval);
    expectTypeOf(told).returns.toEqualTypeOf<ApprovalRecord | undefined>();
    expectTypeOf<Extract<DecideOutcome, { status: 'late' }>['why']>().toEqualTypeOf<'void' | 'expired'>();
  });

  it('name what an export may leave out, and want a key where contents are encrypted', () => {
    expectTypeOf(exportSession(store, 'chat', { redact: { leaveOut: ['input'] } })).resolves.toEqualTypeOf<SessionExport | undefined>();
    // @ts-expect-error no field of contents
    void exportSession(store, 'chat', { redact: { leaveOut: ['inputs'] } });
    // @ts-expect-error no key
    makeCodec({ encryption: { keys: [] } });
  });
});
