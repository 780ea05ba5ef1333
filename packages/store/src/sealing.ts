import { GuardloopError } from '@guardloop/core';

/** A key that contents are encrypted with. */
export interface EncryptionKey {
  /** Stands in every row that was written with it: 1 to 64 letters, digits, `_` and `-`. */
  readonly id: string;
  /** 32 random bytes, or a text of them in hex or base64. */
  readonly key: Uint8Array | string;
}
/** How contents are encrypted. */
export interface EncryptionOptions {
  /** The first writes, all read: to change keys, put a new one in front, and take the old one out when nothing is left of it. */
  readonly keys: readonly [EncryptionKey, ...EncryptionKey[]];
  /**
   * Reads contents that were written before there was a key. Default false: whoever can write to the database could put plain rows there.
   */
  readonly allowPlain?: boolean | undefined;
}

interface Derived {
  readonly cipher: CryptoKey;
  readonly digest: CryptoKey;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });
const ivBytes = 12;

/**
 * Seals texts with AES-256-GCM and a fresh random IV, and opens them. What a text belongs to (its place) is authenticated with it, so that
 * a row moved elsewhere does not open. Both keys in use are derived from the one given (HKDF with SHA-256).
 */
export class Sealing {
  readonly #keys: ReadonlyMap<string, Promise<Derived>>;
  readonly #first: string;
  readonly allowsPlain: boolean;

  /** Throws CONFIG_INVALID. */
  constructor({ keys, allowPlain = false }: EncryptionOptions) {
    if (!Array.isArray(keys) || keys.length === 0)
      throw refuse('`encryption` has no keys. Give { keys: [{ id, key }] }; the first writes.');
    const read = keys.map(({ id, key }) => [readId(id), readKey(id, key)] as const);
    if (new Set(read.map(([id]) => id)).size < read.length)
      throw refuse('Two keys of `encryption` have the same id. Give every key an id of its own.');
    this.#keys = new Map(read.map(([id, bytes]) => [id, derive(bytes)]));
    this.#first = keys[0].id;
    this.allowsPlain = allowPlain;
  }

  /** `e:<key id>:<base64 of IV and cipher text>`. */
  async seal(text: string, place: string): Promise<string> {
    const { cipher } = await this.#key(this.#first, place);
    const iv = crypto.getRandomValues(new Uint8Array(ivBytes));
    const sealed = await crypto.subtle.encrypt(
      { name: 'AES-GCM', iv, additionalData: encoder.encode(place) },
      cipher,
      encoder.encode(text),
    );
    return `e:${this.#first}:${Buffer.concat([iv, new Uint8Array(sealed)]).toString('base64')}`;
  }

  /** Rejects with STORE_FAILED where the key is missing or wrong, or the row was altered or moved. */
  async open(sealed: string, place: string): Promise<string> {
    const [, id = '', text = ''] = sealed.split(':');
    const { cipher } = await this.#key(id, place);
    const bytes = Buffer.from(text, 'base64');
    try {
      const iv = bytes.subarray(0, ivBytes);
      const algorithm = { name: 'AES-GCM', iv, additionalData: encoder.encode(place) };
      return decoder.decode(await crypto.subtle.decrypt(algorithm, cipher, bytes.subarray(ivBytes)));
    } catch {
      throw unreadable(
        `${place} does not open with the key ${id}: the key is another one, or the row was altered or moved. Give the key that it was written with.`,
      );
    }
  }

  /** A digest that tells nothing to those without the key. */
  async digest(text: string): Promise<string> {
    const { digest } = await this.#key(this.#first, 'a payload');
    return Buffer.from(await crypto.subtle.sign('HMAC', digest, encoder.encode(text))).toString('hex');
  }

  async #key(id: string, place: string): Promise<Derived> {
    const key = this.#keys.get(id);
    if (key !== undefined) return key;
    throw unreadable(
      `${place} is encrypted with the key ${readableId(id)}, which the store was not given (it has ${[...this.#keys.keys()].join(', ')}). Add it to \`encryption.keys\`.`,
    );
  }
}

/** What a store throws where it cannot read a row. Holds no content. */
export function unreadable(message: string): GuardloopError {
  return new GuardloopError('STORE_FAILED', message);
}

const refuse = (message: string): GuardloopError => new GuardloopError('CONFIG_INVALID', message);
const readableId = (id: string): string => (/^[\w-]{1,64}$/.test(id) ? id : 'of an unreadable id');

function readId(id: unknown): string {
  if (typeof id === 'string' && /^[\w-]{1,64}$/.test(id)) return id;
  throw refuse('A key of `encryption` has no id of 1 to 64 letters, digits, _ and -. Give { id, key }.');
}

function readKey(id: string, key: unknown): Uint8Array<ArrayBuffer> {
  const bytes = typeof key === 'string' ? Buffer.from(key, /^[\da-f]{64}$/i.test(key) ? 'hex' : 'base64') : key;
  if (bytes instanceof Uint8Array && bytes.length === 32) return new Uint8Array(bytes);
  throw refuse(
    `The key ${id} of \`encryption\` is not 32 bytes. Give a Uint8Array of 32 random bytes, or a text of them in hex or base64.`,
  );
}

async function derive(bytes: Uint8Array<ArrayBuffer>): Promise<Derived> {
  const { subtle } = crypto;
  const base = await subtle.importKey('raw', bytes, 'HKDF', false, ['deriveKey']);
  const from = (info: string) => ({ name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(32), info: encoder.encode(info) });
  const [cipher, digest] = await Promise.all([
    subtle.deriveKey(from('guardloop.store.contents'), base, { name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']),
    subtle.deriveKey(from('guardloop.store.digests'), base, { name: 'HMAC', hash: 'SHA-256', length: 256 }, false, ['sign']),
  ]);
  return { cipher, digest };
}
