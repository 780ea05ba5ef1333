import { fieldNames } from '../schema.js';
import type { Stand } from './stand.js';

const known = new WeakMap<Stand, ReadonlySet<string>>();

/** Names of the input fields of an agent's tools and handoffs, at any depth. */
export function argumentsOf(stand: Stand): ReadonlySet<string> {
  const found = known.get(stand);
  if (found) return found;
  const names = new Set<string>();
  for (const { offered } of stand.tools) if (offered.spec.input) fieldNames(offered.spec.input.json, names);
  known.set(stand, names);
  return names;
}
