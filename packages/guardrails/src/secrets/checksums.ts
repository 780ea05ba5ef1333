// Checksums that vendors put into their tokens.

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const crcTable = Int32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** CRC-32 (IEEE) of a text of ASCII. */
export function crc32(text: string): number {
  let crc = -1;
  for (let index = 0; index < text.length; index += 1) crc = (crcTable[(crc ^ text.charCodeAt(index)) & 0xff] ?? 0) ^ (crc >>> 8);
  return (crc ^ -1) >>> 0;
}

function toBase62(value: number, length: number): string {
  let rest = value;
  let text = '';
  while (rest > 0) {
    text = base62.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text.padStart(length, '0');
}

/**
 * GitHub and npm: the last six characters are the CRC-32 of those between the prefix and them, in base 62
 * (github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats).
 */
export function hasBase62Crc(token: string): boolean {
  const body = token.slice(token.indexOf('_') + 1);
  return body.length > 6 && toBase62(crc32(body.slice(0, -6)), 6) === body.slice(-6);
}

/** Decodes base64 or base64url text, as bytes in a string; undefined where it is none. */
export function decodeBase64(text: string): string | undefined {
  try {
    return atob(text.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, ''));
  } catch {
    return undefined;
  }
}

/** Whether a base64url text is a JSON object with one of these fields. */
export function isJsonWith(encoded: string, fields: readonly string[]): boolean {
  const text = decodeBase64(encoded);
  if (text === undefined || !text.startsWith('{')) return false;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && fields.some((field) => Object.hasOwn(value, field));
  } catch {
    return false;
  }
}

const bech32 = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const bech32Generators = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];

/** Bech32 (BIP 173): age's keys and others end in six characters of checksum. */
export function isBech32(text: string): boolean {
  const lower = text.toLowerCase();
  const split = lower.lastIndexOf('1');
  if (split < 1 || lower.length - split < 7) return false;
  const human = [...lower.slice(0, split)].map((letter) => letter.charCodeAt(0));
  const values = [...human.map((code) => code >> 5), 0, ...human.map((code) => code & 31)];
  for (const letter of lower.slice(split + 1)) values.push(bech32.indexOf(letter));
  if (values.includes(-1)) return false;
  let checksum = 1;
  for (const value of values) {
    const top = checksum >> 25;
    checksum = ((checksum & 0x1ffffff) << 5) ^ value;
    for (let bit = 0; bit < 5; bit += 1) if ((top >> bit) & 1) checksum ^= bech32Generators[bit] ?? 0;
  }
  return checksum === 1;
}
