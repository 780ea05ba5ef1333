import type { ToolSpec } from '@guardloop/core/model';
import { namesByWire } from '@guardloop/core/model';

const namesOf = new WeakMap<readonly ToolSpec[], ReadonlyMap<string, string>>();

/** From the wire form back to the name, for the tools of a request. Names that are not offered stay as the model wrote them. */
export function toolNames(tools: readonly ToolSpec[]): ReadonlyMap<string, string> {
  let names = namesOf.get(tools);
  if (names === undefined) {
    names = namesByWire(tools.map(({ name }) => name));
    namesOf.set(tools, names);
  }
  return names;
}
