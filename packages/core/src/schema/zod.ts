import type { JsonObject, JsonValue } from '../model/types.js';
import type { CompiledSchema, Parsed, SchemaIssue } from './compiled.js';
import type { Place } from './expectation.js';
import { expectedAt, fittingNames, isMissing, missingWords, noOtherFields, placeAt } from './expectation.js';
import { isObject } from './json-schema-node.js';
import { rawIssue } from './raw-input.js';
import { sayable } from './sayable.js';
import type { ZodNode, ZodPayload } from './zod-nodes.js';
import { functionsIn } from './zod-nodes.js';

const ownCheckWords = 'to pass its check';
const failedCheck: Parsed = Object.freeze({
  ok: false,
  issues: Object.freeze([Object.freeze({ path: '', expected: 'an input that its checks can judge; one of them failed' })]),
});

interface ZodIssue {
  readonly code?: string;
  readonly path?: readonly PropertyKey[];
  readonly message?: unknown;
  readonly errors?: readonly (readonly ZodIssue[])[];
  readonly expected?: unknown;
  readonly origin?: unknown;
  readonly minimum?: unknown;
  readonly maximum?: unknown;
  readonly inclusive?: unknown;
  readonly divisor?: unknown;
  readonly format?: unknown;
  readonly inst?: { readonly _zod?: { readonly def?: { readonly error?: unknown } } };
}

/** Words for what zod says was expected, where the JSON Schema says less. None of them comes from the input. */
function codeWords({ code, expected, origin, minimum, maximum, inclusive, divisor, format }: ZodIssue): string | undefined {
  const noun = origin === 'string' ? ' characters' : origin === 'array' || origin === 'set' ? ' items' : '';
  switch (code) {
    case 'invalid_type':
      return typeof expected === 'string' ? expected : undefined;
    case 'too_small':
      return `${inclusive === false ? 'above' : 'at least'} ${String(minimum)}${noun}`;
    case 'too_big':
      return `${inclusive === false ? 'below' : 'at most'} ${String(maximum)}${noun}`;
    case 'not_multiple_of':
      return `a multiple of ${String(divisor)}`;
    case 'invalid_format':
      return typeof format === 'string' && format !== 'regex' ? `text in the format ${format}` : undefined;
    default:
      return undefined;
  }
}

/** The author's own words for a check, if they are the same for every input: their function is called without one. */
function fixedWords(issue: ZodIssue): string | undefined {
  const write = issue.inst?._zod?.def?.error;
  if (typeof write !== 'function') return undefined;
  let looked = false;
  const blind = {
    code: issue.code,
    path: [],
    get input(): undefined {
      looked = true;
      return undefined;
    },
  };
  try {
    const written: unknown = write(blind);
    const words = typeof written === 'string' ? written : (written as { readonly message?: unknown } | undefined)?.message;
    return !looked && typeof words === 'string' && words !== '' ? words : undefined;
  } catch {
    return undefined;
  }
}

class IssueWords {
  private readonly json: JsonObject;
  private readonly raw: JsonValue;
  private readonly found = new Map<string, SchemaIssue>();

  constructor(json: JsonObject, raw: JsonValue) {
    this.json = json;
    this.raw = raw;
  }

  all(issues: readonly ZodIssue[]): readonly SchemaIssue[] {
    this.add(issues, []);
    return [...this.found.values()];
  }

  private add(issues: readonly ZodIssue[], prefix: readonly PropertyKey[]): void {
    for (const issue of issues) {
      const path = [...prefix, ...(issue.path ?? [])];
      const near =
        issue.code === 'invalid_union'
          ? (issue.errors ?? []).filter((branch) => branch.every((inner) => (inner.path ?? []).length > 0))
          : [];
      if (near.length === 1) this.add(near[0] ?? [], path);
      else this.put(issue, path);
    }
  }

  private put(issue: ZodIssue, path: readonly PropertyKey[]): void {
    const isKey = issue.code === 'invalid_key';
    const place = placeAt(this.json, isKey ? path.slice(0, -1) : path);
    if (this.found.has(place.path)) return;
    this.found.set(place.path, { path: place.path, expected: isKey ? fittingNames(this.json, place) : this.words(issue, path, place) });
  }

  private words(issue: ZodIssue, path: readonly PropertyKey[], place: Place): string {
    if (issue.code === 'unrecognized_keys') return noOtherFields(this.json, place);
    if (issue.code === 'custom') {
      const said = fixedWords(issue) ?? sayable(issue.message, this.raw, (word) => this.isName(word));
      return said === undefined ? ownCheckWords : `${ownCheckWords}: ${said}`;
    }
    const expected = this.expected(issue, place);
    return isMissing(this.raw, path) ? expected + missingWords : expected;
  }

  /** The schema's own words, with what zod adds where a later step of the schema is stricter than its input side. */
  private expected(issue: ZodIssue, place: Place): string {
    const words = expectedAt(this.json, place);
    const more = codeWords(issue);
    if (words === undefined) return more ?? 'another value';
    const limit = issue.minimum ?? issue.maximum ?? issue.divisor;
    return more !== undefined && limit !== undefined && !words.includes(String(limit)) ? `${words}, ${more}` : words;
  }

  private isName(word: string): boolean {
    const { properties } = this.json;
    return isObject(properties) && Object.keys(properties).some((name) => name.toLowerCase() === word);
  }
}

/** How a zod schema parses. `json` is asked for only when something does not fit. */
export function zodParser(schema: ZodNode, json: () => JsonObject): CompiledSchema['parse'] {
  const kind = functionsIn(schema);
  // In its asynchronous mode zod gives promises only for asynchronous checks, but for every transform; its synchronous mode lets go of the
  // promise of a check that turns out to be asynchronous, and a rejection of it would go unhandled.
  let isAsync = kind === 'checks' || kind === 'asynchronous';

  const finish = (payload: ZodPayload, raw: JsonValue): Parsed => {
    if (payload.issues.length === 0) return { ok: true, value: payload.value };
    return { ok: false, issues: new IssueWords(json(), raw).all(payload.issues as readonly ZodIssue[]) };
  };
  const settle = async (pending: PromiseLike<ZodPayload>, raw: JsonValue): Promise<Parsed> => {
    let payload: ZodPayload;
    try {
      payload = await pending;
    } catch {
      return failedCheck;
    }
    isAsync = true;
    return finish(payload, raw);
  };
  const run = (raw: JsonValue, async: boolean): ZodPayload | Promise<ZodPayload> | undefined => {
    try {
      return schema._zod.run({ value: raw, issues: [] }, { async });
    } catch {
      return undefined;
    }
  };

  return (raw) => {
    const refused = rawIssue(raw);
    if (refused) return { ok: false, issues: [refused] };
    // A transform that gives a promise makes the synchronous mode throw, with one error or another.
    const payload = run(raw, isAsync) ?? (isAsync ? undefined : run(raw, true));
    if (payload === undefined) return failedCheck;
    return payload instanceof Promise ? settle(payload, raw) : finish(payload, raw);
  };
}
