import type { GuardloopError } from '../errors.js';
import { jsonLoss } from '../model/json-loss.js';
import type { JsonValue, Label, ModelCall, StopReason, Usage } from '../model/types.js';
import type { CompiledSchema } from '../schema.js';
import type { RecordedError, ThoughtPlace } from '../state/events.js';
import type { RunHandle } from './handle.js';
import { jsonFault } from './json-fault.js';
import { deepFreeze } from './plain-output.js';
import { standNow } from './plan.js';
import type { Release } from './release.js';
import type { Offered } from './stand.js';

/** A drained answer that nothing has judged yet. Lives only in memory, and in quarantine. */
export interface RawAnswer {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ModelCall[];
  readonly native: JsonValue | undefined;
  readonly usage: Usage;
  readonly stopReason: StopReason;
  /** Who answered: the maker of `native`, and the model's id, where that is not the one that was asked. */
  readonly provider: string;
  readonly model?: string | undefined;
  /** Size of the text of an answer that tells of a call and holds none, in characters: it counts as empty. */
  readonly lostChars?: number | undefined;
  /** In an agent with a mode. */
  readonly inMode?: InMode | undefined;
}

/** How an agent's mode takes an answer. Plain JSON: it may wait in quarantine. */
export interface InMode {
  readonly thought: ThoughtPlace;
  /** Thoughts taken off the calls. */
  readonly argued: string;
  /** They, and the text beside the call that ends the run: judged and recorded as reasoning, shown or not. */
  readonly said: string;
  /** A thought alone: the run goes on until this call ends it. */
  readonly continues: string | undefined;
}

/** How an answer is to be finished. */
export interface Finishing {
  readonly turn: number;
  readonly names: ReadonlyMap<string, Offered>;
  /** The last answer after a limit: its calls do not run. */
  readonly isFinal: boolean;
  readonly release: Release;
  readonly label: Label;
  /** The reasoning was shown already, since nothing guards it. */
  readonly isReasoningShown: boolean;
  /** A person approved this answer: asks are answered, and only checks are asked again. */
  readonly approvedRevision?: number | undefined;
}

/** The label of what the active agent's model says now. */
export function answerLabel(handle: RunHandle): Label {
  const { trusted, untrusted } = standNow(handle).labels;
  return handle.state.conversation.isUntrusted ? untrusted : trusted;
}

export function recordError(error: GuardloopError): RecordedError {
  return {
    code: error.code,
    message: error.message,
    isRetryable: error.isRetryable,
    ...(Object.keys(error.details).length > 0 ? { details: error.details as never } : {}),
    ...(error.cause === undefined ? {} : { cause: error.cause }),
  };
}

const fence = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/;

/** The JSON of an answer, as its schema has it; a single code fence around the whole is taken off. */
export function readJson(text: string, schema?: CompiledSchema): { readonly value: JsonValue | undefined; readonly misfit?: string } {
  const json = fence.exec(text)?.[1] ?? text;
  try {
    const value = JSON.parse(json) as JsonValue;
    return { value: deepFreeze(schema === undefined ? value : schema.withoutAbsent(value)) };
  } catch {
    const fault = jsonFault(json);
    return { value: undefined, misfit: fault === undefined ? 'it is not valid JSON' : `it is not valid JSON (${fault})` };
  }
}

/** As {@link readJson}; of a text that says more than its value, nothing is read. */
export function readAnswer(text: string, schema?: CompiledSchema): ReturnType<typeof readJson> {
  const { value } = readJson(text);
  const loss = value === undefined ? undefined : jsonLoss(fence.exec(text)?.[1] ?? text, value);
  return loss === undefined ? readJson(text, schema) : { value: undefined, misfit: `it cannot be read: ${loss}` };
}
