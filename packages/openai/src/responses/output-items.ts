import type { JsonObject } from '@guardloop/core/model';
import { recordOf } from '@guardloop/core/model';

type Fields = Readonly<Record<string, unknown>>;

/** One item of an answer while it comes in. */
export interface OpenItem {
  readonly type: string;
  id: string;
  /** The id that a call is answered by; empty for other items. */
  callId: string;
  /** Its place in the answer, where the server has told it. */
  index: number | undefined;
  /** As it began. */
  begun: JsonObject;
  /** As it ended; undefined until the server has said so. */
  done: JsonObject | undefined;
  /** Text or reasoning that was given out, by part. */
  readonly given: Map<string, string>;
  /** The text of a call's arguments, as its pieces gave it, and as the server repeated it whole. */
  input: string;
  wholeInput: string | undefined;
  /** Among the calls, in order of first appearance. */
  readonly callIndex: number;
}

/**
 * Keeps the items of an answer apart. The API names them by `item_id` and `output_index`; servers that imitate it leave out one or the other,
 * reuse indexes, or give an item another id in every event. So a call is known by its `call_id`, any item by its id, and else by its index or
 * as the last among the items of its type that are not done.
 */
export class OutputItems {
  readonly #items: OpenItem[] = [];
  #calls = 0;

  /** The server begins an item. */
  open(event: Fields, item: Fields): OpenItem {
    const index = indexOf(event);
    const known = this.#find(item, (open) => open.done === undefined && isAt(open, index));
    if (known === undefined) return this.#add(item, index);
    known.begun = item as JsonObject;
    known.callId ||= textOf(item.call_id);
    return known;
  }

  /** The server ends an item, which it may not have begun, or says so twice. */
  close(event: Fields, item: Fields): OpenItem {
    const index = indexOf(event);
    const type = textOf(item.type);
    const isSame = (open: OpenItem): boolean => open.done === undefined || JSON.stringify(open.done) === JSON.stringify(item);
    const open =
      this.#find(item, (other) => isAt(other, index) && isSame(other)) ??
      this.#items.findLast((other) => other.type === type && other.done === undefined && isAt(other, index) && mayBe(other, item)) ??
      this.#add(item, index);
    open.done = item as JsonObject;
    open.callId ||= textOf(item.call_id);
    return open;
  }

  /** The item that a piece belongs to; begins one where the server has not. */
  piece(event: Fields, type: string): OpenItem {
    const id = textOf(event.item_id);
    const index = indexOf(event);
    const named = id === '' ? undefined : this.#items.findLast((item) => item.id === id && item.type === type && isAt(item, index));
    const unfinished = (): OpenItem | undefined =>
      this.#items.findLast((item) => item.type === type && item.done === undefined && isAt(item, index));
    return named ?? unfinished() ?? this.#add({ type, id }, index);
  }

  /** Takes the items that the end of an answer repeats. What the stream has told already stays, but for reasoning that it told in part. */
  settle(output: readonly unknown[]): readonly OpenItem[] {
    const settled = new Set<OpenItem>();
    for (const [index, given] of output.entries()) {
      const item = recordOf(given);
      if (item === undefined) continue;
      const isLeft = (open: OpenItem): boolean => !settled.has(open);
      const open =
        this.#items.find((other) => isLeft(other) && other.index === index && other.type === item.type && mayBe(other, item)) ??
        this.#find(item, isLeft) ??
        this.#add(item, index);
      open.index ??= index;
      open.callId ||= textOf(item.call_id);
      const isPartial = open.type === 'reasoning' && (open.done?.encrypted_content ?? null) === null;
      if (open.done === undefined || isPartial) open.done = item as JsonObject;
      settled.add(open);
    }
    return [...settled];
  }

  /** All items, in the order of the answer. */
  all(): readonly OpenItem[] {
    const indexes = new Set(this.#items.map(({ index }) => index));
    if (indexes.has(undefined) || indexes.size < this.#items.length) return this.#items;
    return this.#items.toSorted((one, other) => (one.index ?? 0) - (other.index ?? 0));
  }

  #add(item: Fields, index: number | undefined): OpenItem {
    const type = textOf(item.type);
    const open: OpenItem = {
      type,
      id: textOf(item.id),
      callId: textOf(item.call_id),
      index,
      begun: item as JsonObject,
      done: undefined,
      given: new Map(),
      input: '',
      wholeInput: undefined,
      callIndex: type === 'function_call' ? this.#calls++ : -1,
    };
    this.#items.push(open);
    return open;
  }

  /** The item by its `call_id` if it is a call, or by its id. */
  #find(item: Fields, mayCount: (open: OpenItem) => boolean): OpenItem | undefined {
    const type = textOf(item.type);
    const id = textOf(item.id);
    const callId = type === 'function_call' ? textOf(item.call_id) : '';
    const byCallId = callId === '' ? undefined : this.#items.findLast((open) => open.callId === callId && mayCount(open));
    const byId = (): OpenItem | undefined => this.#items.findLast((open) => open.id === id && open.type === type && mayCount(open));
    return byCallId ?? (id === '' ? undefined : byId());
  }
}

function isAt(item: OpenItem, index: number | undefined): boolean {
  return index === undefined || item.index === undefined || item.index === index;
}

/** False for two calls that say that they are not the same. */
function mayBe(open: OpenItem, { call_id: callId }: Fields): boolean {
  return open.callId === '' || textOf(callId) === '' || open.callId === callId;
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function indexOf(event: Fields): number | undefined {
  return typeof event.output_index === 'number' ? event.output_index : undefined;
}
