import { GuardloopError } from '../errors.js';
import type { JsonObject } from '../model/types.js';
import { canonicalJson } from '../state/canonical-json.js';
import { sha256Hex } from '../state/digest.js';
import type { CallState, RunState } from '../state/state.js';

/**
 * What people were asked about, or have decided, is what the log holds for the call: an approval answers for the very content it was asked
 * for. Throws LOG_INVALID before anything is appended.
 */
export async function checkDigests(run: RunState): Promise<void> {
  for (const call of run.calls.values()) {
    const { approval, decision } = call;
    const digest = call.phase === 'waiting' ? approval?.digest : call.phase === 'decided' ? decision?.digest : undefined;
    if (digest === undefined) continue;
    const contents = [contentOf(call)];
    if (approval?.surface === 'toolInput') contents.push(approval.input);
    for (const content of contents) if ((await sha256Hex(canonicalJson(content))) !== digest) throw altered(run, call);
  }
  for (const child of run.children?.values() ?? []) if (child.ended === undefined) await checkDigests(child);
}

/** What runs if the call goes on. */
function contentOf({ call, input, brief, approval }: CallState): JsonObject {
  if (call.kind !== 'handoff') return input;
  const asked = approval?.surface === 'handoff' ? approval : undefined;
  return { to: asked?.to ?? call.handoff?.to ?? '', brief: brief ?? call.handoff?.brief ?? '' };
}

function altered(run: RunState, { call }: CallState): GuardloopError {
  return new GuardloopError(
    'LOG_INVALID',
    `The digest of the approval for call ${call.id} of run ${run.id} does not fit what the log holds for that call: the log was altered. Nothing was run; resume from the log as it was written.`,
  );
}
