import type { JsonObject } from '@guardloop/core';
import { isObject } from './json.js';

/** What a server claims about a tool. Claims of an untrusted party: they loosen nothing unless the user says so. */
export interface Hints {
  readonly readOnly?: boolean | undefined;
  readonly destructive?: boolean | undefined;
  readonly idempotent?: boolean | undefined;
  readonly openWorld?: boolean | undefined;
}

/** A tool as the server defines it. */
export interface Definition {
  readonly name: string;
  /** Its description, else its title, else its name: a model is always told something. */
  readonly description: string;
  readonly input: JsonObject;
  readonly output: JsonObject | undefined;
  readonly hints: Hints | undefined;
  /** Runs only as a task of its own, which this client does not start. */
  readonly needsTask: boolean;
  readonly digest: string;
}

const longestName = 1_000;

/** What of a list's entry is a tool; else why it is none. Never throws. */
export function readDefinition(entry: unknown): Omit<Definition, 'digest'> | { readonly name: string; readonly fault: string } {
  if (!isObject(entry)) return { name: '', fault: 'is no object' };
  const { name, title, description, inputSchema, outputSchema, annotations, execution } = entry;
  if (typeof name !== 'string' || name === '') return { name: '', fault: 'has no name' };
  if (name.length > longestName) return { name, fault: `has a name of more than ${longestName} characters` };
  if (!isObject(inputSchema)) return { name, fault: 'has no schema of its input' };
  if (outputSchema !== undefined && !isObject(outputSchema)) return { name, fault: 'has a schema of its output that is no object' };
  const claims = isObject(annotations) ? annotations : undefined;
  const words = [description, title, claims?.title, name].find((text) => typeof text === 'string' && text.trim() !== '');
  return {
    name,
    description: typeof words === 'string' ? words : name,
    input: inputSchema,
    output: outputSchema,
    hints: claims && readHints(claims),
    needsTask: isObject(execution) && execution.taskSupport === 'required',
  };
}

function readHints(claims: JsonObject): Hints | undefined {
  const { readOnlyHint: readOnly, destructiveHint: destructive, idempotentHint: idempotent, openWorldHint: openWorld } = claims;
  const hints = Object.fromEntries(
    Object.entries({ readOnly, destructive, idempotent, openWorld }).filter(([, value]) => typeof value === 'boolean'),
  );
  return Object.keys(hints).length === 0 ? undefined : hints;
}
