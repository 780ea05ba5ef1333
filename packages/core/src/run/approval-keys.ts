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

/** The keys, the first for signing. Throws CONFIG_INVALID, and rejects with it for a key that WebCrypto does not take. Keeps no copy of their bytes. */
export function readApprovalKeys(given: unknown, place: string): Promise<readonly CryptoKey[]> {
  const keys = isList(given) ? given : [given];
  if (keys.length === 0) invalid(`${place} has no key. ${expected}`);
  const imported = Promise.all(keys.map((key, index) => importKey(key, { place, mustSign: index === 0 })));
  // Whoever awaits it sees the failure.
  imported.catch(() => undefined);
  return imported;
}

function importKey(
  key: unknown,
  { place, mustSign }: { readonly place: string; readonly mustSign: boolean },
): CryptoKey | Promise<CryptoKey> {
  // What a key is is never described: it may be the secret.
  const bytes = typeof key === 'string' ? new TextEncoder().encode(key) : key instanceof Uint8Array ? Uint8Array.from(key) : undefined;
  if (bytes === undefined) {
    const { name } = (property(key, 'algorithm') ?? {}) as { readonly name?: unknown };
    if (name === undefined)
      return invalid(`${place} has a key that is ${typeof key === 'object' ? 'an object' : describe(typeof key)}. ${expected}`);
    return checkCryptoKey(key as CryptoKey, { place, mustSign });
  }
  if (bytes.length < leastBytes) return invalid(`${place} has a key of ${bytes.length} bytes. ${expected}`);
  return globalThis.crypto.subtle.importKey('raw', bytes, algorithm, false, ['sign', 'verify']);
}

function checkCryptoKey(key: CryptoKey, { place, mustSign }: { readonly place: string; readonly mustSign: boolean }): CryptoKey {
  const { name, hash } = key.algorithm as KeyAlgorithm & { readonly hash?: { readonly name?: string } };
  const isFit =
    name === algorithm.name && hash?.name === algorithm.hash && key.usages.includes('verify') && (!mustSign || key.usages.includes('sign'));
  return isFit ? key : invalid(`${place} has a CryptoKey that does not fit. ${expected}`);
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
