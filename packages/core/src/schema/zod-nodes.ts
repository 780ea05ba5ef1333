// Walks a zod 4 schema by its definitions, without importing zod: the schema may be of another copy than ours.

export interface ZodNode {
  readonly _zod: {
    readonly def: ZodDef;
    readonly innerType?: unknown;
    readonly toJSONSchema?: unknown;
    readonly run: (
      payload: { value: unknown; issues: unknown[] },
      context: { readonly async: boolean },
    ) => ZodPayload | Promise<ZodPayload>;
  };
}
export interface ZodPayload {
  readonly value: unknown;
  readonly issues: readonly unknown[];
}
interface ZodDef {
  readonly type: string;
  readonly checks?: readonly unknown[] | undefined;
  readonly [key: string]: unknown;
}

export function isZodNode(value: unknown): value is ZodNode {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const { _zod } = value as { readonly _zod?: { readonly def?: unknown; readonly run?: unknown } };
  return typeof _zod === 'object' && _zod !== null && typeof _zod.def === 'object' && typeof _zod.run === 'function';
}

const inexpressible: ReadonlySet<string> = new Set([
  'bigint',
  'date',
  'symbol',
  'undefined',
  'void',
  'nan',
  'map',
  'set',
  'function',
  'custom',
  'transform',
  'file',
]);

interface Field {
  readonly path: string;
  readonly node: unknown;
}

const join = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

/** The schemas directly inside one, all sides of it. */
function children({ _zod: { def, innerType } }: ZodNode, path: string): readonly Field[] {
  const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
  const fields: Field[] = [];
  if (def.type === 'object') for (const [name, node] of Object.entries(def.shape as object)) fields.push({ path: join(path, name), node });
  for (const node of list(def.items)) fields.push({ path: `${path}[]`, node });
  for (const key of ['element', 'rest']) fields.push({ path: `${path}[]`, node: def[key] });
  for (const key of ['catchall', 'valueType', 'keyType']) fields.push({ path: join(path, '*'), node: def[key] });
  for (const node of list(def.options)) fields.push({ path, node });
  for (const key of ['left', 'right', 'innerType', 'in', 'out']) fields.push({ path, node: def[key] });
  fields.push({ path, node: def.type === 'lazy' ? innerType : undefined });
  return fields.filter((field) => field.node !== undefined);
}

/** What of a schema is seen on the input side: of a pipe, its first schema that is no function. */
function inputChildren(node: ZodNode, path: string): readonly Field[] {
  const { def } = node._zod;
  if (def.type !== 'pipe') return children(node, path);
  const first = def.in;
  return [{ path, node: isZodNode(first) && first._zod.def.type === 'transform' ? def.out : first }];
}

/** The first place on the input side that JSON Schema has no words for. */
export function findInexpressible(root: ZodNode): { readonly path: string; readonly type: string } | undefined {
  const seen = new Set<unknown>();
  const waiting: Field[] = [{ path: '', node: root }];
  for (let field = waiting.pop(); field; field = waiting.pop()) {
    const { path, node } = field;
    if (seen.has(node) || !isZodNode(node)) continue;
    seen.add(node);
    const { def, toJSONSchema } = node._zod;
    if (typeof toJSONSchema === 'function') continue;
    if (inexpressible.has(def.type)) return { path, type: def.type };
    if (
      def.type === 'literal' &&
      Array.isArray(def.values) &&
      def.values.some((value) => value === undefined || typeof value === 'bigint')
    ) {
      return { path, type: 'literal that JSON does not have' };
    }
    waiting.push(...[...inputChildren(node, path)].reverse());
  }
  return undefined;
}

/** True where every value that fits is an object, as far as the definitions tell. */
export function isZodObject(node: unknown, depth = 0): boolean {
  if (!isZodNode(node) || depth > 32) return false;
  const { def, toJSONSchema } = node._zod;
  if (typeof toJSONSchema === 'function') return true;
  if (def.type === 'object' || def.type === 'record') return true;
  const inner = inputChildren(node, '').map((field) => field.node);
  if (def.type === 'union') return inner.length > 0 && inner.every((option) => isZodObject(option, depth + 1));
  if (def.type === 'intersection') return inner.some((side) => isZodObject(side, depth + 1));
  return (
    ['optional', 'default', 'prefault', 'catch', 'readonly', 'nonoptional', 'pipe', 'lazy'].includes(def.type) &&
    inner.some((side) => isZodObject(side, depth + 1))
  );
}

/**
 * Which functions of its author's a schema calls: `none`; `checks` (refinements); `transforms`, which zod turns into promises when it is
 * allowed to; `asynchronous`, where one is declared `async`.
 */
export function functionsIn(root: ZodNode): 'none' | 'checks' | 'transforms' | 'asynchronous' {
  const seen = new Set<unknown>();
  const waiting: unknown[] = [root];
  let most: 'none' | 'checks' | 'transforms' = 'none';
  const isAsync = (value: unknown): boolean =>
    typeof value === 'function' && Object.prototype.toString.call(value) === '[object AsyncFunction]';
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (seen.has(node) || !isZodNode(node)) continue;
    seen.add(node);
    const { def } = node._zod;
    const checks = (def.checks ?? []).filter((check) => (check as ZodNode)._zod?.def?.check === 'custom');
    const called = [def.transform, def.reverseTransform, def.fn, ...checks.map((check) => (check as ZodNode)._zod.def.fn)];
    if (called.some(isAsync)) return 'asynchronous';
    if (typeof def.transform === 'function' || def.type === 'transform' || def.type === 'promise') most = 'transforms';
    else if (checks.length > 0 && most === 'none') most = 'checks';
    waiting.push(...children(node, '').map((field) => field.node));
  }
  return most;
}

/** The regular expressions that texts of a schema are held to. */
export function regexesIn(root: ZodNode): readonly RegExp[] {
  const seen = new Set<unknown>();
  const waiting: unknown[] = [root];
  const found: RegExp[] = [];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (seen.has(node) || !isZodNode(node)) continue;
    seen.add(node);
    const { def } = node._zod;
    const patterns = [def.pattern, ...(def.checks ?? []).map((check) => (check as ZodNode)._zod?.def?.pattern)];
    for (const pattern of patterns) if (pattern instanceof RegExp) found.push(pattern);
    waiting.push(...children(node, '').map((field) => field.node));
  }
  return found;
}
