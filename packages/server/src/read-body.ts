// A request's body as JSON that holds no surprises: bounded, UTF-8, numbers as they were written, no prototypes.
import type { z } from 'zod';
import { within } from './deadline.js';
import { Problem } from './problem.js';

export interface BodyLimits {
  readonly maxBytes: number;
  readonly maxDepth: number;
  readonly timeoutMs: number;
}

const jsonType = /^application\/json[\t ]*(?:;[\t ]*charset=(?:"utf-8"|utf-8)[\t ]*)?$/i;

/** Throws {@link Problem}. */
export async function readJson(request: Request, limits: BodyLimits): Promise<unknown> {
  if (!jsonType.test(request.headers.get('content-type') ?? '')) throw new Problem('bad-type');
  const encoding = request.headers.get('content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity')
    throw new Problem('bad-type', { detail: 'The body must not be compressed.' });
  const bytes = await readBytes(request, limits);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Problem('bad-request', { detail: 'The body is not UTF-8.' });
  }
  if (isDeeper(text, limits.maxDepth)) throw new Problem('bad-request', { detail: `The body has more than ${limits.maxDepth} levels.` });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Problem('bad-request', { detail: 'The body is not JSON.' });
  }
  checkJson(value);
  return value;
}

/** What a text inside a body is as JSON, by the rules of bodies; undefined where it is none, or not by these rules. */
export function jsonIn(text: string, maxDepth: number): unknown {
  if (isDeeper(text, maxDepth)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    checkJson(value);
    return value;
  } catch {
    return undefined;
  }
}

/**
 * The value as the schema gives it. Throws {@link Problem}, which names fields and what was expected, and no value; `detail` says where
 * more stands.
 */
export function fit<S extends z.ZodType>(
  schema: S,
  value: unknown,
  { kind, detail }: { readonly kind: 'bad-body' | 'bad-query'; readonly detail: string },
): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Problem(kind, { detail, errors: parsed.error.issues.flatMap((issue) => faultsOf(issue, [])).slice(0, 20) });
}

type Fault = NonNullable<Problem['body']['errors']>[number];
function faultsOf(issue: z.core.$ZodIssue, before: readonly PropertyKey[]): readonly Fault[] {
  const path = [...before, ...issue.path];
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => ({ path: pathOf([...path, key]), expected: 'no such field' }));
  if (issue.code === 'invalid_union') {
    // Where what was sent is of one of the forms, its own faults are told.
    const meant = issue.errors.filter((issues) => issues.every((inner) => inner.path.length > 0));
    if (meant.length === 1 && meant[0] !== undefined) return meant[0].flatMap((inner) => faultsOf(inner, path));
  }
  return [{ path: pathOf(path), expected: expectedOf(issue) }];
}

/** Throws {@link Problem} for a list in a field of the body that is longer than it may be. */
export function checkLists(body: unknown, longest: Readonly<Record<string, number>>): unknown {
  if (typeof body !== 'object' || body === null) return body;
  for (const [name, most] of Object.entries(longest)) {
    const value = (body as Readonly<Record<string, unknown>>)[name];
    if (Array.isArray(value) && value.length > most)
      throw new Problem('bad-body', { errors: [{ path: name, expected: `at most ${most}` }] });
  }
  return body;
}

async function readBytes(request: Request, { maxBytes, timeoutMs }: BodyLimits): Promise<Uint8Array> {
  const tooLarge = () => new Problem('too-large', { detail: `At most ${maxBytes} bytes are taken.`, headers: { connection: 'close' } });
  const length = request.headers.get('content-length');
  if (length !== null && Number(length) > maxBytes) throw tooLarge();
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader();
  const read = async (): Promise<Uint8Array> => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      size += next.value.byteLength;
      if (size > maxBytes) throw tooLarge();
      chunks.push(next.value);
    }
    const whole = new Uint8Array(size);
    let at = 0;
    for (const chunk of chunks) {
      whole.set(chunk, at);
      at += chunk.byteLength;
    }
    return whole;
  };
  try {
    return await within(read(), timeoutMs, () => new Problem('too-slow', { headers: { connection: 'close' } }));
  } catch (thrown) {
    void reader.cancel().catch(() => undefined);
    if (thrown instanceof Problem) throw thrown;
    throw new Problem('bad-request', { detail: 'The body broke off.' });
  }
}

function isDeeper(json: string, most: number): boolean {
  let level = 0;
  let isText = false;
  for (let index = 0; index < json.length; index += 1) {
    const letter = json.charCodeAt(index);
    if (isText && letter === 0x5c) index += 1;
    else if (letter === 0x22) isText = !isText;
    else if (!isText && (letter === 0x7b || letter === 0x5b)) {
      level += 1;
      if (level > most) return true;
    } else if (!isText && (letter === 0x7d || letter === 0x5d)) level -= 1;
  }
  return false;
}

/** Refuses what would be another value behind JSON than the client wrote, or could reach a prototype. The depth is bounded already. */
function checkJson(value: unknown): void {
  if (typeof value === 'string') checkText(value);
  else if (typeof value === 'number') {
    if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value)))
      throw new Problem('bad-request', { detail: 'The body holds a number that would not be kept exactly. Send it as text.' });
  } else if (Array.isArray(value)) for (const item of value) checkJson(item);
  else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) {
      if (key === '__proto__') throw new Problem('bad-request', { detail: 'The body holds a field name that is not taken.' });
      checkText(key);
      checkJson(item);
    }
}

const loneSurrogate = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;
function checkText(text: string): void {
  if (loneSurrogate.test(text)) throw new Problem('bad-request', { detail: 'The body holds text that is not well-formed Unicode.' });
}

/** Names of fields are ours up to the one that did not fit; behind it they may be the client's, and those are not repeated. */
function pathOf(path: readonly PropertyKey[]): string {
  return path
    .slice(0, 6)
    .map((step) => (typeof step === 'number' || (typeof step === 'string' && /^[A-Za-z]{1,24}$/.test(step)) ? String(step) : '?'))
    .join('.');
}

function expectedOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.expected;
    case 'too_big':
      return `${issue.origin === 'string' ? 'a length of ' : ''}at most ${issue.maximum}`;
    case 'too_small':
      return `${issue.origin === 'string' ? 'a length of ' : ''}at least ${issue.minimum}`;
    case 'invalid_value':
      return `one of ${issue.values.map(String).join(', ')}`;
    case 'invalid_union':
      // The schema's own words.
      return issue.message;
    case 'invalid_format':
      return `the form of ${issue.format === 'regex' ? 'a name or id' : issue.format}`;
    default:
      return 'another value';
  }
}
