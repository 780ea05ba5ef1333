import type { JsonObject } from '../../model/types.js';
import { canonicalJson } from '../../state/canonical-json.js';
import { sha256Hex } from '../../state/digest.js';
import type { Approval } from '../../state/events.js';
import { callLabel } from '../call-label.js';
import { finishCall } from '../finish-call.js';
import type { RunHandle } from '../handle.js';
import { inTime } from '../in-time.js';
import { deniedEnd } from '../observations.js';
import type { OpenCall } from '../open-call.js';
import { endCall } from '../open-call.js';
import { deepFreeze } from '../plain-output.js';
import { judgeToolInput, runsOnce } from '../prepare-calls.js';
import { changedFields } from '../request-approval.js';
import { runCall } from '../run-call.js';
import { childHandle } from '../run-child.js';
import { toolOf } from './run-tools.js';

/** Judges what people gave with their decisions, edits and results, before it enters the log; in child runs too. */
export async function applyDecisions(handle: RunHandle): Promise<void> {
  const { root, state } = handle;
  const { given } = root;
  if (given === undefined) return;
  for (const call of [...state.calls.values()]) {
    if (handle.stop) return;
    const tool = toolOf(handle, call);
    if (tool === undefined) continue;
    const open: OpenCall = { handle, call, tool };
    if (call.approval) {
      const { id } = call.approval;
      const edit = given.edits.get(id);
      if (edit) await applyEdit(open, edit);
      else if (given.results.has(id)) await applyResult(open, given.results.get(id));
      continue;
    }
    if (call.phase === 'started' && tool.agent && state.children?.has(call.call.id)) {
      const child = childHandle(open, tool.agent, '');
      const off = handle.onStop(() => child.abort({ kind: 'parent' }));
      await applyDecisions(child);
      off();
      // A halt down there ends the child, then the call here, before anything else goes on.
      if (child.state.ending?.status === 'blocked') await runCall(open, undefined);
    }
  }
}

/** An edit goes through both phases; if a rewrite changed it, a person is asked anew. */
async function applyEdit(open: OpenCall, edit: JsonObject): Promise<void> {
  const { handle, call, tool } = open;
  const approval = call.approval as Approval;
  const parsed = await inTime(handle, tool.input.parse(edit));
  const { id } = call.call;
  const base = resolved(handle, approval);
  if (!parsed.ok) return;
  const revision = call.revision + 1;
  const ruling = await judgeToolInput(handle, {
    id,
    about: id,
    spec: tool,
    input: { raw: deepFreeze(edit), parsed: deepFreeze(parsed.value) },
    label: callLabel(handle, call),
    revision,
    phases: 'both',
  });
  if (ruling.isStopped) return;
  if (ruling.refusal) {
    // The edit is not recorded: a guardrail refused it.
    handle.append({ ...base, decision: 'edit', revision: ruling.revision, digest: approval.digest });
    endCall(open, { ...deniedEnd(ruling.refusal), revision: ruling.revision, chars: 0 });
    return;
  }
  const { raw } = ruling.value;
  const digest = await sha256Hex(canonicalJson(raw));
  const isChanged = ruling.revision > revision;
  const asks = [{ by: 'core', reason: 'a guardrail changed the edited input' }, ...ruling.asks];
  handle.append({
    ...base,
    decision: 'edit',
    revision: ruling.revision,
    digest,
    input: raw,
    ...(isChanged ? { changed: true as const, asks, changedFields: changedFields(edit, raw) } : {}),
  });
}

function resolved({ root }: RunHandle, { id, subject }: Approval) {
  const decidedBy = root.given?.deciders.get(id);
  const base = { type: 'approval.resolve', id, subject } as const;
  return decidedBy === undefined ? base : { ...base, decidedBy };
}

/** The result that a caller, or a person who looked, gives for a call. */
async function applyResult(open: OpenCall, result: unknown): Promise<void> {
  const approval = open.call.approval as Approval;
  open.handle.append({
    ...resolved(open.handle, approval),
    decision: 'result',
    revision: approval.revision,
    digest: approval.digest,
    ...(runsOnce(open.tool) ? { once: true as const } : {}),
  });
  await finishCall(open, { kind: 'value', value: result });
}
