import { resolveAgents } from '../../define/resolve.js';
import type { AgentSpec, HandoffSpec } from '../../define/specs.js';
import type { HistoryFilter } from '../../define/types.js';
import { GuardloopError } from '../../errors.js';
import type { Message, UserMessage } from '../../model/types.js';
import { isUntrustedView, withText } from '../../state/conversation.js';
import type { CallEnd, LimitName, RecordedCall, ViewEntry, ViewText } from '../../state/events.js';
import { nextOfCall } from '../../state/next-step.js';
import type { CallState } from '../../state/state.js';
import { handoffHistory } from '../../state/turn.js';
import { callLabel } from '../call-label.js';
import { enter, messageText } from '../enter.js';
import type { RunHandle } from '../handle.js';
import { isPromise } from '../is-promise.js';
import { keepPairs } from '../make-view.js';
import { deniedEnd, errorEnd, laterHandoffEnd, limitEnd } from '../observations.js';
import { endCall } from '../open-call.js';
import { deepFreeze } from '../plain-output.js';
import { manifestOf, standNow, standOf } from '../plan.js';
import { judgeHandoff } from '../prepare-calls.js';
import { readOnly } from '../read-only.js';
import { requestHandoffApproval } from '../request-approval.js';

interface Wanted {
  readonly target: AgentSpec | undefined;
  readonly to: string;
  readonly brief: string;
  readonly filter: HistoryFilter | undefined;
  /** Why it cannot be done at all. */
  readonly problem?: string | undefined;
}

/** What the target is to see of the history. */
interface Chosen {
  readonly messages: readonly Message[];
  /** Ids of messages whose text the filter wrote: nobody has judged it. Undefined where there is no filter. */
  readonly rewritten?: ReadonlySet<string>;
}

/** Swaps the active agent, or gives the old one an error observation: whatever fails here, the old agent stays. */
export async function handOff(handle: RunHandle, call: CallState): Promise<undefined> {
  const { state } = handle;
  endLaterHandoffs(handle, call);
  if (state.usedHandoffs >= state.limits.handoffs) return refuse(handle, call, { ...limitEnd('handoffs'), limit: 'handoffs' });
  const wanted = findWanted(handle, call);
  const { target, to } = wanted;
  if (target === undefined) return fail(handle, call, wanted.problem ?? `there is no agent ${to}.`);

  const everything = handoffHistory(state, call.call.id);
  const chosen = wanted.filter ? await filterHistory(handle, everything, { filter: wanted.filter, to }) : { messages: everything };
  if (handle.stop) return undefined;
  if (chosen === undefined)
    return fail(handle, call, 'its history filter threw, gave no list of the messages it was given, or parted a call from its result.');

  const { messages: history, rewritten } = chosen;
  const brief = await passBrief(handle, call, { wanted, history });
  if (brief === undefined) return undefined;

  const stand = standOf(target, handle.root.runGuards);
  const subject = `${state.id}/${call.call.id}/input`;
  const item = briefItem(handle, call, brief.text);
  const entered = await enter(handle, {
    subject,
    about: call.call.id,
    rewritten,
    agent: to,
    fresh: [item],
    history,
    guards: stand.input,
    stays: state.conversation.activations.length,
  });
  if (entered.isStopped) return undefined;
  if (entered.refusal) return refuse(handle, call, deniedEnd(entered.refusal));

  handle.append({
    type: 'handoff',
    callId: call.call.id,
    from: state.agent,
    to,
    brief: brief.text,
    revision: brief.revision,
    view: viewOf(chosen, entered.changed),
    item: entered.items[0] ?? item,
    ...(entered.revision > 0 ? { revisions: entered.revisions } : {}),
    entry: { subject, revision: entered.revision, judged: entered.judged },
    manifest: manifestOf(stand, handle.agents),
  });
  handle.plan = undefined;
  handle.answer = undefined;
  return undefined;
}

function refuse(handle: RunHandle, call: CallState, end: CallEnd & { readonly limit?: LimitName }): undefined {
  if (call.phase === 'handoff') handle.append({ ...end, type: 'handoff.refused', callId: call.call.id });
  else endCall({ handle, call }, { ...end, revision: 0, chars: 0 });
  if (end.refusal?.action === 'halt') handle.abort({ kind: 'halt' });
  return undefined;
}

function fail(handle: RunHandle, call: CallState, why: string): undefined {
  const summary = `The handoff failed: ${why} The conversation stays here.`;
  return refuse(handle, call, errorEnd({ status: 'error', errorClass: 'failed', summary }));
}

/** The brief in the form that may cross, asked about again where what the target will see has changed since. Undefined: the handoff is refused, waits for a person, or the run was stopped. */
async function passBrief(
  handle: RunHandle,
  call: CallState,
  { wanted, history }: { readonly wanted: Wanted; readonly history: readonly Message[] },
): Promise<{ readonly text: string; readonly revision: number } | undefined> {
  const { to, brief } = wanted;
  const isReturned = call.phase === 'handoff';
  // Of a handoff that a tool returned, a person has seen the tool's input at most.
  const isApproved = !isReturned && call.decision?.decision === 'approve';
  const revision = isReturned ? 0 : call.revision;
  // Of a handoff that a tool returned, the tool's own call was asked about.
  const suspected = isReturned ? undefined : handle.state.suspected;
  if (!isReturned && !isApproved && suspected === undefined && wanted.filter === undefined && handle.state.calls.size === 1)
    return { text: brief, revision };
  const ruling = await judgeHandoff(handle, {
    id: call.call.id,
    about: call.call.id,
    to,
    brief,
    label: callLabel(handle, call),
    revision,
    history,
    phases: isApproved ? 'check' : 'both',
  });
  if (ruling.isStopped) return undefined;
  if (ruling.refusal) return refuse(handle, call, deniedEnd(ruling.refusal));
  const asks = suspected === undefined ? ruling.asks : [...ruling.asks, { by: 'core', reason: suspected }];
  if (asks.length === 0 || isApproved) return { text: ruling.value, revision: ruling.revision };
  if (isReturned) return fail(handle, call, 'a person would have to allow it, and a handoff that a tool returned cannot wait.');
  await requestHandoffApproval(handle, call, { to, brief: ruling.value, revision: ruling.revision, asks });
  return undefined;
}

function briefItem({ state }: RunHandle, { call }: CallState, text: string): UserMessage {
  const label = { origin: `agent:${state.agent}`, integrity: isUntrustedView(state.conversation) ? 'untrusted' : 'trusted' } as const;
  return deepFreeze({ role: 'user', id: `${state.id}/${call.id}/brief`, via: 'handoff', parts: [{ type: 'text', text, label }], label });
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
  if (call.returned) return findReturned(handle, call.call.id, call.returned);
  const { to, brief } = call.call.handoff as NonNullable<RecordedCall['handoff']>;
  const spec = standNow(handle).agent.handoffs.find((each: HandoffSpec) => each.name === call.call.name);
  return { target: handle.agents.get(to), to, brief: call.brief ?? brief, filter: spec?.history };
}

/** What a tool returned, whose agent may not have been known before. */
function findReturned(handle: RunHandle, callId: string, { to, brief, filtered }: NonNullable<CallState['returned']>): Wanted {
  const unusable = (problem: string): Wanted => ({ target: undefined, to, brief, filter: undefined, problem });
  const returned = handle.returned?.get(callId);
  if (returned === undefined && filtered)
    return unusable('the run was interrupted before it, and its history filter was lost. Ask for it again.');
  const given = returned && typeof returned.target !== 'string' ? returned.target : undefined;
  const known = handle.agents.get(to);
  if (given && given !== known) {
    if (known) return unusable(`two different agents are named ${to}.`);
    try {
      const reach = resolveAgents(given);
      for (const agent of reach.values()) standOf(agent, handle.root.runGuards);
      handle.agents = new Map([...reach, ...handle.agents]);
    } catch (thrown) {
      return unusable(GuardloopError.is(thrown) ? thrown.message : `agent ${to} cannot be used here.`);
    }
  }
  return { target: given ?? known, to, brief, filter: returned?.history };
}

/** What the filter chose, of the messages themselves with the texts that it gave them; undefined when it makes no sense. */
async function filterHistory(
  handle: RunHandle,
  everything: readonly Message[],
  { filter, to }: { readonly filter: HistoryFilter; readonly to: string },
): Promise<Chosen | undefined> {
  try {
    const { signal } = handle;
    const given = filter(readOnly(everything), { context: handle.root.context, from: handle.state.agent, to, signal });
    const settled = isPromise(given) ? await handle.wait(given) : ({ kind: 'value', value: given } as const);
    if (settled.kind !== 'value' || !Array.isArray(settled.value)) return undefined;
    const known = new Map(everything.map((message) => [message.id, message]));
    const seen = new Set<string>();
    const rewritten = new Set<string>();
    const messages: Message[] = [];
    for (const message of settled.value as readonly Message[]) {
      const original = known.get(message.id);
      if (original === undefined || original.role !== message.role || seen.has(message.id)) return undefined;
      seen.add(original.id);
      const text = messageText(message);
      if (typeof text !== 'string') return undefined;
      const isRewritten = text !== messageText(original);
      if (isRewritten) rewritten.add(original.id);
      messages.push(isRewritten ? withText(original, text) : original);
    }
    return keepPairs(messages).length === messages.length ? { messages, rewritten } : undefined;
  } catch {
    // It gave nothing that can be used.
  }
  return undefined;
}

/** The target's view as the log keeps it. */
function viewOf({ messages, rewritten }: Chosen, changed: readonly ViewText[]): 'all' | readonly ViewEntry[] {
  if (rewritten === undefined && changed.length === 0) return 'all';
  const changes = new Map(changed.map((change) => [change.id, change]));
  return messages.map(
    (message) => changes.get(message.id) ?? (rewritten?.has(message.id) ? { id: message.id, text: messageText(message) } : message.id),
  );
}
