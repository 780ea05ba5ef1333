import type { StandardSchema } from '@guardloop/core';

/** An issue as Standard Schema gives it. */
interface Issue {
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/**
 * Where data does not fit its schema, as `data.list[2]["postal code"]`. Names are told that the schema has, and places in lists; keys that
 * whoever submitted has chosen are content, and are `[*]`.
 */
export function placesOf(issues: readonly unknown[], { data, schema }: { readonly data: unknown; readonly schema: StandardSchema }) {
  const names = namesIn(schema);
  const places = (issues as readonly Issue[]).map(({ path = [] }) => {
    let at: unknown = data;
    let place = 'data';
    for (const step of path) {
      const key = typeof step === 'object' ? step.key : step;
      place += Array.isArray(at) && Number.isSafeInteger(Number(key)) ? `[${Number(key)}]` : written(key, names);
      at = typeof at === 'object' && at !== null ? (at as Readonly<Record<PropertyKey, unknown>>)[key] : undefined;
    }
    return place;
  });
  return [...new Set(places)];
}

function written(key: PropertyKey, names: ReadonlySet<string>): string {
  if (typeof key === 'symbol' || !names.has(String(key))) return '[*]';
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(String(key)) ? `.${String(key)}` : `[${JSON.stringify(key)}]`;
}

/** All names of properties in a schema. None where it cannot be told as JSON Schema. */
function namesIn(schema: StandardSchema): ReadonlySet<string> {
  const names = new Set<string>();
  const look = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return;
    const { properties } = part as { readonly properties?: unknown };
    if (typeof properties === 'object' && properties !== null) for (const name of Object.keys(properties)) names.add(name);
    for (const inner of Object.values(part)) look(inner);
  };
  try {
    look(schema['~standard'].jsonSchema.input({ target: 'draft-2020-12' }));
  } catch {
    // Then none is told.
  }
  return names;
}
