import type { ProjectFunction } from '../define/specs.js';
import type { Label, Part } from '../model/types.js';
import { capText, resultCapChars, turnCapChars } from '../project/cap.js';
import { isOwnProjection } from '../project/own-projection.js';
import type { CallEnd } from '../state/events.js';
import type { RunHandle } from './handle.js';
import { graceMs } from './handle.js';
import { isPromise } from './is-promise.js';
import { errorEnd, unknownEnd, withheldEnd } from './observations.js';
import type { OpenCall } from './open-call.js';
import { contentText, deepFreeze } from './plain-output.js';
import type { Output } from './tool-output.js';
import { judgeOutput, textOutput } from './tool-output.js';

/** Characters that one result of this turn may take. */
export function budget(handle: RunHandle): number {
  return Math.min(resultCapChars, Math.floor(turnCapChars / handle.state.calls.size));
}

/** What the model sees of a tool's output. */
export interface Projected {
  readonly content: string | readonly Part[];
  readonly note?: string | undefined;
  readonly by?: 'core' | 'user' | undefined;
}

type ProjectedOrEnd = Projected | { readonly end: CallEnd };

/** Makes the model's form of an output that has passed: by the tool's projection, the run's, or else the cap. */
export function project(open: OpenCall, output: Output, label: Label): ProjectedOrEnd | Promise<ProjectedOrEnd> {
  const projection = open.tool.project ?? open.handle.root.settings.project;
  return projection === undefined ? cap(open.handle, output.content) : projectWith(projection, open, { output, label });
}

async function projectWith(
  projection: ProjectFunction,
  open: OpenCall,
  { output, label }: { readonly output: Output; readonly label: Label },
): Promise<ProjectedOrEnd> {
  const { handle, call, tool } = open;
  let made: unknown;
  try {
    const { signal } = handle;
    const given = projection(output.value as never, {
      context: handle.root.context,
      run: handle.state.id,
      tool: tool.name,
      callId: call.call.id,
      content: contentText(output.content),
      signal,
    });
    if (isPromise(given)) {
      const settled = await handle.wait(given, undefined, graceMs);
      if (settled.kind === 'stopped') return { end: unknownEnd(tool.name, 'the run was stopped before its result could be shown') };
      made = settled.kind === 'value' ? settled.value : undefined;
    } else made = given;
  } catch {
    // What it threw may quote the output, and is told as what gives no text is.
  }
  if (typeof made !== 'string') {
    const summary = `${tool.name} ran, but its result could not be shown: its projection failed.`;
    return { end: errorEnd({ status: 'error', errorClass: 'failed', summary, label }) };
  }
  if (isOwnProjection(projection))
    return made === output.content ? { content: made } : { content: withMedia(made, output.content), by: 'core' };
  const ruling = await judgeOutput(open, { output: textOutput(made), form: 'projected', isError: false, label });
  if (ruling.isStopped) return { end: unknownEnd(tool.name, 'the run was stopped before its result was judged') };
  if (ruling.refusal) {
    if (ruling.refusal.action === 'halt') handle.abort({ kind: 'halt' });
    return { end: withheldEnd(tool.name, ruling.refusal) };
  }
  return { ...cap(handle, ruling.value.content), by: 'user' };
}

/** Images and files stay beside what core's own projections make of the text: those look at nothing else. */
function withMedia(text: string, content: string | readonly Part[]): string | readonly Part[] {
  return typeof content === 'string' ? text : deepFreeze([{ type: 'text', text }, ...content.filter((part) => part.type !== 'text')]);
}

function cap(handle: RunHandle, content: string | readonly Part[]): Projected {
  const most = budget(handle);
  if (typeof content === 'string') {
    const { text, note } = capText(content, most);
    return note === undefined ? { content: text } : { content: text, note };
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
  return { content: note === undefined ? content : deepFreeze(parts), note };
}
