import type { FilePart, ImagePart, JsonValue, Part } from '../model/types.js';
import { wellFormed } from '../project/well-formed.js';
import { bytesOf, contentText, explicitPart, partOfBytes, standIn } from './media.js';

export { contentText };

/** What a tool returned, in the form that is guarded, recorded and sent: plain, frozen, its own. */
export interface PlainOutput {
  /** Text, or parts where there are images or files. */
  readonly content: string | readonly Part[];
  /** What guardrails see as `output`. A string exactly when `isText`. */
  readonly value: JsonValue;
  readonly isText: boolean;
}

/** Levels of nesting that are kept; what lies deeper is replaced by a mark. */
export const maxOutputDepth = 64;
/** Values in one output that are kept; the rest is replaced by a mark. */
export const maxOutputNodes = 500_000;

const noResult = '(no result)';
const emptyResult = '(empty result)';
/** Texts that say nothing: what tools give where there is nothing, as it is or as JSON. */
const emptyForm = /^\s*(?:null|""|\[\s*\]|\{\s*\}|\(no result\)|\(empty result\))?\s*$/;
const longestEmptyForm = 32;
const circularMark = '[circular]';
const deepMark = '[nested too deep]';
const largeMark = '[left out: too many values]';
const unreadableMark = '[unreadable]';

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/**
 * The plain form of anything a tool may return. Never throws, never runs more of the value's own code than its getters and one `toJSON`,
 * and does not copy text. Strings stay as they are; everything else is JSON of one layer with real characters:
 * `undefined`, functions and symbols are `(no result)`, left out of objects and null in lists; `NaN`, infinities and bigints are text; dates
 * are ISO text; an error is its name and message; a Map with text keys is an object, another a list of pairs; a Set is a list; objects give
 * their own enumerable fields, or what `toJSON` gives; bytes are parts, or text if they are UTF-8; what would have to be waited for or read
 * to its end (a promise inside, a response, a stream, an iterator) is a mark that says so.
 */
export function plainOutput(output: unknown): PlainOutput {
  if (typeof output === 'string') return textOutput(wellFormed(output));
  try {
    return plainObject(output);
  } catch {
    return textOutput(unreadableMark);
  }
}

/** The tool gave nothing: no value, no text, or an empty list or object. */
export function isNothing(content: string | readonly Part[]): boolean {
  if (typeof content !== 'string') return false;
  return content.length <= longestEmptyForm ? emptyForm.test(content) : content.charCodeAt(0) <= 0x20 && content.trim() === '';
}

/** The content says in words that there is nothing. */
export const saysNothing = (content: string | readonly Part[]): boolean => content === noResult || content === emptyResult;

function textOutput(text: string): PlainOutput {
  const value = text === '' ? emptyResult : text;
  return Object.freeze({ content: value, value, isText: true });
}

function plainObject(output: unknown): PlainOutput {
  const parts = isObject(output) ? partsOf(output) : undefined;
  if (parts) return partsOutput(parts);
  const copy = new PlainCopy();
  const value = copy.of(output, 0);
  if (value === undefined) return textOutput(noResult);
  if (typeof value === 'string') return textOutput(value);
  const attached = [...copy.attached.values()];
  if (attached.length === 0) return Object.freeze({ content: JSON.stringify(value), value, isText: false });
  if (copy.attached.has(value as object)) return partsOutput(attached);
  const text = JSON.stringify(value, (_key, field: unknown) => {
    const part = isObject(field) ? copy.attached.get(field) : undefined;
    return part ? standIn(part) : field;
  });
  return Object.freeze({ content: Object.freeze<Part[]>([Object.freeze({ type: 'text', text }), ...attached]), value, isText: false });
}

/** The output's explicit parts: it is one, or a list of nothing else. */
function partsOf(output: object): readonly Part[] | undefined {
  let parts: readonly Part[] | undefined;
  try {
    parts = readParts(output);
  } catch {
    // What cannot be read is no part.
  }
  return parts;
}

function readParts(output: object): readonly Part[] | undefined {
  if (!Array.isArray(output)) {
    const part = explicitPart(output);
    return part && [part];
  }
  if (output.length === 0 || output.length > 1_000) return undefined;
  const parts: Part[] = [];
  for (const element of output as readonly unknown[]) {
    const part = isObject(element) ? explicitPart(element) : undefined;
    if (part === undefined) return undefined;
    parts.push(part);
  }
  return parts;
}

function partsOutput(parts: readonly Part[]): PlainOutput {
  if (parts.every((part) => part.type === 'text')) return textOutput(contentText(parts));
  const content = Object.freeze(parts.map((part) => Object.freeze(part)));
  return Object.freeze({ content, value: content as unknown as JsonValue, isText: false });
}

/** For an object whose fields are not what it holds: what it is, and that nobody has taken it out. Calls nothing. */
function unreadMark(value: object): string | undefined {
  if (isPlain(value)) return undefined;
  const has = (name: PropertyKey): boolean => typeof (value as { readonly [name: PropertyKey]: unknown })[name] === 'function';
  // Others can be piped too, and have their fields.
  if ((has('pipe') && (has('on') || has('subscribe'))) || has('pipeTo')) return '[stream, not read]';
  if (Object.keys(value).length > 0) return undefined;
  if (has('then')) return '[promise, not awaited]';
  if (has('arrayBuffer')) return '[body, not read]';
  return has(Symbol.iterator) || has(Symbol.asyncIterator) ? '[iterator, not read]' : undefined;
}

/** One copy of one output. Every field that cannot be read becomes a mark; nothing is thrown. */
class PlainCopy {
  /** Images and files found inside, in order. In the copy each stands as its part, in the text as a stand-in. */
  readonly attached = new Map<object, ImagePart | FilePart>();
  private nodes = 0;
  private readonly path: object[] = [];

  /** Undefined for what has no place in JSON. */
  of(value: unknown, depth: number): JsonValue | undefined {
    switch (typeof value) {
      case 'string':
        return wellFormed(value);
      case 'number':
        return Number.isFinite(value) ? value + 0 : String(value);
      case 'boolean':
        return value;
      case 'bigint':
        return value.toString();
      case 'object':
        return value === null ? null : this.ofObject(value, depth);
      default:
        return undefined;
    }
  }

  private ofObject(value: object, depth: number): JsonValue | undefined {
    this.nodes += 1;
    if (this.nodes > maxOutputNodes) return largeMark;
    if (depth >= maxOutputDepth) return deepMark;
    if (this.path.includes(value)) return circularMark;
    this.path.push(value);
    try {
      return this.ofReadable(value, depth);
    } catch {
      return unreadableMark;
    } finally {
      this.path.pop();
    }
  }

  private ofReadable(value: object, depth: number): JsonValue | undefined {
    if (Array.isArray(value)) return this.ofList(value, depth);
    if (!isPlain(value)) {
      const known = this.ofKnownClass(value, depth);
      if (known !== nothingKnown) return known;
    }
    const { toJSON } = value as { readonly toJSON?: unknown };
    if (typeof toJSON !== 'function') return unreadMark(value) ?? this.ofFields(value, depth);
    const json: unknown = toJSON.call(value, '');
    if (!isObject(json)) return this.of(json, depth);
    return Array.isArray(json) ? this.ofList(json, depth) : this.ofFields(json, depth);
  }

  private ofKnownClass(value: object, depth: number): JsonValue | undefined | typeof nothingKnown {
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
    if (value instanceof Error) return errorText(value);
    if (value instanceof Map) return this.ofMap(value, depth);
    if (value instanceof Set) return this.ofList(value, depth);
    if (value instanceof RegExp) return String(value);
    if (value instanceof String || value instanceof Number || value instanceof Boolean || value instanceof BigInt)
      return this.of(value.valueOf(), depth);
    const bytes = bytesOf(value);
    if (bytes) return this.ofBytes(bytes);
    if (ArrayBuffer.isView(value)) return this.ofList(value as unknown as Iterable<unknown>, depth);
    if (typeof Blob === 'function' && value instanceof Blob)
      return wellFormed(`[blob ${value.type || 'application/octet-stream'}, ${value.size} bytes, not read]`);
    return nothingKnown;
  }

  private ofBytes(bytes: Uint8Array): JsonValue {
    const part = partOfBytes(bytes);
    if (part.type === 'text') return part.text;
    this.attached.set(Object.freeze(part), part);
    return part as unknown as JsonValue;
  }

  private ofList(list: Iterable<unknown>, depth: number): JsonValue {
    const plain: JsonValue[] = [];
    for (const element of list) {
      this.nodes += 1;
      if (this.nodes > maxOutputNodes) {
        plain.push(largeMark);
        break;
      }
      plain.push(this.of(element, depth + 1) ?? null);
    }
    return Object.freeze(plain);
  }

  private ofMap(map: ReadonlyMap<unknown, unknown>, depth: number): JsonValue {
    if (![...map.keys()].every((key) => typeof key === 'string')) return this.ofList(map, depth);
    const plain: Record<string, JsonValue> = {};
    for (const [key, value] of map) if (!this.put(plain, [key as string, value], depth)) break;
    return Object.freeze(plain);
  }

  private ofFields(object: object, depth: number): JsonValue {
    const plain: Record<string, JsonValue> = {};
    for (const key of Object.keys(object)) {
      let value: unknown;
      try {
        value = (object as { readonly [key: string]: unknown })[key];
      } catch {
        value = unreadableMark;
      }
      if (!this.put(plain, [key, value], depth)) break;
    }
    return Object.freeze(plain);
  }

  /** False when no more has room. A field named `__proto__` would change what the copy inherits: it is left out. */
  private put(plain: Record<string, JsonValue>, [key, value]: readonly [string, unknown], depth: number): boolean {
    this.nodes += 1;
    if (this.nodes > maxOutputNodes) {
      plain['…'] = largeMark;
      return false;
    }
    if (key === '__proto__') return true;
    const field = this.of(value, depth + 1);
    if (field !== undefined) plain[wellFormed(key)] = field;
    return true;
  }
}

const nothingKnown = Symbol('nothing known');

/** `Name: message`, without a stack; further properties are not looked at, since libraries keep requests and credentials there. */
export function errorText(error: Error): string {
  const word = (read: () => unknown, otherwise: string): string => {
    try {
      const value = read();
      return typeof value === 'string' && value !== '' ? wellFormed(value) : otherwise;
    } catch {
      return otherwise;
    }
  };
  const name = word(() => error.name, 'Error');
  const message = word(() => error.message, '');
  return message === '' ? name : `${name}: ${message}`;
}

/**
 * Freezes lists and plain objects, all the way down, and returns the value. What has a class of its own (dates, bytes, maps) is left alone:
 * it cannot be frozen, or breaks when it is.
 */
export function deepFreeze<T>(value: T): T {
  if (isObject(value)) freezeInto(value, undefined);
  return value;
}

function isFlat(value: object): boolean {
  for (const key in value) {
    const field = (value as { readonly [key: string]: unknown })[key];
    if (isObject(field)) return false;
  }
  return true;
}

/** `seen` holds what was frozen already when it was met and has objects in it: frozen before, or met twice. */
function freezeInto(value: object, seen: Set<object> | undefined): Set<object> | undefined {
  let met = seen;
  if (Object.isFrozen(value)) {
    if (met?.has(value) || isFlat(value)) return met;
    met ??= new Set();
    met.add(value);
  }
  if (Array.isArray(value)) {
    Object.freeze(value);
    for (const element of value as readonly unknown[]) if (isObject(element)) met = freezeInto(element, met);
    return met;
  }
  if (!isPlain(value)) return met;
  Object.freeze(value);
  for (const key in value) {
    const field = (value as { readonly [key: string]: unknown })[key];
    if (isObject(field)) met = freezeInto(field, met);
  }
  return met;
}
