import type { JsonValue } from '../model/types.js';
import { canonicalJson } from '../state/canonical-json.js';
import { sha256Hex } from '../state/digest.js';
import type { Approval } from '../state/events.js';
import { cleanBase64, toBase64 } from './base64.js';

/** What a token says: for which approval it was made. */
export interface ApprovalClaims {
  /** The approval's id. */
  readonly id: string;
  readonly run: string;
  /** The writer that began the outermost run: no other log has it. */
  readonly log: string;
  readonly agentPath: readonly string[];
  readonly surface: Approval['surface'];
  readonly subject: string;
  readonly revision: number;
  /** Of what will run. */
  readonly digest: string;
  /** sha256, hex, of the canonical JSON of the whole approval, as a person is to see it. */
  readonly shown: string;
  /** sha256, hex, of the canonical JSON of the manifest: which guardrails stood, in which version. */
  readonly guardrails: string;
  /** Milliseconds since 1970, by the run's clock. */
  readonly expiresAt?: number | undefined;
}

const encoder = new TextEncoder();
/** So that a signature made for something else under the same key is none here. */
const domain = 'guardloop approval 1\n';
const form = /^([A-Za-z0-9_-]{1,65536})\.([0-9a-f]{64})$/;

/** The digest of an approval as it is shown, without its token. */
export async function shownDigest(approval: Approval): Promise<string> {
  const { token: _, ...shown } = approval as Approval & { readonly token?: string };
  return sha256Hex(canonicalJson(shown as unknown as JsonValue));
}

/** Never holds anything of what was asked about but digests. */
export async function writeToken(claims: ApprovalClaims, key: CryptoKey): Promise<string> {
  const json = encoder.encode(canonicalJson(claims as unknown as JsonValue));
  const payload = toBase64(json).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  const signature = new Uint8Array(await globalThis.crypto.subtle.sign('HMAC', key, encoder.encode(domain + payload)));
  let hex = '';
  for (const byte of signature) hex += byte.toString(16).padStart(2, '0');
  return `${payload}.${hex}`;
}

/** What a token says that one of the keys has signed; undefined for any other text. WebCrypto compares in constant time. Never rejects. */
export async function readToken(token: unknown, keys: readonly CryptoKey[]): Promise<ApprovalClaims | undefined> {
  const found = typeof token === 'string' ? form.exec(token) : null;
  if (found === null) return undefined;
  const [, payload = '', hex = ''] = found;
  const signature = Uint8Array.from({ length: 32 }, (_, index) => Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16));
  try {
    const signed = encoder.encode(domain + payload);
    const matches = await Promise.all(keys.map((key) => globalThis.crypto.subtle.verify('HMAC', key, signature, signed)));
    const base64 = matches.includes(true) ? cleanBase64(payload) : undefined;
    if (base64 === undefined) return undefined;
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes)) as ApprovalClaims;
  } catch {
    return undefined;
  }
}
