/** Where a link leads, as a browser reads it. */
export interface Target {
  /** Lower case, without the colon. Empty: the text names none, and that of the page holds. */
  readonly scheme: string;
  /** Lower case, ASCII (`xn--…`), an address in its usual form, IPv6 in brackets. Empty: it names none, as a path does. */
  readonly host: string;
  readonly port: string;
  /** A user name or password stands before the host. */
  readonly hasCredentials: boolean;
  /** No browser can read it, or programs read different hosts in it. */
  readonly isOdd: boolean;
  /** Written out whole; of one that names no host, as it stands. */
  readonly href: string;
}

/** Longer authorities are not read: a host has 253 characters at most (RFC 1035), and decoding of longer ones takes more than linear time. */
const maxAuthority = 1024;
const noHost = 'no-host.invalid';
const base = `https://${noHost}/`;
/** Schemes in which a browser takes backslashes for slashes and needs a host. */
const special: ReadonlySet<string> = new Set(['http', 'https', 'ws', 'wss', 'ftp']);

/** Of a URL that names a scheme: the scheme. */
export function schemeOf(target: string): string | undefined {
  return /^[a-z][a-z0-9+.-]{0,31}(?=:)/i.exec(target)?.[0].toLowerCase();
}

/** What a browser takes off before it reads: white space and controls around it, tabs and line ends anywhere. */
export function trimTarget(raw: string): string {
  let start = 0;
  let end = raw.length;
  while (start < end && raw.charCodeAt(start) <= 0x20) start += 1;
  while (end > start && raw.charCodeAt(end - 1) <= 0x20) end -= 1;
  return raw.slice(start, end).replace(/[\t\n\r]/g, '');
}

/** What needs no reading. Labels and dots are apart, so linear. */
const plain = /^(https?):\/\/((?:[a-z0-9-]+\.)+[a-z]{2,24})(\/[A-Za-z0-9/_-]*)?$/;

/** Reads a link's target, absolute or relative. Never throws. */
export function readTarget(raw: string): Target {
  const usual = raw.length <= maxAuthority ? plain.exec(raw) : null;
  if (usual !== null && !raw.includes('xn--')) {
    const [, scheme = '', host = '', path = '/'] = usual;
    return { scheme, host, port: '', hasCredentials: false, isOdd: false, href: `${scheme}://${host}${path}` };
  }
  const target = trimTarget(raw);
  const scheme = schemeOf(target) ?? '';
  const relative: Target = { scheme, host: '', port: '', hasCredentials: false, isOdd: false, href: target };
  const rest = scheme === '' ? target : target.slice(scheme.length + 1);
  const hasAuthority = /^[\\/]{2}/.test(rest) || special.has(scheme);
  if (!hasAuthority) return relative;
  const slashes = /^[\\/]*/.exec(rest)?.[0].length ?? 0;
  const authority = rest.slice(slashes, slashes + endOfAuthority(rest, slashes));
  const odd: Target = { ...relative, isOdd: true };
  if (authority.length > maxAuthority) return odd;
  // Asked first: an error that is thrown and caught costs many times as much.
  const context = scheme === '' ? base : undefined;
  if (!URL.canParse(target, context)) return odd;
  const url = new URL(target, context);
  const host = url.hostname.toLowerCase().replace(/\.$/, '');
  if (scheme === '' && host === noHost) return relative;
  return {
    scheme,
    host,
    port: url.port,
    hasCredentials: url.username !== '' || url.password !== '',
    isOdd: isReadTwoWays(raw, rest, slashes + authority.length),
    href: scheme === '' ? target : url.href,
  };
}

function endOfAuthority(rest: string, from: number): number {
  let at = from;
  while (at < rest.length && !'/\\?#'.includes(rest.charAt(at))) at += 1;
  return at - from;
}

/** A backslash or an early `?` or `#` before an `@`, or white space within the host: some programs go on to what stands behind. */
function isReadTwoWays(raw: string, rest: string, end: number): boolean {
  if (/^[\\?#]@/.test(rest.slice(end, end + 2))) return true;
  if (rest.charAt(end) === '\\' && rest.slice(end, end + maxAuthority).includes('@')) return true;
  const colon = raw.indexOf(':');
  return /[\t\n\r]/.test(raw.trim().slice(colon + 1, colon + 1 + end));
}
