// What of a result an agent acts on: read from its JSON by names and forms, from a text by forms alone.
import type { JsonValue } from '@guardloop/core/model';

export const factKinds = ['identifier', 'number', 'status', 'kept'] as const;
/** `kept`: of a field that was named, and is none of the others. */
export type FactKind = (typeof factKinds)[number];
/** Something of a result that must not get lost. */
export interface Fact {
  readonly kind: FactKind;
  /** Where it stands first, for example `orders[0].orderId`; of a text, `character 120`. */
  readonly path: string;
  readonly value: string;
}

const identifierName = /^(?:id|ids|ID|uuid|key|ref|.*(?:_id|_ids|Id|Ids|ID|_key|_ref|_no|Number))$/;
const statusName = /^(?:status|state|code|error|error_?class|errorClass|.*(?:_status|_state|_code|Status|State|Code))$/;
/** Letters, digits and signs between them, with a digit: an order number, a date, a version. */
const identifierForm = /^(?=.*\d)[\p{L}\p{N}](?:[\p{L}\p{N}_.:/#@-]{0,62}[\p{L}\p{N}])?$/u;
const numberForm = /^-?\d+(?:\.\d+)?$/;
const tokens = /(?:(?<![\p{L}\p{N}_.-])-(?=\d))?[\p{L}\p{N}](?:[\p{L}\p{N}_.:/#@,-]*[\p{L}\p{N}])?/gu;
const longestStatus = 60;

/** The facts of a result, each value once for its kind. */
export function factsOf(output: JsonValue, keep: ReadonlySet<string>): readonly Fact[] {
  const facts = new Map<string, Fact>();
  const add = (fact: Fact): void => {
    const key = `${fact.kind} ${fact.value}`;
    if (!facts.has(key)) facts.set(key, fact);
  };
  const value = structured(output);
  if (typeof value === 'string') addTokens(value, add);
  else addValues(value, { name: '', path: '', isKept: false }, { keep, add });
  return [...facts.values()];
}

function structured(output: JsonValue): JsonValue {
  if (typeof output !== 'string' || !/^\s*[{[]/.test(output)) return output;
  try {
    return JSON.parse(output) as JsonValue;
  } catch {
    return output;
  }
}

function addTokens(text: string, add: (fact: Fact) => void): void {
  for (const { 0: token, index } of text.matchAll(tokens)) {
    if (!/\d/.test(token)) continue;
    const bare = token.replace(/(?<=\d),(?=\d{3}(?!\d))/g, '');
    add({ kind: numberForm.test(bare) ? 'number' : 'identifier', path: `character ${index}`, value: numberForm.test(bare) ? bare : token });
  }
}

interface Place {
  readonly name: string;
  readonly path: string;
  /** It stands in a field that was named. */
  readonly isKept: boolean;
}
interface Gathering {
  readonly keep: ReadonlySet<string>;
  readonly add: (fact: Fact) => void;
}

function addValues(value: JsonValue | undefined, place: Place, gathering: Gathering): void {
  const { name, path, isKept } = place;
  if (Array.isArray(value)) {
    for (const [index, element] of (value as readonly JsonValue[]).entries())
      addValues(element, { name, path: `${path}[${index}]`, isKept }, gathering);
  } else if (typeof value === 'object' && value !== null) {
    for (const [field, inner] of Object.entries(value) as [string, JsonValue | undefined][]) {
      const at = path === '' ? field : `${path}.${field}`;
      addValues(inner, { name: field, path: at, isKept: isKept || gathering.keep.has(field) }, gathering);
    }
  } else if (typeof value === 'string' || typeof value === 'number') {
    const kind = kindOf(value, place);
    if (kind !== undefined && value !== '') gathering.add({ kind, path, value: String(value) });
  }
}

function kindOf(value: string | number, { name, isKept }: Place): FactKind | undefined {
  if (identifierName.test(name)) return 'identifier';
  if (statusName.test(name) && String(value).length <= longestStatus) return 'status';
  if (typeof value === 'number') return 'number';
  return identifierForm.test(value) ? 'identifier' : isKept ? 'kept' : undefined;
}

const special = /[\\^$.*+?()[\]{}|/]/g;

/** Whether the value stands in a text, not as a part of another word or number. */
export function isIn({ kind, value }: Fact, text: string): boolean {
  const isNumber = numberForm.test(value);
  const before = isNumber ? String.raw`(?<![\p{L}\p{N}_.-])` : String.raw`(?<![\p{L}\p{N}_])`;
  const after = isNumber ? String.raw`(?![\p{L}\p{N}_])(?!\.\d)` : String.raw`(?![\p{L}\p{N}_])`;
  const searched = isNumber ? text.replace(/(?<=\d),(?=\d{3}(?!\d))/g, '') : text;
  // In JSON a value may be written with escapes.
  return [value, JSON.stringify(value).slice(1, -1)].some((form) =>
    new RegExp(before + form.replace(special, String.raw`\$&`) + after, kind === 'status' ? 'iu' : 'u').test(searched),
  );
}
