import type { JsonObject, JsonValue, StrictRules } from '../model/types.js';

/** Keywords that only narrow a value of the type: what a provider cannot check of them becomes words. */
const narrowing: Readonly<Record<string, readonly string[]>> = {
  string: ['format', 'pattern', 'minLength', 'maxLength', 'contentEncoding', 'contentMediaType'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  array: ['minItems', 'maxItems', 'uniqueItems'],
  object: ['minProperties', 'maxProperties'],
};
const allNarrowing: ReadonlySet<string> = new Set(Object.values(narrowing).flat());
/** A longer one says nothing to a model. */
const longestPattern = 120;
/** Look-around, which no engine without backtracking has. */
export const looksAround = /\(\?<?[=!]/;
/** Back references and word boundaries, which providers do not have either. */
const isBound = /\\[1-9kbB]/;

export const isNarrowing = (keyword: string): boolean => allNarrowing.has(keyword);

/** The keywords of a node of one type that the provider takes, and the others in words, beside the node's own. */
export function narrowed(node: JsonObject, type: string, rules: StrictRules): JsonObject {
  const kept: Record<string, JsonValue> = {};
  const said: [string, JsonValue][] = [];
  for (const keyword of narrowing[type] ?? []) {
    const { [keyword]: value } = node;
    if (value === undefined || value === false || isEmpty(keyword, value)) continue;
    if (isTaken(keyword, value, rules) && !(keyword === 'pattern' && kept.format !== undefined)) kept[keyword] = value;
    else said.push([keyword, value]);
  }
  return { ...kept, ...annotated(node, rules, said) };
}

/** Title, default and description, the latter with what else is to be said. */
export function annotated(node: JsonObject, rules: StrictRules, said: readonly (readonly [string, JsonValue])[] = []): JsonObject {
  const { title, description, default: preset } = node;
  const keepsDefault = rules.keywords.includes('default');
  const stated = [...said, ...patternsBeside(node), ...(preset === undefined || keepsDefault ? [] : [['default', preset] as const])];
  const sayable = stated.filter(
    ([keyword, value]) => keyword !== 'pattern' || (typeof value === 'string' && value.length <= longestPattern),
  );
  const words = [
    ...(typeof description === 'string' && description !== '' ? [description] : []),
    ...(sayable.length === 0 ? [] : [`(${sayable.map(([keyword, value]) => `${keyword}: ${JSON.stringify(value)}`).join(', ')})`]),
  ];
  return {
    ...(typeof title === 'string' ? { title } : {}),
    ...(words.length === 0 ? {} : { description: words.join(' ') }),
    ...(preset !== undefined && keepsDefault ? { default: preset } : {}),
  };
}

/** What the parts of an `allOf` narrow, where they do nothing else. */
function patternsBeside({ allOf }: JsonObject): readonly (readonly [string, JsonValue])[] {
  const parts: readonly JsonValue[] = Array.isArray(allOf) ? allOf : [];
  return parts.flatMap((part) =>
    typeof part === 'object' && part !== null
      ? Object.entries(part).filter((entry): entry is [string, JsonValue] => isNarrowing(entry[0]) && entry[1] !== undefined)
      : [],
  );
}

/** The bounds that a safe integer has anyway, and a least size of nothing. */
function isEmpty(keyword: string, value: JsonValue): boolean {
  if (keyword === 'minimum' || keyword === 'maximum') return typeof value === 'number' && Math.abs(value) === Number.MAX_SAFE_INTEGER;
  return value === 0 && (keyword === 'minLength' || keyword === 'minItems' || keyword === 'minProperties');
}

function isTaken(keyword: string, value: JsonValue, { keywords, formats }: StrictRules): boolean {
  if (keyword === 'format') return typeof value === 'string' && formats.includes(value);
  if (!keywords.includes(keyword)) return false;
  return keyword === 'pattern' ? typeof value === 'string' && !looksAround.test(value) && !isBound.test(value) : typeof value === 'number';
}
