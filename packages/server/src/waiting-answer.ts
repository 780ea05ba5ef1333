// An answer that waits in quarantine, for the person who decides about it and for nobody else.
import type { QuarantinedAnswer, QuarantineStore } from '@guardloop/core';
import { GuardloopError, readQuarantined } from '@guardloop/core';
import type { Caller } from './caller.js';
import type { Call } from './operation.js';
import { seenApproval } from './own-records.js';
import { Problem } from './problem.js';
import type { WaitingAnswerView } from './views.js';

/** Throws problems for what is not there, not theirs to decide, decided, gone or altered. */
export async function waitingAnswer<U extends Caller>(call: Call<U>, id: string): Promise<WaitingAnswerView> {
  const { quarantine, onError } = call.settings;
  const { record, mayDecide } = await seenApproval(call, id);
  if (!mayDecide) throw new Problem('not-allowed', { detail: 'Somebody else has to decide this, and sees the answer.' });
  const { approval, state, expiresAt } = record;
  if (approval.surface !== 'output')
    throw new Problem('not-found', { detail: 'What is asked here is no answer: all of it stands in the approval.' });
  if (state !== 'open' || (expiresAt !== undefined && expiresAt <= Date.now()))
    throw new Problem('gone', { detail: 'It is decided, or nobody may decide it any more.' });
  if (quarantine === undefined)
    throw new Problem('not-offered', { detail: 'It shows no waiting answers: whoever runs it has to give it the quarantine store.' });
  const store: QuarantineStore = { get: (key) => quarantine.get(key), put: readOnly, delete: readOnly };
  const { text, reasoning, calls } = await readQuarantined(store, approval).catch(
    (thrown: unknown): Promise<QuarantinedAnswer> => Promise.reject(faultOf(thrown, onError)),
  );
  return { id, digest: approval.digest, text, reasoning, calls };
}

const readOnly = (): Promise<never> =>
  Promise.reject(new GuardloopError('INTERNAL', 'The server reads waiting answers, and changes none.'));

const askAnew = 'Reject it with words for the model to have it answer again.';
function faultOf(thrown: unknown, onError: (error: unknown) => void): unknown {
  if (!GuardloopError.is(thrown)) return thrown;
  // What somebody has changed, or taken away, whoever runs the server has to look into.
  if (thrown.code === 'RESUME_MISMATCH') {
    onError(thrown);
    return new Problem('altered', { detail: `What lies there is not the answer that waits. ${askAnew}` });
  }
  if (thrown.code !== 'STORE_FAILED') return thrown;
  onError(thrown);
  if (thrown.isRetryable) return new Problem('unavailable', { headers: { 'retry-after': '2' } });
  return new Problem('gone', { detail: `The answer does not lie there any more. ${askAnew}` });
}
