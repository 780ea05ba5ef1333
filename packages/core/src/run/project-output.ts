import type { ProjectFunction } from '../define/specs.js';
import type { ProjectionInfo } from '../define/types.js';
import type { Label, Part } from '../model/types.js';
import type { ModelShare } from '../model/usage.js';
import { capText, resultCapChars, tellsOfCut, turnCapChars } from '../project/cap.js';
import type { Shown } from '../project/own-projection.js';
import { showOf } from '../project/own-projection.js';
import type { CallEnd } from '../state/events.js';
import { addTo } from './add-to.js';
import { argumentsOf } from './argument-fields.js';
import type { RunHandle } from './handle.js';
import { graceMs } from './handle.js';
import { isPromise } from './is-promise.js';
import { errorEnd, unknownEnd, withheldEnd } from './observations.js';
import type { OpenCall } from './open-call.js';
import { contentText, deepFreeze } from './plain-output.js';
import { standNow } from './plan.js';
import { readShare } from './read-share.js';
import type { Output } from './tool-output.js';
import { judgeOutput, textOutput } from './tool-output.js';

export { tellsOfCut };

/** Characters that one result of this turn may take. */
export function budget(handle: RunHandle): number {
  return Math.min(resultCapChars, Math.floor(turnCapChars / handle.state.calls.size));
}

/** What the model sees of a tool's output. */
export interface Projected {
  readonly content: string | readonly Part[];
  readonly isWhole: boolean;
  readonly note?: string | undefined;
  readonly by?: 'core' | 'user' | undefined;
  /** What the projection told that it used. */
  readonly usage?: readonly ModelShare[] | undefined;
}

type ProjectedOrEnd = Projected | ({ readonly end: CallEnd } & Pick<Projected, 'usage'>);

interface Projecting {
  /** That has passed. */
  readonly output: Output;
  readonly label: Label;
  /** What is put around the projection's text, before anyone looks at it. */
  readonly enclose?: ((text: string) => string) | undefined;
}

/** Makes the model's form of an output: by the tool's projection, the run's, or else the cap. */
export function project(open: OpenCall, projecting: Projecting): ProjectedOrEnd | Promise<ProjectedOrEnd> {
  const projection = open.tool.project ?? open.handle.root.settings.project;
  return projection === undefined ? cap(open.handle, projecting.output.content) : projectWith(projection, open, projecting);
}

async function projectWith(projection: ProjectFunction, open: OpenCall, projecting: Projecting): Promise<ProjectedOrEnd> {
  let usage: ModelShare[] | undefined;
  const used = (share: ModelShare): void => {
    usage = addTo(usage, readShare(share, `The projection of ${open.tool.name} told something that it used which`));
  };
  const projected = await projectedBy(projection, open, { ...projecting, used });
  return usage === undefined ? projected : { ...projected, usage: [...usage] };
}

async function projectedBy(
  projection: ProjectFunction,
  open: OpenCall,
  { output, label, enclose = (text) => text, used }: Projecting & Pick<ProjectionInfo, 'used'>,
): Promise<ProjectedOrEnd> {
  const { handle, call, tool } = open;
  const whole = contentText(output.content);
  const show = showOf(projection);
  let made: unknown;
  try {
    const info: ProjectionInfo = {
      context: handle.root.context,
      run: handle.state.id,
      tool: tool.name,
      callId: call.call.id,
      content: whole,
      arguments: argumentsOf(standNow(handle)),
      signal: handle.signal,
      used,
    };
    const given: unknown = show === undefined ? projection(output.value as never, info) : show(output.value, info);
    if (isPromise(given)) {
      const settled = await handle.wait(given, undefined, graceMs);
      if (settled.kind === 'stopped') return { end: unknownEnd(tool.name, 'the run was stopped before its result could be shown') };
      made = settled.kind === 'value' ? settled.value : undefined;
    } else made = given;
  } catch {
    // What it threw may quote the output, and is told as what gives no text is.
  }
  if (show !== undefined && made !== undefined) {
    const { text, isWhole, note, isReworded } = made as Shown;
    if (isReworded && text !== output.content) {
      const reworded = await judgeProjected(open, enclose(text), label);
      return 'end' in reworded ? reworded : { content: withMedia(reworded.text, output.content), isWhole, note, by: 'user' };
    }
    return text === output.content
      ? { content: enclose(text), isWhole, note }
      : { content: withMedia(enclose(text), output.content), isWhole, note, by: 'core' };
  }
  if (typeof made !== 'string') {
    const summary = `${tool.name} ran, but its result could not be shown: its projection failed.`;
    return { end: errorEnd({ status: 'error', errorClass: 'failed', summary, label }) };
  }
  const judged = await judgeProjected(open, enclose(made), label);
  if ('end' in judged) return judged;
  const capped = cap(handle, judged.text);
  if (!capped.isWhole || made.length >= whole.length) return { ...capped, by: 'user' };
  const note = `This is a shorter form of the result: ${made.length} of its ${whole.length} characters.`;
  return { content: capped.content, isWhole: false, note, by: 'user' };
}

/** The text in the form that passed. */
async function judgeProjected(open: OpenCall, text: string, label: Label): Promise<{ readonly text: string } | { readonly end: CallEnd }> {
  const { handle, tool } = open;
  const ruling = await judgeOutput(open, { output: textOutput(text), form: 'projected', isError: false, label });
  if (ruling.isStopped) return { end: unknownEnd(tool.name, 'the run was stopped before its result was judged') };
  if (ruling.refusal) {
    if (ruling.refusal.action === 'halt') handle.abort({ kind: 'halt' });
    return { end: withheldEnd(tool.name, ruling.refusal) };
  }
  return { text: contentText(ruling.value.content) };
}

/** Images and files stay beside what core's own projections make of the text: those look at nothing else. */
function withMedia(text: string, content: string | readonly Part[]): string | readonly Part[] {
  return typeof content === 'string' ? text : deepFreeze([{ type: 'text', text }, ...content.filter((part) => part.type !== 'text')]);
}

function cap(handle: RunHandle, content: string | readonly Part[]): Projected {
  const most = budget(handle);
  if (typeof content === 'string') {
    const { text, note } = capText(content, most);
    return note === undefined ? { content: text, isWhole: true } : { content: text, isWhole: false, note };
  }
  let left = most;
  let note: string | undefined;
  const parts = content.map((part) => {
    if (part.type !== 'text') return part;
    const cut = capText(part.text, left);
    left = Math.max(0, left - part.text.length);
    if (cut.note === undefined) return part;
    note = cut.note;
    return { ...part, text: cut.text };
  });
  return note === undefined ? { content, isWhole: true } : { content: deepFreeze(parts), isWhole: false, note };
}
