import type { GuardloopError, JsonObject } from '@guardloop/core/model';
import { recordOf } from '@guardloop/core/model';

/** A call as the stream gave it; whole only once the answer is. */
export interface AssembledCall {
  /** Empty where the server gave none. */
  readonly id: string;
  readonly name: string;
  /** The text of the arguments. */
  readonly input: string;
  /** Fields beside the API's own. */
  readonly extensions: JsonObject;
}

interface OpenCall {
  id: string;
  name: string;
  input: string;
  readonly index: number | undefined;
  readonly extensions: Record<string, JsonObject[string]>;
}

type Fields = Record<string, unknown>;

/**
 * Puts calls together from their pieces. The API keys them by `index`; servers that imitate it reuse, skip or leave out indexes and ids.
 * So a non-empty id that is new opens a call whatever its index; without one, a piece belongs to the last call of its index (or the last
 * call). A piece that names a tool opens a call where the call that it would belong to is named already and cannot go on.
 */
export class CallAssembly {
  readonly #calls: OpenCall[] = [];
  readonly #unsupported: (what: string) => GuardloopError;

  constructor(unsupported: (what: string) => GuardloopError) {
    this.#unsupported = unsupported;
  }

  /** Takes the `tool_calls` of one delta; answers with the pieces of arguments, by order of first appearance. */
  take(deltas: unknown): readonly { readonly index: number; readonly text: string }[] {
    if (!Array.isArray(deltas)) return [];
    const pieces: { index: number; text: string }[] = [];
    const touched = new Set<OpenCall>();
    for (const delta of deltas.map(recordOf)) {
      if (delta === undefined) continue;
      if (delta.type === 'custom' || recordOf(delta.custom) !== undefined)
        throw this.#unsupported('The answer holds a custom tool call, which this adapter does not support');
      const call = this.#callOf(delta, touched);
      touched.add(call);
      const text = this.#add(call, delta);
      if (text !== '') pieces.push({ index: this.#calls.indexOf(call), text });
    }
    return pieces;
  }

  all(): readonly AssembledCall[] {
    return this.#calls;
  }

  #callOf(delta: Fields, touched: ReadonlySet<OpenCall>): OpenCall {
    const id = textOf(delta.id);
    const index = typeof delta.index === 'number' ? delta.index : undefined;
    const name = textOf(recordOf(delta.function)?.name);
    const isAt = (call: OpenCall): boolean => index === undefined || call.index === undefined || call.index === index;
    const same = id === '' ? undefined : this.#calls.findLast((call) => call.id === id && isAt(call));
    const call = same ?? (index === undefined ? this.#calls.at(-1) : this.#calls.findLast((other) => other.index === index));
    if (call === undefined || (id !== '' && call.id !== '' && call.id !== id)) return this.#open(id, index);
    const isNamedAgain = name !== '' && call.name !== '';
    const goesOn = !isNamedAgain || ((index !== undefined || !touched.has(call)) && canGoOn(call, name, inputText(delta)));
    return goesOn ? call : this.#open(id, index);
  }

  #open(id: string, index: number | undefined): OpenCall {
    const call: OpenCall = { id, name: '', input: '', index, extensions: {} };
    this.#calls.push(call);
    return call;
  }

  #add(call: OpenCall, delta: Fields): string {
    if (call.id === '') call.id = textOf(delta.id);
    const name = textOf(recordOf(delta.function)?.name);
    if (name !== call.name) call.name += name;
    for (const [key, value] of Object.entries(delta)) {
      if (!ownFields.has(key) && value !== undefined && value !== null) call.extensions[key] = value as JsonObject[string];
    }
    const text = inputText(delta);
    call.input += text;
    return text;
  }
}

const ownFields = new Set(['index', 'id', 'type', 'function']);

/** True if a piece that names a tool again can belong to the call: the name repeated, or the rest of a name before any argument. */
function canGoOn(call: OpenCall, name: string, text: string): boolean {
  if (name !== call.name) return call.input === '';
  return text === '' || !isWhole(call.input);
}

function isWhole(input: string): boolean {
  if (!input.trimEnd().endsWith('}')) return false;
  try {
    JSON.parse(input);
    return true;
  } catch {
    return false;
  }
}

function inputText(delta: Fields): string {
  const input = recordOf(delta.function)?.arguments;
  if (typeof input === 'string') return input;
  return input === undefined || input === null ? '' : JSON.stringify(input);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
