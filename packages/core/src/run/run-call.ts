import { returnedHandoff } from '../define/definition.js';
import { readDetailed } from '../define/detailed.js';
import type { ToolSpec } from '../define/specs.js';
import { readToolError } from '../define/tool-error.js';
import type { OutputSubject, ToolOutputSubject } from '../define/types.js';
import { GuardloopError } from '../errors.js';
import type { JsonObject, JsonValue, Label, Part } from '../model/types.js';
import { capText, projectedCapChars, resultCapChars } from '../project/cap.js';
import { isOwnProjection } from '../project/own-projection.js';
import { describeIssues } from '../schema.js';
import type { CallEnd, ErrorClass, Refusal } from '../state/events.js';
import type { CallState } from '../state/state.js';
import { countRepeat } from '../state/state.js';
import { readJson } from './answer.js';
import type { Ruling } from './guard.js';
import { judge } from './guard.js';
import type { LogDraft, RunHandle } from './handle.js';
import { graceMs } from './handle.js';
import { isPromise } from './is-promise.js';
import { coreLabel, errorEnd, unknownEnd, withheldEnd } from './observations.js';
import { contentText, deepFreeze, plainOutput } from './plain-output.js';
import { guardsOfTool, standNow } from './plan.js';
import { runsOnce } from './prepare-calls.js';
import { rewriteText } from './rewrite-text.js';
import { runChild } from './run-child.js';

type ToolEndDraft = Extract<LogDraft, { type: 'tool.end' }>;
type ToolEnd = Omit<ToolEndDraft, 'type' | 'callId' | 'tool' | 'id'>;

/** What `execute` came to. */
type Outcome =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'error'; readonly summary: string; readonly errorClass: ErrorClass; readonly retryable: boolean }
  | { readonly kind: 'end'; readonly end: CallEnd }
  | { readonly kind: 'waiting' };

/** Starts one call, waits for it, judges what it gave, and records its end. A call of an agent that waits for a person stays open. */
export async function runCall(handle: RunHandle, call: CallState, tool: ToolSpec, input: unknown): Promise<void> {
  const { state } = handle;
  const callId = call.call.id;
  const idempotencyKey = `${state.id}/${callId}`;
  if (call.phase !== 'started' || tool.agent === undefined) {
    const begin = { type: 'tool.start' as const, callId, tool: tool.name, revision: call.revision, input: call.input, idempotencyKey };
    handle.append(runsOnce(tool) ? { ...begin, once: true } : begin);
  }
  if (!tool.repeatable && tool.agent === undefined && handle.root.writer && !(await handle.barrier())) return;
  if (handle.stop) {
    // Stopped between the record and the effect: it did not happen, and the record cannot say so for sure.
    endCall(handle, call, tool, { ...unknownEnd(tool.name, 'the run was stopped'), revision: 0, chars: 0 });
    return;
  }
  const outcome = tool.agent ? await runAgent(handle, call, tool, input) : await execute(handle, call, tool, { input, idempotencyKey });
  if (outcome.kind === 'waiting') return;
  await finishCall(handle, call, tool, outcome);
}

/** The result that a caller, or a person who looked, gives for a call. */
export async function finishWithResult(handle: RunHandle, call: CallState, tool: ToolSpec, value: unknown): Promise<void> {
  await finishCall(handle, call, tool, { kind: 'value', value });
}

async function runAgent(handle: RunHandle, call: CallState, tool: ToolSpec, input: unknown): Promise<Outcome> {
  const result = await runChild(handle, call, tool, input);
  switch (result.status) {
    case 'waiting':
      return { kind: 'waiting' };
    case 'completed':
      return { kind: 'value', value: result.value };
    case 'halted':
      return {
        kind: 'end',
        end: errorEnd({
          status: 'error',
          errorClass: 'denied',
          summary: `${tool.name} was stopped by a guardrail.`,
          refusal: result.refusal,
        }),
      };
    case 'failed':
      return {
        kind: 'end',
        end: errorEnd({ status: 'error', errorClass: result.errorClass, summary: result.summary, retryable: result.retryable }),
      };
    default:
      return result satisfies never;
  }
}

/** What `execute` is told; its signal is made when it is first read. */
class CallInfo {
  private controller: AbortController | undefined;
  private off: (() => void) | undefined;
  isOver = false;
  readonly progress = (note: string): void => {
    if (!this.isOver) this.handle.emit({ type: 'tool.progress', callId: this.callId, tool: this.tool, note: String(note) });
  };
  constructor(
    private readonly handle: RunHandle,
    private readonly tool: string,
    readonly callId: string,
  ) {}
  get context(): unknown {
    return this.handle.root.context;
  }
  get run(): string {
    return this.handle.state.id;
  }
  get agent(): string {
    return this.handle.state.agent;
  }
  get idempotencyKey(): string {
    return `${this.handle.state.id}/${this.callId}`;
  }
  get signal(): AbortSignal {
    if (this.controller === undefined) {
      const controller = new AbortController();
      this.controller = controller;
      this.off = this.handle.onStop(() => controller.abort(this.handle.signal.reason));
    }
    return this.controller.signal;
  }
  end(reason?: unknown): void {
    this.isOver = true;
    this.off?.();
    if (reason !== undefined) this.controller?.abort(reason);
  }
}

async function execute(
  handle: RunHandle,
  call: CallState,
  tool: ToolSpec,
  { input }: { readonly input: unknown; readonly idempotencyKey: string },
): Promise<Outcome> {
  const info = new CallInfo(handle, tool.name, call.call.id);
  let given: unknown;
  try {
    given = tool.execute?.(input as never, info as never);
    if (!isPromise(given)) {
      info.end();
      return { kind: 'value', value: given };
    }
  } catch (thrown) {
    info.end();
    return failed(tool, thrown);
  }
  const settled = await handle.wait(given, tool.timeoutMs, graceMs);
  switch (settled.kind) {
    case 'value':
      info.end();
      return { kind: 'value', value: settled.value };
    case 'threw':
      info.end();
      return failed(tool, settled.error);
    case 'late':
      info.end(new DOMException(`${tool.name} took longer than ${tool.timeoutMs} ms.`, 'TimeoutError'));
      return {
        kind: 'end',
        end: tool.repeatable
          ? errorEnd({
              status: 'error',
              errorClass: 'timeout',
              summary: `${tool.name}${namedArguments(tool, call.input)} took longer than ${tool.timeoutMs} ms and was stopped.`,
              retryable: true,
            })
          : unknownEnd(tool.name, `it took longer than ${tool.timeoutMs} ms`),
      };
    case 'stopped':
      info.end();
      return { kind: 'end', end: unknownEnd(tool.name, 'the run was stopped before its result was seen') };
    default:
      return settled satisfies never;
  }
}

/** Which arguments a call had, in the words of the tool's schema: tells equal tools' calls apart without a value. */
function namedArguments({ input }: ToolSpec, given: JsonObject): string {
  const { properties } = input.json;
  const names = typeof properties === 'object' && properties !== null ? Object.keys(properties).filter((name) => name in given) : [];
  return names.length === 0 ? '' : ` with ${names.join(', ')}`;
}

function failed(tool: ToolSpec, thrown: unknown): Extract<Outcome, { kind: 'error' }> {
  const own = readToolError(thrown);
  let words: unknown;
  try {
    words = own?.message ?? (thrown instanceof Error ? thrown.message : typeof thrown === 'string' ? thrown : undefined);
  } catch {
    words = undefined;
  }
  // One sentence, no stack: the first line of the message.
  const line = typeof words === 'string' ? (words.split('\n')[0] ?? '').trim() : '';
  return {
    kind: 'error',
    summary: line === '' ? `${tool.name} failed.` : `${tool.name} failed: ${line}`,
    errorClass: own?.errorClass ?? 'failed',
    retryable: own?.retryable ?? false,
  };
}

/** The output in the form in which it goes through the guardrails. */
interface Output {
  readonly content: string | readonly Part[];
  readonly value: JsonValue;
  /** `value` is not just the text. */
  readonly isStructured: boolean;
}

/** Judges an outcome on `toolOutput`, projects it, and records the end. */
async function finishCall(
  handle: RunHandle,
  call: CallState,
  tool: ToolSpec,
  outcome: Exclude<Outcome, { kind: 'waiting' }>,
): Promise<void> {
  if (outcome.kind === 'end') {
    endCall(handle, call, tool, { ...outcome.end, revision: 0, chars: 0 });
    return;
  }
  const label: Label = { origin: `tool:${tool.name}`, integrity: tool.flow.results };
  if (outcome.kind === 'error') {
    const ruling = await judgeOutput(handle, call, tool, { output: textOutput(outcome.summary), form: 'output', isError: true, label });
    if (ruling.isStopped)
      return endCall(handle, call, tool, {
        ...unknownEnd(tool.name, 'the run was stopped before its result was seen'),
        revision: 0,
        chars: 0,
      });
    if (ruling.refusal) return withhold(handle, call, tool, { refusal: ruling.refusal, revision: ruling.revision });
    const summary = capText(contentText(ruling.value.content), budget(handle)).text;
    endCall(handle, call, tool, {
      ...errorEnd({ status: 'error', errorClass: outcome.errorClass, summary, retryable: outcome.retryable, label }),
      revision: ruling.revision,
      chars: summary.length,
    });
    return;
  }

  const detailed = readDetailed(outcome.value);
  const bare = detailed ? detailed.output : outcome.value;
  if (readToolError(bare)) return finishCall(handle, call, tool, failed(tool, bare));
  const returned = returnedHandoff(bare);
  if (tool.output && returned === undefined) {
    const misfit = await findMisfit(tool, bare);
    if (misfit !== undefined)
      return endCall(handle, call, tool, {
        ...errorEnd({
          status: 'error',
          errorClass: 'bad_result',
          summary: `${tool.name} ran, but its result does not have its declared form: ${misfit}`,
        }),
        revision: 0,
        chars: 0,
      });
  }
  const output: Output = returned ? textOutput(returned.text ?? `Handed off from ${handle.state.agent}.`) : toOutput(bare);
  const ruling = await judgeOutput(handle, call, tool, { output, form: 'output', isError: false, label });
  if (ruling.isStopped)
    return endCall(handle, call, tool, {
      ...unknownEnd(tool.name, 'the run was stopped before its result was judged'),
      revision: 0,
      chars: 0,
    });
  if (ruling.refusal) return withhold(handle, call, tool, { refusal: ruling.refusal, revision: ruling.revision });
  const chars = contentText(ruling.value.content).length;

  if (returned) {
    handle.returned ??= new Map();
    handle.returned.set(call.call.id, returned);
    const to = typeof returned.target === 'string' ? returned.target : returned.target.name;
    const brief = contentText(ruling.value.content);
    endCall(handle, call, tool, {
      status: 'ok',
      content: `Handed off to ${to}.`,
      label: coreLabel,
      revision: ruling.revision,
      chars,
      handoff: { to, brief, ...(returned.history ? { filtered: true as const } : {}) },
    });
    return;
  }

  let details: JsonValue | undefined;
  if (detailed) {
    const judged = await judgeOutput(handle, call, tool, { output: toOutput(detailed.details), form: 'details', isError: false, label });
    if (judged.isStopped)
      return endCall(handle, call, tool, {
        ...unknownEnd(tool.name, 'the run was stopped before its result was judged'),
        revision: 0,
        chars: 0,
      });
    if (judged.refusal) return withhold(handle, call, tool, { refusal: judged.refusal, revision: ruling.revision });
    details = judged.value.value;
  }

  const projected = await project(handle, call, tool, { output: ruling.value, label });
  if ('end' in projected) return endCall(handle, call, tool, { ...projected.end, revision: ruling.revision, chars });

  const end: { -readonly [K in keyof ToolEnd]: ToolEnd[K] } = {
    status: 'ok',
    content: projected.content,
    label,
    revision: ruling.revision,
    chars,
  };
  if (projected.note !== undefined) end.note = projected.note;
  if (projected.by !== undefined) end.projection = projected.by;
  if (details !== undefined) end.details = details;
  if (!tool.endsRun) return endCall(handle, call, tool, end);
  const answer = await judgeAnswer(handle, call, ruling.value, label);
  if (answer.isStopped)
    return endCall(handle, call, tool, {
      ...unknownEnd(tool.name, 'the run was stopped before its result was judged'),
      revision: 0,
      chars: 0,
    });
  const refusal =
    answer.refusal ??
    (answer.asks[0] && {
      action: 'ask' as const,
      surface: 'output' as const,
      by: answer.asks[0].by,
      reason: `${answer.asks[0].reason} (an answer given by a tool cannot wait for a person)`,
    });
  if (refusal) return withhold(handle, call, tool, { refusal, revision: ruling.revision });
  const { value } = answer.value;
  endCall(handle, call, tool, {
    ...end,
    answer: { text: answer.value.text, ...(value === undefined ? {} : { value }), revision: answer.revision },
  });
}

function textOutput(text: string): Output {
  return { content: text, value: text, isStructured: false };
}

function toOutput(value: unknown): Output {
  const plain = plainOutput(value);
  return { content: plain.content, value: plain.value, isStructured: !plain.isText };
}

async function findMisfit(tool: ToolSpec, value: unknown): Promise<string | undefined> {
  const plain = plainOutput(value).value;
  const parsing = tool.output?.parse(plain);
  const parsed = isPromise(parsing) ? await parsing : parsing;
  return parsed === undefined || parsed.ok ? undefined : describeIssues(parsed.issues);
}

interface OutputMatter {
  readonly output: Output;
  readonly form: ToolOutputSubject['form'];
  readonly isError: boolean;
  readonly label: Label;
}

function judgeOutput(
  handle: RunHandle,
  call: CallState,
  tool: ToolSpec,
  { output, form, isError, label }: OutputMatter,
): Ruling<Output> | Promise<Ruling<Output>> {
  const base = `${handle.state.id}/${call.call.id}`;
  return judge<Output>(handle, {
    surface: 'toolOutput',
    subject: form === 'output' ? base : `${base}/${form}`,
    revision: 0,
    value: output,
    guards: guardsOfTool(standNow(handle), 'toolOutput', tool.name),
    about: call.call.id,
    phases: 'both',
    canAsk: false,
    graceMs,
    ...(form === 'projected' ? { isProjected: true } : {}),
    toSubject: ({ content, value }): ToolOutputSubject =>
      Object.freeze({
        surface: 'toolOutput',
        content: contentText(content),
        label,
        tool: tool.name,
        callId: call.call.id,
        input: call.input,
        output: value,
        isError,
        form,
        ...(form === 'projected' ? { projected: true as const } : {}),
      }),
    rewrite: (current, by) => rewriteOutput(current, by),
  });
}

function rewriteOutput(current: Output, by: unknown): { readonly value: Output } | undefined {
  if (typeof by === 'string' || Array.isArray(by)) {
    const text = rewriteText(contentText(current.content), by);
    if (text === undefined) return undefined;
    if (current.isStructured && typeof current.content === 'string') {
      const { value } = readJson(text);
      return value === undefined ? undefined : { value: { content: text, value, isStructured: true } };
    }
    if (typeof current.content === 'string') return { value: textOutput(text) };
    const parts: Part[] = [
      { type: 'text', text },
      ...(typeof by === 'string' ? [] : current.content.filter((part) => part.type !== 'text')),
    ];
    return { value: { content: deepFreeze(parts), value: text, isStructured: false } };
  }
  if (typeof by !== 'object' || by === null) return undefined;
  return { value: toOutput(by) };
}

function withhold(
  handle: RunHandle,
  call: CallState,
  tool: ToolSpec,
  { refusal, revision }: { readonly refusal: Refusal; readonly revision: number },
): void {
  endCall(handle, call, tool, { ...withheldEnd(tool.name, refusal), revision, chars: 0 });
  if (refusal.action === 'halt') handle.abort({ kind: 'halt' });
}

/** Characters that one result may take: 16,000, and 48,000 over the calls of a turn. */
function budget(handle: RunHandle): number {
  return Math.min(resultCapChars, Math.floor(projectedCapChars / Math.max(1, handle.state.calls.size)));
}

interface Projected {
  readonly content: string | readonly Part[];
  readonly note?: string | undefined;
  readonly by?: 'core' | 'user' | undefined;
}

async function project(
  handle: RunHandle,
  call: CallState,
  tool: ToolSpec,
  { output, label }: { readonly output: Output; readonly label: Label },
): Promise<Projected | { readonly end: CallEnd }> {
  const projection = tool.project ?? handle.root.settings.project;
  if (projection === undefined) return cap(handle, output.content);
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
      if (settled.kind !== 'value') throw settled.kind === 'threw' ? settled.error : undefined;
      made = settled.value;
    } else made = given;
    if (typeof made !== 'string')
      throw new GuardloopError('CONFIG_INVALID', `The projection of tool ${tool.name} gave a ${typeof made}. Return a string.`);
  } catch {
    return {
      end: errorEnd({
        status: 'error',
        errorClass: 'failed',
        summary: `${tool.name} ran, but its result could not be shown: its projection failed.`,
        label,
      }),
    };
  }
  if (isOwnProjection(projection)) return { content: made as string, by: 'core' };
  const ruling = await judgeOutput(handle, call, tool, { output: textOutput(made as string), form: 'projected', isError: false, label });
  if (ruling.isStopped) return { end: unknownEnd(tool.name, 'the run was stopped before its result was judged') };
  if (ruling.refusal) {
    if (ruling.refusal.action === 'halt') handle.abort({ kind: 'halt' });
    return { end: withheldEnd(tool.name, ruling.refusal) };
  }
  return { ...cap(handle, ruling.value.content), by: 'user' };
}

function cap(handle: RunHandle, content: string | readonly Part[]): Projected {
  const most = budget(handle);
  if (typeof content === 'string') {
    if (content.length <= most) return { content };
    const { text, note } = capText(content, most);
    return note === undefined ? { content: text } : { content: text, note };
  }
  let left = most;
  let note: string | undefined;
  const parts = content.map((part) => {
    if (part.type !== 'text' || part.text.length <= left) {
      if (part.type === 'text') left -= part.text.length;
      return part;
    }
    const cut = capText(part.text, Math.max(0, left));
    left = 0;
    note = cut.note;
    return { ...part, text: cut.text };
  });
  return { content: note === undefined ? content : deepFreeze(parts), note };
}

/** The result of a tool that ends the run is judged as an answer. */
function judgeAnswer(handle: RunHandle, call: CallState, output: Output, label: Label) {
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

/** Records a call's end, with a notice when it repeats itself. Takes `end` over. */
export function endCall(handle: RunHandle, call: CallState, tool: Pick<ToolSpec, 'name' | 'polling'>, end: ToolEnd): void {
  const { state } = handle;
  const event = end as { -readonly [K in keyof ToolEndDraft]: ToolEndDraft[K] };
  event.type = 'tool.end';
  event.callId = call.call.id;
  event.tool = tool.name;
  event.id = `${state.id}/${call.call.id}`;
  if (tool.polling) event.polling = true;
  else if (end.status !== 'aborted' && end.copyOf === undefined) {
    const count = countRepeat(state, call, end.content, false);
    if (count >= state.limits.repeats) {
      const notice = `This is call ${count} with the same input and the same result. Do something else; the run ends at ${state.limits.repeats * 2}.`;
      event.note = end.note === undefined ? notice : `${end.note} ${notice}`;
    }
  }
  handle.append(event);
  if (state.ending) handle.abort({ kind: 'halt' });
}
