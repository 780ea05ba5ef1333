// Finds the arguments of a call in texts, guided by the tool's JSON Schema.
import type { JsonObject, JsonValue } from '@guardloop/core';

export interface Filled {
  readonly input: JsonObject;
  /** Names of required arguments that no text told. */
  readonly missing: readonly string[];
}

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The properties of an object schema. */
export function propertiesOf(schema: JsonObject): readonly (readonly [name: string, schema: JsonObject])[] {
  return Object.entries(isObject(schema.properties) ? schema.properties : {}).map(([name, each]) => [name, isObject(each) ? each : {}]);
}

/**
 * Fills the properties of `schema`. `texts` are tried in order: the request itself first, then what was said or read before. Optional
 * arguments are taken from the first text alone.
 */
export function fillArguments(schema: JsonObject, texts: readonly string[]): Filled {
  const required = Array.isArray(schema.required) ? schema.required : [];
  const input: Record<string, JsonValue> = {};
  const missing: string[] = [];
  for (const [name, property] of propertiesOf(schema)) {
    const places = required.includes(name) ? texts : texts.slice(0, 1);
    const value = firstDefined(places, (text) => findValue(name, property, text));
    if (value !== undefined) input[name] = value;
    else if (required.includes(name)) missing.push(name);
  }
  return { input, missing };
}

function firstDefined<T, R>(items: readonly T[], find: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function findValue(name: string, schema: JsonObject, text: string): JsonValue | undefined {
  if (Array.isArray(schema.enum)) return schema.enum.find((value) => typeof value === 'string' && hasWord(text, value));
  switch (schema.type) {
    case 'integer':
    case 'number':
      return findNumber(name, text);
    case 'boolean':
      return hasWord(text, name);
    case 'array': {
      const item = isObject(schema.items) ? schema.items : {};
      const found = typeof item.pattern === 'string' ? [...new Set(text.match(new RegExp(loose(item.pattern), 'g')))] : [];
      return found.length > 0 ? found : undefined;
    }
    case 'string':
      return findString(name, schema, text);
    default:
      return undefined;
  }
}

function findString(name: string, schema: JsonObject, text: string): string | undefined {
  if (typeof schema.pattern === 'string') return new RegExp(loose(schema.pattern)).exec(text)?.[0];
  if (/(?:id|number|code)$/i.test(name)) return /(?<![\w-])(?=[\w-]*\d)[A-Za-z][\w-]*/.exec(text)?.[0];
  return text.trim() === '' ? undefined : text.trim();
}

const quoteForPattern = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

const hasWord = (text: string, word: string): boolean => new RegExp(`(?<!\\w)${quoteForPattern(word)}(?!\\w)`, 'i').test(text);

/** A schema's pattern is about the whole argument; in a text it stands among other words. */
const loose = (pattern: string): string => `(?<![\\w-])(?:${pattern.replace(/^\^/, '').replace(/\$$/, '')})(?![\\w-])`;

function findNumber(name: string, text: string): number | undefined {
  const named = findNamed(name, text);
  if (named !== undefined) return named;
  if (/cents|amount|price|total/i.test(name)) {
    const money = /(?:€|\$|£)\s?(\d+(?:[.,]\d\d)?)|(\d+(?:[.,]\d\d)?)\s?(?:€|\$|£|euros?\b|EUR\b|dollars?\b|USD\b)/i.exec(text);
    const amount = money?.[1] ?? money?.[2];
    if (amount === undefined) return undefined;
    const value = Number(amount.replace(',', '.'));
    return /cents/i.test(name) ? Math.round(value * 100) : value;
  }
  const plain = /(?<![\w.-])\d+(?:\.\d+)?(?![\w-])/.exec(text)?.[0];
  return plain === undefined ? undefined : Number(plain);
}

/** `cents: 4200`, `cents = 4200`, `4200 cents`, and of JSON also fields that end alike: `"totalCents":4200`. */
function findNamed(name: string, text: string): number | undefined {
  const word = quoteForPattern(name);
  const found = new RegExp(`${word}["']?\\s*[:=]?\\s*(\\d+(?:\\.\\d+)?)|(\\d+(?:\\.\\d+)?)\\s*${word}(?!\\w)`, 'i').exec(text);
  const value = found?.[1] ?? found?.[2];
  return value === undefined ? undefined : Number(value);
}
