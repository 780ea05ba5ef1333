// The keywords of JSON Schema that a schema of ours uses, for tests: one that is not known here is a fault of the test.
type Schema = { readonly [keyword: string]: unknown };

const types: { readonly [type: string]: (value: unknown) => boolean } = {
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
};
const words = new Set(['$schema', '$defs', 'title', 'description', 'default']);
const object = (value: unknown): Schema | undefined => (types.object?.(value) ? (value as Schema) : undefined);

/** Whether a value fits a schema. Throws for a keyword that is not known. */
export function fitsSchema(root: Schema, value: unknown, schema: Schema = root): boolean {
  const fits = (each: unknown, own: unknown): boolean => fitsSchema(root, own, each as Schema);
  return Object.entries(schema).every(([keyword, wanted]) => {
    if (words.has(keyword)) return true;
    const ask = keywords[keyword];
    if (ask === undefined) throw new Error(`The keyword ${keyword} is not known.`);
    return ask({ wanted, value, schema, root, fits });
  });
}

interface Asking {
  readonly wanted: unknown;
  readonly value: unknown;
  readonly schema: Schema;
  readonly root: Schema;
  fits(schema: unknown, value: unknown): boolean;
}
const list = (value: unknown): readonly unknown[] => value as readonly unknown[];

const keywords: { readonly [keyword: string]: (asking: Asking) => boolean } = {
  $ref: ({ wanted, value, root, fits }) => {
    const steps = String(wanted).split('/').slice(1);
    return fits(
      steps.reduce<unknown>((at, step) => (at as Schema)[step], root),
      value,
    );
  },
  type: ({ wanted, value }) => [wanted].flat().some((type) => types[String(type)]?.(value)),
  enum: ({ wanted, value }) => list(wanted).includes(value),
  anyOf: ({ wanted, value, fits }) => list(wanted).some((each) => fits(each, value)),
  allOf: ({ wanted, value, fits }) => list(wanted).every((each) => fits(each, value)),
  not: ({ wanted, value, fits }) => !fits(wanted, value),
  required: ({ wanted, value }) => list(wanted).every((name) => !object(value) || Object.hasOwn(value as object, String(name))),
  minProperties: ({ wanted, value }) => !object(value) || Object.keys(value as object).length >= Number(wanted),
  properties: ({ wanted, value, fits }) =>
    Object.entries(object(value) ?? {}).every(
      ([name, own]) => !Object.hasOwn(wanted as object, name) || fits((wanted as Schema)[name], own),
    ),
  additionalProperties: ({ value, schema }) =>
    Object.keys(object(value) ?? {}).every((name) => Object.hasOwn((schema.properties ?? {}) as object, name)),
  items: ({ wanted, value, fits }) => !Array.isArray(value) || value.every((each) => fits(wanted, each)),
  minItems: ({ wanted, value }) => !Array.isArray(value) || value.length >= Number(wanted),
  maxItems: ({ wanted, value }) => !Array.isArray(value) || value.length <= Number(wanted),
  minLength: ({ wanted, value }) => typeof value !== 'string' || value.length >= Number(wanted),
  pattern: ({ wanted, value }) => typeof value !== 'string' || new RegExp(String(wanted), 'u').test(value),
  minimum: ({ wanted, value }) => typeof value !== 'number' || value >= Number(wanted),
  maximum: ({ wanted, value }) => typeof value !== 'number' || value <= Number(wanted),
};
