import { describe, invalid, isList, property } from '../define/definition-reader.js';

/** A key for HMAC-SHA-256: at least 32 bytes, a text of at least 32, or a CryptoKey for it. */
export type ApprovalKey = CryptoKey | Uint8Array | string;

/** Signs the approvals of a tree of runs, and checks what comes back. */
export interface ApprovalSigner {
  /** The first signs. Rejects with CONFIG_INVALID. */
  readonly keys: Promise<readonly CryptoKey[]>;
  readonly forMs: number | undefined;
}

const leastBytes = 32;
const algorithm = { name: 'HMAC', hash: 'SHA-256' } as const;
const expected = `Give at least ${leastBytes} random bytes, a text of at least ${leastBytes} bytes, or a CryptoKey for HMAC with SHA-256 that may verify; the first of several must also sign.`;

/** The keys, the first for signing. Throws CONFIG_INVALID, or rejects with it. Keeps no copy of their bytes. */
export function readApprovalKeys(given: unknown, place: string): Promise<readonly CryptoKey[]> {
  const keys = isList(given) ? given : [given];
  if (keys.length === 0) invalid(`${place} has no key. ${expected}`);
  const imported = Promise.all(keys.map((key, index) => importKey(key, { place, mustSign: index === 0 })));
  // Whoever awaits it sees the failure.
  imported.catch(() => undefined);
  return imported;
}

/** Of whatever realm. */
const isBytes = (value: unknown): value is Uint8Array => Object.prototype.toString.call(value) === '[object Uint8Array]';

async function importKey(key: unknown, { place, mustSign }: { readonly place: string; readonly mustSign: boolean }): Promise<CryptoKey> {
  // What a key is is never described: it may be the secret.
  const bytes = typeof key === 'string' ? new TextEncoder().encode(key) : isBytes(key) ? Uint8Array.from(key) : undefined;
  if (bytes === undefined) {
    const { name } = (property(key, 'algorithm') ?? {}) as { readonly name?: unknown };
    if (name === undefined)
      return invalid(`${place} has a key that is ${typeof key === 'object' ? 'an object' : describe(typeof key)}. ${expected}`);
    return checkCryptoKey(key as CryptoKey, { place, mustSign });
  }
  if (bytes.length < leastBytes) return invalid(`${place} has a key of ${bytes.length} bytes. ${expected}`);
  return globalThis.crypto.subtle.importKey('raw', bytes, algorithm, false, ['sign', 'verify']);
}

async function checkCryptoKey(
  key: CryptoKey,
  { place, mustSign }: { readonly place: string; readonly mustSign: boolean },
): Promise<CryptoKey> {
  const refuse = (): never => invalid(`${place} has a CryptoKey that does not fit. ${expected}`);
  const { name, hash } = key.algorithm as KeyAlgorithm & { readonly hash?: { readonly name?: string } };
  if (name !== algorithm.name || hash?.name !== algorithm.hash) return refuse();
  try {
    // What only looks like a key shows it now, and not when something has run.
    const { subtle } = globalThis.crypto;
    if (mustSign) await subtle.sign(algorithm.name, key, new Uint8Array(1));
    await subtle.verify(algorithm.name, key, new Uint8Array(leastBytes), new Uint8Array(1));
    return key;
  } catch {
    return refuse();
  }
}

/** The option `approvals`. Throws CONFIG_INVALID, without a word of the key. */
export function readSigning(given: unknown): ApprovalSigner | undefined {
  if (given === undefined) return undefined;
  const expected = 'Give { key, forMs }: a key or a list of keys, the newest first, and how long a token holds, or leave `forMs` out.';
  if (typeof given !== 'object' || given === null || Object.keys(given).some((name) => name !== 'key' && name !== 'forMs'))
    return invalid(`The option \`approvals\` is no object of \`key\` and \`forMs\`. ${expected}`);
  const key = property(given, 'key');
  const forMs = property(given, 'forMs');
  if (key === undefined) return invalid(`The option \`approvals\` has no key. ${expected}`);
  if (forMs !== undefined && !(typeof forMs === 'number' && forMs > 0 && Number.isFinite(forMs)))
    return invalid(`The option \`approvals\` has ${describe(forMs)} as \`forMs\`. Give milliseconds above 0, or leave it out.`);
  return { keys: readApprovalKeys(key, 'The option `approvals`'), forMs };
}
