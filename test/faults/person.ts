// The person who decides: approves what is asked, and answers what may have run with what the ledger says.
import type { Approval, Decision, LogEvent } from '@guardloop/core';
import { appliedUnder } from './ledger.js';
import { resultOf } from './scene.js';

/** Decides on an approval of a run whose log holds `events`. */
export function decideOn(approval: Approval, events: readonly LogEvent[], ledger: string): Decision {
  if (approval.surface !== 'toolInput' || !approval.mayHaveRun) return 'approve';
  const start = events.findLast((event) => event.type === 'tool.start' && event.run === approval.run && event.callId === approval.callId);
  const applied = start?.type === 'tool.start' ? appliedUnder(ledger, start.idempotencyKey) : undefined;
  return applied ? { result: resultOf(applied.value) } : 'approve';
}
