import type { JsonObject, Label } from '../model/types.js';
import { canonicalJson } from '../state/canonical-json.js';
import { sha256Hex } from '../state/digest.js';
import type { Approval, ApprovalRewrite, Ask, CallApproval, HandoffApproval } from '../state/events.js';
import type { CallState } from '../state/state.js';
import { callLabel } from './call-label.js';
import type { RunHandle } from './handle.js';
import type { OpenCall } from './open-call.js';
import { deepFreeze } from './plain-output.js';

/** What every approval says, whatever it is about. */
interface Matter<S extends Approval['surface']> {
  readonly surface: S;
  readonly subject: string;
  /** Those above `givenRevision` are rewrites. */
  readonly revision: number;
  readonly givenRevision: number;
  readonly digest: string;
  readonly asks: readonly Ask[];
  readonly label: Label;
}

/** Who asks, where and why, and what the matter depends on; nothing of what was refused or rewritten. */
export function approvalOf<S extends Approval['surface']>(handle: RunHandle, matter: Matter<S>) {
  const { state } = handle;
  const { surface, subject, revision, digest, asks, label } = matter;
  const rewrites = revision > matter.givenRevision ? rewritesOf(handle, matter) : undefined;
  return {
    id: `${state.id}/p${state.approvals + 1}`,
    surface,
    run: state.id,
    agentPath: [...handle.agentPath],
    subject,
    revision,
    digest,
    reason: asks.map(({ reason }) => reason).join('; '),
    asks: [...asks],
    label,
    untrustedFrom: [...new Set(state.conversation.untrustedReads.map(({ tool }) => tool))],
    ...(rewrites === undefined ? {} : { rewrites }),
  };
}

/** The verdicts that led to a revision. Of those that a cut made void, the ones given anew count. */
function rewritesOf({ root, state }: RunHandle, matter: Matter<Approval['surface']>): readonly ApprovalRewrite[] {
  const byRevision = new Map<number, ApprovalRewrite>();
  const wanted = matter.revision - matter.givenRevision;
  for (let at = root.events.length - 1; at >= state.startSeq - 1 && byRevision.size < wanted; at -= 1) {
    const event = root.events[at];
    if (event?.type !== 'guard.verdict' || event.action !== 'rewrite' || event.shadow) continue;
    const { surface, subject, revision, guardrail: by, reason, places } = event;
    if (surface !== matter.surface || subject !== matter.subject || byRevision.has(revision)) continue;
    if (revision < matter.givenRevision || revision >= matter.revision) continue;
    byRevision.set(revision, { by, ...(reason === undefined ? {} : { reason }), ...(places === undefined ? {} : { places }) });
  }
  return [...byRevision].sort(([left], [right]) => left - right).map(([, rewrite]) => rewrite);
}

/** Fields of the object that passed whose values are not those of the object given. What is gone is not named. */
export function changedFields(given: JsonObject, passed: JsonObject): readonly string[] {
  return Object.keys(passed).filter((name) => {
    const [before, after] = [Object.hasOwn(given, name) ? given[name] : undefined, passed[name]];
    return before === undefined || after === undefined || canonicalJson(before) !== canonicalJson(after);
  });
}

/** Puts a call before a person. */
export async function requestCallApproval(
  { handle, call, tool }: OpenCall,
  { asks, mayHaveRun }: { readonly asks: readonly Ask[]; readonly mayHaveRun: boolean },
): Promise<CallApproval> {
  const { effect, authority, declared } = tool.flow;
  const approval: CallApproval = deepFreeze({
    ...approvalOf(handle, {
      surface: 'toolInput',
      subject: call.path,
      revision: call.revision,
      givenRevision: call.givenRevision,
      digest: await sha256Hex(canonicalJson(call.input)),
      asks,
      label: callLabel(handle, call),
    }),
    tool: tool.name,
    callId: call.call.id,
    input: call.input,
    flow: { effect, authority, declared },
    ...(call.revision > call.givenRevision && call.changedFields ? { changedFields: call.changedFields } : {}),
    mayHaveRun,
    ...(tool.execute === undefined && tool.agent === undefined ? { caller: true as const } : {}),
  });
  handle.append({ type: 'approval.request', approval });
  return approval;
}

/** Puts a handoff before a person. */
export async function requestHandoffApproval(
  handle: RunHandle,
  call: CallState,
  { to, brief, revision, asks }: { readonly to: string; readonly brief: string; readonly revision: number; readonly asks: readonly Ask[] },
): Promise<void> {
  const approval: HandoffApproval = deepFreeze({
    ...approvalOf(handle, {
      surface: 'handoff',
      subject: call.path,
      revision,
      givenRevision: 0,
      digest: await sha256Hex(canonicalJson({ to, brief })),
      asks,
      label: callLabel(handle, call),
    }),
    tool: call.call.name,
    callId: call.call.id,
    input: call.input,
    from: handle.state.agent,
    to,
    brief,
  });
  handle.append({ type: 'approval.request', approval });
}
