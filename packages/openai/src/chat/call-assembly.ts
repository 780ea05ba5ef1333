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
  /** The text of the arguments so far, as pieces that follow one another. */
  input: string;
  /** Each piece as it came. */
  readonly pieces: string[];
  readonly index: number | undefined;
  readonly extensions: Record<string, JsonObject[string]>;
}

type Fields = Record<string, unknown>;

/**
 * Puts calls together from their pieces. The API keys them by `index`; servers that imitate it reuse, skip or leave out indexes and ids.
 * So a non-empty id that is new opens a call whatever its index; without one, a piece belongs to the last call of its index (or the last
 * call). A piece that names a tool opens a call where the call that it would belong to is named already and cannot go on. A piece of
 * arguments that names none goes on with a named call that is not whole, though its id (with the same index) or its index (without an id) is
 * new: some servers make one up for every piece.
 */
export class CallAssembly {
  readonly #calls: OpenCall[] = [];
  /** Ids and indexes of pieces that went to a call with others. */
  readonly #strays = new Set<string | number>();
  readonly #unsupported: (what: string) => GuardloopError;

  constructor(unsupported: (what: string) => GuardloopError) {
    this.#unsupported = unsupported;
  }

  /** Takes the `tool_calls` of one delta; answers with the pieces of arguments, by order of first appearance. */
  take(deltas: unknown): readonly { readonly index: number; readonly text: string }[] {
    const list: readonly unknown[] = Array.isArray(deltas) ? deltas : [deltas];
    const pieces: { index: number; text: string }[] = [];
    const touched = new Set<OpenCall>();
    for (const delta of list.map(recordOf)) {
      if (delta === undefined) continue;
      if (delta.type === 'custom' || recordOf(delta.custom) !== undefined)
        throw this.#unsupported('The answer holds a custom tool call, which this adapter does not support');
      const call = this.#callOf(delta, touched);
      touched.add(call);
      const text = add(call, delta);
      if (text !== '') pieces.push({ index: this.#calls.indexOf(call), text });
    }
    return pieces;
  }

  /** The calls in order of first appearance. Throws where arguments belong to no tool and may be those of a call that came without any. */
  all(): readonly AssembledCall[] {
    const isLost = this.#calls.some(({ name, input }) => name === '' && input.trim() !== '');
    if (isLost && this.#calls.some(({ name, input }) => name !== '' && input.trim() === ''))
      throw this.#unsupported('The answer holds arguments that belong to none of its calls');
    return this.#calls.map(({ id, name, input, pieces, extensions }) => ({
      id,
      name,
      input: isJson(input) ? input : (repeatedInput(pieces) ?? input),
      extensions,
    }));
  }

  #callOf(delta: Fields, touched: ReadonlySet<OpenCall>): OpenCall {
    const id = idOf(delta.id);
    const index = indexOf(delta.index);
    const name = textOf(recordOf(delta.function)?.name);
    const isAt = (call: OpenCall): boolean => index === undefined || call.index === undefined || call.index === index;
    const same = id === '' ? undefined : this.#calls.findLast((call) => call.id === id && isAt(call));
    const last = this.#calls.at(-1);
    const call = same ?? (index === undefined ? last : this.#calls.findLast((other) => other.index === index));
    const text = inputText(delta);
    const isRest = (open: OpenCall): boolean => name === '' && text !== '' && open.name !== '' && !isWhole(open.input);
    if (call === undefined)
      return last !== undefined && id === '' && isRest(last) ? this.#astray(index, last) : this.#open(id, index, name);
    if (id !== '' && call.id !== '' && call.id !== id) return isRest(call) ? this.#astray(id, call) : this.#open(id, index, name);
    const isNamedAgain = name !== '' && call.name !== '';
    const goesOn = !isNamedAgain || ((index !== undefined || !touched.has(call)) && canGoOn(call, name, text));
    return goesOn ? call : this.#open(id, index, name);
  }

  #astray(key: string | number | undefined, call: OpenCall): OpenCall {
    if (key !== undefined) this.#strays.add(key);
    return call;
  }

  #open(id: string, index: number | undefined, name: string): OpenCall {
    // Its arguments came before its name, and went to another call.
    if (name !== '' && (this.#strays.has(id) || (index !== undefined && this.#strays.has(index))))
      throw this.#unsupported('The answer holds arguments that came before the name of their tool');
    const call: OpenCall = { id, name: '', input: '', pieces: [], index, extensions: {} };
    this.#calls.push(call);
    return call;
  }
}

const ownFields = new Set(['index', 'id', 'type', 'function']);

function add(call: OpenCall, delta: Fields): string {
  if (call.id === '') call.id = idOf(delta.id);
  const name = textOf(recordOf(delta.function)?.name);
  // Repeated as a whole, or so far, or in pieces.
  if (name.startsWith(call.name)) call.name = name;
  else call.name += name;
  for (const [key, value] of Object.entries(delta)) {
    if (!ownFields.has(key) && value !== undefined && value !== null) call.extensions[key] = value as JsonObject[string];
  }
  const text = inputText(delta);
  if (text !== '') call.pieces.push(text);
  call.input += text;
  return text;
}

/** True if a piece that names a tool again can belong to the call: the name repeated, or the rest of a name before any argument. */
function canGoOn(call: OpenCall, name: string, text: string): boolean {
  if (name !== call.name) return call.input === '';
  return text === '' || !isWhole(call.input);
}

/**
 * The arguments where a server sends all of them so far with every piece, sends the whole once more at the end (vercel/ai#12052), or begins
 * with an empty object before their pieces. Read so only where the pieces that follow one another cannot even be the beginning of JSON: a
 * server's own pieces are never taken apart.
 */
function repeatedInput(given: readonly string[]): string | undefined {
  const hasOpening = given[0]?.trim() === '{}';
  const pieces = hasOpening ? given.slice(1) : given;
  const rest = pieces.join('');
  if (hasOpening && isWhole(rest)) return rest;
  let input = '';
  let isRepeated = false;
  for (const piece of pieces) {
    const repeats = input.trimStart().startsWith('{') && piece.startsWith(input);
    // After these a piece of JSON may begin with what the text begins with.
    if (repeats && /[:,[]\s*$/.test(input)) return undefined;
    isRepeated ||= repeats;
    input = repeats ? piece : input + piece;
  }
  return isRepeated && isWhole(input) ? input : undefined;
}

function isWhole(input: string): boolean {
  return input.trimEnd().endsWith('}') && isJson(input);
}

function isJson(input: string): boolean {
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

/** Some servers number their ids. */
function idOf(value: unknown): string {
  return typeof value === 'number' ? String(value) : textOf(value);
}

function indexOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : undefined;
}
