import type { OutputSubject } from '../define/types.js';
import { GuardloopError } from '../errors.js';
import type { JsonObject, JsonValue, ModelCall } from '../model/types.js';
import { describeIssues } from '../schema.js';
import { canonicalJson } from '../state/canonical-json.js';
import { newSalt, saltedSha256Hex } from '../state/digest.js';
import type { Ask, RecordedCall, Refusal } from '../state/events.js';
import type { Finishing, RawAnswer } from './answer.js';
import { readJson } from './answer.js';
import type { Ruling } from './guard.js';
import { judge } from './guard.js';
import type { LogDraft, RunHandle } from './handle.js';
import { isPromise } from './is-promise.js';
import { abortedEnd } from './observations.js';
import { deepFreeze } from './plain-output.js';
import { standNow } from './plan.js';
import { prepareCalls } from './prepare-calls.js';
import { rewriteText } from './rewrite-text.js';

type ModelEnd = Extract<LogDraft, { type: 'model.end' }>;

/** A text or a structured answer, as it goes through the guardrails. */
export interface AnswerValue {
  readonly text: string;
  /** Raw; undefined where the answer is text, or is not JSON. */
  readonly value: JsonValue | undefined;
}

/** Judges a whole answer, shows it, prepares its calls, and records it as `model.end`: or discards it, or puts it before a person. */
export async function finishAnswer(handle: RunHandle, answer: RawAnswer, finishing: Finishing): Promise<void> {
  const { state } = handle;
  const { turn, release, label } = finishing;
  const stand = standNow(handle);
  const { output: schema } = stand.agent;
  const id = `${state.id}/${turn}`;
  const { usage, stopReason } = answer;
  const chars = answer.text.length;
  const refuse = (refusal: Refusal | undefined, misfit?: string): void => {
    release.retract(refusal?.reason ?? 'the answer did not fit its schema');
    handle.append({
      type: 'model.end',
      turn,
      status: 'refused',
      id,
      text: '',
      revision: 0,
      calls: [],
      label,
      usage,
      stopReason,
      chars,
      ...(refusal ? { refusal } : {}),
      ...(misfit === undefined ? {} : { misfit }),
    });
  };
  const stopped = (): void => {
    release.retract('the run was stopped');
    handle.append({ type: 'model.end', turn, status: 'aborted', id, text: '', revision: 0, calls: [], label, usage, chars });
  };

  const isFinal = answer.calls.length === 0;
  if (isFinal && answer.text === '') {
    handle.append({ type: 'model.end', turn, status: 'ok', id, text: '', revision: 0, calls: [], label, usage, stopReason, empty: true });
    return;
  }

  let reasoning: string | undefined;
  let isReasoningRewritten = false;
  if (handle.root.settings.reasoning === 'show' && answer.reasoning !== '') {
    const ruling = await judgeAnswer(
      handle,
      { text: answer.reasoning, value: undefined },
      { ...finishing, subject: `${id}/reasoning`, kind: 'reasoning', isFinal },
    );
    if (ruling.isStopped) return stopped();
    const refusal = ruling.refusal ?? askRefusal(ruling.asks, 'shown reasoning cannot wait for a person');
    if (refusal) return refuse(refusal);
    reasoning = ruling.value.text;
    isReasoningRewritten = ruling.revision > 0;
  }

  const given: AnswerValue = { text: answer.text, value: schema && isFinal ? readJson(answer.text).value : undefined };
  let ruling: Ruling<AnswerValue>;
  if (answer.text === '') ruling = { value: given, revision: 0, refusal: undefined, asks: [], isStopped: false };
  else if (release.mode === 'window' && finishing.approvedRevision === undefined) {
    const windowed = await release.finish(id);
    if (handle.stop) return stopped();
    ruling = {
      value: { text: windowed.text, value: undefined },
      revision: windowed.revision,
      refusal: windowed.refusal,
      asks: [],
      isStopped: false,
    };
  } else ruling = await judgeAnswer(handle, given, { ...finishing, subject: id, kind: 'answer', isFinal });
  if (ruling.isStopped) return stopped();
  if (ruling.refusal) return refuse(ruling.refusal);
  if (ruling.asks.length > 0 && finishing.approvedRevision === undefined) {
    const { quarantine } = handle.root.settings;
    if (quarantine === undefined)
      return refuse(askRefusal(ruling.asks, 'a person would have to see this answer, and the run has no quarantine store'));
    release.retract('the answer waits for a person');
    const isNativeKept = ruling.revision === 0 && !isReasoningRewritten;
    const kept: RawAnswer = { ...answer, reasoning: reasoning ?? '', native: isNativeKept ? answer.native : undefined };
    return putInQuarantine(handle, kept, { turn, asks: ruling.asks, revision: ruling.revision, text: ruling.value.text });
  }

  const { text, value } = ruling.value;
  if (schema && isFinal) {
    if (value === undefined) return refuse(undefined, readJson(text).misfit ?? 'it is not JSON');
    const parsing = schema.parse(value);
    const parsed = isPromise(parsing) ? await parsing : parsing;
    if (!parsed.ok) return refuse(undefined, describeIssues(parsed.issues));
    handle.answer = { value: parsed.value };
  }

  // An answer that is refused is discarded with its reasoning: neither is shown before both have passed.
  if (reasoning !== undefined && !finishing.isReasoningShown) handle.emit({ type: 'reasoning.delta', turn, text: reasoning });
  if (release.mode === 'hold' || finishing.approvedRevision !== undefined) release.show(text);
  else if (release.mode === 'live' && ruling.revision > 0) {
    release.retract('a guardrail rewrote the answer');
    release.show(text);
  }

  const calls: readonly RecordedCall[] = finishing.isFinal
    ? answer.calls.map((call, index) => lastCall(call.name, `${turn}.${index}`))
    : await prepareCalls(handle, answer, finishing);
  if (handle.stop && handle.stop.kind !== 'halt') return stopped();
  const isUntouched =
    ruling.revision === 0 &&
    !isReasoningRewritten &&
    calls.every(
      (call, index) => call.end === undefined && call.revision === 0 && (call.kind !== 'handoff' || isSameInput(call, answer.calls[index])),
    );
  const end: { -readonly [K in keyof ModelEnd]: ModelEnd[K] } = {
    type: 'model.end',
    turn,
    status: 'ok',
    id,
    text,
    revision: ruling.revision,
    calls: Object.freeze(calls),
    label,
    usage,
    stopReason,
  };
  if (value !== undefined) end.value = value;
  if (isUntouched && answer.native !== undefined) end.native = { provider: answer.provider, message: answer.native };
  if (reasoning !== undefined) end.reasoning = reasoning;
  handle.append(end);
  if (handle.root.channel === undefined && handle.root.observers === undefined) return;
  for (const call of calls) {
    if (call.end === undefined && call.kind !== 'unknown')
      handle.emit({ type: 'tool.delta', callId: call.id, tool: call.name, text: JSON.stringify(call.input) });
  }
}

function isSameInput(recorded: RecordedCall, given: ModelCall | undefined): boolean {
  return given !== undefined && 'input' in given && JSON.stringify(given.input) === JSON.stringify(recorded.input);
}

function lastCall(name: string, id: string): RecordedCall {
  return {
    id,
    name: /^[a-zA-Z0-9_-]{1,64}$/.test(name) ? name : 'unknown_tool',
    input: {},
    kind: 'unknown',
    revision: 0,
    end: abortedEnd('This call was not started: the limit of the run is reached.'),
  };
}

function askRefusal(asks: readonly Ask[], why: string): Refusal | undefined {
  const [ask] = asks;
  return ask && { action: 'ask', surface: 'output', by: ask.by, reason: `${ask.reason} (${why})` };
}

interface Judging extends Finishing {
  readonly subject: string;
  readonly kind: 'answer' | 'reasoning';
}

function judgeAnswer(
  handle: RunHandle,
  value: AnswerValue,
  judging: Judging & { readonly isFinal: boolean },
): Ruling<AnswerValue> | Promise<Ruling<AnswerValue>> {
  const { label, subject, kind, approvedRevision } = judging;
  const stand = standNow(handle);
  const schema = kind === 'answer' && judging.isFinal ? stand.agent.output : undefined;
  return judge<AnswerValue>(handle, {
    surface: 'output',
    subject,
    revision: approvedRevision ?? 0,
    value,
    guards: stand.output,
    phases: approvedRevision === undefined ? 'both' : 'check',
    canAsk: true,
    toSubject: ({ text, value: structured }): OutputSubject =>
      deepFreeze({ surface: 'output', content: text, label, value: structured ?? text, final: judging.isFinal, kind }),
    rewrite: (current, by) => {
      const text = rewriteText(current.text, by);
      if (text === undefined) return undefined;
      if (schema === undefined) return { value: { text, value: undefined } };
      const { value: structured } = readJson(text);
      if (structured === undefined) return undefined;
      const parsed = schema.parse(structured);
      const fit = (outcome: Awaited<typeof parsed>) => (outcome.ok ? { value: { text, value: structured } } : undefined);
      return isPromise(parsed) ? Promise.resolve(parsed).then(fit) : fit(parsed as Awaited<typeof parsed>);
    },
  });
}

async function putInQuarantine(
  handle: RunHandle,
  answer: RawAnswer,
  waiting: { readonly turn: number; readonly asks: readonly Ask[]; readonly revision: number; readonly text: string },
): Promise<void> {
  const { state, root } = handle;
  const { turn, asks, revision, text } = waiting;
  const key = `${state.id}/${turn}`;
  const salt = newSalt();
  const content = JSON.parse(JSON.stringify({ text, answer })) as JsonObject;
  const digest = await saltedSha256Hex(salt, canonicalJson(content));
  try {
    await root.settings.quarantine?.put(key, { ...content, salt });
  } catch (thrown) {
    throw new GuardloopError(
      'STORE_FAILED',
      `The quarantine store failed to keep an answer of agent ${state.agent}. Nothing of it was shown; look at the cause, then resume.`,
      { cause: thrown, isRetryable: true },
    );
  }
  handle.append({
    type: 'approval.request',
    turn,
    usage: answer.usage,
    approval: {
      id: `${state.id}/p${state.approvals + 1}`,
      surface: 'output',
      run: state.id,
      agentPath: handle.agentPath,
      subject: key,
      revision,
      digest,
      reason: asks.map((ask) => ask.reason).join('; '),
      asks,
      key,
      chars: text.length,
    },
  });
}
