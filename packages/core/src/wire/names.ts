import { GuardloopError } from '../errors.js';
import { shortHash } from './short-hash.js';

const legal = /^[a-zA-Z0-9_-]{1,64}$/;
/** Every derived name ends so, as {@link shortHash} writes it. A name that happens to end so is derived too, so that the two never meet. */
const derived = /_[01][0-9a-z]{6}[01][0-9a-z]{6}$/;

/** True for a name or an id of a call that provider APIs take as it is: `^[a-zA-Z0-9_-]{1,64}$`. */
export function isWireName(name: string): boolean {
  return legal.test(name);
}

/**
 * The name under which a tool or schema goes to an API that takes `^[a-zA-Z0-9_-]{1,64}$`. A legal name stays as it is; any other keeps what
 * it can and gets a hash of the whole. So the same name always has the same wire form, and no two names share one.
 */
export function wireName(name: string): string {
  if (legal.test(name) && !derived.test(name)) return name;
  return `${name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 49)}_${shortHash(name)}`;
}

/**
 * The way back, for the tools of one request. A name that is not among them stays as the model wrote it: core answers it as an unknown tool.
 * Throws `NAME_TAKEN` should two names have one wire form all the same.
 */
export function namesByWire(names: readonly string[]): ReadonlyMap<string, string> {
  const byWire = new Map<string, string>();
  for (const name of names) {
    const wire = wireName(name);
    const other = byWire.get(wire);
    if (other !== undefined) {
      throw new GuardloopError(
        'NAME_TAKEN',
        `Tools ${other} and ${name} have the same name ${wire} for the provider. Give one another name.`,
      );
    }
    byWire.set(wire, name);
  }
  return byWire;
}
