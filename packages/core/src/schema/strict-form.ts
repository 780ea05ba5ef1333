import type { JsonObject, StrictRules } from '../model/types.js';
import type { Converted } from './strict-conversion.js';
import { deepestSchema, StrictConversion } from './strict-conversion.js';
import { StrictRefusal } from './strict-refusal.js';

/** A schema in a provider's strict form, or why it has none. */
export type StrictForm =
  | ({ readonly isStrict: true } & Converted)
  | {
      readonly isStrict: false;
      /** For example `lines[].note`; empty for the root. */
      readonly path: string;
      /** What stands in the way there. */
      readonly keyword: string;
      /** In words, with what to do. Names nothing but the schema's own. */
      readonly why: string;
    };

const forms = new WeakMap<StrictRules, WeakMap<JsonObject, StrictForm>>();

/**
 * Says a schema in a provider's strict form without changing what it means: every input that fits the form fits the schema once the nulls
 * are taken out that stand for an absent field, as core does before it parses, and every input of fields that the schema names can be said
 * in it. Objects are closed where they name their fields and do not say that others are wanted. Never throws, never changes its argument;
 * the same schema and rules give the same object.
 */
export function strictForm(schema: JsonObject, rules: StrictRules): StrictForm {
  const known = forms.get(rules) ?? new WeakMap<JsonObject, StrictForm>();
  forms.set(rules, known);
  const form = known.get(schema) ?? Object.freeze(convert(schema, rules));
  known.set(schema, form);
  return form;
}

/** What some provider could be held to: a schema that has no form under these rules has none under any. */
export const anyProvider: StrictRules = Object.freeze({
  provider: 'The provider',
  root: 'object',
  absent: 'optional',
  recursive: true,
  sameFirstField: true,
  keywords: [],
  formats: [],
  limits: {
    depth: deepestSchema,
    properties: Number.POSITIVE_INFINITY,
    enumValues: Number.POSITIVE_INFINITY,
    chars: Number.POSITIVE_INFINITY,
    longEnum: [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  },
} satisfies StrictRules);

/** Why a schema has no strict form, for messages: where, the keyword, what to do. */
export function describeRefusal({ path, keyword, why }: Extract<StrictForm, { readonly isStrict: false }>): string {
  return `${path === '' ? 'the root' : path} (${keyword}). ${why}`;
}

function convert(schema: JsonObject, rules: StrictRules): StrictForm {
  try {
    return { isStrict: true, ...new StrictConversion(schema, rules).whole() };
  } catch (thrown) {
    if (thrown instanceof StrictRefusal) return { isStrict: false, path: thrown.path, keyword: thrown.keyword, why: thrown.message };
    throw thrown;
  }
}
