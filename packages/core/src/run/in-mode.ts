import type { AgentSpec, ModeSpec } from '../define/specs.js';
import type { JsonObject, JsonValue, ModelCall } from '../model/types.js';
import type { CallEnd, ThoughtPlace } from '../state/events.js';
import type { RawAnswer } from './answer.js';
import type { RunHandle } from './handle.js';
import { errorEnd } from './observations.js';

/** An answer as its agent's mode takes it: a thought beside calls or alone, or the answer that the stopping call gives. */
export function readInMode({ state }: RunHandle, { mode, output }: AgentSpec, answer: RawAnswer): RawAnswer {
  if (mode === undefined) return answer;
  const argued: string[] = [];
  const calls = answer.calls.map((call) => withoutThought(call, mode, argued));
  const text = answer.text.trim() === '' ? '' : answer.text;
  const thought = placeOf({ ...answer, text }, argued);
  const base = { ...answer, text, calls };
  const [only] = calls;
  const given =
    calls.length === 1 && only?.name === mode.stop && (thought !== 'none' || state.hasThought) ? answerIn(only, output?.json) : undefined;
  if (given === undefined) {
    const continues = calls.length === 0 ? mode.stop : undefined;
    return { ...base, inMode: { thought, argued: argued.join('\n'), said: argued.join('\n'), continues } };
  }
  const said = [text, ...argued].filter((each) => each !== '').join('\n');
  // What the provider would be shown again is a call without its result.
  return { ...base, text: given, calls: [], native: undefined, inMode: { thought, argued: argued.join('\n'), said, continues: undefined } };
}

function placeOf({ text, reasoning, usage }: RawAnswer, argued: readonly string[]): ThoughtPlace {
  if (text !== '') return 'text';
  if (reasoning.trim() !== '') return 'thinking';
  if (argued.length > 0) return 'argument';
  return (usage.reasoningTokens ?? 0) > 0 ? 'unreadable' : 'none';
}

/** The call as its tool takes it; its thought is added to `argued`. */
function withoutThought(call: ModelCall, { argument }: ModeSpec, argued: string[]): ModelCall {
  if (argument === undefined || 'unparsable' in call || !isObject(call.input) || !Object.hasOwn(call.input, argument)) return call;
  const { [argument]: said, ...input } = call.input;
  const words = typeof said === 'string' ? said : said === null ? '' : JSON.stringify(said);
  if (words.trim() !== '') argued.push(words);
  return { ...call, input };
}

const isObject = (value: JsonValue): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** What the stopping call says; undefined where it cannot be read. Whether a structured answer fits, is looked at as with any answer. */
function answerIn(call: ModelCall, schema: JsonObject | undefined): string | undefined {
  if ('unparsable' in call || !isObject(call.input)) return undefined;
  const { answer } = call.input;
  if (schema === undefined) return typeof answer === 'string' ? answer : undefined;
  // An object stands as it is; one that has no field `answer` may be wrapped all the same.
  const own = (schema.properties as { readonly answer?: JsonObject } | undefined)?.answer;
  const isWrapped =
    Object.keys(call.input).length === 1 &&
    isObject(answer ?? null) &&
    (own === undefined || (own.type !== 'object' && Object.hasOwn(Object(answer), 'answer')));
  return JSON.stringify(isWrapped || schema.type !== 'object' ? (answer ?? call.input) : call.input);
}

/** How a call ends that the mode does not let run; undefined for any other. */
export function heldByMode(
  { state }: RunHandle,
  mode: ModeSpec,
  { answer, call }: { readonly answer: RawAnswer; readonly call: ModelCall },
): CallEnd | undefined {
  const isStop = call.name === mode.stop;
  if (answer.inMode?.thought === 'none' && !state.hasThought) {
    const where =
      mode.argument === undefined
        ? 'in a sentence of text before it'
        : `in its argument ${mode.argument}, or in a sentence of text before it`;
    return misstep(
      `${isStop ? 'This call' : 'This action'} was not ${isStop ? 'taken' : 'run'}: no thought came before it. Say what it is for, ${where}, and call again.`,
    );
  }
  if (!isStop) return undefined;
  if (answer.calls.length > 1)
    return misstep(`${mode.stop} was not taken: it stood beside other calls. Look at their results first; then call it alone.`);
  return misstep(`${mode.stop} was not taken: its arguments are not the answer. Send one JSON object with the arguments that it names.`);
}

const misstep = (summary: string): CallEnd => errorEnd({ status: 'error', errorClass: 'invalid_input', summary, retryable: true });
