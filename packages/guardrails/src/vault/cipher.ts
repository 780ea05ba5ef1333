import type { VaultEntry } from './store.js';

/** Seals the values of a vault, and makes marks of them that tell nothing without the key. */
export interface VaultCipher {
  /** Bound to conversation, kind and placeholder: a sealed value that was moved elsewhere does not open. */
  seal(conversation: string, entry: VaultEntry): Promise<string>;
  /** Rejects where no key fits, or the sealed text was changed. */
  open(conversation: string, entry: VaultEntry): Promise<string>;
  /** Eight or sixteen characters, the same for the same value in the same conversation. */
  mark(parts: { readonly conversation: string; readonly kind: string; readonly value: string }, isLong: boolean): Promise<string>;
}

const encoder = new TextEncoder();
/** Without I, L, O and U (Crockford's base32): read and copied without mistakes. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const markChars = 8;
const ivBytes = 12;
const form = 'v1';

interface Keys {
  readonly id: string;
  readonly aes: CryptoKey;
  readonly hmac: CryptoKey;
}

/** AES-256-GCM and HMAC-SHA-256 under keys that HKDF makes of each secret. The first secret seals; all open. */
export function vaultCipher(secrets: readonly Uint8Array<ArrayBuffer>[]): VaultCipher {
  let derived: Promise<readonly Keys[]> | undefined;
  const keys = (): Promise<readonly Keys[]> => {
    derived ??= Promise.all(secrets.map(derive));
    return derived;
  };
  const { subtle } = globalThis.crypto;
  const first = async (): Promise<Keys> => {
    const [newest] = await keys();
    if (newest === undefined) throw new Error('a vault has no key');
    return newest;
  };
  return {
    seal: async (conversation, entry) => {
      const { id, aes } = await first();
      const iv = globalThis.crypto.getRandomValues(new Uint8Array(ivBytes));
      const sealed = await subtle.encrypt(
        { name: 'AES-GCM', iv, additionalData: boundTo(conversation, entry) },
        aes,
        encoder.encode(entry.value),
      );
      return [form, id, toText(iv), toText(new Uint8Array(sealed))].join('.');
    },
    open: async (conversation, entry) => {
      const [version, id, iv = '', sealed = ''] = entry.value.split('.');
      const fitting = (await keys()).find((each) => each.id === id);
      if (version !== form || fitting === undefined) throw new Error('a sealed value of a vault fits none of its keys');
      const opened = await subtle.decrypt(
        { name: 'AES-GCM', iv: fromText(iv), additionalData: boundTo(conversation, entry) },
        fitting.aes,
        fromText(sealed),
      );
      return new TextDecoder().decode(opened);
    },
    mark: async ({ conversation, kind, value }, isLong) => {
      const { hmac } = await first();
      const bytes = new Uint8Array(await subtle.sign('HMAC', hmac, encoder.encode(JSON.stringify([conversation, kind, value]))));
      const chars = Array.from(bytes.subarray(0, markChars * 2), (byte) => alphabet.charAt(byte & 31)).join('');
      return isLong ? chars : chars.slice(0, markChars);
    },
  };
}

async function derive(secret: Uint8Array<ArrayBuffer>): Promise<Keys> {
  const { subtle } = globalThis.crypto;
  const base = await subtle.importKey('raw', secret, 'HKDF', false, ['deriveKey', 'deriveBits']);
  const part = (info: string) => ({
    name: 'HKDF',
    hash: 'SHA-256',
    salt: new Uint8Array(),
    info: encoder.encode(`guardloop vault ${info}`),
  });
  const [aes, hmac, id] = await Promise.all([
    subtle.deriveKey(part('seal'), base, { name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']),
    subtle.deriveKey(part('mark'), base, { name: 'HMAC', hash: 'SHA-256', length: 256 }, false, ['sign']),
    subtle.deriveBits(part('id'), base, 48),
  ]);
  return { id: toText(new Uint8Array(id)), aes, hmac };
}

const boundTo = (conversation: string, { kind, placeholder }: VaultEntry): Uint8Array<ArrayBuffer> =>
  encoder.encode(JSON.stringify([conversation, kind, placeholder]));

function toText(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
}

function fromText(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (character) => character.charCodeAt(0));
}
