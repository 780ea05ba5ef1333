// What front ends answer: approvals, and results of tools that they run. Each becomes the decision of what was asked, once.
import type { Decision, JsonValue } from '@guardloop/core';
import { canonicalJson } from '@guardloop/core';
import type { ApprovalRecord } from '@guardloop/store';
import type { Caller } from '../caller.js';
import { mayCaller } from '../caller.js';
import type { Decided } from '../decide.js';
import { recordDecision } from '../decide.js';
import type { Call } from '../operation.js';
import { seenApproval } from '../own-records.js';
import { Problem } from '../problem.js';
import { isFrontEndCall, isTakenResult } from './front-end-tools.js';
import type { Leg } from './turns.js';

/** An id of an approval together with what was seen of it: whoever answers it answers that form of it, and no other. */
export const seenId = ({ id, digest }: { readonly id: string; readonly digest: string }): string => `${id}#${digest}`;

/** Undefined for what {@link seenId} did not make. */
export function readSeenId(seen: string): { readonly id: string; readonly digest: string } | undefined {
  const match = /^([A-Za-z0-9._~:@/-]{1,500})#([0-9a-f]{64})$/.exec(seen);
  return match?.[1] === undefined || match[2] === undefined ? undefined : { id: match[1], digest: match[2] };
}

/** An answer of a front end to one approval, or the result of one call. */
export interface FrontEndAnswer {
  /** As {@link seenId} made it. */
  readonly seen: string;
  readonly decision: Decision;
  /** It came as the result of a call: only a tool that the front end runs has one. */
  readonly isResult?: true | undefined;
  /** A client that lets go of the question instead of answering it: where that is settled already, it is no fault, and changes nothing. */
  readonly isWithdrawn?: true | undefined;
}

interface Found extends FrontEndAnswer {
  readonly id: string;
  readonly digest: string;
  readonly record: ApprovalRecord;
}

/**
 * Records the answers; none of them where one answers what was not asked, is not theirs to answer, too late, or twice. They must all be of
 * one run of this session. Gives the leg in which the run goes on. Throws problems; an answer that was recorded before, the same, is no
 * fault.
 */
export async function decideAll<U extends Caller>(call: Call<U>, session: string, answers: readonly FrontEndAnswer[]): Promise<Leg> {
  const found: Found[] = [];
  for (const answer of answers) {
    const one = await find(call, session, answer);
    if (one.record.run !== (found[0] ?? one).record.run) throw new Problem('bad-body', { detail: 'The answers are of more than one run.' });
    if (found.some(({ id }) => id === one.id)) throw new Problem('bad-body', { detail: 'One question is answered twice.' });
    found.push(one);
  }
  // Front ends send results again with each later one: those that the run has taken up are history, as all else that they send again.
  const wanted = found.some(isFresh) ? found.filter((one) => isFresh(one) || one.isResult !== true) : found;
  const [first] = wanted;
  if (first === undefined) throw new Problem('bad-body', { detail: 'Nothing is answered.' });
  const agreed = new Set(wanted.filter(isYesToCall).map(({ id }) => id));
  const open: Found[] = [];
  for (const one of wanted) if (!agreed.has(one.id) && !(await isSettled(call, one))) open.push(one);
  for (const one of open) {
    const decided = await recordDecision(call, one);
    if (one.isWithdrawn !== true) refuseUndone(decided);
  }
  return { run: first.record.run, answered: new Set(wanted.map(({ id }) => id)), agreed };
}

/** The run has not taken an answer up. */
const isFresh = ({ record: { state } }: Found): boolean => state === 'open' || state === 'decided';

async function find<U extends Caller>(call: Call<U>, session: string, answer: FrontEndAnswer): Promise<Found> {
  const { settings, caller } = call;
  const read = readSeenId(answer.seen);
  if (read === undefined) throw new Problem('not-found');
  const { record } = await seenApproval(call, read.id);
  if (record.session !== session) throw new Problem('not-found');
  if (answer.isResult === true && !isFrontEndCall(record.approval))
    throw new Problem('bad-body', {
      errors: [{ path: 'messages', expected: 'results of tools that the front end runs, and of no others' }],
    });
  if (record.approval.digest !== read.digest)
    throw new Problem('altered', { detail: 'Another input is asked about, or none: answer what is asked now.' });
  if (answer.isWithdrawn === true && record.state !== 'open') return { ...answer, ...read, record };
  if (!(await mayCaller(settings.authorize, { action: 'approval.decide', approval: record, decision: answer.decision }, caller)))
    throw new Problem('not-allowed', { detail: 'Somebody else has to decide this.' });
  if (record.state === 'open' && record.expiresAt !== undefined && record.expiresAt <= Date.now()) throw tooLate('expired');
  return { ...answer, ...read, record };
}

/** A person lets the front end run a call; the result is the decision. */
function isYesToCall({ isResult, decision, record }: Found): boolean {
  if (isResult === true || decision !== 'approve' || !isFrontEndCall(record.approval)) return false;
  if (record.state === 'void') throw tooLate('void');
  if (record.state !== 'open') throw answeredBefore();
  return true;
}

/**
 * Whether nothing is left to record, before any answer is: throws the problem with one that comes too late. What happens meanwhile, and
 * what the store alone can tell, is refused when it is recorded.
 */
async function isSettled<U extends Caller>(call: Call<U>, { record, decision, isResult, isWithdrawn }: Found): Promise<boolean> {
  const { state, decision: before } = record;
  if (state === 'open') return false;
  if (isWithdrawn === true) return true;
  if (state === 'void') throw tooLate('void');
  if (isResult === true && state === 'resolved' && typeof decision === 'object' && 'result' in decision) {
    if (await isTakenResult(call, record, decision.result as JsonValue)) return true;
  } else if (before !== undefined && canonicalJson(before as JsonValue) === canonicalJson(decision as JsonValue)) return false;
  throw answeredBefore();
}

function refuseUndone(decided: Decided): void {
  if (decided.status === 'already' && !decided.same) throw answeredBefore();
  if (decided.status === 'late') throw tooLate(decided.why);
  if (decided.status === 'altered') throw new Problem('altered');
}

const answeredBefore = (): Problem =>
  new Problem('conflict', { detail: 'It was answered otherwise before, or by somebody else. What was answered first holds.' });
const tooLate = (why: 'void' | 'expired'): Problem =>
  new Problem('gone', { detail: why === 'expired' ? 'Its time is over.' : 'The run has ended, or asked anew, without it.' });
