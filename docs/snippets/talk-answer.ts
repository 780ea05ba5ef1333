// #region answer
import type { AnswerAssembly, GuardloopError, JsonValue, ModelCall, ModelEvent, SseFrame, StopReason } from '@guardloop/core/model';
import { recordOf } from '@guardloop/core/model';

const reasons: Readonly<Record<string, StopReason>> = { done: 'stop', calls: 'tools', cut: 'length', refused: 'refusal' };

/** Puts one answer together: `{text}`, `{call}`, `{input}` (a piece of the last call's), and `{stop, used}` at its end. */
export class Answer implements AnswerAssembly {
  hasDelivered = false;
  readonly #names: ReadonlyMap<string, string>;
  readonly #fail: (what: string) => GuardloopError;
  #text = '';
  readonly #calls: { id: string; name: string; input: string }[] = [];
  #end: Record<string, unknown> | undefined;

  constructor(names: ReadonlyMap<string, string>, fail: (what: string) => GuardloopError) {
    this.#names = names;
    this.#fail = fail;
  }

  get isDone(): boolean {
    return this.#end !== undefined;
  }

  get isTerminal(): boolean {
    return this.isDone;
  }

  *push({ data }: SseFrame): Generator<ModelEvent> {
    if (data === '') return;
    const said = recordOf(parsed(data));
    if (said === undefined) throw this.#fail('The stream holds an event that is no JSON object');
    if (typeof said.text === 'string' && said.text !== '') {
      this.#text += said.text;
      this.hasDelivered = true;
      yield { type: 'text.delta', text: said.text };
    }
    const call = recordOf(said.call);
    if (call !== undefined) this.#calls.push({ id: String(call.id), name: String(call.name), input: '' });
    const last = this.#calls.at(-1);
    if (typeof said.input === 'string' && said.input !== '' && last !== undefined) {
      last.input += said.input;
      yield { type: 'tool.delta', index: this.#calls.length - 1, text: said.input };
    }
    if (said.stop !== undefined) this.#end = said;
  }

  finish(requests: number): readonly ModelEvent[] {
    if (this.#end === undefined) throw this.#fail('The stream ended before the answer was whole');
    const stopReason = reasons[String(this.#end.stop)];
    if (stopReason === undefined) throw this.#fail('The answer stopped for a reason that this adapter does not know');
    const used = recordOf(this.#end.used);
    const usage = { requests, inputTokens: count(used?.in), outputTokens: count(used?.out) }; // what was not told stays missing
    if (stopReason === 'length' || stopReason === 'refusal') return [{ type: 'end', stopReason, usage }];
    const calls = this.#calls.map((each): ModelCall => {
      const named = { providerId: each.id, name: this.#names.get(each.name) ?? each.name };
      const input = parsed(each.input);
      return input === undefined ? { ...named, unparsable: each.input } : { ...named, input };
    });
    const native = { who: 'model', text: this.#text, calls: this.#calls };
    return [...calls.map((call) => ({ type: 'tool.call', call }) as const), { type: 'end', stopReason, usage, native }];
  }
}

function parsed(json: string): JsonValue | undefined {
  try {
    return JSON.parse(json) as JsonValue;
  } catch {
    return undefined;
  }
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined;
}
// #endregion
