/** Two words that nothing else holds, with characters between them that JSON, URLs and lines treat in their own ways. */
export const canary = 'Zq7vogelA"é\n/kW9kanarieB';
const words = ['Zq7vogelA', 'kW9kanarieB'] as const;

/** A word in the forms in which a program might pass it on. Escapes of JSON and of URLs leave it as it is. */
function formsOf(word: string): readonly string[] {
  const units = [...word].map((character) => character.charCodeAt(0));
  const wide = Buffer.from(word, 'utf16le');
  const base64 = (bytes: Buffer): readonly string[] =>
    [0, 1, 2].flatMap((offset) => {
      const whole = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
      // What the bytes before and after have a part in is left out.
      const inner = whole.slice(offset === 0 ? 0 : offset + 1, Math.floor(((offset + bytes.length) * 8) / 6));
      return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
    });
  return [
    word,
    [...word].reverse().join(''),
    ...base64(Buffer.from(word)),
    ...base64(wide),
    Buffer.from(word).toString('hex'),
    wide.toString('hex'),
    units.join(','),
    units.join(', '),
    units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join(''),
    units.map((unit) => `%${unit.toString(16)}`).join(''),
    units.map((unit) => `&#${unit};`).join(''),
  ];
}

const forms = [...new Set(words.flatMap(formsOf))];
const lowerForms = [...new Set(words.map((word) => word.toLowerCase()).flatMap((word) => [word, [...word].reverse().join('')]))];

const shortest = Math.min(...forms.map((form) => form.length));
/** Most texts of a run stand in it many times. */
const known = new Map<string, boolean>();

/** Whether a text holds either word, in any form. */
export function holdsCanary(text: string): boolean {
  if (text.length < shortest) return false;
  let holds = known.get(text);
  if (holds === undefined) {
    holds = search(text);
    if (text.length < 2_000) known.set(text, holds);
  }
  return holds;
}

function search(text: string): boolean {
  if (forms.some((form) => text.includes(form))) return true;
  const lower = text.toLowerCase();
  return lowerForms.some((form) => lower.includes(form)) || forms.some((form) => /^[0-9a-f%\\u]+$/.test(form) && lower.includes(form));
}

/**
 * Every path by which the canary can be reached from a value: through what is enumerable and what is not, symbols, getters of the object and
 * of its class, maps, sets, bytes, errors and their causes. Functions are asked for their properties, not for their source. What was seen
 * before is not looked at again.
 */
export function tracesOf(value: unknown, name = 'value', seen: Set<unknown> = new Set()): readonly string[] {
  const found: string[] = [];
  walk(value, name, { found, seen });
  return found;
}

interface Walk {
  readonly found: string[];
  readonly seen: Set<unknown>;
}

function walk(value: unknown, path: string, state: Walk): void {
  if (typeof value === 'string' || typeof value === 'symbol') {
    if (holdsCanary(String(value))) state.found.push(path);
    return;
  }
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || state.seen.has(value)) return;
  state.seen.add(value);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    if (bytesHoldCanary(value)) state.found.push(path);
    return;
  }
  if (Array.isArray(value) && typeof value[0] === 'number' && holdsCanary(value.join(','))) state.found.push(path);
  walkContent(value, path, state);
  for (const key of Reflect.ownKeys(value)) {
    walk(typeof key === 'symbol' ? key.description : key, `${path} (name of a field)`, state);
    walkField(value, key, { path, state });
  }
  for (const key of gettersOf(Object.getPrototypeOf(value))) walkField(value, key, { path, state });
}

function bytesHoldCanary(value: ArrayBuffer | ArrayBufferView): boolean {
  const bytes = value instanceof ArrayBuffer ? Buffer.from(value) : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return holdsCanary(bytes.toString('latin1')) || holdsCanary(bytes.toString('utf16le'));
}

/** What an object holds that is no field of it. */
function walkContent(value: object, path: string, state: Walk): void {
  if (value instanceof Map) for (const [key, each] of value) walk([key, each], `${path}<${String(key)}>`, state);
  if (value instanceof Set) for (const each of value) walk(each, `${path}<>`, state);
  if (value instanceof WeakRef) walk(value.deref(), `${path}*`, state);
  if (value instanceof URL || value instanceof RegExp) walk(String(value), path, state);
}

function walkField(value: object, key: string | symbol, { path, state }: { readonly path: string; readonly state: Walk }): void {
  let field: unknown;
  try {
    field = (value as Record<PropertyKey, unknown>)[key];
  } catch {
    return;
  }
  walk(field, typeof field === 'object' || typeof field === 'string' ? `${path}.${String(key)}` : path, state);
}

const getters = new WeakMap<object, readonly (string | symbol)[]>();
const noGetters: readonly (string | symbol)[] = [];

/** Of a class and of those it extends. */
function gettersOf(prototype: object | null): readonly (string | symbol)[] {
  if (prototype === null || prototype === Object.prototype || prototype === Array.prototype) return noGetters;
  let keys = getters.get(prototype);
  if (keys === undefined) {
    const own = Reflect.ownKeys(prototype).filter((key) => Object.getOwnPropertyDescriptor(prototype, key)?.get !== undefined);
    keys = [...own, ...gettersOf(Object.getPrototypeOf(prototype))];
    getters.set(prototype, keys);
  }
  return keys;
}
