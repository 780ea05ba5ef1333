import { GuardloopError } from '@guardloop/core/model';
import { shortHash } from './short-hash.js';

const legalName = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * The name under which a tool or schema goes to the API, which takes `^[a-zA-Z0-9_-]{1,64}$`. A legal name stays as it is; any other
 * keeps what it can and gets a hash of the whole, so that the result depends on the name alone and two names do not meet.
 */
export function wireName(name: string): string {
  if (legalName.test(name)) return name;
  return `${name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 49)}_${shortHash(name)}`;
}

/** The way back, for the tools of one request. A name that is not among them stays as it is: core answers it as an unknown tool. */
export function namesByWire(names: readonly string[]): ReadonlyMap<string, string> {
  const byWire = new Map<string, string>();
  for (const name of names) {
    const wire = wireName(name);
    const other = byWire.get(wire);
    if (other !== undefined) {
      throw new GuardloopError(
        'NAME_TAKEN',
        `Tools ${other} and ${name} have the same name ${wire} for the OpenAI API. Give one another name.`,
      );
    }
    byWire.set(wire, name);
  }
  return byWire;
}
