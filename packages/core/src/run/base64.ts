const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
/** `btoa` takes a string of bytes; that is built in pieces, since a call takes only so many arguments. */
const pieceBytes = 0x2000;

/** Bytes as base64. */
export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += pieceBytes) binary += String.fromCharCode(...bytes.subarray(at, at + pieceBytes));
  return btoa(binary);
}

/** Base64 in its usual alphabet, padded, without white space; undefined for a text that is none. */
export function cleanBase64(text: string): string | undefined {
  const compact = /[\s_-]/.test(text) ? text.replace(/\s+/g, '').replace(/-/g, '+').replace(/_/g, '/') : text;
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact)) return undefined;
  if (compact.length % 4 === 0) return compact;
  const bare = compact.replace(/=+/, '');
  return bare.length % 4 === 1 ? undefined : bare.padEnd(Math.ceil(bare.length / 4) * 4, '=');
}

/** How many bytes a base64 text stands for. */
export function base64Bytes(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return Math.floor(((text.length - padding) * 3) / 4);
}

/** The first bytes of a base64 text. */
export function firstBytes(text: string, count: number): Uint8Array {
  const bytes: number[] = [];
  let bits = 0;
  let held = 0;
  for (let at = 0; at < text.length && bytes.length < count; at += 1) {
    const value = alphabet.indexOf(text.charAt(at));
    if (value < 0) break;
    bits = (bits << 6) | value;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes.push((bits >> held) & 0xff);
  }
  return Uint8Array.from(bytes);
}
