import type { JsonObject, JsonValue } from '@guardloop/core';
import { canonicalJson, GuardloopError } from '@guardloop/core';
import type { Definition, Hints } from './definition.js';
import { isObject } from './json.js';
import { showName } from './show-text.js';

/** One tool as a person has approved it. Plain JSON. */
export interface Pin {
  readonly name: string;
  /** sha256 of the canonical form of name, description and schemas, in hex. */
  readonly digest: string;
  readonly description: string;
  readonly input: JsonObject;
  readonly output?: JsonObject | undefined;
  readonly hints?: Hints | undefined;
}
/** The approved tools of one server: plain JSON, kept in a file beside the code. Ordered by name. */
export interface Pins {
  readonly version: 1;
  readonly server: string;
  readonly tools: readonly Pin[];
}

/** Lists of a schema that are sets: their order means nothing. */
const sets: ReadonlySet<string> = new Set(['required', 'enum', 'type']);
const data: ReadonlySet<string> = new Set(['const', 'default', 'examples', 'example']);

/** A schema in the form in which it is compared: sets in order, white space of texts for people made one. Keys are put in order when it is written. */
function settled(node: JsonValue | undefined): JsonValue | undefined {
  if (Array.isArray(node)) return (node as readonly JsonValue[]).map((element) => settled(element) ?? null);
  if (!isObject(node)) return node;
  const copy: Record<string, JsonValue | undefined> = {};
  for (const [key, value] of Object.entries(node)) {
    if (key === '__proto__') continue;
    if (data.has(key)) copy[key] = value;
    else if (sets.has(key) && Array.isArray(value))
      copy[key] = [...(value as readonly JsonValue[])].sort((a, b) => (canonicalJson(a) < canonicalJson(b) ? -1 : 1));
    else copy[key] = (key === 'description' || key === 'title') && typeof value === 'string' ? oneSpace(value) : settled(value);
  }
  return copy;
}

const oneSpace = (text: string): string =>
  text
    .split(/[ \t\r\n]/)
    .filter((word) => word !== '')
    .join(' ');

async function sha256(text: string): Promise<string> {
  const bytes = new Uint8Array(await globalThis.crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * The digest of a tool: equal for equal name, description and schemas. The order of keys, of required fields and of the values of an `enum`, and
 * white space in descriptions are no difference; anything else is.
 */
export async function digestOf({ name, description, input, output }: Omit<Pin, 'digest' | 'hints'>): Promise<string> {
  const form: JsonObject = { name, description: oneSpace(description), input: settled(input), output: output && settled(output) };
  return sha256(canonicalJson(form));
}

/** The pins of tools, in the order of their names. */
export function makePins(server: string, tools: readonly Pin[]): Pins {
  const sorted = [...tools].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return { version: 1, server, tools: sorted };
}

export function pinOf({ name, digest, description, input, output, hints }: Definition): Pin {
  return {
    name,
    digest,
    description,
    input,
    ...(output === undefined ? {} : { output }),
    ...(hints === undefined ? {} : { hints }),
  };
}

/** Reads pins that were kept somewhere. Throws CONFIG_INVALID for what is none, belongs to another server, or was edited by hand. */
export async function readPins(given: unknown, server: string): Promise<ReadonlyMap<string, Pin>> {
  const refuse = (why: string): never => {
    throw new GuardloopError('CONFIG_INVALID', `The pins of MCP server ${server} ${why} Make them with \`pinsOf\` and \`approvePins\`.`);
  };
  if (!isObject(given) || given.version !== 1 || !Array.isArray(given.tools)) return refuse('are no pins of version 1.');
  if (given.server !== server)
    return refuse(`are those of server ${typeof given.server === 'string' ? showName(given.server) : 'another name'}.`);
  const pins = new Map<string, Pin>();
  for (const pin of given.tools as readonly unknown[]) {
    const isPin =
      isObject(pin) &&
      typeof pin.name === 'string' &&
      typeof pin.digest === 'string' &&
      typeof pin.description === 'string' &&
      isObject(pin.input) &&
      (pin.output === undefined || isObject(pin.output)) &&
      (pin.hints === undefined || isObject(pin.hints));
    if (!isPin) return refuse('have an entry that is no pin of a tool.');
    const read = pin as unknown as Pin;
    if (pins.has(read.name)) return refuse(`have tool ${showName(read.name)} twice.`);
    if ((await digestOf(read)) !== read.digest)
      return refuse(`have a tool, ${showName(read.name)}, whose digest is not that of its definition: it was changed by hand.`);
    pins.set(read.name, read);
  }
  return pins;
}
