type Schema = Readonly<Record<string, unknown>>;

const keywords = new Set(
  `$schema $defs definitions $ref type title description enum const anyOf properties required additionalProperties items pattern format
   multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems`.split(/\s+/),
);
const formats = new Set('date-time time date duration email hostname ipv4 ipv6 uuid'.split(' '));
const types = new Set('object array string number integer boolean null'.split(' '));
const notAtRoot = ['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const'];
const most = { depth: 10, properties: 5_000, enumValues: 1_000, chars: 120_000 };

/** What the OpenAI API refuses a schema of a tool or an answer for, with `strict: true` or without. One line for each fault, with its place. */
export function schemaProblems(root: Schema): readonly string[] {
  const problems = notAtRoot.filter((keyword) => root[keyword] !== undefined).map((keyword) => `${keyword} is not allowed at the root`);
  if (!isSchema(root.properties)) problems.push('the root has no properties');
  for (const { schema, at } of nodesOf(root)) {
    if (typesOf(schema).includes('array') && schema.items === undefined) problems.push(`${at} is an array without items`);
    const unknown = typesOf(schema).filter((type) => !types.has(String(type)));
    if (unknown.length > 0) problems.push(`the type ${JSON.stringify(unknown[0])} of ${at} is unknown`);
  }
  return problems;
}

/**
 * What the OpenAI API refuses a schema with `strict: true` for, beside {@link schemaProblems}: an object that is open, a property that is
 * not required, a keyword outside the subset, anywhere inside, and more than its limits.
 */
export function strictProblems(root: Schema): readonly string[] {
  const problems = [...schemaProblems(root)];
  const size = { properties: 0, enumValues: 0, chars: 0 };
  for (const { schema, at, depth } of nodesOf(root)) {
    problems.push(...keywordProblems(schema, at), ...referenceProblems(root, schema, at), ...objectProblems(schema, at));
    if (depth > most.depth && typesOf(schema).some((type) => type === 'object' || type === 'array'))
      problems.push(`${at} is nested more than ${most.depth} levels deep`);
    const names = Object.keys(isSchema(schema.properties) ? schema.properties : {});
    const values: readonly unknown[] = Array.isArray(schema.enum) ? schema.enum : [];
    size.properties += names.length;
    size.enumValues += values.length;
    for (const text of [...names, ...values, schema.const]) if (typeof text === 'string') size.chars += text.length;
  }
  for (const name of ['properties', 'enumValues', 'chars'] as const)
    if (size[name] > most[name])
      problems.push(`the schema has more than ${most[name]} ${name === 'enumValues' ? 'values of enums' : name}`);
  return problems;
}

function keywordProblems(schema: Schema, at: string): readonly string[] {
  const problems = Object.keys(schema)
    .filter((keyword) => !keywords.has(keyword))
    .map((keyword) => `${keyword} of ${at} is not allowed with strict`);
  const says = ['type', '$ref', 'anyOf', 'enum', 'const'].some((keyword) => schema[keyword] !== undefined);
  if (!says) problems.push(`${at} has no type`);
  if (schema.format !== undefined && !formats.has(String(schema.format)))
    problems.push(`the format ${JSON.stringify(schema.format)} of ${at} is not allowed with strict`);
  for (const list of ['enum', 'anyOf'])
    if (schema[list] !== undefined && !(Array.isArray(schema[list]) && schema[list].length > 0))
      problems.push(`${list} of ${at} must be a list with at least one entry`);
  return problems;
}

function referenceProblems(root: Schema, { $ref: reference, ...siblings }: Schema, at: string): readonly string[] {
  if (reference === undefined) return [];
  const beside = Object.keys(siblings).filter((keyword) => siblings[keyword] !== undefined);
  const problems = beside.length === 0 ? [] : [`$ref of ${at} stands beside ${beside.join(', ')}`];
  const match = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(String(reference));
  const definitions = match?.[1] === undefined ? undefined : root[match[1]];
  const isFound = reference === '#' || (isSchema(definitions) && match?.[2] !== undefined && Object.hasOwn(definitions, match[2]));
  return isFound ? problems : [...problems, `$ref of ${at} points to nothing in the schema`];
}

function objectProblems(schema: Schema, at: string): readonly string[] {
  if (!typesOf(schema).includes('object')) return [];
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  const names = Object.keys(isSchema(schema.properties) ? schema.properties : {});
  const problems = names.filter((name) => !required.includes(name)).map((name) => `${name} of ${at} must be required with strict`);
  for (const name of required) if (!names.includes(String(name))) problems.push(`${String(name)} of ${at} is required and no property`);
  return schema.additionalProperties === false ? problems : [`additionalProperties of ${at} must be false with strict`, ...problems];
}

interface Node {
  readonly schema: Schema;
  readonly at: string;
  /** Objects and lists around it, itself included. */
  readonly depth: number;
}

function* nodesOf(root: Schema): Generator<Node> {
  const todo: (Node & { readonly place: string })[] = [{ schema: root, at: 'the root', place: '', depth: 1 }];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    yield next;
    for (const [name, child, deeper] of children(next.schema)) {
      const place = next.place === '' ? name : `${next.place}.${name}`;
      if (isSchema(child)) todo.push({ schema: child, at: place, place, depth: next.depth + deeper });
    }
  }
}

function children(schema: Schema): readonly (readonly [string, unknown, 0 | 1])[] {
  const levels = [
    ['properties', 1],
    ['$defs', 0],
    ['definitions', 0],
    ['anyOf', 0],
  ] as const;
  const maps = levels.flatMap(([keyword, deeper]) => {
    const entries = Object.entries(schema[keyword] ?? {});
    return entries.map(([name, child]) => [`${keyword}.${name}`, child, deeper] as const);
  });
  return schema.items === undefined ? maps : [...maps, ['items', schema.items, 1]];
}

function typesOf(schema: Schema): readonly unknown[] {
  return schema.type === undefined ? [] : [schema.type].flat();
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
