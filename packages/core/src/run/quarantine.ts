import { GuardloopError } from '../errors.js';
import type { JsonObject, JsonValue } from '../model/types.js';
import { canonicalJson } from '../state/canonical-json.js';
import { saltedSha256Hex } from '../state/digest.js';
import type { OutputApproval } from '../state/events.js';
import type { RawAnswer } from './answer.js';
import type { RunHandle } from './handle.js';
import { graceMs } from './handle.js';
import type { QuarantineStore } from './types.js';

/** An answer that waits for a person. Guardrails have not passed it. */
export interface QuarantinedAnswer {
  /** Its text, or the JSON of a structured answer, as rewrites left it. */
  readonly text: string;
  /** Where the run shows reasoning, as rewrites left it; else empty. */
  readonly reasoning: string;
  /** Calls that it makes; nobody has judged them yet. `input` is missing where the arguments are no JSON. */
  readonly calls: readonly { readonly name: string; readonly input?: JsonValue | undefined }[];
}

/**
 * Gets an answer out of quarantine for the person who is to decide. Rejects with STORE_FAILED when the store throws or holds it no more,
 * and with RESUME_MISMATCH when what it holds is not what was put there.
 */
export async function readQuarantined(store: QuarantineStore, approval: OutputApproval): Promise<QuarantinedAnswer> {
  const { text, answer } = await loadQuarantined(store, approval);
  return {
    text,
    reasoning: answer.inMode?.said || answer.reasoning,
    calls: answer.calls.map((call) => ('input' in call ? { name: call.name, input: call.input } : { name: call.name })),
  };
}

/** What was put into quarantine for an approval, and nothing else. */
export async function loadQuarantined(
  store: QuarantineStore,
  { key, digest }: OutputApproval,
): Promise<{ readonly text: string; readonly answer: RawAnswer }> {
  const held = (await accessQuarantine(() => store.get(key), key)) as JsonObject | null | undefined;
  if (typeof held !== 'object' || held === null)
    throw new GuardloopError(
      'STORE_FAILED',
      `The quarantine store does not hold the answer ${key} any more. Resume with { reject: … } to have the model asked again.`,
    );
  const { salt, ...content } = held;
  if ((await saltedSha256Hex(String(salt), canonicalJson(content))) !== digest)
    throw new GuardloopError(
      'RESUME_MISMATCH',
      `The answer ${key} in the quarantine store is not the one that waits. Resume with { reject: … } to have the model asked again.`,
    );
  return content as unknown as { readonly text: string; readonly answer: RawAnswer };
}

export async function accessQuarantine<T>(use: () => Promise<T>, key: string): Promise<T> {
  try {
    return await use();
  } catch (thrown) {
    throw new GuardloopError('STORE_FAILED', `The quarantine store failed for the answer ${key}. Look at the cause, then resume.`, {
      cause: thrown,
      isRetryable: true,
    });
  }
}

/** Deletes answers that nobody will decide about any more: their runs have ended, and only the root's can be taken up again. Never rejects. */
export async function deleteUndecided(handle: RunHandle): Promise<void> {
  const { settings, undecided = [] } = handle.root;
  const keys = undecided.flatMap((run) => (run.quarantine && run !== handle.state ? [run.quarantine.approval.key] : []));
  await handle.wait(Promise.all(keys.map(async (key) => settings.quarantine?.delete(key))), graceMs, graceMs);
}
