// Says in plain words what a JSON Schema expects. Everything said is the schema's own, never the input's.
import type { JsonObject, JsonValue } from '../model/types.js';
import { isList, isObject, own, resolveReference } from './json-schema-node.js';

const mostChoices = 20;
const mostPatternChars = 120;
const mostFields = 30;

const formats: Readonly<Record<string, string>> = {
  email: 'email address',
  uri: 'URL',
  url: 'URL',
  uuid: 'UUID',
  'date-time': 'date and time such as 2026-01-31T12:00:00Z',
  date: 'date such as 2026-01-31',
  time: 'time such as 12:00:00Z',
};

function quantity(least: JsonValue | undefined, most: JsonValue | undefined, noun: string): string {
  const plural = (count: number): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
  if (typeof least === 'number' && least > 0) {
    if (typeof most === 'number') return least === most ? plural(least) : `${least} to ${plural(most)}`;
    return `at least ${plural(least)}`;
  }
  return typeof most === 'number' ? `at most ${plural(most)}` : '';
}

function describeString(node: JsonObject): string {
  const format = typeof node.format === 'string' ? (formats[node.format] ?? `text in the format ${node.format}`) : undefined;
  const size = quantity(node.minLength, node.maxLength, 'character');
  const base = format ?? 'string';
  const sized = size === '' ? base : `${base} of ${size}`;
  const { pattern } = node;
  return format === undefined && typeof pattern === 'string' && pattern.length <= mostPatternChars ? `${sized} matching ${pattern}` : sized;
}

function describeNumber(node: JsonObject, noun: string): string {
  const bound = (key: string): number | undefined => {
    const value = node[key];
    // The bounds that a safe integer has anyway say nothing.
    return typeof value === 'number' && Math.abs(value) !== Number.MAX_SAFE_INTEGER ? value : undefined;
  };
  const [minimum, maximum, above, below] = [bound('minimum'), bound('maximum'), bound('exclusiveMinimum'), bound('exclusiveMaximum')];
  const words: string[] = [];
  if (minimum !== undefined && maximum !== undefined) words.push(`from ${minimum} to ${maximum}`);
  else if (minimum !== undefined) words.push(`at least ${minimum}`);
  else if (maximum !== undefined) words.push(`at most ${maximum}`);
  if (above !== undefined) words.push(`above ${above}`);
  if (below !== undefined) words.push(`below ${below}`);
  const multiple = node.multipleOf;
  if (typeof multiple === 'number') words.push(`a multiple of ${multiple}`);
  return words.length === 0 ? noun : `${noun} ${words.join(' and ')}`;
}

function describeType(node: JsonObject, type: JsonValue): string {
  switch (type) {
    case 'string':
      return describeString(node);
    case 'number':
    case 'integer':
      return describeNumber(node, type);
    case 'array': {
      const size = quantity(node.minItems, node.maxItems, 'item');
      return `list${size === '' ? '' : ` of ${size}`}${node.uniqueItems === true ? ' without repeats' : ''}`;
    }
    case 'object': {
      const size = quantity(node.minProperties, node.maxProperties, 'field');
      return size === '' ? 'object' : `object of ${size}`;
    }
    case 'boolean':
      return 'true or false';
    default:
      return String(type);
  }
}

function describeChoices(values: readonly JsonValue[]): string {
  const shown = values.slice(0, mostChoices).map((value) => JSON.stringify(value).slice(0, mostPatternChars));
  const more = values.length > mostChoices ? `, and ${values.length - mostChoices} more` : '';
  return values.length === 1 ? (shown[0] ?? '') : `one of ${shown.join(', ')}${more}`;
}

/** An object among others is told by the fields it needs. */
function describeBranch(node: JsonObject, type: string): string {
  const { required } = node;
  if (type !== 'object' || !isList(required) || required.length === 0 || required.length > mostFields) return describeType(node, type);
  return `object with ${required.join(', ')}`;
}

const either = (words: readonly string[]): string => [...new Set(words)].filter((word) => word !== '').join(' or ');

/** What fits a node, in words; empty where it says nothing. */
function describeNode(root: JsonObject, given: JsonValue | undefined, depth = 0): string {
  const node = resolveReference(root, given);
  if (node === false) return 'nothing: this field must be left out';
  if (!isObject(node) || depth > 4) return '';
  if (isList(node.enum)) return describeChoices(node.enum);
  if (node.const !== undefined) return describeChoices([node.const]);
  if (isObject(node.not) && Object.keys(node.not).length === 0) return 'nothing: this field must be left out';
  const { type } = node;
  if (isList(type)) return either(type.map((each) => describeType(node, each)));
  if (typeof type === 'string' && type !== 'object') return describeType(node, type);
  const branches = node.anyOf ?? node.oneOf;
  if (isList(branches)) return either(branches.map((branch) => describeNode(root, branch, depth + 1)));
  if (typeof type === 'string') return depth > 0 ? describeBranch(node, type) : describeType(node, type);
  if (isList(node.allOf))
    return [...new Set(node.allOf.map((part) => describeNode(root, part, depth + 1)))].filter((word) => word !== '').join(' and ');
  return '';
}

/** The nodes that a node is made of: itself, what it refers to, its branches. */
function facets(root: JsonObject, given: JsonValue | undefined, depth = 0): readonly JsonObject[] {
  const node = resolveReference(root, given);
  if (!isObject(node) || depth > 8) return [];
  const inner = ['anyOf', 'oneOf', 'allOf'].flatMap((key) => {
    const branches = node[key];
    return isList(branches) ? branches : [];
  });
  const conditional = [node.then, node.else].filter((branch) => branch !== undefined);
  return [node, ...[...inner, ...conditional].flatMap((branch) => facets(root, branch, depth + 1))];
}

interface Step {
  readonly nodes: readonly JsonValue[];
  /** The schema names this step itself. */
  readonly isNamed: boolean;
}

function step(root: JsonObject, nodes: readonly JsonValue[], key: PropertyKey): Step {
  const inside = nodes.flatMap((node) => facets(root, node));
  const named = inside.flatMap((node) => {
    const { properties } = node;
    const field = typeof key === 'string' && isObject(properties) ? own(properties, key) : undefined;
    return field === undefined ? [] : [field];
  });
  if (named.length > 0) return { nodes: named, isNamed: true };
  const loose = inside.flatMap((node): readonly JsonValue[] => {
    const { prefixItems, items, additionalProperties } = node;
    if (typeof key === 'number') {
      const item = isList(prefixItems) ? (prefixItems[key] ?? items) : isList(items) ? items[key] : items;
      return item === undefined ? [] : [item];
    }
    return isObject(additionalProperties) ? [additionalProperties] : [];
  });
  return { nodes: loose, isNamed: false };
}

/** A path as text, and what the schema has there. */
export interface Place {
  readonly path: string;
  readonly nodes: readonly JsonValue[];
}

/** Follows a path of keys and indexes. Names that are the input's own, not the schema's, become `*`. */
export function placeAt(root: JsonObject, path: readonly PropertyKey[]): Place {
  let text = '';
  let nodes: readonly JsonValue[] = [root];
  for (const key of path) {
    const next = step(root, nodes, key);
    nodes = next.nodes;
    if (typeof key === 'number') text += `[${key}]`;
    else text += `${text === '' ? '' : '.'}${next.isNamed ? String(key) : '*'}`;
  }
  return { path: text, nodes };
}

/** What is expected at a place; undefined where the schema does not say. */
export function expectedAt(root: JsonObject, place: Place): string | undefined {
  const words = either(place.nodes.map((node) => describeNode(root, node)));
  return words === '' ? undefined : words;
}

/** Words for a place where the input had fields that the schema does not know. */
export function noOtherFields(root: JsonObject, place: Place): string {
  const names = new Set(
    place.nodes.flatMap((node) => facets(root, node)).flatMap((node) => (isObject(node.properties) ? Object.keys(node.properties) : [])),
  );
  if (names.size === 0) return 'an object without fields';
  const shown = [...names].slice(0, mostFields).join(', ');
  return `no other fields than ${shown}${names.size > mostFields ? `, and ${names.size - mostFields} more` : ''}`;
}

/** Words for a place where the input had a field of a name that does not fit. */
export function fittingNames(root: JsonObject, place: Place): string {
  const words = either(place.nodes.flatMap((node) => facets(root, node)).map((node) => describeNode(root, node.propertyNames)));
  return words === '' ? 'only field names that fit' : `only field names that fit: ${words}`;
}

/** Added to what is expected of a field that the input does not have. */
export const missingWords = ', but the field is missing';

/** True where an input has nothing at a path. */
export function isMissing(raw: JsonValue, path: readonly PropertyKey[]): boolean {
  let at: unknown = raw;
  for (const key of path) {
    if (typeof at !== 'object' || at === null) return false;
    at = Object.hasOwn(at, key) ? (at as { readonly [key: PropertyKey]: unknown })[key] : undefined;
  }
  return path.length > 0 && at === undefined;
}
