import { GuardloopError } from '../errors.js';
import type { JsonObject } from '../model/types.js';
import { canonicalJson } from '../state/canonical-json.js';
import { newSalt, saltedSha256Hex } from '../state/digest.js';
import type { Ask } from '../state/events.js';
import type { RawAnswer } from './answer.js';
import { answerLabel } from './answer.js';
import type { RunHandle } from './handle.js';
import { approvalOf } from './request-approval.js';

/** Keeps an answer where a person can look at it, and asks for the approval. False: the run was stopped meanwhile, and nobody is asked. */
export async function putInQuarantine(
  handle: RunHandle,
  answer: RawAnswer,
  waiting: { readonly turn: number; readonly asks: readonly Ask[]; readonly revision: number; readonly text: string },
): Promise<boolean> {
  const { state, root } = handle;
  const { turn, asks, revision, text } = waiting;
  const key = `${state.id}/${turn}`;
  const salt = newSalt();
  const content = JSON.parse(JSON.stringify({ text, answer })) as JsonObject;
  const digest = await saltedSha256Hex(salt, canonicalJson(content));
  const { quarantine } = root.settings;
  const putting = (async () => quarantine?.put(key, { ...content, salt }))();
  const settled = await handle.wait(putting);
  if (settled.kind === 'stopped') {
    // What comes to lie there although nobody is asked about it is taken away.
    putting.then(() => quarantine?.delete(key)).catch(() => undefined);
    return false;
  }
  if (settled.kind === 'threw')
    throw new GuardloopError(
      'STORE_FAILED',
      `The quarantine store failed to keep an answer of agent ${state.agent}. Nothing of it was shown; look at the cause, then resume.`,
      { cause: settled.error, isRetryable: true },
    );
  handle.append({
    type: 'approval.request',
    turn,
    usage: answer.usage,
    ...(answer.model === undefined ? {} : { model: answer.model }),
    approval: {
      ...approvalOf(handle, { surface: 'output', subject: key, revision, givenRevision: 0, digest, asks, label: answerLabel(handle) }),
      key,
      chars: text.length,
      turn,
      calls: answer.calls.length,
    },
  });
  return true;
}
