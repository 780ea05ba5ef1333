const encoder = new TextEncoder();

function hex(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0');
  return text;
}

/** The sha256 of a text's UTF-8, in hex. */
export async function sha256Hex(text: string): Promise<string> {
  return hex(new Uint8Array(await globalThis.crypto.subtle.digest('SHA-256', encoder.encode(text))));
}

/** A fresh random salt of 128 bits, in hex. */
export function newSalt(): string {
  return hex(globalThis.crypto.getRandomValues(new Uint8Array(16)));
}

/**
 * A digest that tells nothing about a short text to those who do not know the salt: HMAC-SHA-256, in hex. The salt is not empty.
 */
export async function saltedSha256Hex(salt: string, text: string): Promise<string> {
  const key = await globalThis.crypto.subtle.importKey('raw', encoder.encode(salt), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return hex(new Uint8Array(await globalThis.crypto.subtle.sign('HMAC', key, encoder.encode(text))));
}
