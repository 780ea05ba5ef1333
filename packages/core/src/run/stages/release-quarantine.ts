import { GuardloopError } from '../../errors.js';
import { answerLabel } from '../answer.js';
import { finishAnswer } from '../finish-answer.js';
import type { RunHandle } from '../handle.js';
import { offerTools, planOf } from '../plan.js';
import { accessQuarantine, loadQuarantined } from '../quarantine.js';
import { Release } from '../release.js';
import type { QuarantineStore } from '../types.js';

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
    await discard(handle, store, approval.key);
    return undefined;
  }
  const loaded = await handle.wait(loadQuarantined(store, approval));
  if (loaded.kind === 'threw') throw loaded.error;
  if (loaded.kind !== 'value') return undefined;
  const { text, answer } = loaded.value;
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
  if (state.quarantine === undefined) await discard(handle, store, approval.key);
  return undefined;
}

async function discard(handle: RunHandle, store: QuarantineStore, key: string): Promise<void> {
  const settled = await handle.wait(accessQuarantine(async () => store.delete(key), key));
  if (settled.kind === 'threw') throw settled.error;
}
