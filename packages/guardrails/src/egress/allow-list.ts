import { optionFault } from '@guardloop/core/model';
import { readTarget } from './target.js';

/** Which hosts may be reached. */
export interface AllowList {
  /** Whether a host and port, as a `Target` has them, are on the list. */
  has(host: string, port: string): boolean;
  /** All public hosts. */
  readonly isOpen: boolean;
  /** Names that stand on it exactly, for what looks like them. */
  readonly names: readonly string[];
}

/**
 * Reads a list of hosts: `example.com` (that host alone), `*.corp.example` (every name below it, not itself), `example.com:8443` (that port
 * alone), `*` (every public host). Throws CONFIG_INVALID.
 */
export function readAllowList(where: string, option: string, given: unknown): AllowList {
  if (!Array.isArray(given) || given.some((entry) => typeof entry !== 'string'))
    throw optionFault(where, `${option} is no list of hosts. Give one, for example ['example.com', '*.corp.example'].`);
  const exact = new Set<string>();
  const suffixes: string[] = [];
  const names: string[] = [];
  let isOpen = false;
  for (const entry of given as readonly string[]) {
    if (entry === '*') {
      isOpen = true;
      continue;
    }
    const isPattern = entry.startsWith('*.');
    const host = readEntry(where, option, isPattern ? entry.slice(2) : entry);
    if (isPattern) suffixes.push(`.${host}`);
    else {
      exact.add(host);
      names.push(host);
    }
  }
  const has = (host: string, port: string): boolean =>
    host !== '' &&
    (exact.has(host) ||
      (port !== '' && exact.has(`${host}:${port}`)) ||
      suffixes.some((suffix) => host.endsWith(suffix) && host.length > suffix.length));
  return { has, isOpen, names };
}

function readEntry(where: string, option: string, entry: string): string {
  const { host, port, isOdd, hasCredentials, href } = readTarget(`https://${entry}`);
  const isHost = !isOdd && !hasCredentials && host !== '' && !/[\s/?#*@\\]/.test(entry) && href.endsWith('/');
  if (isHost) return port === '' ? host : `${host}:${port}`;
  const inside = readTarget(entry);
  const hint = inside.host === '' ? '' : `Did you mean ${inside.host}? `;
  throw optionFault(
    where,
    `${option} holds ${JSON.stringify(entry)}, which is no host. ${hint}Give hosts without scheme and path: 'example.com', '*.corp.example' for all below it, '*' for every public host.`,
  );
}
