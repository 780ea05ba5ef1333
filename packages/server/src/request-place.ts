// Where a request comes from, and what browsers are told about answers.
import { cors } from 'hono/cors';
import type { Caller } from './caller.js';
import type { Settings } from './options.js';
import { Problem } from './problem.js';

/** What stands on every answer. */
export function secure(headers: Headers, { origins }: Pick<Settings<Caller>, 'origins'>): void {
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store');
  headers.set('x-content-type-options', 'nosniff');
  headers.set('content-security-policy', "default-src 'none'; frame-ancestors 'none'");
  headers.set('cross-origin-resource-policy', origins.length > 0 ? 'cross-origin' : 'same-origin');
}

const hostOf = (address: string): string | undefined => {
  try {
    return new URL(address).hostname;
  } catch {
    return undefined;
  }
};

/**
 * Whether the request came to a name of ours, and from no page of others. A page can send what a form can without asking; of all else its
 * browser says where it comes from, and so does it of requests with cookies.
 */
export function checkPlace(request: Request, { hosts, origins }: Pick<Settings<Caller>, 'hosts' | 'origins'>): void {
  const host = request.headers.get('host') ?? new URL(request.url).host;
  if (hosts !== undefined && !hosts.includes(hostOf(`http://${host}`) ?? '')) throw new Problem('wrong-host');
  const origin = request.headers.get('origin');
  if (origin !== null && origins.includes(origin)) return;
  if (origin !== null && !isSameHost(origin, host)) throw new Problem('not-from-here');
  // Of a page of the same name under another scheme this alone tells.
  const site = request.headers.get('sec-fetch-site');
  if (site === 'cross-site' || site === 'same-site') throw new Problem('not-from-here');
}

function isSameHost(origin: string, host: string): boolean {
  try {
    return new URL(origin).host === host.toLowerCase();
  } catch {
    return false;
  }
}

/** CORS for these origins, cookies included. */
export const crossOrigin = (origins: readonly string[]): ReturnType<typeof cors> =>
  cors({
    origin: (origin) => (origins.includes(origin) ? origin : null),
    credentials: true,
    allowMethods: ['GET', 'HEAD', 'POST', 'DELETE'],
    allowHeaders: ['authorization', 'content-type', 'idempotency-key', 'last-event-id', 'traceparent'],
    exposeHeaders: ['location', 'retry-after', 'guardloop-run', 'x-vercel-ai-ui-message-stream'],
    maxAge: 600,
  });
