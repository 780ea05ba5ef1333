// Names that clients choose, made into ids that no two users share.
import type { Caller } from './caller.js';

async function sha256(text: string): Promise<string> {
  const bytes = new Uint8Array(await globalThis.crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '');
}

const parts = (...texts: readonly (string | undefined)[]): string => JSON.stringify(texts.map((text) => text ?? null));

/** What the ids of a user's sessions begin with. */
export const sessionPrefix = async ({ user, tenant }: Caller): Promise<string> =>
  `u${(await sha256(parts('session', tenant, user))).slice(0, 22)}.`;

/** As long as ids may be that clients give. */
const mostChars = 200;

/**
 * The id of the session that a caller calls `name`; an id that is the caller's own already stays, and of a long name there is its digest.
 */
export async function sessionId(caller: Caller, name: string | undefined): Promise<string> {
  const prefix = await sessionPrefix(caller);
  if (name === undefined) return `${prefix}${globalThis.crypto.randomUUID()}`;
  if (name.startsWith(prefix)) return name;
  return `${prefix}${prefix.length + name.length <= mostChars ? name : await sha256(name)}`;
}

/** The id of the run that a caller starts under this key: the same for the same key, and nobody else's. */
export async function runId({ user, tenant }: Caller, ...key: readonly string[]): Promise<string> {
  return `r${(await sha256(parts('run', tenant, user, ...key))).slice(0, 32)}`;
}
export const freshRunId = (): string => `r${globalThis.crypto.randomUUID().replaceAll('-', '')}`;
