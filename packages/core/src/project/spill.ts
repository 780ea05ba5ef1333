import type { ToolSpec } from '../define/specs.js';
import type { Awaitable, Projection, ToolInfo } from '../define/types.js';
import { GuardloopError } from '../errors.js';
import type { JsonObject, JsonValue } from '../model/types.js';
import { checkMaxChars, headAndTail, resultCapChars } from './cap.js';
import { cutAfter, cutBefore } from './grapheme.js';
import { checkOptionNames } from './option-names.js';
import type { Shown } from './own-projection.js';
import { ownProjection } from './own-projection.js';
import { wellFormed } from './well-formed.js';

/**
 * Where long outputs are kept whole. A key is `<run>/<call id>`. The model can read whatever the store answers with, so one store holds
 * what one user may see.
 */
export interface ObservationStore {
  /** Called again with the same key and text when a call is resumed. */
  put(key: string, text: string): Awaitable<void>;
  /** Undefined for a key that is not there. */
  get(key: string): Awaitable<string | undefined>;
}
/** What {@link spill} takes. */
export interface SpillOptions {
  /** Characters (UTF-16 units) of the output shown to the model; a shorter output is shown whole and not stored. */
  readonly maxChars: number;
  readonly store: ObservationStore;
}

const stores = new WeakMap<object, ObservationStore>();
const toolName = 'read_observation';
const pieceChars = 8_000;
const mostPieceChars = resultCapChars - 1_000;

/**
 * Puts a long output, whole and guarded, into a store, and shows the model its beginning and end with the key; an agent with such a tool is
 * also given the tool `read_observation`. If the store fails, the model is told that only this part is left.
 */
export function spill(options: SpillOptions): Projection {
  checkOptionNames('spill', options, ['maxChars', 'store']);
  const maxChars = checkMaxChars(options?.maxChars, 'spill');
  const { store } = options;
  if (typeof store?.put !== 'function' || typeof store.get !== 'function') {
    throw new GuardloopError(
      'CONFIG_INVALID',
      'spill: store must have the functions put(key, text) and get(key). Give one, for example over a Map.',
    );
  }
  const projection = ownProjection((_output, { run, callId, content }) => {
    if (content.length <= maxChars) return { text: content, isWhole: true };
    const key = `${run}/${callId}`;
    const summary = headAndTail(content, maxChars);
    const kept = `${summary}\n[The whole result has ${content.length} characters and is kept under the key "${key}". To read on, call ${toolName} with this key.]`;
    const lost = `${summary}\n[The whole result has ${content.length} characters; it could not be kept, and only this part of it is left.]`;
    const put = async (): Promise<Shown> => {
      try {
        await store.put(key, content);
        return { text: kept, isWhole: false };
      } catch {
        return { text: lost, isWhole: false };
      }
    };
    return put();
  });
  stores.set(projection, store);
  return projection;
}

/** The store of a projection made by {@link spill}. */
export function spillStore(projection: unknown): ObservationStore | undefined {
  return typeof projection === 'function' ? stores.get(projection) : undefined;
}

interface Reading {
  readonly key: string;
  readonly from: number;
  readonly count: number;
}
type Read =
  | { readonly ok: true; readonly value: Reading }
  | { readonly ok: false; readonly issues: readonly { readonly path: string; readonly expected: string }[] };

const readingSchema: { readonly type: 'object' } & JsonObject = Object.freeze({
  type: 'object',
  properties: {
    key: { type: 'string', description: 'The key named in the result that was too long.' },
    from: { type: 'integer', minimum: 0, description: 'The first character to read, counted from 0. Left out: 0.' },
    count: { type: 'integer', minimum: 1, maximum: mostPieceChars, description: `How many characters to read. Left out: ${pieceChars}.` },
  },
  required: ['key'],
  additionalProperties: false,
} as const);

function parseReading(raw: JsonValue): Read {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return { ok: false, issues: [{ path: '', expected: 'object' }] };
  const { key, from = 0, count = pieceChars, ...others } = raw as JsonObject;
  const issues: { path: string; expected: string }[] = [];
  if (typeof key !== 'string') issues.push({ path: 'key', expected: 'string' });
  if (!Number.isSafeInteger(from) || (from as number) < 0) issues.push({ path: 'from', expected: 'integer at least 0' });
  if (!Number.isSafeInteger(count) || (count as number) < 1 || (count as number) > mostPieceChars) {
    issues.push({ path: 'count', expected: `integer from 1 to ${mostPieceChars}` });
  }
  if (Object.keys(others).length > 0) issues.push({ path: '', expected: 'no other fields than key, from, count' });
  if (issues.length > 0) return { ok: false, issues };
  return { ok: true, value: { key: key as string, from: from as number, count: count as number } };
}

function withoutNulls(written: JsonValue): JsonValue {
  if (typeof written !== 'object' || written === null || Array.isArray(written)) return written;
  return Object.fromEntries(Object.entries(written as JsonObject).filter(([, value]) => value !== null));
}

function notFound(message: string): Error {
  return Object.assign(new Error(message), { errorClass: 'not_found' as const, retryable: false });
}

async function readPiece(from: readonly ObservationStore[], { key, from: first, count }: Reading): Promise<string> {
  let whole: string | undefined;
  for (const store of from) {
    whole = await store.get(key);
    if (whole !== undefined) break;
  }
  if (typeof whole !== 'string') throw notFound('Nothing is kept under this key. Use a key that a result named.');
  if (first >= whole.length) throw notFound(`The result has only ${whole.length} characters; read from an earlier one.`);
  const start = cutBefore(whole, first);
  const end = Math.max(cutBefore(whole, start + count), cutAfter(whole, start + 1));
  const rest = whole.length - end;
  return `${wellFormed(whole.slice(start, end))}\n[characters ${start} to ${end} of ${whole.length}; ${rest === 0 ? 'this is the end' : `read on from ${end}`}]`;
}

/** What the tool `read_observation` is made of, over a store of one's own. */
export function readObservation(store: ObservationStore): {
  readonly name: 'read_observation';
  readonly description: string;
  readonly input: { readonly type: 'object' } & JsonObject;
  readonly execute: (input: JsonObject, info?: ToolInfo) => Promise<string>;
} {
  return {
    name: toolName,
    description: 'Reads a piece of an earlier result that was too long to be shown whole.',
    input: readingSchema,
    execute: async (input) => {
      const read = parseReading(input);
      if (!read.ok) throw Object.assign(new Error('The input does not fit.'), { errorClass: 'invalid_input' as const, retryable: false });
      return readPiece([store], read.value);
    },
  };
}

/** The tool `read_observation` for an agent whose tools spill; undefined where none does, or where the agent has a tool of that name. */
export function readObservationTool(tools: readonly ToolSpec[]): ToolSpec | undefined {
  const all = new Set(tools.map((tool) => spillStore(tool.project)).filter((store) => store !== undefined));
  const [first] = all;
  if (first === undefined || tools.some((tool) => tool.name === toolName)) return undefined;
  return {
    kind: 'tool',
    name: toolName,
    description: readObservation(first).description,
    input: { json: readingSchema, parse: parseReading, withoutAbsent: withoutNulls, required: true },
    output: undefined,
    approval: false,
    execute: (input: Reading) => readPiece([...all], input),
    project: undefined,
    guardrails: [],
    flow: { effect: 'read', results: 'untrusted', authority: [], declared: true },
    timeoutMs: undefined,
    retry: undefined,
    repeatable: true,
    declaredRepeatable: false,
    polling: false,
    enabled: true,
    rejection: undefined,
    endsRun: false,
    strict: 'auto',
    agent: undefined,
  };
}
