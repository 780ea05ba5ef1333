import type { OutputSubject } from '../define/types.js';
import type { JsonValue } from '../model/types.js';
import { saysOtherwise } from '../project/json-words.js';
import type { CompiledSchema } from '../schema.js';
import type { Ask, Refusal } from '../state/events.js';
import type { Finishing } from './answer.js';
import { readAnswer } from './answer.js';
import type { Ruling } from './guard.js';
import { judge } from './guard.js';
import type { RunHandle } from './handle.js';
import { inTime } from './in-time.js';
import { isPromise } from './is-promise.js';
import { deepFreeze } from './plain-output.js';
import { standNow } from './plan.js';
import { rewriteText } from './rewrite-text.js';

/** A text or a structured answer, as it goes through the guardrails. */
export interface AnswerValue {
  readonly text: string;
  /** Raw; undefined where the answer is text, or is not JSON. */
  readonly value: JsonValue | undefined;
}

interface Judging extends Pick<Finishing, 'label' | 'approvedRevision'> {
  readonly subject: string;
  readonly kind: 'answer' | 'reasoning';
  /** An answer that ends the run, not one beside calls. */
  readonly isFinal: boolean;
}

/** Asks the guardrails on `output`. */
export function judgeAnswer(handle: RunHandle, value: AnswerValue, judging: Judging): Ruling<AnswerValue> | Promise<Ruling<AnswerValue>> {
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
      const answer = structuredAnswer(text, schema);
      if (answer.value === undefined) return undefined;
      const parsed = inTime(handle, schema.parse(answer.value));
      const fit = (outcome: Awaited<typeof parsed>) => (outcome.ok ? { value: answer } : undefined);
      return isPromise(parsed) ? Promise.resolve(parsed).then(fit) : fit(parsed as Awaited<typeof parsed>);
    },
  });
}

/**
 * The answer that a text gives by the schema. Its text says nothing that its value does not say, and nothing in other characters: guardrails
 * look at either.
 */
export function structuredAnswer(text: string, schema: CompiledSchema): AnswerValue {
  const { value } = readAnswer(text, schema);
  return { text: value !== undefined && saysOtherwise(text) ? JSON.stringify(value) : text, value };
}

/** What an `ask` counts as where no person can be asked. */
export function askRefusal(asks: readonly Ask[], why: string): Refusal | undefined {
  const [ask] = asks;
  return ask && { action: 'ask', surface: 'output', by: ask.by, reason: `${ask.reason} (${why})` };
}
