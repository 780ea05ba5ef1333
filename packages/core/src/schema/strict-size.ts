import type { JsonObject, JsonValue, StrictRules } from '../model/types.js';
import { isList, isObject } from './json-schema-node.js';

/** What a schema in the strict form has too much of; undefined where it keeps the limits. */
export function measure(schema: JsonObject, limits: StrictRules['limits']): { readonly keyword: string; readonly why: string } | undefined {
  const found = { properties: 0, enumValues: 0, chars: 0 };
  const [manyValues, longestEnum] = limits.longEnum;
  let longEnum = 0;
  const visit = (node: JsonValue | undefined): void => {
    if (!isObject(node)) return;
    const { properties, $defs, definitions, items, anyOf, enum: values, const: only } = node;
    for (const named of [properties, $defs, definitions]) {
      if (!isObject(named)) continue;
      if (named === properties) found.properties += Object.keys(named).length;
      for (const [name, child] of Object.entries(named)) {
        found.chars += name.length;
        visit(child);
      }
    }
    const literals = isList(values) ? values : [];
    const chars = [...literals, only].reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0);
    found.enumValues += literals.length;
    found.chars += chars;
    if (literals.length > manyValues) longEnum = Math.max(longEnum, chars);
    for (const child of [items, ...(isList(anyOf) ? anyOf : [])]) visit(child);
  };
  visit(schema);
  if (found.properties > limits.properties) return tooMuch('properties', `${found.properties} fields`, limits.properties);
  if (found.enumValues > limits.enumValues) return tooMuch('enum', `${found.enumValues} values in its enums`, limits.enumValues);
  if (longEnum > longestEnum) return tooMuch('enum', `an enum of ${longEnum} characters`, longestEnum);
  return found.chars > limits.chars ? tooMuch('size', `${found.chars} characters of names and constants`, limits.chars) : undefined;
}

function tooMuch(keyword: string, what: string, most: number): { readonly keyword: string; readonly why: string } {
  return { keyword, why: `It has ${what}, and at most ${most} are taken. Make it smaller.` };
}
