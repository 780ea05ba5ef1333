import { GuardloopError } from './errors.js';
import type { JsonObject } from './model/types.js';
import { absentNulls } from './schema/absent-nulls.js';
import type { CompiledSchema, Parsed, SchemaIssue } from './schema/compiled.js';
import { copySchema } from './schema/copy-schema.js';
import { withoutFlaggedPatterns } from './schema/flagged-patterns.js';
import { JsonSchemaChecker } from './schema/json-schema.js';
import { isObject } from './schema/json-schema-node.js';
import { rawIssue } from './schema/raw-input.js';
import { needsFields, withObjectRoot } from './schema/schema-root.js';
import type { StandardProperties } from './schema/standard.js';
import { standardParser } from './schema/standard.js';
import { zodParser } from './schema/zod.js';
import type { ZodNode } from './schema/zod-nodes.js';
import { findInexpressible, isZodNode, isZodObject } from './schema/zod-nodes.js';

export { argumentNames } from './schema/argument-names.js';
export type { CompiledSchema, SchemaIssue } from './schema/compiled.js';
export { fieldNames } from './schema/field-names.js';
export { maxInputChars, maxInputDepth, rawIssue } from './schema/raw-input.js';
export { anyProvider, describeRefusal, strictForm } from './schema/strict-form.js';

export interface CompileOptions {
  /** For messages: `Tool refund_order: its input`. */
  readonly owner: string;
  /** `object`: a schema whose root lets anything but objects in is CONFIG_INVALID. Default `any`. */
  readonly root?: 'object' | 'any' | undefined;
}

const accepted = 'Give a zod 4 schema, a schema of another library with Standard JSON Schema, or a plain JSON Schema object.';
const instead: Readonly<Record<string, string>> = {
  date: 'Take a text, for example z.iso.datetime(), and make the date from it in a codec or in the tool.',
  bigint: 'Take a text or an integer, and make the bigint from it in a codec or in the tool.',
  map: 'Use z.record(), and make the map from it in a codec or in the tool.',
  set: 'Use z.array(), and make the set from it in a codec or in the tool.',
};
const otherwise = 'Use a type that JSON has.';

interface Compiled {
  readonly any?: CompiledSchema;
  readonly object?: CompiledSchema;
}
const compiled = new WeakMap<object, Compiled>();

/** Makes the one internal form of a schema, once for each schema. Throws CONFIG_INVALID. Calls nothing of the user's but the schema library. */
export function compileSchema(schema: unknown, { owner, root = 'any' }: CompileOptions): CompiledSchema {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null)
    refuse(owner, `is a ${schema === null ? 'null' : typeof schema}, not a schema. ${accepted}`);
  const known = compiled.get(schema);
  const found = known?.[root];
  if (found) return found;
  const made = root === 'any' ? compileAny(schema, owner) : objectRoot(compileSchema(schema, { owner }), schema, owner);
  compiled.set(schema, { ...compiled.get(schema), [root]: made });
  return made;
}

function refuse(owner: string, what: string): never {
  throw new GuardloopError('CONFIG_INVALID', `${owner} ${what}`);
}

function compileAny(schema: object, owner: string): CompiledSchema {
  if (isZodNode(schema)) return compileZod(schema, owner);
  const standard = (schema as { readonly '~standard'?: StandardProperties })['~standard'];
  if (isZod3(schema, standard))
    refuse(owner, `is a zod 3 schema. Guardloop needs zod 4: import { z } from 'zod' of version 4, or from 'zod/v4' of zod 3.25.`);
  if (typeof standard === 'object' && standard !== null)
    return compileStandard(schema as { readonly '~standard': StandardProperties }, owner);
  return compileJsonSchema(schema, owner);
}

function isZod3(schema: object, standard: StandardProperties | undefined): boolean {
  const { _def: definition } = schema as { readonly _def?: { readonly typeName?: unknown } };
  return standard?.vendor === 'zod' || typeof definition?.typeName === 'string';
}

// ------------------------------------------------------------------------------------------------ zod
function compileZod(schema: ZodNode, owner: string): CompiledSchema {
  const place = findInexpressible(schema);
  if (place) {
    const where = place.path === '' ? 'is' : `has the field ${place.path}, which is`;
    refuse(owner, `${where} a ${place.type}: JSON Schema cannot express it. ${instead[place.type] ?? otherwise}`);
  }
  const { jsonSchema } = (schema as unknown as { readonly '~standard': StandardProperties })['~standard'] ?? {};
  if (typeof jsonSchema?.input !== 'function') return convertLater(schema, owner);
  const json = convert(() => (jsonSchema.input as Convert)({ target: 'draft-2020-12' }), owner);
  return fromZodJson(schema, withoutFlaggedPatterns(json, schema));
}

function whole(json: JsonObject, parse: CompiledSchema['parse']): CompiledSchema {
  return Object.freeze({ json, parse, withoutAbsent: absentNulls(() => json), required: needsFields(json) });
}

function fromZodJson(schema: ZodNode, json: JsonObject): CompiledSchema {
  return whole(
    json,
    zodParser(schema, () => json),
  );
}

type Convert = (options: { readonly target: string }) => object;

function convert(make: () => object, owner: string): JsonObject {
  try {
    return copySchema(make());
  } catch (thrown) {
    return refuse(
      owner,
      `cannot be written as JSON Schema: ${thrown instanceof Error ? thrown.message.replace(/\.$/, '') : 'its library failed'}. ${otherwise}`,
    );
  }
}

// ------------------------------------------------------------------------------------------------ zod/mini
const underWay = Symbol.for('guardloop.schemas');
const holder = globalThis as { [underWay]?: Set<Promise<void>> };
/**
 * Conversions under way, of schemas that do not bring their own: those of zod/mini, and of zod before it knew Standard JSON Schema. Of all
 * copies of this package: a tool that one has defined may be run by another.
 */
const pending = holder[underWay] ?? new Set();
holder[underWay] = pending;

/**
 * Undefined where every schema compiled so far has its `json`; else resolves when they have, or rejects with CONFIG_INVALID. To be awaited
 * before a run reads `json`. zod's converter is loaded only when it is needed: it takes longer to load than all of core.
 */
export function schemasReady(): Promise<unknown> | undefined {
  return pending.size === 0 ? undefined : Promise.all(pending);
}

function convertLater(schema: ZodNode, owner: string): CompiledSchema {
  let json: JsonObject | undefined;
  const read = (): JsonObject => {
    if (json) return json;
    throw new GuardloopError('INTERNAL', `${owner} was read before it was ready.`);
  };
  const conversion = import('zod/v4/core').then(({ toJSONSchema }) => {
    const made = convert(() => toJSONSchema(schema as unknown as Parameters<typeof toJSONSchema>[0], { io: 'input' }), owner);
    json = withoutFlaggedPatterns(made, schema);
  });
  pending.add(conversion);
  conversion.then(
    () => pending.delete(conversion),
    () => undefined,
  );
  const noWords: JsonObject = {};
  return Object.freeze({
    get json() {
      return read();
    },
    parse: zodParser(schema, () => json ?? noWords),
    withoutAbsent: absentNulls(read),
    get required() {
      return needsFields(read());
    },
  });
}

// ------------------------------------------------------------------------------------------------ other libraries
function compileStandard(schema: { readonly '~standard': StandardProperties }, owner: string): CompiledSchema {
  const { vendor, validate, jsonSchema } = schema['~standard'];
  const name = typeof vendor === 'string' ? vendor : 'its library';
  if (typeof validate !== 'function') refuse(owner, `is a schema of ${name} that cannot validate. ${accepted}`);
  const input = jsonSchema?.input;
  if (typeof input !== 'function')
    refuse(
      owner,
      `is a schema of ${name} that does not give its JSON Schema (~standard.jsonSchema). Use a version that does, or wrap it with the library's converter. ${accepted}`,
    );
  const json = convert(() => (input as Convert)({ target: 'draft-2020-12' }), owner);
  return whole(json, standardParser(schema, json));
}

const schemaKeywords = [
  'type',
  'properties',
  '$ref',
  'anyOf',
  'oneOf',
  'allOf',
  'enum',
  'const',
  '$defs',
  'items',
  'required',
  'additionalProperties',
  '$schema',
];

function compileJsonSchema(schema: object, owner: string): CompiledSchema {
  const prototype: unknown = Object.getPrototypeOf(schema);
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  if (!isPlain || Array.isArray(schema) || !schemaKeywords.some((keyword) => Object.hasOwn(schema, keyword))) {
    const hint = Object.values(schema).some(isZodNode)
      ? 'is an object of zod schemas. Wrap it in z.object(…).'
      : `is no schema that is known here. ${accepted}`;
    refuse(owner, hint);
  }
  if (Object.values(schema).some(isZodNode)) refuse(owner, 'is an object of zod schemas. Wrap it in z.object(…).');
  try {
    const json = copySchema(schema);
    const checker = new JsonSchemaChecker(json);
    return whole(json, (raw) => {
      const refused = rawIssue(raw);
      const issues = refused ? [refused] : checker.check(raw);
      return issues.length === 0 ? { ok: true, value: raw } : { ok: false, issues };
    });
  } catch (thrown) {
    return refuse(
      owner,
      `is a JSON Schema that cannot be used: ${thrown instanceof Error ? thrown.message : 'it cannot be read'}. Correct it, or simplify it.`,
    );
  }
}

// ------------------------------------------------------------------------------------------------ roots
const noObjectGiven: Parsed = Object.freeze({ ok: false, issues: Object.freeze([Object.freeze({ path: '', expected: 'object' })]) });

function objectRoot(inner: CompiledSchema, schema: object, owner: string): CompiledSchema {
  const noObject = (): never => refuse(owner, 'must be an object at its root. Wrap it, for example in z.object({ value: … }).');
  const parse: CompiledSchema['parse'] = (raw) => (isObject(raw) ? inner.parse(raw) : noObjectGiven);
  const isLate = Object.getOwnPropertyDescriptor(inner, 'json')?.get !== undefined;
  if (!isLate) {
    const json = withObjectRoot(inner.json) ?? noObject();
    return whole(json, parse);
  }
  if (!isZodObject(schema)) noObject();
  return Object.freeze({
    get json() {
      return withObjectRoot(inner.json) ?? noObject();
    },
    parse,
    withoutAbsent: inner.withoutAbsent,
    get required() {
      return inner.required;
    },
  });
}

// ------------------------------------------------------------------------------------------------ words
const mostIssuesSaid = 8;

/** One sentence for the model: `cents: expected integer above 0; note: expected string.` Holds nothing of the input. */
export function describeIssues(issues: readonly SchemaIssue[]): string {
  const said = issues.slice(0, mostIssuesSaid).map(({ path, expected }) => `${path === '' ? 'the input' : path}: expected ${expected}`);
  const more = issues.length > mostIssuesSaid ? `; and ${issues.length - mostIssuesSaid} more` : '';
  return `${said.join('; ')}${more}.`;
}
