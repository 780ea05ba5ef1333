import { resolveAgents } from '../../define/resolve.js';
import type { AgentSpec, HandoffSpec } from '../../define/specs.js';
import type { HistoryFilter } from '../../define/types.js';
import { GuardloopError } from '../../errors.js';
import type { Message, UserMessage } from '../../model/types.js';
import { isUntrustedView, withText } from '../../state/conversation.js';
import type { CallEnd, LimitName, Refusal, ViewEntry } from '../../state/events.js';
import { nextOfCall } from '../../state/next-step.js';
import type { CallState } from '../../state/state.js';
import { handoffHistory } from '../../state/turn.js';
import { enter, messageText } from '../enter.js';
import { readOnly } from '../guard.js';
import type { RunHandle } from '../handle.js';
import { isPromise } from '../is-promise.js';
import { keepPairs } from '../make-view.js';
import { deniedEnd, errorEnd, laterHandoffEnd, limitEnd } from '../observations.js';
import { endCall } from '../open-call.js';
import { deepFreeze } from '../plain-output.js';
import { manifestOf, standNow, standOf } from '../plan.js';
import { judgeHandoff } from '../prepare-calls.js';
import { callLabel, requestHandoffApproval } from './run-tools.js';

interface Wanted {
  readonly target: AgentSpec | undefined;
  readonly to: string;
  readonly brief: string;
  readonly filter: HistoryFilter | undefined;
  /** Why it cannot be done at all. */
  readonly problem?: string | undefined;
}

/** Swaps the active agent, or gives the old one an error observation: whatever fails here, the old agent stays. */
export async function handOff(handle: RunHandle, call: CallState): Promise<undefined> {
  const { state } = handle;
  const refuse = (end: CallEnd, limit?: LimitName): undefined => {
    const limited = limit === undefined ? {} : { limit };
    if (call.phase === 'handoff') handle.append({ ...end, type: 'handoff.refused', callId: call.call.id, ...limited });
    else endCall({ handle, call }, { ...end, revision: 0, chars: 0, ...limited });
    if (end.refusal?.action === 'halt') handle.abort({ kind: 'halt' });
    return undefined;
  };
  const failed = (why: string): undefined =>
    refuse(errorEnd({ status: 'error', errorClass: 'failed', summary: `The handoff failed: ${why} The conversation stays here.` }));
  const denied = (refusal: Refusal): undefined => refuse(deniedEnd(refusal));

  endLaterHandoffs(handle, call);
  if (state.usedHandoffs >= state.limits.handoffs) return refuse(limitEnd('handoffs'), 'handoffs');
  const wanted = findWanted(handle, call);
  const { target, to, brief } = wanted;
  if (target === undefined) return failed(wanted.problem ?? `there is no agent ${to}.`);

  const everything = handoffHistory(state, call.call.id);
  const filtered = wanted.filter ? await filterHistory(handle, wanted.filter, everything, to) : everything;
  if (handle.stop) return undefined;
  if (filtered === undefined)
    return failed(`its history filter threw, gave no list of the messages it was given, or parted a call from its result.`);

  // Of a handoff that a tool returned, a person has seen the tool's input at most.
  const isApproved = call.phase !== 'handoff' && call.decision?.decision === 'approve';
  let passedBrief = brief;
  let revision = call.phase === 'handoff' ? 0 : call.revision;
  if (wanted.filter || state.calls.size > 1 || isApproved || call.phase === 'handoff') {
    const judging = judgeHandoff(handle, {
      id: call.call.id,
      about: call.call.id,
      to,
      brief,
      label: callLabel(handle, call),
      revision,
      history: filtered,
      phases: isApproved ? 'check' : 'both',
    });
    const ruling = isPromise(judging) ? await judging : judging;
    if (ruling.isStopped) return undefined;
    if (ruling.refusal) return denied(ruling.refusal);
    if (ruling.asks.length > 0 && !isApproved) {
      if (call.phase === 'handoff') return failed('a person would have to allow it, and a handoff that a tool returned cannot wait.');
      await requestHandoffApproval(handle, call, { to, brief: ruling.value, revision: ruling.revision, asks: ruling.asks });
      return undefined;
    }
    passedBrief = ruling.value;
    revision = ruling.revision;
  }

  const stand = standOf(target, handle.root.runGuards);
  const subject = `${state.id}/${call.call.id}/input`;
  const label = { origin: `agent:${state.agent}`, integrity: isUntrustedView(state.conversation) ? 'untrusted' : 'trusted' } as const;
  const item: UserMessage = deepFreeze({
    role: 'user',
    id: `${state.id}/${call.call.id}/brief`,
    via: 'handoff',
    parts: [{ type: 'text', text: passedBrief, label }],
    label,
  });
  const rewritten = rewrittenIds(everything, filtered);
  const entered = await enter(handle, {
    subject,
    about: call.call.id,
    rewritten,
    agent: to,
    fresh: [item],
    history: filtered,
    guards: stand.input,
    stays: state.conversation.activations.length,
  });
  if (entered.isStopped) return undefined;
  if (entered.refusal) return denied(entered.refusal);

  const view = viewOf(everything, filtered, new Map(entered.changed.map(({ id, text }) => [id, text])));
  handle.append({
    type: 'handoff',
    callId: call.call.id,
    from: state.agent,
    to,
    brief: passedBrief,
    revision,
    view,
    item: entered.items[0] ?? item,
    ...(entered.revision > 0 ? { revisions: entered.revisions } : {}),
    entry: { subject, revision: entered.revision, judged: entered.judged },
    manifest: manifestOf(stand, handle.agents),
  });
  handle.plan = undefined;
  handle.answer = undefined;
  return undefined;
}

/** Of several handoffs in one answer only the first in call order is tried: those that tools returned count with the others. */
function endLaterHandoffs(handle: RunHandle, first: CallState): void {
  for (const call of [...handle.state.calls.values()]) {
    if (call === first || nextOfCall(handle.state, call) !== 'handoff') continue;
    if (call.phase === 'handoff') handle.append({ ...laterHandoffEnd(), type: 'handoff.refused', callId: call.call.id });
    else endCall({ handle, call }, { ...laterHandoffEnd(), revision: 0, chars: 0 });
  }
}

function findWanted(handle: RunHandle, call: CallState): Wanted {
  if (call.phase === 'handoff' && call.returned) {
    const { to, brief, filtered } = call.returned;
    const returned = handle.returned?.get(call.call.id);
    if (returned === undefined && filtered)
      return {
        target: undefined,
        to,
        brief,
        filter: undefined,
        problem: 'the run was interrupted before it, and its history filter was lost. Ask for it again.',
      };
    const given = returned && typeof returned.target !== 'string' ? returned.target : undefined;
    const known = handle.agents.get(to);
    if (given && known && given !== known)
      return { target: undefined, to, brief, filter: undefined, problem: `two different agents are named ${to}.` };
    if (given && known === undefined) {
      try {
        const reach = resolveAgents(given);
        for (const agent of reach.values()) standOf(agent, handle.root.runGuards);
        handle.agents = new Map([...reach, ...handle.agents]);
      } catch (thrown) {
        const problem = GuardloopError.is(thrown) ? thrown.message : `agent ${to} cannot be used here.`;
        return { target: undefined, to, brief, filter: undefined, problem };
      }
    }
    return { target: given ?? known, to, brief, filter: returned?.history };
  }
  const to = call.call.handoff?.to ?? '';
  const spec = standNow(handle).agent.handoffs.find((each: HandoffSpec) => each.name === call.call.name);
  return { target: handle.agents.get(to), to, brief: call.brief ?? call.call.handoff?.brief ?? '', filter: spec?.history };
}

/** What the filter chose, of the messages themselves with the texts that it gave them; undefined when it makes no sense. */
async function filterHistory(
  handle: RunHandle,
  filter: HistoryFilter,
  everything: readonly Message[],
  to: string,
): Promise<readonly Message[] | undefined> {
  try {
    const { signal } = handle;
    const given = filter(readOnly(everything), { context: handle.root.context, from: handle.state.agent, to, signal });
    const settled = isPromise(given) ? await handle.wait(given) : ({ kind: 'value', value: given } as const);
    if (settled.kind !== 'value' || !Array.isArray(settled.value)) return undefined;
    const known = new Map(everything.map((message) => [message.id, message]));
    const seen = new Set<string>();
    const chosen: Message[] = [];
    for (const message of settled.value as readonly Message[]) {
      const original = known.get(message.id);
      if (original === undefined || original.role !== message.role || seen.has(message.id)) return undefined;
      seen.add(original.id);
      const text = messageText(message);
      if (typeof text !== 'string') return undefined;
      chosen.push(text === messageText(original) ? original : withText(original, text));
    }
    return keepPairs(chosen).length === chosen.length ? chosen : undefined;
  } catch {
    return undefined;
  }
}

/** Messages whose text the filter wrote: nobody has judged it. */
function rewrittenIds(everything: readonly Message[], chosen: readonly Message[]): ReadonlySet<string> | undefined {
  if (chosen === everything) return undefined;
  const originals = new Map(everything.map((message) => [message.id, message]));
  const ids = new Set<string>();
  for (const message of chosen) {
    const original = originals.get(message.id);
    if (original !== message && (original === undefined || messageText(original) !== messageText(message))) ids.add(message.id);
  }
  return ids.size === 0 ? undefined : ids;
}

/** The target's view as the log keeps it. */
function viewOf(
  everything: readonly Message[],
  chosen: readonly Message[],
  changed: ReadonlyMap<string, string>,
): 'all' | readonly ViewEntry[] {
  if (chosen === everything && changed.size === 0) return 'all';
  const originals = new Map(everything.map((message) => [message.id, messageText(message)]));
  return chosen.map((message) => {
    const text = changed.get(message.id) ?? messageText(message);
    return text === originals.get(message.id) ? message.id : { id: message.id, text };
  });
}
