import { atOnce } from '../define/at-once.js';
import type { HandoffSpec, ToolSpec } from '../define/specs.js';
import type { HandoffSubject, ToolInputSubject } from '../define/types.js';
import { jsonLoss } from '../model/json-loss.js';
import type { JsonObject, JsonValue, Label, ModelCall } from '../model/types.js';
import type { CompiledSchema } from '../schema.js';
import { describeIssues, maxInputChars, rawIssue } from '../schema.js';
import { canonicalJson } from '../state/canonical-json.js';
import type { CallEnd, RecordedCall, Refusal } from '../state/events.js';
import type { Finishing, RawAnswer } from './answer.js';
import { noteCall } from './calls-beside.js';
import type { Ruling } from './guard.js';
import { judge } from './guard.js';
import type { CallInput, RunHandle } from './handle.js';
import { heldByMode } from './in-mode.js';
import { inTime, unread } from './in-time.js';
import { isPromise } from './is-promise.js';
import { jsonFault } from './json-fault.js';
import { abortedEnd, deniedEnd, errorEnd, laterHandoffEnd } from './observations.js';
import { copyInput } from './plain-json.js';
import { deepFreeze } from './plain-output.js';
import { guardsOfTool, standNow, standOf } from './plan.js';
import { readOnly } from './read-only.js';
import { changedFields } from './request-approval.js';
import { applySpans, readSpans, rewriteText } from './rewrite-text.js';
import type { Offered, Placed } from './stand.js';

const empty: JsonObject = Object.freeze({});

/** Finds, parses and judges all calls of an answer together. Never throws for what a model gave. */
export function prepareCalls(
  handle: RunHandle,
  answer: RawAnswer,
  { turn, names, label }: Finishing,
): readonly RecordedCall[] | Promise<readonly RecordedCall[]> {
  const { calls } = answer;
  const { mode } = standNow(handle).agent;
  handle.inputs = undefined;
  handle.returned = undefined;
  let hasHandoff = false;
  const isAlone = calls.length === 1 && handle.parent === undefined;
  const preparing: (RecordedCall | Promise<RecordedCall>)[] = calls.map((call, index) => {
    const id = `${turn}.${index}`;
    const offered = names.get(call.name);
    const held = mode && heldByMode(handle, mode, { answer, call });
    if (held && (offered || call.name === mode.stop))
      return ended({ handle, call, id, kind: offered ? kindOf(offered) : 'tool', label, isAlone }, held);
    if (offered === undefined)
      return ended(
        { handle, call: { ...call, name: nameOfUnknown(handle, call.name) }, id, kind: 'unknown', label, isAlone },
        unknownToolEnd(names),
      );
    const given: Given = { handle, call, id, kind: kindOf(offered), label, isAlone };
    if (offered.kind === 'handoff') {
      if (hasHandoff) return ended(given, laterHandoffEnd());
      hasHandoff = true;
    }
    return prepareCall(given, offered);
  });
  return preparing.some(isPromise)
    ? Promise.all(preparing).then((prepared) => markCopies(handle, prepared))
    : markCopies(handle, preparing as RecordedCall[]);
}

/** A call that a model gave. */
interface Given {
  readonly handle: RunHandle;
  readonly call: ModelCall;
  readonly id: string;
  readonly kind: RecordedCall['kind'];
  readonly label: Label;
  /** No other call can be before its guardrails at the same time. */
  readonly isAlone: boolean;
}

function ended({ handle, call, id, kind }: Given, end: CallEnd, revision = 0): RecordedCall {
  handle.root.preparing?.delete(`${handle.state.id}/${id}`);
  const variant = variantOf(handle, call);
  return deepFreeze({
    id,
    ...(call.providerId === undefined ? {} : { providerId: call.providerId }),
    name: call.name,
    input: empty,
    kind,
    revision,
    end,
    ...(variant === undefined ? {} : { variant }),
  });
}

/** The how-manieth different input of this run that is not recorded; undefined for an empty one. Told apart in memory only: nothing of it stays. */
function variantOf(handle: RunHandle, call: ModelCall): number | undefined {
  let text: string;
  try {
    text = 'unparsable' in call ? call.unparsable : canonicalJson(call.input);
  } catch {
    return undefined;
  }
  if (text === '' || text === '{}') return undefined;
  // A number that the log may hold of an earlier process is not given again.
  handle.unrecordedCount ||= handle.state.turn * 1_000;
  handle.unrecorded ??= new Map();
  const known = handle.unrecorded.get(text);
  if (known !== undefined) return known;
  handle.unrecordedCount += 1;
  handle.unrecorded.set(text, handle.unrecordedCount);
  return handle.unrecordedCount;
}

/** The name under which a call of what is not offered is recorded: an agent's own word, or none, since nobody has judged what a model made up. */
export function nameOfUnknown({ agents }: RunHandle, name: string): string {
  const isKnown = [...agents.values()].some(({ tools, handoffs }) => [...tools, ...handoffs].some((each) => each.name === name));
  return isKnown ? name : 'unknown_tool';
}

function unknownToolEnd(names: ReadonlyMap<string, Offered>): CallEnd {
  const known = [...names.keys()].join(', ');
  return errorEnd({
    status: 'error',
    errorClass: 'unknown_tool',
    summary: known === '' ? 'There is no tool of this name; there are no tools.' : `There is no tool of this name. Use one of: ${known}.`,
  });
}

function misfitEnd(tool: string, why: string): CallEnd {
  return errorEnd({ status: 'error', errorClass: 'invalid_input', summary: `${tool}: ${why}`, retryable: true });
}

function prepareCall(given: Given, offered: Offered): RecordedCall | Promise<RecordedCall> {
  const { input: schema, name } = offered.spec;
  const raw = readArguments(given.call, schema);
  if (typeof raw === 'string') return ended(given, misfitEnd(name, raw));
  const parsing = schema ? inTime(given.handle, schema.parse(raw)) : ({ ok: true, value: raw } as const);
  const go = (parsed: Awaited<ReturnType<CompiledSchema['parse']>>): RecordedCall | Promise<RecordedCall> => {
    if (!parsed.ok) return ended(given, parsed === unread ? abortedEnd() : misfitEnd(name, describeIssues(parsed.issues)));
    const input: CallInput = { raw: deepFreeze(raw), parsed: deepFreeze(parsed.value) };
    return offered.kind === 'handoff' ? prepareHandoff(given, offered.spec, input) : prepareTool(given, offered.spec, input);
  };
  return isPromise(parsing) ? Promise.resolve(parsing).then(go) : go(parsing as Awaited<typeof parsing>);
}

function kindOf(offered: Offered): RecordedCall['kind'] {
  if (offered.kind === 'handoff') return 'handoff';
  if (offered.spec.agent) return 'agent';
  return offered.spec.execute ? 'tool' : 'caller';
}

/** The model's arguments as an object, or what is wrong with them. */
function readArguments(call: ModelCall, schema: CompiledSchema | undefined): JsonObject | string {
  if ('unparsable' in call) {
    if (call.unparsable.trim() !== '') {
      const fault = jsonFault(call.unparsable);
      const loss = fault === undefined ? jsonLoss(call.unparsable, JSON.parse(call.unparsable)) : undefined;
      if (loss !== undefined) return `the arguments cannot be read: ${loss}.`;
      return `the arguments are not valid JSON${fault === undefined ? '' : `: ${fault}`}. Send one JSON object.`;
    }
    return schema?.required ? 'the arguments are missing. Send one JSON object.' : {};
  }
  const input = copyInput(call.input);
  if (input === undefined && call.input !== undefined)
    return `the arguments cannot be read: they must be plain JSON of at most ${maxInputChars} characters.`;
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return 'the arguments must be a JSON object.';
  // A schema looks for itself.
  const issue = schema ? undefined : rawIssue(input);
  return issue ? describeIssues([issue]) : ((schema?.withoutAbsent(input) ?? input) as JsonObject);
}

function prepareTool(given: Given, spec: ToolSpec, input: CallInput): RecordedCall | Promise<RecordedCall> {
  const { handle, call, id, kind, label } = given;
  notePreparing(given, spec.name, input.raw);
  const judging = judgeToolInput(handle, { id, spec, input, label, revision: 0, phases: 'both' });
  const settle = (ruling: Ruling<CallInput>): RecordedCall => {
    if (ruling.isStopped) return ended(given, abortedEnd());
    if (ruling.refusal) return refused(given, ruling.refusal, ruling.revision);
    if (ruling.revision > 0) notePreparing(given, spec.name, ruling.value.raw);
    handle.inputs ??= new Map();
    handle.inputs.set(id, ruling.value);
    const { providerId } = call;
    const recorded: { -readonly [K in keyof RecordedCall]: RecordedCall[K] } = {
      id,
      name: spec.name,
      input: ruling.value.raw,
      kind,
      revision: ruling.revision,
    };
    if (providerId !== undefined) recorded.providerId = providerId;
    if (ruling.revision > 0) recorded.changedFields = deepFreeze([...changedFields(input.raw, ruling.value.raw)]);
    if (ruling.asks.length > 0) recorded.asks = deepFreeze(ruling.asks);
    return recorded;
  };
  return isPromise(judging) ? (judging as Promise<Ruling<CallInput>>).then(settle) : settle(judging as Ruling<CallInput>);
}

/** One that is alone in its answer, and in its tree, has none beside it. */
function notePreparing({ handle, id, isAlone }: Given, tool: string, input: JsonObject): void {
  if (!isAlone) noteCall(handle, id, { tool, input });
}

function refused(given: Given, refusal: Refusal, revision: number): RecordedCall {
  if (refusal.action === 'halt') given.handle.abort({ kind: 'halt' });
  return ended(given, deniedEnd(refusal), revision);
}

export interface ToolInputMatter {
  readonly id: string;
  /** The call, once it is recorded. */
  readonly about?: string | undefined;
  readonly spec: ToolSpec;
  readonly input: CallInput;
  readonly label: Label;
  readonly revision: number;
  readonly phases: 'both' | 'check';
}

/** Asks the guardrails of a call's input: when it is prepared, after an approval, after an edit. */
export function judgeToolInput(
  handle: RunHandle,
  { id, about, spec, input, label, revision, phases }: ToolInputMatter,
): Ruling<CallInput> | Promise<Ruling<CallInput>> {
  return judge<CallInput>(handle, {
    surface: 'toolInput',
    subject: `${handle.state.id}/${id}`,
    about,
    revision,
    value: input,
    guards: guardsOfTool(standNow(handle), 'toolInput', spec.name),
    phases,
    canAsk: true,
    toSubject: ({ raw, parsed }): ToolInputSubject =>
      Object.freeze({
        surface: 'toolInput',
        content: JSON.stringify(raw),
        label,
        tool: spec.name,
        callId: id,
        input: parsed,
        raw,
        flow: spec.flow,
        schema: spec.input.json,
      }),
    rewrite: ({ raw }, by) => {
      const next = rewriteObject(raw, by);
      if (next === undefined) return undefined;
      const parsing = inTime(handle, spec.input.parse(next));
      const fit = (parsed: Awaited<typeof parsing>) =>
        parsed.ok ? { value: { raw: deepFreeze(next), parsed: deepFreeze(parsed.value) } } : undefined;
      return isPromise(parsing) ? Promise.resolve(parsing).then(fit) : fit(parsing as Awaited<typeof parsing>);
    },
  });
}

/** A rewrite of a JSON object: an object, its text, or spans of its text. Undefined: it gives no object. */
export function rewriteObject(raw: JsonObject, by: unknown): JsonObject | undefined {
  let text: string;
  if (typeof by === 'string') text = by;
  else if (Array.isArray(by)) {
    const content = JSON.stringify(raw);
    const spans = readSpans(by, content);
    if (spans === undefined) return undefined;
    text = applySpans(content, spans);
  } else text = JSON.stringify(by) ?? '';
  try {
    const next = JSON.parse(text) as JsonValue;
    return typeof next === 'object' && next !== null && !Array.isArray(next) ? (next as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

/** What the target is told; undefined when the author's function threw or gave no text. */
function briefOf(handle: RunHandle, input: CallInput, spec: HandoffSpec): string | undefined {
  if (spec.brief === undefined)
    return Object.keys(input.raw).length > 0 ? JSON.stringify(input.raw) : `Handed off from ${handle.state.agent}.`;
  try {
    const brief: unknown = atOnce(spec.brief(input.parsed as never));
    return typeof brief === 'string' ? brief : undefined;
  } catch {
    return undefined;
  }
}

function prepareHandoff(given: Given, spec: HandoffSpec, input: CallInput): RecordedCall | Promise<RecordedCall> {
  const { handle, call, id, label } = given;
  const to = typeof spec.target === 'string' ? spec.target : spec.target.name;
  const brief = briefOf(handle, input, spec);
  if (brief === undefined)
    return ended(
      given,
      errorEnd({ status: 'error', errorClass: 'failed', summary: `The brief for ${to} could not be made; the conversation stays here.` }),
    );
  const judging = judgeHandoff(handle, { id, to, brief, label, revision: 0, history: handle.messages, phases: 'both' });
  const settle = (ruling: Ruling<string>): RecordedCall => {
    if (ruling.isStopped) return ended(given, abortedEnd());
    if (ruling.refusal) return refused(given, ruling.refusal, ruling.revision);
    // What the guardrails saw is the brief: arguments that are not the brief itself are not recorded.
    return deepFreeze({
      id,
      ...(call.providerId === undefined ? {} : { providerId: call.providerId }),
      name: spec.name,
      input: ruling.revision === 0 && spec.brief === undefined ? input.raw : empty,
      kind: 'handoff',
      revision: ruling.revision,
      handoff: { to, brief: ruling.value },
      ...(ruling.asks.length > 0 ? { asks: ruling.asks } : {}),
    });
  };
  return isPromise(judging) ? (judging as Promise<Ruling<string>>).then(settle) : settle(judging as Ruling<string>);
}

export interface HandoffMatter {
  readonly id: string;
  /** The call, once it is recorded. */
  readonly about?: string | undefined;
  readonly to: string;
  readonly brief: string;
  readonly label: Label;
  readonly revision: number;
  readonly history: HandoffSubject['history'];
  readonly phases: 'both' | 'check';
}

/** The guardrails of a handoff: the run's, the source's, the target's. */
export function handoffGuards(handle: RunHandle, to: string): readonly Placed[] {
  const source = standNow(handle).handoff;
  const target = handle.agents.get(to);
  if (target === undefined || target.name === handle.state.agent) return source;
  const own = standOf(target, handle.root.runGuards).handoff.filter(({ level }) => level === 'agent');
  return own.length === 0 ? source : [...source, ...own];
}

export function judgeHandoff(
  handle: RunHandle,
  { id, about, to, brief, label, revision, history, phases }: HandoffMatter,
): Ruling<string> | Promise<Ruling<string>> {
  return judge<string>(handle, {
    surface: 'handoff',
    subject: `${handle.state.id}/${id}`,
    about,
    revision,
    value: brief,
    guards: handoffGuards(handle, to),
    phases,
    canAsk: true,
    toSubject: (content): HandoffSubject =>
      Object.freeze({
        surface: 'handoff',
        content,
        label,
        from: handle.state.agent,
        to,
        brief: content,
        history: readOnly(history),
        callId: id,
      }),
    rewrite: (current, by) => {
      const text = rewriteText(current, by);
      return text === undefined ? undefined : { value: text };
    },
  });
}

/** Marks calls of declared writes and sends that repeat an earlier one of the same answer. */
function markCopies(handle: RunHandle, calls: readonly RecordedCall[]): readonly RecordedCall[] {
  if (calls.length < 2) return calls;
  const { tools } = standNow(handle);
  const once = new Set(tools.flatMap(({ offered }) => (offered.kind === 'tool' && runsOnce(offered.spec) ? [offered.spec.name] : [])));
  if (once.size === 0) return calls;
  const seen = new Map<string, string>();
  return calls.map((call) => {
    if (call.end || !once.has(call.name)) return call;
    const key = `${call.name}\n${canonicalJson(call.input)}`;
    const original = seen.get(key);
    if (original !== undefined) return deepFreeze({ ...call, copyOf: original });
    seen.set(key, call.id);
    return call;
  });
}

/** A declared write or send, unless its author declared that it may run twice. */
export function runsOnce(spec: ToolSpec): boolean {
  return spec.flow.declared && (spec.flow.effect === 'write' || spec.flow.effect === 'send') && !spec.declaredRepeatable;
}
