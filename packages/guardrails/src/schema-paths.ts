import type { FieldPath, Step } from './policy/field-path.js';

type Node = { readonly [keyword: string]: unknown };
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Deeper references are taken to fit. */
const mostReferences = 64;

/** The JSON Schema of what a schema makes of values; undefined where its library does not give one at once. */
export function jsonSchemaOf(schema: unknown): object | undefined {
  const { jsonSchema } = ((schema as { readonly '~standard'?: unknown })['~standard'] ?? {}) as { readonly jsonSchema?: unknown };
  const { output } = (isNode(jsonSchema) ? jsonSchema : {}) as { readonly output?: (options: object) => unknown };
  try {
    // What zod cannot say in JSON Schema, dates for example, may then be anything.
    const made = output?.({ target: 'draft-2020-12', libraryOptions: { unrepresentable: 'any' } });
    return isNode(made) ? made : undefined;
  } catch {
    return undefined;
  }
}

/** Where a path leaves a schema: the step, and the names that could stand there. */
interface Misplaced {
  readonly step: Step;
  readonly names: readonly string[];
}

/** Where a schema does not have a path; undefined where it has it, or may have it. */
export function misplacedIn(root: object, { steps }: FieldPath): Misplaced | undefined {
  const look = (node: unknown, index: number, references: number): Misplaced | undefined => {
    const step = steps[index];
    if (step === undefined || !isNode(node) || references > mostReferences) return undefined;
    if (typeof node.$ref === 'string') return look(referred(root, node.$ref), index, references + 1);
    const branches = [node.anyOf, node.oneOf, node.allOf].find(Array.isArray) as readonly unknown[] | undefined;
    if (branches !== undefined) {
      return inEvery(
        step,
        branches.map((branch) => look(branch, index, references + 1)),
      );
    }
    const next = step === 'each' || 'index' in step ? entryOf(node, step) : fieldOf(node, step);
    return 'step' in next ? next : look(next.node, index + 1, references);
  };
  return look(root, 0, 0);
}

type Next = { readonly node: unknown } | Misplaced;

function inEvery(step: Step, found: readonly (Misplaced | undefined)[]): Misplaced | undefined {
  if (found.includes(undefined)) return undefined;
  return { step, names: [...new Set(found.flatMap((each) => each?.names ?? []))] };
}

const isOther = ({ type }: Node, wanted: string): boolean => typeof type === 'string' && type !== wanted;

function entryOf(node: Node, step: Step): Next {
  if (isOther(node, 'array')) return { step, names: [] };
  return { node: 'prefixItems' in node ? undefined : node.items };
}

function fieldOf(node: Node, step: { readonly key: string }): Next {
  if (isOther(node, 'object')) return { step, names: [] };
  const { properties, additionalProperties = false } = node;
  if (!isNode(properties)) return { node: undefined };
  if (Object.hasOwn(properties, step.key)) return { node: properties[step.key] };
  const isClosed = additionalProperties === false && !('patternProperties' in node);
  return isClosed ? { step, names: Object.keys(properties) } : { node: undefined };
}

function referred(root: object, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined;
  let at: unknown = root;
  for (const part of reference.slice(1).split('/').slice(1))
    at = isNode(at) ? at[part.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined;
  return at;
}
