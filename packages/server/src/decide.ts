// A person's decision over HTTP: by whom it is, on what they saw, once.
import type { Decision } from '@guardloop/core';
import { GuardloopError } from '@guardloop/core';
import type { DecideOutcome } from '@guardloop/store';
import type { Caller } from './caller.js';
import { mayCaller } from './caller.js';
import type { Call } from './operation.js';
import { seenApproval } from './own-records.js';
import { Problem } from './problem.js';

export interface GivenDecision {
  readonly id: string;
  readonly decision: Decision;
  /** Of the approval as the person saw it. */
  readonly digest: string;
}
/** What came of it; the record as it is now. */
export type Decided = Exclude<DecideOutcome, { readonly status: 'unknown' }>;

/** Throws problems for what is not there, or not theirs to decide; all else is an outcome. */
export async function decideFor<U extends Caller>(call: Call<U>, given: GivenDecision): Promise<Decided> {
  await checkMayDecide(call, given);
  return recordDecision(call, given);
}

/** Throws problems for what is not there, or not theirs to decide so. */
export async function checkMayDecide<U extends Caller>(call: Call<U>, { id, decision }: GivenDecision): Promise<void> {
  const { record } = await seenApproval(call, id);
  if (!(await mayCaller(call.settings.authorize, { action: 'approval.decide', approval: record, decision }, call.caller)))
    throw new Problem('not-allowed', { detail: 'Somebody else has to decide this.' });
}

/** Of a caller who may. */
export async function recordDecision<U extends Caller>(
  { settings, caller }: Call<U>,
  { id, decision, digest }: GivenDecision,
): Promise<Decided> {
  const outcome = await settings.runs.approvals.decide(id, decision, { by: caller.user, digest }).catch(formFault);
  if (outcome.status === 'unknown') throw new Problem('not-found');
  return outcome;
}

function formFault(thrown: unknown): never {
  if (GuardloopError.is(thrown) && thrown.code === 'CONFIG_INVALID')
    throw new Problem('bad-body', { errors: [{ path: 'decision', expected: 'a form that this approval takes' }] });
  throw thrown;
}
