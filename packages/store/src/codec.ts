import type { JsonValue } from '@guardloop/core';
import { GuardloopError } from '@guardloop/core';
import type { EncryptionOptions } from './sealing.js';
import { Sealing, unreadable } from './sealing.js';

/** How contents become rows: options that every database's store takes. */
export interface CodecOptions {
  /** Strings with more characters are kept once, outside of their row, by digest. Default 16,384; `Infinity`: none are. */
  readonly blobChars?: number | undefined;
  /** Encrypts contents. Default: they are kept as they are. */
  readonly encryption?: EncryptionOptions | undefined;
}
/** A content and what it belongs to. */
export interface Content {
  /** Made by {@link placeOf}: the same when it is read. */
  readonly place: string;
  /** Plain JSON. A field that is `undefined` is left out. */
  readonly value: unknown;
}
/** A content as it is stored. */
export interface Row {
  readonly place: string;
  readonly text: string;
}
/** A large string as it is stored, once for all rows that hold it. */
export interface Payload {
  /** Hex, 64 characters: sha256, or with encryption a keyed digest. */
  readonly digest: string;
  readonly text: string;
}
/** Contents in the order in which they were given, and the payloads that they refer to. */
export interface Encoded {
  /** `payloads`: digests that the row refers to, each once. */
  readonly rows: readonly { readonly text: string; readonly payloads: readonly string[] }[];
  /** Each once. One that the store has already may be left as it is. */
  readonly payloads: readonly Payload[];
}
/** Gets payloads by digest; called only where a row refers to some. */
export type ReadPayloads = (digests: readonly string[]) => Promise<ReadonlyMap<string, string>>;
/** Turns contents into texts and back. Any text column keeps these: they hold neither U+0000 nor lone surrogates. */
export interface Codec {
  /** A promise only where there is something to encrypt or to move out. */
  encode(contents: readonly Content[]): Encoded | Promise<Encoded>;
  /**
   * The values in the order of the rows; a promise only where there is something to decrypt or to fetch. Throws, or rejects with,
   * STORE_FAILED for a row that cannot be read: damaged, moved, or written with a key that was not given. The error holds nothing of the
   * content.
   */
  decode(rows: readonly Row[], readPayloads: ReadPayloads): readonly unknown[] | Promise<readonly unknown[]>;
}

/** What a content belongs to, for {@link Codec}: what kind it is and the ids of its record. Unlike ids never make the same place. */
export function placeOf(kind: 'event' | 'approval' | 'decision' | 'run' | 'cancel' | 'live', ...ids: readonly (string | number)[]): string {
  return JSON.stringify([kind, ...ids]);
}

/** Throws CONFIG_INVALID. */
export function makeCodec({ blobChars = 16_384, encryption }: CodecOptions = {}): Codec {
  if (blobChars !== Number.POSITIVE_INFINITY && (!Number.isSafeInteger(blobChars) || blobChars < 64))
    throw new GuardloopError(
      'CONFIG_INVALID',
      '`blobChars` is no whole number from 64 on. Leave it out for 16,384, or give Infinity to keep all strings in their rows.',
    );
  const sealing = encryption && new Sealing(encryption);
  return {
    encode(contents) {
      const texts = contents.map(({ value }) => JSON.stringify(value));
      if (sealing === undefined && texts.every((text) => text.length <= blobChars))
        return { rows: texts.map((text) => ({ text, payloads: [] })), payloads: [] };
      return encodeSlowly(contents, texts, { blobChars, sealing });
    },
    decode(rows, readPayloads) {
      if (sealing === undefined && rows.every(({ text }) => isPlain(text))) return rows.map(parse);
      return decodeSlowly(rows, readPayloads, sealing);
    },
  };
}

// A text begins with `e` where it is encrypted, and with `b` where strings are moved out; no JSON begins so.
const isPlain = (text: string): boolean => !/^[be]/.test(text);

/** The rest of a content whose large strings are empty; of each where it stood and which payload it is. */
interface Skeleton {
  readonly value: JsonValue | undefined;
  readonly moved: readonly { readonly digest: string; readonly path: readonly string[] }[];
}

async function encodeSlowly(
  contents: readonly Content[],
  texts: readonly string[],
  { blobChars, sealing }: { readonly blobChars: number; readonly sealing: Sealing | undefined },
): Promise<Encoded> {
  const payloads = new Map<string, Payload>();
  const rows = await Promise.all(
    contents.map(async ({ place }, index) => {
      const text = texts[index] ?? '';
      const strings = text.length > blobChars ? largeStrings(JSON.parse(text) as JsonValue, blobChars) : [];
      if (strings.length === 0) return { text: sealing ? await sealing.seal(text, place) : text, payloads: [] };
      const moved: Skeleton['moved'] = await Promise.all(
        strings.map(async ({ path, string }) => {
          // Digests are made of JSON, in which a lone surrogate is not another one.
          const json = JSON.stringify(string);
          const digest = sealing ? await sealing.digest(json) : await sha256(json);
          if (!payloads.has(digest))
            payloads.set(digest, { digest, text: sealing ? await sealing.seal(json, payloadPlace(digest)) : json });
          return { digest, path };
        }),
      );
      const skeleton = JSON.stringify({ value: without(JSON.parse(text) as JsonValue, strings), moved });
      const rest = `b${skeleton}`;
      return { text: sealing ? await sealing.seal(rest, place) : rest, payloads: [...new Set(moved.map(({ digest }) => digest))] };
    }),
  );
  return { rows, payloads: [...payloads.values()] };
}

async function decodeSlowly(rows: readonly Row[], readPayloads: ReadPayloads, sealing: Sealing | undefined): Promise<readonly unknown[]> {
  const opened = await Promise.all(rows.map(async ({ place, text }) => ({ place, text: await openText(text, place, sealing) })));
  const skeletons = opened.map((row) => (row.text.startsWith('b') ? (parse({ ...row, text: row.text.slice(1) }) as Skeleton) : undefined));
  const digests = new Set(skeletons.flatMap((skeleton) => skeleton?.moved.map(({ digest }) => digest) ?? []));
  if (digests.size === 0) return opened.map(parse);
  const found = await readPayloads([...digests]);
  const strings = new Map(
    await Promise.all([...digests].map(async (digest) => [digest, await openPayload(digest, found.get(digest), sealing)] as const)),
  );
  return opened.map((row, index) => {
    const skeleton = skeletons[index];
    return skeleton ? restore(skeleton, strings) : parse(row);
  });
}

async function openText(text: string, place: string, sealing: Sealing | undefined): Promise<string> {
  if (text.startsWith('e')) {
    if (sealing) return sealing.open(text, place);
    throw unreadable(
      `${place} is encrypted, and the store was given no key. Give the option \`encryption\` with the keys of this database.`,
    );
  }
  if (sealing && !sealing.allowsPlain)
    throw unreadable(
      `${place} is not encrypted, and the store takes only what is. Give \`encryption.allowPlain\` to read what was written before there was a key.`,
    );
  return text;
}

const payloadPlace = (digest: string): string => JSON.stringify(['payload', digest]);

async function openPayload(digest: string, stored: string | undefined, sealing: Sealing | undefined): Promise<string> {
  const place = payloadPlace(digest);
  if (stored === undefined) throw unreadable(`${place} is missing from the database, and a row refers to it. Restore it from a backup.`);
  const text = await openText(stored, place, sealing);
  if (!stored.startsWith('e') && (await sha256(text)) !== digest)
    throw unreadable(`${place} is not what was stored: its digest is another. Restore it from a backup.`);
  return String(parse({ place, text }));
}

function parse({ place, text }: Row): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Its message would quote the content.
    throw unreadable(`${place} is damaged: it is no JSON. Restore it from a backup.`);
  }
}

interface Large {
  readonly path: readonly string[];
  readonly string: string;
}

function largeStrings(value: JsonValue | undefined, blobChars: number): readonly Large[] {
  const found: Large[] = [];
  const visit = (each: unknown, path: readonly string[]): void => {
    if (typeof each === 'string') {
      if (each.length > blobChars) found.push({ path, string: each });
    } else if (typeof each === 'object' && each !== null) {
      for (const [key, child] of Object.entries(each)) visit(child, [...path, key]);
    }
  };
  visit(value, []);
  return found;
}

/** Takes the strings out of a value that nobody else has. */
function without(value: JsonValue, strings: readonly Large[]): JsonValue {
  return strings.reduce((rest, { path }) => put(rest, path, ''), value);
}

function restore({ value, moved }: Skeleton, strings: ReadonlyMap<string, string>): unknown {
  return moved.reduce((whole, { digest, path }) => put(whole, path, strings.get(digest) ?? ''), value ?? null);
}

/** Sets the string at a path, in place. Only own fields are on a path, `__proto__` among them, since JSON made them. */
function put(value: JsonValue, path: readonly string[], string: string): JsonValue {
  const [key, ...rest] = path;
  if (key === undefined) return string;
  let holder = value as { readonly [field: string]: JsonValue };
  let field = key;
  for (const next of rest) {
    holder = Object.getOwnPropertyDescriptor(holder, field)?.value as typeof holder;
    field = next;
  }
  Object.defineProperty(holder, field, { value: string, writable: true, enumerable: true, configurable: true });
  return value;
}

async function sha256(text: string): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))).toString('hex');
}

/**
 * An id or a name for a column that takes neither U+0000 nor lone surrogates. Unlike names stay unlike; most stay as they are. Throws
 * CONFIG_INVALID for what is no text.
 */
export function writeName(name: string): string {
  if (typeof name !== 'string')
    throw new GuardloopError('CONFIG_INVALID', 'An id or a name that a store was given is no text. Give a text.');
  return name.replace(/[\\\0]|\p{Surrogate}/gu, (character) => `\\${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The name that {@link writeName} wrote. */
export function readName(written: string): string {
  return written.replace(/\\([\da-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
