import { returnedHandoff } from '../define/definition.js';
import type { Wrapped } from '../define/detailed.js';
import { readDetailed } from '../define/detailed.js';
import type { ReturnedHandoff, ToolSpec } from '../define/specs.js';
import { readToolError } from '../define/tool-error.js';
import type { OutputSubject } from '../define/types.js';
import type { JsonValue, Label } from '../model/types.js';
import { capText } from '../project/cap.js';
import { describeIssues } from '../schema.js';
import type { Refusal } from '../state/events.js';
import { readJson } from './answer.js';
import { aroundOutput } from './around-output.js';
import type { Outcome } from './execute-tool.js';
import { failed } from './execute-tool.js';
import type { Ruling } from './guard.js';
import { judge } from './guard.js';
import { graceMs } from './handle.js';
import type { Misfit } from './in-time.js';
import { inTime, unread } from './in-time.js';
import { isPromise } from './is-promise.js';
import { coreLabel, errorEnd, unknownEnd, withheldEnd } from './observations.js';
import type { OpenCall, ToolEnd } from './open-call.js';
import { endCall } from './open-call.js';
import { outputOf, partOf, projectPart } from './part-output.js';
import { contentText, isNothing, plainOutput, saysNothing } from './plain-output.js';
import { standNow } from './plan.js';
import type { Projected } from './project-output.js';
import { budget, project } from './project-output.js';
import { rewriteText } from './rewrite-text.js';
import type { Output } from './tool-output.js';
import { judgeOutput, textOutput, toOutput } from './tool-output.js';

/** Judges an outcome on `toolOutput`, projects it, and records the end. */
export function finishCall(open: OpenCall, outcome: Exclude<Outcome, { kind: 'waiting' }>): Promise<void> | undefined {
  switch (outcome.kind) {
    case 'end':
      endCall(open, { ...outcome.end, revision: 0, chars: 0 });
      return undefined;
    case 'error':
      return finishError(open, outcome);
    case 'value': {
      const wrapped = readDetailed(outcome.value);
      const value = wrapped ? wrapped.output : outcome.value;
      if (readToolError(value)) return finishError(open, failed(open.tool, value));
      const returned = returnedHandoff(value);
      return returned ? finishReturned(open, returned) : finishValue(open, value, wrapped);
    }
    default:
      return outcome satisfies never;
  }
}

const labels = new WeakMap<ToolSpec, Label>();

function labelOf(tool: ToolSpec): Label {
  const known = labels.get(tool);
  if (known) return known;
  const label: Label = Object.freeze({ origin: `tool:${tool.name}`, integrity: tool.flow.results });
  labels.set(tool, label);
  return label;
}

async function finishError(open: OpenCall, { summary, errorClass, retryable }: Extract<Outcome, { kind: 'error' }>): Promise<void> {
  const label = labelOf(open.tool);
  const output = await aroundOutput(open, textOutput(summary));
  if (output === undefined) return endUnshown(open);
  const ruling = await judgeOutput(open, { output, form: 'output', isError: true, label });
  if (endIfHeld(open, ruling)) return;
  const words = capText(contentText(ruling.value.content), budget(open.handle)).text;
  endCall(open, {
    ...errorEnd({ status: 'error', errorClass, summary: words, retryable, label }),
    revision: ruling.revision,
    chars: words.length,
  });
}

async function finishReturned(open: OpenCall, returned: ReturnedHandoff): Promise<void> {
  const { handle, call, tool } = open;
  const output = await aroundOutput(open, textOutput(returned.text ?? `Handed off from ${handle.state.agent}.`));
  if (output === undefined) return endUnshown(open);
  const ruling = await judgeOutput(open, { output, form: 'output', isError: false, label: labelOf(tool) });
  if (endIfHeld(open, ruling)) return;
  handle.returned ??= new Map();
  handle.returned.set(call.call.id, returned);
  const to = typeof returned.target === 'string' ? returned.target : returned.target.name;
  const brief = contentText(ruling.value.content);
  endCall(open, {
    status: 'ok',
    content: `Handed off to ${to}.`,
    label: coreLabel,
    revision: ruling.revision,
    chars: brief.length,
    handoff: { to, brief, ...(returned.history ? { filtered: true as const } : {}) },
  });
}

async function finishValue(open: OpenCall, given: unknown, wrapped: Wrapped | undefined): Promise<void> {
  const { tool } = open;
  if (tool.output) {
    const parsing = inTime(open.handle, tool.output.parse(plainOutput(given).value), graceMs);
    const parsed = isPromise(parsing) ? await parsing : parsing;
    if (!parsed.ok) return endMisfit(open, parsed, { what: 'its result does not have its declared form', revision: 0, chars: 0 });
  }
  const label = labelOf(tool);
  const words = wrapped?.words;
  const showing = aroundOutput(open, outputOf(given, words));
  const shown = isPromise(showing) ? await showing : showing;
  if (shown === undefined) return endUnshown(open);
  const judging = judgeOutput(open, { output: shown, form: 'output', isError: false, label });
  const ruling = isPromise(judging) ? await judging : judging;
  if (endIfHeld(open, ruling)) return;
  const { value: output, revision } = ruling;
  const chars = contentText(output.content).length;

  let details: JsonValue | undefined;
  if (wrapped && 'details' in wrapped) {
    const shownDetails = await aroundOutput(open, toOutput(wrapped.details));
    if (shownDetails === undefined) return endUnshown(open);
    const judged = await judgeOutput(open, { output: shownDetails, form: 'details', isError: false, label });
    if (endIfHeld(open, judged, revision)) return;
    details = judged.value.value;
  }

  const part = words === undefined ? undefined : partOf(output);
  const projecting = part === undefined ? project(open, { output, label }) : projectPart(open, { output, part, label });
  const projected = isPromise(projecting) ? await projecting : projecting;
  if ('end' in projected) return endCall(open, { ...projected.end, ...told(projected), revision, chars });
  const end: WritableEnd = { status: 'ok', content: projected.content, label, revision, chars };
  describeShown(end, { projected, output, isPart: words !== undefined });
  if (output.isStructured) end.structured = true;
  if (details !== undefined) end.details = details;
  if (!tool.endsRun || (await addAnswer(open, part?.output ?? output, end))) endCall(open, end);
}

const told = ({ usage }: { readonly usage?: ToolEnd['projectionUsage'] }) => (usage === undefined ? {} : { projectionUsage: usage });

type WritableEnd = { -readonly [K in keyof ToolEnd]: ToolEnd[K] };

/** Tells how what is shown was made of the output, and how much of it is missing. */
function describeShown(
  end: WritableEnd,
  { projected, output, isPart }: { readonly projected: Projected; readonly output: Output; readonly isPart: boolean },
): void {
  const { note, by, usage, isWhole, content } = projected;
  if (note !== undefined) end.note = note;
  if (by !== undefined) end.projection = by;
  if (usage !== undefined) end.projectionUsage = usage;
  if (isPart || !isWhole) end.completeness = 'partial';
  else if (isNothing(output.content)) {
    end.completeness = 'empty';
    // Where it is not said already, by core or by the author.
    if (content === output.content && !saysNothing(content)) end.note = 'The result is empty.';
  }
}

/** Judges the result of a tool that ends the run as an answer, and adds that to the end. False: it may not cross, and the call was ended so. */
async function addAnswer(open: OpenCall, output: Output, end: WritableEnd): Promise<boolean> {
  const { handle } = open;
  const { revision, chars, label } = end;
  const answer = await judgeAnswer(open, output, label);
  if (endIfHeld(open, { ...answer, refusal: answer.refusal ?? askRefusal(answer.asks) }, revision)) return false;
  const { text, value } = answer.value;
  const { output: schema } = standNow(handle).agent;
  if (schema) {
    const parsing = inTime(handle, schema.parse(value ?? text), graceMs);
    const parsed = isPromise(parsing) ? await parsing : parsing;
    if (!parsed.ok) {
      endMisfit(open, parsed, { what: 'its result is no answer in the wanted form', revision, chars });
      return false;
    }
    keepAnswer(open, parsed.value);
  }
  end.answer = { text, ...(value === undefined ? {} : { value }), revision: answer.revision };
  if (answer.revision > 0) {
    // The result is the answer: it is kept in no other form than the one that passed.
    const { text: content, note } = capText(text, budget(handle));
    end.content = content;
    end.note = note;
    end.projection = undefined;
    if (note !== undefined) end.completeness = 'partial';
  }
  return true;
}

/** Of several tools that give an answer, the first in call order counts, whichever was faster. */
function keepAnswer({ handle, call }: OpenCall, value: unknown): void {
  const order = [...handle.state.calls.keys()];
  const before = order.indexOf(handle.answer?.callId ?? '');
  if (before < 0 || before > order.indexOf(call.call.id)) handle.answer = { value, callId: call.call.id };
}

/** Ends a call whose result may not cross; `revision` is the one that was judged last of the result itself. */
function endIfHeld(
  open: OpenCall,
  ruling: Pick<Ruling<unknown>, 'isStopped' | 'refusal' | 'revision'>,
  revision = ruling.revision,
): boolean {
  const { tool } = open;
  const { isStopped, refusal } = ruling;
  if (isStopped) {
    endCall(open, { ...unjudgedEnd(tool.name), revision: 0, chars: 0 });
    return true;
  }
  if (refusal === undefined) return false;
  endCall(open, { ...withheldEnd(tool.name, refusal), revision, chars: 0 });
  return true;
}

function askRefusal([ask]: Ruling<unknown>['asks']): Refusal | undefined {
  return (
    ask && { action: 'ask', surface: 'output', by: ask.by, reason: `${ask.reason} (an answer given by a tool cannot wait for a person)` }
  );
}

/** Ends a call whose result does not fit a schema, or was still being looked at when the run was stopped. */
function endMisfit(
  open: OpenCall,
  parsed: Misfit,
  { what, ...judged }: { readonly what: string; readonly revision: number; readonly chars: number },
): void {
  const { name } = open.tool;
  const summary = `${name} ran, but ${what}: ${describeIssues(parsed.issues)}`;
  const end = parsed === unread ? unjudgedEnd(name) : errorEnd({ status: 'error', errorClass: 'bad_result', summary });
  endCall(open, { ...end, ...judged });
}

const unjudgedEnd = (tool: string) => unknownEnd(tool, 'the run was stopped before its result was judged');

/** Ends a call whose texts could not be made into those that may be shown. */
function endUnshown(open: OpenCall): void {
  const summary = `${open.tool.name} ran; its result was withheld, because what is put around the tool failed on it.`;
  endCall(open, { ...errorEnd({ status: 'error', errorClass: 'failed', summary }), revision: 0, chars: 0 });
}

/** The result of a tool that ends the run is judged as an answer. */
function judgeAnswer({ handle, call }: OpenCall, output: Output, label: Label) {
  const { agent, output: guards } = standNow(handle);
  const given = { text: contentText(output.content), value: agent.output ? output.value : undefined };
  return judge<{ readonly text: string; readonly value: JsonValue | undefined }>(handle, {
    surface: 'output',
    subject: `${handle.state.id}/${call.call.id}`,
    revision: 0,
    value: given,
    guards,
    about: call.call.id,
    phases: 'both',
    canAsk: true,
    graceMs,
    toSubject: ({ text, value }): OutputSubject =>
      Object.freeze({ surface: 'output', content: text, label, value: value ?? text, final: true, kind: 'answer' }),
    rewrite: (current, by) => {
      const text = rewriteText(current.text, by);
      if (text === undefined) return undefined;
      if (current.value === undefined) return { value: { text, value: undefined } };
      const { value } = readJson(text);
      return value === undefined ? undefined : { value: { text, value } };
    },
  });
}
