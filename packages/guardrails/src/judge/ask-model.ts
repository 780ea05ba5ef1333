import type { Label, Model, ModelSettings, ModelShare } from '@guardloop/core';
import type { JsonObject, ModelRequest } from '@guardloop/core/model';
import { collect, GuardloopError } from '@guardloop/core/model';

/** Why a judge gave no verdict. */
export type JudgeFailureKind =
  /** The model could not be asked: its error stands in `cause`. */
  | 'unreachable'
  /** The model or its provider would not answer. */
  | 'refusal'
  /** The answer was cut by a token limit, or its stream had no end. */
  | 'cut'
  /** The answer is not exactly what was asked for. */
  | 'unreadable';

/** A judge gave no verdict. Holds nothing of what was judged or answered. */
export interface JudgeFailure {
  readonly kind: JudgeFailureKind;
  /** What the model threw, for your own log. */
  readonly cause?: unknown;
}

/** Options of everything here that asks a model. */
export interface AskingOptions {
  /** The judge's own model. Retries, fallbacks and timeouts go around it as around any model. */
  readonly model: Model;
  /** Settings of its requests. Default: none. */
  readonly settings?: ModelSettings | undefined;
  /**
   * Told what each request took. Core counts what agents and projections use; what a guardrail uses it cannot count: it stands in no result
   * and no limit. What it throws is a failure of the guardrail.
   */
  readonly used?: ((share: ModelShare) => void) | undefined;
  /** Told why there was no verdict. What it throws changes nothing. */
  readonly onFailure?: ((failure: JudgeFailure) => void) | undefined;
}

/** The names of {@link AskingOptions}. */
export const askingOptionNames = ['model', 'settings', 'used', 'onFailure'] as const satisfies readonly (keyof AskingOptions)[];

/** One question to a model. */
export interface Question<V> {
  readonly system: string;
  /** The fenced text. */
  readonly text: string;
  /** Of what the text holds. */
  readonly label: Label;
  readonly schema: JsonObject;
  /** Reads the parsed answer; undefined where it is not exactly what was asked for. Never throws. */
  readonly read: (answer: JsonObject) => V | undefined;
}

/** Asks a model, and reads its verdict strictly. Rejects where there is none. */
export async function askModel<V>(options: AskingOptions, question: Question<V>, signal: AbortSignal): Promise<V> {
  try {
    return await verdictOf(options, question, signal);
  } catch (thrown) {
    if (!signal.aborted) tell(options, thrown);
    throw thrown;
  }
}

class NoVerdict extends Error {
  constructor(readonly kind: JudgeFailureKind) {
    super(`The judge gave no verdict: ${kind}.`);
  }
}

function tell({ onFailure }: AskingOptions, thrown: unknown): void {
  try {
    onFailure?.(thrown instanceof NoVerdict ? { kind: thrown.kind } : { kind: 'unreachable', cause: thrown });
  } catch {
    // Whoever watches changes nothing.
  }
}

async function verdictOf<V>(options: AskingOptions, { read, ...asked }: Question<V>, signal: AbortSignal): Promise<V> {
  const { model, used } = options;
  let answer: Awaited<ReturnType<typeof collect>>;
  try {
    answer = await collect(model.stream(requestOf(options, asked), { signal }));
  } catch (thrown) {
    used?.({ model: model.id, usage: usageOf(thrown) });
    throw thrown;
  }
  const { end, text, calls } = answer;
  if (end) used?.({ model: end.by?.id ?? model.id, usage: end.usage });
  if (end === undefined || end.stopReason === 'length') throw new NoVerdict('cut');
  if (end.stopReason === 'refusal') throw new NoVerdict('refusal');
  const value = calls.length === 0 && end.misfit === undefined ? readObject(text) : undefined;
  const verdict = value && read(value);
  if (verdict === undefined) throw new NoVerdict('unreadable');
  return verdict;
}

function requestOf({ settings = {} }: AskingOptions, { system, text, label, schema }: Omit<Question<unknown>, 'read'>): ModelRequest {
  return {
    agent: 'judge',
    turn: 1,
    system,
    messages: [{ role: 'user', id: 'judge/1', via: 'view', parts: [{ type: 'text', text, label }], label }],
    tools: [],
    output: { name: 'verdict', schema },
    settings,
  };
}

/** The object that the text is, and nothing else: words or a code fence around it are no verdict. */
function readObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

function usageOf(thrown: unknown): ModelShare['usage'] {
  const told = GuardloopError.is(thrown) ? thrown.details.usage : undefined;
  return typeof told === 'object' && told !== null && 'requests' in told ? (told as ModelShare['usage']) : { requests: 1 };
}
