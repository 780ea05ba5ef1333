import type { JsonObject, JsonValue, LimitName, RunInput } from '@guardloop/core';
import { canonicalJson, resolveLimits } from '@guardloop/core';
import { plainJson } from './plain-json.js';
import { describe, invalid } from './read-options.js';

/** What a run begins with, as its record keeps it. */
export interface Submission {
  readonly input: RunInput;
  readonly data?: JsonValue | undefined;
  readonly limits?: { readonly [K in LimitName]?: number } | undefined;
  readonly onLimit?: 'stop' | 'finalize' | undefined;
  readonly traceparent?: string | undefined;
}

/** `Infinity` is no JSON: kept as `null`. Throws CONFIG_INVALID for limits that `run` would refuse. */
export function writeLimits(given: unknown): JsonObject | undefined {
  if (given === undefined) return undefined;
  resolveLimits(given as Parameters<typeof resolveLimits>[0]);
  const entries = Object.entries(given as object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries.map(([name, value]) => [name, value === Number.POSITIVE_INFINITY ? null : (value as number)]));
}

const kinds = ['text', 'image', 'file'];

/** What is said, as plain JSON. Throws CONFIG_INVALID. */
export function writeInput(input: unknown): JsonValue {
  if (typeof input === 'string') return input;
  const expected = "Give a text, or a list of parts like { type: 'text', text }.";
  if (!Array.isArray(input) || input.length === 0)
    return invalid(`The input of the run is ${Array.isArray(input) ? 'an empty list' : describe(input)}. ${expected}`);
  const copy = plainJson(input);
  if (copy === undefined)
    return invalid(`The input of the run is no plain JSON, and cannot be kept. ${expected} Bytes are given in base64.`);
  for (const part of copy as readonly JsonValue[]) {
    const { type, role } = (typeof part === 'object' && part !== null ? part : {}) as {
      readonly type?: JsonValue;
      readonly role?: JsonValue;
    };
    if (role !== undefined) invalid(`A part of the run's input has a role. ${expected}`);
    if (typeof type !== 'string' || !kinds.includes(type))
      invalid(`A part of the run's input has the type ${describe(type)}. ${expected} Types are ${kinds.join(', ')}.`);
  }
  return copy;
}

/** A submission as it is kept. */
export function writeSubmission(parts: { readonly [K in keyof Submission]: JsonValue | undefined }): JsonValue {
  return Object.fromEntries(Object.entries({ version: 1, ...parts }).filter(([, value]) => value !== undefined)) as JsonValue;
}

/** What is left of a submission once its run has ended: enough to tell the same one from another. */
interface Digests {
  readonly salt: string;
  readonly input: string;
  /** Of all else; who traces the request does not count. */
  readonly rest: string;
}

/** Takes the place of the submission of a run that has ended, so that nothing of what guardrails may have refused is left of it. */
export async function digestSubmission(kept: JsonValue): Promise<JsonValue> {
  if (digestsOf(kept)) return kept;
  const salt = hex(globalThis.crypto.getRandomValues(new Uint8Array(16)));
  return { version: 1, digests: { ...(await digestsWith(salt, kept)) } };
}

/** Whether a submission, as it is kept now, asks for the same as another that has just been written. */
export async function isSameSubmission(kept: JsonValue | undefined, other: JsonValue): Promise<boolean> {
  const [one, two] = await comparable(kept, other);
  return one !== undefined && one.input === two.input && one.rest === two.rest;
}

/** Whether a submission, as it is kept now, has this input. Undefined where it cannot be read. */
export async function isSameInput(kept: JsonValue | undefined, input: RunInput): Promise<boolean | undefined> {
  const [one, two] = await comparable(kept, writeSubmission({ input: input as JsonValue } as Parameters<typeof writeSubmission>[0]));
  return one && one.input === two.input;
}

async function comparable(kept: JsonValue | undefined, other: JsonValue): Promise<readonly [Digests | undefined, Digests]> {
  const known = digestsOf(kept);
  const salt = known?.salt ?? '';
  const given = await digestsWith(salt, other);
  if (known) return [known, given];
  return [isObject(kept) ? await digestsWith(salt, kept) : undefined, given];
}

const isObject = (kept: JsonValue | undefined): kept is JsonObject => typeof kept === 'object' && kept !== null && !Array.isArray(kept);

function digestsOf(kept: JsonValue | undefined): Digests | undefined {
  const digests = isObject(kept) ? kept.digests : undefined;
  return isObject(digests) ? (digests as unknown as Digests) : undefined;
}

async function digestsWith(salt: string, kept: JsonValue): Promise<Digests> {
  const { input = null, traceparent: _, ...rest } = isObject(kept) ? kept : {};
  return { salt, input: await digest(salt, input), rest: await digest(salt, rest) };
}

async function digest(salt: string, value: JsonValue): Promise<string> {
  const bytes = new TextEncoder().encode(`${salt} ${canonicalJson(value)}`);
  return hex(new Uint8Array(await globalThis.crypto.subtle.digest('SHA-256', bytes)));
}

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Throws CONFIG_INVALID for what no `submit` has written. */
export function readSubmission(kept: JsonValue | undefined): Submission {
  const submission = (typeof kept === 'object' && kept !== null && !Array.isArray(kept) ? kept : {}) as {
    readonly [K in keyof Submission]: unknown;
  } & { readonly version?: unknown };
  if (submission.version !== 1 || submission.input === undefined)
    return invalid('The submission of the run has another form than this version reads. Start a worker of the version that submitted it.');
  const { input, data, limits, onLimit, traceparent } = submission as unknown as Submission;
  return {
    input,
    data,
    onLimit,
    traceparent,
    limits:
      limits &&
      (Object.fromEntries(
        Object.entries(limits as { readonly [name: string]: number | null }).map(([name, value]) => [
          name,
          value ?? Number.POSITIVE_INFINITY,
        ]),
      ) as Submission['limits']),
  };
}
