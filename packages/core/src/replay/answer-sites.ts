import type { RunHandle } from '../run/handle.js';
import { judgeAnswer } from '../run/judge-answer.js';
import { standNow } from '../run/plan.js';
import { judgeHandoff } from '../run/prepare-calls.js';
import { Release } from '../run/release.js';
import type { GuardVerdictEvent, ModelEndEvent, RecordedCall } from '../state/events.js';
import { judgeInput } from './call-sites.js';
import type { Replayed, Site } from './site.js';
import { everything } from './site.js';
import type { UnknownWhy } from './types.js';

/** An answer: its shown reasoning and its text, then its calls. */
export function* answerSites({ recorded, quarantined }: Replayed, handle: RunHandle, event: ModelEndEvent): Iterable<Site> {
  const { id: run } = handle.state;
  const was = [...(quarantined.get(run)?.was ?? []), ...recorded.take(run)];
  const isVoid = event.status === 'aborted' || event.status === 'failed';
  if (!isVoid) quarantined.delete(run);
  if (isVoid || event.empty) return;
  if (event.status === 'refused') {
    if (event.refusal?.by !== 'model') yield { event, handle, was, unknown: refusedAnswer(event, was) };
    return;
  }
  const isAbout = (surface: 'output' | 'calls') => (verdict: GuardVerdictEvent) =>
    (verdict.surface === 'output') === (surface === 'output');
  yield { event, handle, was: was.filter(isAbout('output')), answer: event.id, ask: () => judgeSaid(handle, event) };
  if (event.calls.length > 0) yield callsSite(handle, event, was.filter(isAbout('calls')));
}

function refusedAnswer({ id, refusal }: ModelEndEvent, was: readonly GuardVerdictEvent[]): ReadonlyMap<string, UnknownWhy> {
  const why = refusal ? 'refused' : 'unrecorded';
  return new Map([...everything(was, why), [`output ${id}`, why]]);
}

async function judgeSaid(handle: RunHandle, { id, turn, text, value, reasoning, label, calls, continues }: ModelEndEvent): Promise<void> {
  const isFinal = (calls.length === 0 || (handle.state.finalizing !== undefined && text !== '')) && continues === undefined;
  if (reasoning !== undefined)
    await judgeAnswer(handle, { text: reasoning, value: undefined }, { label, subject: `${id}/reasoning`, kind: 'reasoning', isFinal });
  if (text === '') return;
  const release = new Release(handle, { turn, guards: standNow(handle).output, isStructured: value !== undefined, label });
  if (release.mode === 'window') {
    await release.push(text);
    await release.finish(id);
  } else await judgeAnswer(handle, { text, value }, { label, subject: id, kind: 'answer', isFinal });
}

/** All calls of an answer are judged together. */
function callsSite(handle: RunHandle, event: ModelEndEvent, was: readonly GuardVerdictEvent[]): Site {
  const { id: run } = handle.state;
  const unknown = new Map<string, UnknownWhy>();
  for (const { id, kind, end } of event.calls)
    if (end?.refusal) unknown.set(`${kind === 'handoff' ? 'handoff' : 'toolInput'} ${run}/${id}`, 'refused');
  const ask = () => Promise.all(event.calls.map((call) => (call.end ? undefined : judgeCall(handle, call, event))));
  return { event, handle, was, unknown, ask };
}

function judgeCall(handle: RunHandle, call: RecordedCall, { label }: ModelEndEvent): unknown {
  const { id, revision } = call;
  if (call.handoff) {
    const { to, brief } = call.handoff;
    return judgeHandoff(handle, { id, to, brief, label, revision, history: handle.messages, phases: 'both' });
  }
  return judgeInput(handle, { id, name: call.name, raw: call.input, label, revision, phases: 'both' });
}
