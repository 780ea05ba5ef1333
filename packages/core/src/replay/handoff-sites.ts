import type { Message } from '../model/types.js';
import { callLabel } from '../run/call-label.js';
import { messageText } from '../run/enter.js';
import type { RunHandle } from '../run/handle.js';
import { standOf } from '../run/plan.js';
import { judgeHandoff } from '../run/prepare-calls.js';
import { resolveView } from '../state/conversation.js';
import type { GuardVerdictEvent, HandoffEvent } from '../state/events.js';
import type { CallState } from '../state/state.js';
import { handoffHistory } from '../state/turn.js';
import { isRewritten } from './recorded.js';
import type { Replayed, Site } from './site.js';
import { enterAll } from './site.js';

/** A swap: the brief once more where what the target sees had changed, then what enters the target's view. */
export function* handoffSites({ recorded }: Replayed, handle: RunHandle, event: HandoffEvent): Iterable<Site> {
  const { state } = handle;
  const call = state.calls.get(event.callId);
  const target = handle.agents.get(event.to);
  const was = recorded.take(state.id);
  if (call === undefined || target === undefined) return;
  const everything = handoffHistory(state, event.callId);
  const history = event.view === 'all' ? everything : resolveView(everything, event.view);
  const entering = was.filter(({ surface }) => surface === 'input');
  const ofBrief = was.filter(({ surface }) => surface === 'handoff');
  if (wasAskedAgain(handle, call, { event, ofBrief })) yield briefSite(handle, call, { event, history, was: ofBrief, entering });
  const entry = event.entry.subject;
  const ask = () =>
    enterAll(handle, {
      subject: entry,
      about: event.callId,
      agent: event.to,
      fresh: [event.item],
      history,
      rewritten: writtenByFilter(event, everything),
      guards: standOf(target, handle.root.runGuards).input,
      stays: state.conversation.activations.length,
    });
  yield { event, handle, was: entering, entry, ask };
}

interface Swap {
  readonly event: HandoffEvent;
  readonly history: readonly Message[];
  readonly was: readonly GuardVerdictEvent[];
  readonly entering: readonly GuardVerdictEvent[];
}

/** A filter leaves no other trace than a view; where nothing was filtered, nothing could have changed. */
function wasAskedAgain(
  { state }: RunHandle,
  call: CallState,
  { event, ofBrief }: { readonly event: HandoffEvent; readonly ofBrief: readonly GuardVerdictEvent[] },
): boolean {
  const isReturned = call.phase === 'handoff';
  const isApproved = call.decision?.decision === 'approve';
  return isReturned || isApproved || state.calls.size > 1 || (event.view !== 'all' && ofBrief.length > 0);
}

function briefSite(handle: RunHandle, call: CallState, { event, history, was, entering }: Swap): Site {
  const key = `handoff ${call.path}`;
  const ask = () =>
    judgeHandoff(handle, {
      id: event.callId,
      about: event.callId,
      to: event.to,
      brief: event.brief,
      label: callLabel(handle, call),
      revision: event.revision,
      history,
      phases: call.phase !== 'handoff' && call.decision?.decision === 'approve' ? 'check' : 'both',
    });
  // The target's guardrails rewrote the history after the brief had been judged beside it.
  const isHistoryLost = isRewritten(entering.filter(({ subject }) => subject !== event.item.id));
  return { event, handle, was, ask, ...(isHistoryLost ? { unknown: new Map([[key, 'history' as const]]) } : {}) };
}

/** Messages whose text is another than the recorded one, and which no guardrail rewrote. */
function writtenByFilter({ view, revisions }: HandoffEvent, everything: readonly Message[]): ReadonlySet<string> | undefined {
  if (view === 'all') return undefined;
  const texts = new Map(everything.map((message) => [message.id, messageText(message)]));
  const ids = view.flatMap((each) =>
    typeof each === 'string' || 'role' in each || revisions?.[each.id] !== undefined || texts.get(each.id) === each.text ? [] : [each.id],
  );
  return ids.length === 0 ? undefined : new Set(ids);
}
