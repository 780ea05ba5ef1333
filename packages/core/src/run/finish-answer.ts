import type { ModelCall } from '../model/types.js';
import type { CompiledSchema } from '../schema.js';
import { describeIssues } from '../schema.js';
import type { RecordedCall, Refusal } from '../state/events.js';
import type { Finishing, RawAnswer } from './answer.js';
import { readAnswer } from './answer.js';
import { forgetCalls } from './calls-beside.js';
import type { Ruling } from './guard.js';
import type { LogDraft, RunHandle } from './handle.js';
import { inTime } from './in-time.js';
import { isPromise } from './is-promise.js';
import type { AnswerValue } from './judge-answer.js';
import { askRefusal, judgeAnswer, structuredAnswer } from './judge-answer.js';
import { abortedEnd } from './observations.js';
import { standNow } from './plan.js';
import { nameOfUnknown, prepareCalls } from './prepare-calls.js';
import { putInQuarantine } from './quarantine-answer.js';

type ModelEnd = Extract<LogDraft, { type: 'model.end' }>;

/** An answer that is being judged. */
interface Open {
  readonly handle: RunHandle;
  readonly answer: RawAnswer;
  readonly finishing: Finishing;
  readonly id: string;
  /** It ends the run; else it stands beside calls. */
  readonly isFinal: boolean;
}

/** Why an answer is not recorded. */
type Fault = { readonly kind: 'stopped' } | { readonly kind: 'refused'; readonly refusal?: Refusal | undefined; readonly misfit?: string };

/** What is shown of the model's reasoning. */
interface Reasoning {
  readonly text: string | undefined;
  readonly isRewritten: boolean;
}

const stopped: Fault = { kind: 'stopped' };

/** Calls of a last answer do not run, and the text beside them, where there is any, ends the run. */
function endsRun({ calls, text, inMode }: RawAnswer, { isFinal }: Finishing): boolean {
  return (calls.length === 0 || (isFinal && text !== '')) && inMode?.continues === undefined;
}

/** Judges a whole answer, shows it, prepares its calls, and records it as `model.end`: or discards it, or puts it before a person. */
export async function finishAnswer(handle: RunHandle, answer: RawAnswer, finishing: Finishing): Promise<void> {
  const { turn, approvedRevision } = finishing;
  const open: Open = {
    handle,
    answer,
    finishing,
    id: `${handle.state.id}/${turn}`,
    isFinal: endsRun(answer, finishing),
  };
  const { inMode } = answer;
  if (answer.calls.length === 0 && answer.text === '') return finishEmpty(open);
  const judging = judgeReasoning(open);
  const reasoning = isPromise(judging) ? await judging : judging;
  if ('kind' in reasoning) return discard(open, reasoning);

  const ruled = judgeText(open);
  const ruling = isPromise(ruled) ? await ruled : ruled;
  if (ruling.isStopped) return discard(open, stopped);
  if (ruling.refusal) return discard(open, { kind: 'refused', refusal: ruling.refusal });
  if (ruling.asks.length > 0 && approvedRevision === undefined) return putBeforePerson(open, ruling, reasoning);
  const { output: schema } = standNow(handle).agent;
  const misfit = schema && open.isFinal ? await findMisfit(handle, schema, ruling.value) : undefined;
  if (misfit !== undefined) return discard(open, handle.stop ? stopped : { kind: 'refused', misfit });

  // An answer that is refused is discarded with its reasoning: neither is shown before both have passed.
  show(open, ruling, reasoning);
  const preparing = finishing.isFinal
    ? answer.calls.map((call, index) => lastCall(nameOfUnknown(handle, call.name), `${turn}.${index}`))
    : prepareCalls(handle, answer, finishing);
  const calls = isPromise(preparing) ? await preparing : preparing;
  forgetCalls(handle);
  if (handle.stop && handle.stop.kind !== 'halt') return discard(open, stopped);
  const { text, value } = ruling.value;
  const end: { -readonly [K in keyof ModelEnd]: ModelEnd[K] } = {
    type: 'model.end',
    seq: 0,
    at: 0,
    run: '',
    agent: '',
    turn,
    status: 'ok',
    id: open.id,
    text,
    revision: ruling.revision,
    calls,
    label: finishing.label,
    usage: answer.usage,
    stopReason: answer.stopReason,
  };
  if (answer.model !== undefined) end.model = answer.model;
  if (value !== undefined) end.value = value;
  if (answer.native !== undefined && ruling.revision === 0 && !reasoning.isRewritten && areUntouched(calls, open))
    end.native = { provider: answer.provider, message: answer.native };
  if (reasoning.text !== undefined) end.reasoning = reasoning.text;
  if (inMode !== undefined) Object.assign(end, modeOf(open));
  handle.append(end);
  tellCalls(handle, calls);
}

function modeOf({ answer: { inMode } }: Open): Pick<ModelEnd, 'thought' | 'continues'> {
  if (inMode === undefined) return {};
  const { thought, continues } = inMode;
  return continues === undefined ? { thought } : { thought, continues };
}

/** An answer without text and calls, or that lost its calls; in a mode there may be a thought. */
async function finishEmpty(open: Open): Promise<void> {
  const { handle, answer } = open;
  const judging = answer.inMode === undefined ? noReasoning : judgeReasoning(open);
  const reasoning = isPromise(judging) ? await judging : judging;
  if ('kind' in reasoning) return discard(open, reasoning);
  showReasoning(open, reasoning);
  const kept = reasoning.text === undefined ? {} : { reasoning: reasoning.text };
  const lost = answer.lostChars === undefined ? {} : { chars: answer.lostChars };
  handle.append({ ...endOf(open), ...modeOf(open), ...kept, ...lost, status: 'ok', stopReason: answer.stopReason, empty: true });
}

/** What every end of an answer has; as of one of which nothing is recorded. */
function endOf({ id, answer: { usage, model }, finishing: { turn, label } }: Open) {
  const end = { type: 'model.end', turn, id, text: '', revision: 0, calls: [], label, usage } as const;
  return model === undefined ? end : { ...end, model };
}

function discard(open: Open, fault: Fault): void {
  const { handle, answer } = open;
  const { release } = open.finishing;
  const chars = answer.text.length;
  if (fault.kind === 'stopped') {
    release.retract('the run was stopped');
    // What a person approved waits on: the run can be resumed to it.
    if (open.finishing.approvedRevision !== undefined) return;
    handle.append({ ...endOf(open), status: 'aborted', chars });
    return;
  }
  const { refusal, misfit } = fault;
  release.retract(refusal?.reason ?? 'the answer did not fit its schema');
  handle.append({
    ...endOf(open),
    status: 'refused',
    stopReason: answer.stopReason,
    chars,
    ...(refusal ? { refusal } : {}),
    ...(misfit === undefined ? {} : { misfit }),
  });
}

const noReasoning: Reasoning = { text: undefined, isRewritten: false };

function judgeReasoning(open: Open): Reasoning | Promise<Reasoning | Fault> {
  const { reasoning, inMode } = open.answer;
  const shown = open.handle.root.settings.reasoning === 'show' ? reasoning : '';
  const said = inMode?.said ?? '';
  const text = shown === '' || said === '' ? shown + said : `${shown}\n${said}`;
  return text === '' ? noReasoning : judgeSaid(open, text);
}

async function judgeSaid({ handle, finishing, id, isFinal }: Open, text: string): Promise<Reasoning | Fault> {
  const value = { text, value: undefined };
  const ruling = await judgeAnswer(handle, value, { ...finishing, subject: `${id}/reasoning`, kind: 'reasoning', isFinal });
  if (ruling.isStopped) return stopped;
  const refusal = ruling.refusal ?? askRefusal(ruling.asks, 'shown reasoning cannot wait for a person');
  return refusal ? { kind: 'refused', refusal } : { text: ruling.value.text, isRewritten: ruling.revision > 0 };
}

function judgeText(open: Open): Ruling<AnswerValue> | Promise<Ruling<AnswerValue>> {
  const { handle, answer, finishing, id, isFinal } = open;
  const { text } = answer;
  if (text === '') return { value: { text, value: undefined }, revision: 0, refusal: undefined, asks: [], isStopped: false };
  if (finishing.release.mode === 'window') return finishWindow(open);
  const { output: schema } = standNow(handle).agent;
  const given = schema && isFinal ? structuredAnswer(text, schema) : { text, value: undefined };
  const { label, approvedRevision } = finishing;
  return judgeAnswer(handle, given, { label, approvedRevision, subject: id, kind: 'answer', isFinal });
}

async function finishWindow({ handle, finishing, id }: Open): Promise<Ruling<AnswerValue>> {
  const { text, revision, refusal } = await finishing.release.finish(id);
  return { value: { text, value: undefined }, revision, refusal, asks: [], isStopped: handle.stop !== undefined };
}

async function putBeforePerson(open: Open, ruling: Ruling<AnswerValue>, reasoning: Reasoning): Promise<void> {
  const { handle, answer, finishing } = open;
  const { asks, revision } = ruling;
  if (handle.root.settings.quarantine === undefined) {
    const refusal = askRefusal(asks, 'a person would have to see this answer, and the run has no quarantine store');
    return discard(open, { kind: 'refused', refusal });
  }
  finishing.release.retract('the answer waits for a person');
  const native = revision === 0 && !reasoning.isRewritten ? answer.native : undefined;
  const { inMode } = answer;
  const kept: RawAnswer = inMode
    ? { ...answer, reasoning: '', native, inMode: { ...inMode, said: reasoning.text ?? '' } }
    : { ...answer, reasoning: reasoning.text ?? '', native };
  const isKept = await putInQuarantine(handle, kept, { turn: finishing.turn, asks, revision, text: ruling.value.text });
  if (!isKept) discard(open, stopped);
}

/** What does not fit the agent's output schema; keeps the parsed answer where it fits. */
async function findMisfit(handle: RunHandle, schema: CompiledSchema, { text, value }: AnswerValue): Promise<string | undefined> {
  if (value === undefined) return readAnswer(text).misfit ?? 'it is not JSON';
  const parsing = inTime(handle, schema.parse(value));
  const parsed = isPromise(parsing) ? await parsing : parsing;
  if (!parsed.ok) return describeIssues(parsed.issues);
  handle.answer = { value: parsed.value };
  return undefined;
}

/** What flowed was shown already; thoughts in arguments cannot flow. */
function showReasoning({ handle, answer, finishing }: Open, { text }: Reasoning): void {
  const late = finishing.isReasoningShown ? answer.inMode?.argued : text;
  if (late) showThought(handle, finishing, late);
}

function showThought(handle: RunHandle, { turn }: Finishing, text: string): void {
  if (handle.root.settings.reasoning === 'show') handle.emit({ type: 'reasoning.delta', turn, text });
}

function show(open: Open, ruling: Ruling<AnswerValue>, reasoning: Reasoning): void {
  const { handle, answer, finishing, isFinal } = open;
  const { release, isReasoningShown } = finishing;
  showReasoning(open, reasoning);
  if (answer.inMode !== undefined && !isFinal) {
    if (!isReasoningShown && ruling.value.text !== '') showThought(handle, finishing, ruling.value.text);
    return;
  }
  if (release.mode === 'hold') release.show(ruling.value.text);
  else if (release.mode === 'live' && ruling.revision > 0) {
    release.retract('a guardrail rewrote the answer');
    release.show(ruling.value.text);
  }
}

function tellCalls(handle: RunHandle, calls: readonly RecordedCall[]): void {
  if (handle.root.channel === undefined && handle.root.observers === undefined) return;
  for (const call of calls) {
    if (call.end === undefined) handle.emit({ type: 'tool.delta', callId: call.id, tool: call.name, text: JSON.stringify(call.input) });
  }
}

/** Whether the calls are recorded as the model gave them. */
function areUntouched(calls: readonly RecordedCall[], { answer, finishing }: Open): boolean {
  return calls.every((call, index) => {
    if (call.end !== undefined || call.revision > 0) return false;
    return call.kind !== 'handoff' || isSameInput(call, answer.calls[index], finishing.names.get(call.name)?.spec.input);
  });
}

function isSameInput(recorded: RecordedCall, given: ModelCall | undefined, schema: CompiledSchema | undefined): boolean {
  if (given === undefined || !('input' in given)) return false;
  return JSON.stringify(schema?.withoutAbsent(given.input) ?? given.input) === JSON.stringify(recorded.input);
}

function lastCall(name: string, id: string): RecordedCall {
  return {
    id,
    name,
    input: {},
    kind: 'unknown',
    revision: 0,
    end: abortedEnd('This call was not started: the limit of the run is reached.'),
  };
}
