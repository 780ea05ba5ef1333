import { property } from '../define/definition-reader.js';
import type { ToolSpec } from '../define/specs.js';
import type { JsonObject, Label } from '../model/types.js';
import { readJson } from '../run/answer.js';
import { callLabel } from '../run/call-label.js';
import { noteCall } from '../run/calls-beside.js';
import type { RunHandle } from '../run/handle.js';
import { judgeAnswer } from '../run/judge-answer.js';
import { contentText, deepFreeze } from '../run/plain-output.js';
import { standNow } from '../run/plan.js';
import { judgeToolInput } from '../run/prepare-calls.js';
import { budget, tellsOfCut } from '../run/project-output.js';
import type { Output } from '../run/tool-output.js';
import { judgeOutput, textOutput, toOutput } from '../run/tool-output.js';
import type { ApprovalResolveEvent, GuardVerdictEvent, ToolEndEvent, ToolStartEvent } from '../state/events.js';
import type { CallState } from '../state/state.js';
import type { Replayed, Site } from './site.js';
import { everything } from './site.js';
import type { UnknownWhy } from './types.js';

interface InputMatter {
  readonly id: string;
  readonly name: string;
  readonly raw: JsonObject;
  readonly label: Label;
  readonly revision: number;
  readonly phases: 'both' | 'check';
}

export const toolOf = (handle: RunHandle, name: string): ToolSpec | undefined =>
  standNow(handle).agent.tools.find((tool) => tool.name === name);

/** Asks about a recorded input; what its tool's schema does not take any more is shown as it was written. */
export async function judgeInput(handle: RunHandle, { id, name, raw, label, revision, phases }: InputMatter): Promise<void> {
  const spec = toolOf(handle, name);
  if (spec === undefined) return;
  // Those of one answer are asked about before it is folded.
  if (!handle.state.calls.has(id)) noteCall(handle, id, { tool: name, input: raw });
  const parsed = await spec.input.parse(raw);
  const input = { raw, parsed: parsed.ok ? deepFreeze(parsed.value) : raw };
  await judgeToolInput(handle, { id, spec, input, label, revision, phases });
}

const isOf = (path: string) => (verdict: GuardVerdictEvent) => verdict.subject === path || verdict.subject.startsWith(`${path}/`);

/** A person's edit, in the form that passed. */
export function editSites({ recorded }: Replayed, handle: RunHandle, event: ApprovalResolveEvent): readonly Site[] {
  if (event.decision !== 'edit') return [];
  const call = [...handle.state.calls.values()].find(({ approval }) => approval?.id === event.id);
  if (call === undefined) return [];
  const was = recorded.take(handle.state.id, isOf(call.path));
  const { input: raw, revision } = event;
  if (raw === undefined) return [{ event, handle, was, unknown: new Map([[`toolInput ${call.path}`, 'refused']]) }];
  const { id, name } = call.call;
  return [
    { event, handle, was, ask: () => judgeInput(handle, { id, name, raw, label: callLabel(handle, call), revision, phases: 'both' }) },
  ];
}

const checkAgain = (handle: RunHandle, call: CallState) => () =>
  judgeInput(handle, {
    id: call.call.id,
    name: call.call.name,
    raw: call.input,
    label: callLabel(handle, call),
    revision: call.revision,
    phases: 'check',
  });

/** After an approval the checks are asked again. */
export function startSites({ recorded }: Replayed, handle: RunHandle, event: ToolStartEvent): readonly Site[] {
  const call = handle.state.calls.get(event.callId);
  if (call === undefined) return [];
  const was = recorded.take(handle.state.id, isOf(call.path));
  return call.decision?.decision === 'approve' ? [{ event, handle, was, ask: checkAgain(handle, call) }] : [];
}

export function endSites({ recorded }: Replayed, handle: RunHandle, event: ToolEndEvent): readonly Site[] {
  const call = handle.state.calls.get(event.callId);
  if (call === undefined) return [];
  const { refusal } = event;
  const isHandoff = call.call.kind === 'handoff';
  const was = recorded.take(handle.state.id, (verdict) => isOf(call.path)(verdict) || (isHandoff && verdict.surface === 'input'));
  if (isHandoff) return was.length === 0 ? [] : [{ event, handle, was, unknown: everything(was, 'history') }];
  if (refusal?.surface === 'toolInput' && call.decision?.decision === 'approve')
    return [{ event, handle, was, ask: checkAgain(handle, call) }];
  if (event.status === 'unknown' || event.copyOf !== undefined || (event.status !== 'ok' && event.status !== 'error')) return [];
  const spec = toolOf(handle, event.tool);
  if (spec === undefined) return [];
  if (refusal) return refusal.surface === 'toolOutput' || refusal.surface === 'output' ? [withheld({ event, handle, was }, call)] : [];
  return [resultSite({ event, handle, was }, { call, spec, event })];
}

function withheld(site: Site, { path }: CallState): Site {
  return { ...site, unknown: new Map([[`toolOutput ${path}`, 'refused'], ...everything(site.was, 'refused')]) };
}

interface Result {
  readonly call: CallState;
  readonly spec: ToolSpec;
  readonly event: ToolEndEvent;
}

/** What a tool gave, its details, its user's projection, and the answer that it is. */
function resultSite(site: Site, { call, spec, event }: Result): Site {
  const { handle } = site;
  const open = { handle, call, tool: spec };
  const { label, details, answer, projection } = event;
  const output = outputOf(handle, event);
  const unknown = new Map<string, UnknownWhy>();
  if (output === 'cut') unknown.set(`toolOutput ${call.path}`, 'cut');
  if (projection === 'user' && tellsOfCut(event.note)) unknown.set(`toolOutput ${call.path}/projected`, 'cut');
  const isError = event.status === 'error';
  const ask = async () => {
    if (typeof output === 'object') await judgeOutput(open, { output, form: 'output', isError, label });
    if (details !== undefined) await judgeOutput(open, { output: toOutput(details), form: 'details', isError: false, label });
    if (projection === 'user' && !tellsOfCut(event.note))
      await judgeOutput(open, { output: textOutput(contentText(event.content)), form: 'projected', isError: false, label });
    if (answer)
      await judgeAnswer(handle, { text: answer.text, value: answer.value }, { label, subject: call.path, kind: 'answer', isFinal: true });
  };
  // What was judged of a result that then could not be shown is not recorded.
  if (output === undefined) for (const [key, why] of everything(site.was, 'unrecorded')) unknown.set(key, why);
  return { ...site, unknown, answer: call.path, ask };
}

/** The whole of what was judged, as far as the log holds it. `undefined`: core's own words, which nobody judged. */
function outputOf(handle: RunHandle, event: ToolEndEvent): Output | 'cut' | undefined {
  const { content, chars, handoff, projection, structured } = event;
  if (handoff) return textOutput(handoff.brief);
  if (event.status === 'error') return wordsOf(handle, event);
  if (projection !== undefined || contentText(content).length !== chars) return 'cut';
  if (!structured) return typeof content === 'string' ? textOutput(content) : { content, value: contentText(content), isStructured: false };
  const value = typeof content === 'string' ? readJson(content).value : undefined;
  return value === undefined ? 'cut' : { content, value, isStructured: true };
}

/** A tool's own words about its failure. */
function wordsOf(handle: RunHandle, { content, chars, label }: ToolEndEvent): Output | 'cut' | undefined {
  if (!label.origin.startsWith('tool:') || typeof content !== 'string') return undefined;
  const summary = property(readJson(content).value, 'summary');
  if (typeof summary !== 'string' || summary.length !== chars) return undefined;
  return chars < budget(handle) ? textOutput(summary) : 'cut';
}
