import type { ToolSpec } from '@guardloop/core/model';

const legal = /^[a-zA-Z0-9_-]{1,64}$/;
/** Every derived name ends so. A name that happens to end so is derived too, so that no two names share a wire form. */
const derived = /_[0-9a-f]{16}$/;

/** True for an id or a name that the API takes as it is. */
export function isLegalWord(word: string): boolean {
  return legal.test(word);
}

/** The name of a tool as the API takes it. The same name always has the same wire form, and two names never share one. */
export function wireName(name: string): string {
  return legal.test(name) && !derived.test(name) ? name : `${name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 47)}_${fingerprint(name)}`;
}

const namesOf = new WeakMap<readonly ToolSpec[], ReadonlyMap<string, string>>();

/** From the wire form back to the name, for the tools of a request. Names that are not offered stay as the model wrote them. */
export function toolNames(tools: readonly ToolSpec[]): ReadonlyMap<string, string> {
  let names = namesOf.get(tools);
  if (names === undefined) {
    names = new Map(tools.map(({ name }) => [wireName(name), name]));
    namesOf.set(tools, names);
  }
  return names;
}

/** 64 bits of FNV-1a, as 16 hexadecimal digits. */
export function fingerprint(text: string): string {
  return hash(text, 0x811c9dc5) + hash(text, 0x5bd1e995);
}

function hash(text: string, basis: number): string {
  let value = basis;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    value = Math.imul(value ^ (unit & 0xff), 0x01000193);
    value = Math.imul(value ^ (unit >>> 8), 0x01000193);
  }
  return (value >>> 0).toString(16).padStart(8, '0');
}
