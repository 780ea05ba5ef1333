import { GuardloopError } from '../../errors.js';
import type { JsonObject } from '../../model/types.js';
import { canonicalJson } from '../../state/canonical-json.js';
import { saltedSha256Hex } from '../../state/digest.js';
import type { RawAnswer } from '../answer.js';
import { answerLabel } from '../answer.js';
import { finishAnswer } from '../finish-answer.js';
import type { RunHandle } from '../handle.js';
import { offerTools, planOf } from '../plan.js';
import { Release } from '../release.js';

interface Waiting {
  readonly text: string;
  readonly answer: RawAnswer;
}

/** Follows a person's decision about an answer in quarantine: judges it again and records it, or discards it. */
export async function releaseQuarantine(handle: RunHandle): Promise<undefined> {
  const { state, root } = handle;
  const { quarantine: store } = root.settings;
  const waiting = state.quarantine;
  if (waiting?.decision === undefined) return undefined;
  const { approval, turn, usage, model, decision } = waiting;
  if (store === undefined)
    throw new GuardloopError(
      'CONFIG_INVALID',
      'An answer of this run waits in quarantine, and `resume` was given no quarantine store. Give the option `quarantine` with the store that the run had.',
    );
  const label = answerLabel(handle);
  if (decision.decision === 'reject') {
    const reason = decision.reason ?? 'a person rejected the answer';
    handle.append({
      type: 'model.end',
      turn,
      status: 'refused',
      id: approval.key,
      text: '',
      revision: 0,
      calls: [],
      label,
      usage,
      ...(model === undefined ? {} : { model }),
      chars: approval.chars,
      refusal: { action: 'deny', surface: 'output', by: 'approval', reason },
    });
    await discard(handle, approval.key);
    return undefined;
  }
  const held = (await access(() => store.get(approval.key), approval.key)) as JsonObject | undefined;
  if (held === undefined)
    throw new GuardloopError(
      'STORE_FAILED',
      `The quarantine store does not hold the answer ${approval.key} any more. Resume with { reject: … } to have the model asked again.`,
    );
  const { salt, ...content } = held;
  const digest = await saltedSha256Hex(String(salt), canonicalJson(content));
  if (digest !== approval.digest)
    throw new GuardloopError(
      'RESUME_MISMATCH',
      `The answer ${approval.key} in the quarantine store is not the one that was approved. Resume with { reject: … } to have the model asked again.`,
    );
  const { text, answer } = content as unknown as Waiting;
  const plan = await planOf(handle);
  const { names } = offerTools(handle, plan.stand, turn);
  const release = new Release(handle, { turn, guards: plan.stand.output, isStructured: true, label });
  await finishAnswer(
    handle,
    { ...answer, text },
    {
      turn,
      names,
      isFinal: state.finalizing !== undefined,
      release,
      label,
      isReasoningShown: false,
      approvedRevision: approval.revision,
    },
  );
  await discard(handle, approval.key);
  return undefined;
}

async function discard(handle: RunHandle, key: string): Promise<void> {
  await access(async () => handle.root.settings.quarantine?.delete(key), key);
}

async function access<T>(use: () => Promise<T>, key: string): Promise<T> {
  try {
    return await use();
  } catch (thrown) {
    throw new GuardloopError('STORE_FAILED', `The quarantine store failed for the answer ${key}. Look at the cause, then resume.`, {
      cause: thrown,
      isRetryable: true,
    });
  }
}
