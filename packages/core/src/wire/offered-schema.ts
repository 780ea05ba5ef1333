import { GuardloopError } from '../errors.js';
import type { JsonObject, StrictRules, ToolSpec } from '../model/types.js';
import { isObjectSchema } from '../schema/schema-root.js';
import { describeRefusal, strictForm } from '../schema/strict-form.js';
import { wireName } from './names.js';
import { wireToolSchema } from './tool-schema.js';
import { wellFormed } from './well-formed.js';

/** A tool's schema as it is sent. */
export interface OfferedSchema {
  readonly schema: JsonObject;
  /** The provider is to hold the model to it. */
  readonly isStrict: boolean;
  /** What the tool's author would not expect, in sentences for warnings about the schema. */
  readonly changes: readonly string[];
}

/**
 * How the schema of a tool's input goes to a provider with these rules; without rules, to one that cannot be held to a schema. Core takes the
 * nulls out again that the strict form has for absent fields. Throws `CONFIG_INVALID` for a tool that must be strict and cannot be.
 */
export function offeredSchema({ name, schema, strict = 'auto' }: ToolSpec, rules: StrictRules | undefined): OfferedSchema {
  const form = rules === undefined || strict === false ? undefined : strictForm(schema, rules);
  if (form?.isStrict) return { schema: form.schema, isStrict: true, changes: [] };
  if (form !== undefined && strict === true)
    throw new GuardloopError(
      'CONFIG_INVALID',
      `Tool ${name} has \`strict: true\`, but ${rules?.provider} cannot be held to the schema of its input: ${describeRefusal(form)} Or leave \`strict\` out.`,
    );
  const { schema: sent, isWidened } = wireToolSchema(schema);
  const changes = [
    ...(strict === true ? [`Tool ${wireName(name)} was not sent as strict: this server is not known to hold a model to a schema.`] : []),
    ...(isWidened
      ? [`The alternatives in the input of tool ${wireName(name)} were offered together: the provider takes none at the root of a schema.`]
      : []),
  ];
  return { schema: sent, isStrict: false, changes };
}

/** How a structured answer is asked for. */
export interface AnswerForm {
  /** For the provider's own field; left out where the answer is no object, or is a union at its root, which the providers refuse. */
  readonly schema?: JsonObject | undefined;
  /** The provider is to hold the model to it. */
  readonly isStrict: boolean;
  /** Every answer that fits is an object, so that a mode for those can be asked for. */
  readonly isObject: boolean;
}

/** How an answer of this schema is asked for from a provider with these rules, or from one that cannot be held to a schema. */
export function answerForm(schema: JsonObject, rules: StrictRules | undefined): AnswerForm {
  const isObject = isObjectSchema(schema, schema);
  const form = rules === undefined ? undefined : strictForm(schema, rules);
  if (form?.isStrict) return { schema: form.schema, isStrict: true, isObject };
  const { schema: sent, isWidened } = wireToolSchema(schema);
  return { isStrict: false, isObject, ...(isObject && !isWidened && schema.type === 'object' ? { schema: sent } : {}) };
}

/** The instruction for an answer that no field of the request asks for. */
export function answerInWords(schema: JsonObject): string {
  return `Give your final answer as one JSON value that fits this JSON Schema, with no other words and no code fence around it:\n${JSON.stringify(wellFormed(schema))}`;
}
