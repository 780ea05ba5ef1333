import type { JsonObject } from '../model/types.js';

/** Thrown inside a conversion where the strict form has no word for something. */
export class StrictRefusal extends Error {
  readonly path: string;
  readonly keyword: string;

  constructor(path: string, keyword: string, why: string) {
    super(why);
    this.path = path;
    this.keyword = keyword;
  }
}

/** A place in a schema that is being converted. */
export interface At {
  /** For example `lines[].note`. */
  readonly path: string;
  readonly depth: number;
}

export function refuseStrict({ path }: At, keyword: string, why: string): never {
  throw new StrictRefusal(path, keyword, why);
}

export const recordWords = 'It takes fields of any name. Name the fields, or make it a list of entries with a name and a value.';
export const tupleWords = 'Its elements differ by their position. Make it an object with a field for each.';
const conditionWords = 'It makes one part of the input depend on another. Write the cases as alternatives.';
const laterWords = 'It refers to what is known only later. Refer to a definition in $defs.';

/** Keywords that change what fits and that no strict form has. */
const refused: readonly (readonly [keyword: string, why: string])[] = [
  ['patternProperties', recordWords],
  ['propertyNames', recordWords],
  ['unevaluatedProperties', recordWords],
  ['not', 'It says what does not fit. Say what fits.'],
  ['if', conditionWords],
  ['then', conditionWords],
  ['else', conditionWords],
  ['dependentRequired', conditionWords],
  ['dependentSchemas', conditionWords],
  ['dependencies', conditionWords],
  ['prefixItems', tupleWords],
  ['additionalItems', tupleWords],
  ['unevaluatedItems', tupleWords],
  ['contains', 'It says what some elements of a list are. Say what all of them are.'],
  ['$dynamicRef', laterWords],
  ['$recursiveRef', laterWords],
];

export function refuseKeywords(node: JsonObject, at: At): void {
  for (const [keyword, why] of refused) {
    const { [keyword]: value } = node;
    if (value !== undefined && !(keyword === 'unevaluatedProperties' && value === false)) refuseStrict(at, keyword, why);
  }
}

const annotations: ReadonlySet<string> = new Set([
  ...['title', 'description', 'default', 'examples', 'example', 'deprecated', 'readOnly', 'writeOnly', 'discriminator'],
  ...['$schema', '$id', '$comment', '$anchor', '$defs', 'definitions'],
]);

/** Refuses anything that says more about the value beside `keyword`. */
export function refuseBeside(beside: JsonObject, at: At, keyword: string): void {
  const other = Object.keys(beside).find((key) => !annotations.has(key) && !key.startsWith('x-') && beside[key] !== undefined);
  if (other !== undefined) refuseStrict(at, keyword, `It stands beside ${other}. Write the two as one.`);
}
