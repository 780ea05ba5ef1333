type Schema = Readonly<Record<string, unknown>>;

const keywords = new Set(
  `$schema $defs definitions $ref type title description enum const anyOf properties required additionalProperties items pattern format
   multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems`.split(/\s+/),
);

/**
 * What the OpenAI API refuses a schema with `strict: true` for: an object that is open, a property that is not required, a keyword outside
 * the subset, anywhere inside. One line for each fault, with its place in the schema.
 */
export function strictProblems(root: Schema): readonly string[] {
  const problems: string[] = root.anyOf === undefined ? [] : ['anyOf is not allowed at the root with strict'];
  const todo: (readonly [string, Schema])[] = [['', root]];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const [place, schema] = next;
    const at = place === '' ? 'the root' : place;
    problems.push(...keywordProblems(schema, at), ...objectProblems(schema, at));
    for (const [name, child] of children(schema)) {
      if (isSchema(child)) todo.push([place === '' ? name : `${place}.${name}`, child]);
      else problems.push(`${name} of ${at} must be a schema with strict`);
    }
  }
  return problems;
}

function keywordProblems(schema: Schema, at: string): readonly string[] {
  const unknown = Object.keys(schema).filter((keyword) => !keywords.has(keyword));
  return unknown.map((keyword) => `${keyword} of ${at} is not allowed with strict`);
}

function objectProblems(schema: Schema, at: string): readonly string[] {
  if (schema.type !== 'object' && !(Array.isArray(schema.type) && schema.type.includes('object'))) return [];
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  const optional = Object.keys(isSchema(schema.properties) ? schema.properties : {}).filter((name) => !required.includes(name));
  const problems = optional.map((name) => `${name} of ${at} must be required with strict`);
  return schema.additionalProperties === false ? problems : [`additionalProperties of ${at} must be false with strict`, ...problems];
}

function children(schema: Schema): readonly (readonly [string, unknown])[] {
  const maps = ['properties', '$defs', 'definitions', 'anyOf'].flatMap((keyword) => {
    const entries = Object.entries(schema[keyword] ?? {});
    return entries.map(([name, child]) => [`${keyword}.${name}`, child] as const);
  });
  return schema.items === undefined ? maps : [...maps, ['items', schema.items]];
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
