import { afterEscape } from '../text/escapes.js';
import type { FoundUrl } from './found-url.js';
import { isAddress } from './host.js';
import { readTarget } from './target.js';
import { isTopLevelDomain } from './top-level-domains.js';

/** Ends of names that are more often those of files, or of names in programs. */
const doubtfulEndings: ReadonlySet<string> = new Set(
  'corp home local test bz cab cc gz java md mk ml mm mov pl pm ps pub py rs sc sh so tf zip'.split(' '),
);
/** URLs within one URL that are read; one with more is odd. */
const maxNested = 8;

/** Letters, digits and what else stands in a scheme, a host or the name of an e-mail address. One class, so linear. */
const runs = /[\p{L}\p{N}\p{M}_.+-]+/gu;
/** What ends a URL in running text. */
const afterUrl = /[\s\p{Cc}<>"`]/gu;
const schemeAtEnd = /[a-z][a-z0-9+.-]{0,31}$/i;
/** A colon and two slashes, as they stand or as percent signs write them, up to three times over. Bounded, so linear. */
const afterScheme = /(?::|%(?:25){0,2}3a)(?:[\\/]|%(?:25){0,2}(?:2f|5c)){2}/iy;
/** The longest host, with a port (RFC 1035). */
const maxHost = 260;
/** Characters of an authority that are looked at. */
const maxAuthority = 1100;
const endOfAuthority = /[\\/?#\s\p{Cc}<>"`]|%(?:25){0,2}(?:2f|5c|3f|23)/iu;
const plausibleAuthority = /^[\p{L}\p{N}\p{M}._~:%[\]-]*/u;
const domainAfterAt = /[\p{L}\p{N}\p{M}.-]+/uy;
const portAfter = /:\d{1,5}(?![\p{L}\p{N}])/uy;
const ipv4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
/** What must follow schemes that have no slashes, for them to be no mere word before a colon. */
const plainForms: Readonly<Record<string, RegExp>> = {
  javascript: /^:[^\s:]/,
  vbscript: /^:[^\s:]/,
  data: /^:(?:[a-z]{1,32}\/[a-z0-9.+*-]{1,64}[;,]|[;,])/i,
  file: /^:[\\/]/,
  blob: /^:https?:/i,
  tel: /^:[+(]?\d/,
  sms: /^:[+(]?\d/,
  mailto: /^:[^\s:]/,
  http: /^:[\p{L}\p{N}[]/u,
  https: /^:[\p{L}\p{N}[]/u,
};

/** All URLs, bare domains and e-mail addresses of a text in which nothing is hidden, one after the other: see `urlsIn`. */
export function* scanUrls(text: string): Generator<FoundUrl, undefined> {
  /** The URL that the scan stands in, and those that have been found in it: given when the scan has left it. */
  let held: FoundUrl[] = [];
  /** Its end, and how many have been found in it. */
  let outer = { end: 0, nested: 0 };
  for (const { 0: letters, index: first } of text.matchAll(runs)) {
    const index = withoutEscape(text, first, letters);
    const run = letters.slice(index - first);
    if (index < outer.end) {
      const url = outer.nested > maxNested ? undefined : readUrl(text, { run, index, end: outer.end });
      if (url === undefined) continue;
      outer.nested += 1;
      if (outer.nested <= maxNested) held.push({ ...url, isNested: true });
      else if (held[0] !== undefined) held[0] = { ...held[0], isOdd: true };
      continue;
    }
    const whole = readUrl(text, { run, index });
    for (const url of whole === undefined ? readBare(text, index, run) : [whole]) {
      yield* held;
      const redirects = redirectsOf(text, url);
      outer = { end: url.end, nested: redirects.length };
      held = [url, ...redirects];
    }
  }
  yield* held;
  return undefined;
}

/** In JSON that is a text, and in a log with colours, a run begins with letters of the escape before it. `%0A` and `\\\\host` are no escapes here. */
function withoutEscape(text: string, index: number, run: string): number {
  const before = text.slice(Math.max(0, index - 2), index);
  return before.endsWith('%') || before === '\\\\' ? index : afterEscape(text, index, index + run.length);
}

/** `//host` as a parameter: a redirect follows it as it follows a URL. */
function redirectsOf(text: string, { start, end }: FoundUrl): readonly FoundUrl[] {
  const query = text.slice(start, end).search(/[?#]/);
  if (query === -1) return [];
  const from = start + query;
  const found: FoundUrl[] = [];
  for (const match of decoded(text.slice(from, end)).matchAll(/[=?&#,;|(][\\/]{2}([^\\/?#\s&]{1,260})/g)) {
    const url = made(`//${match[1]}`, { start: from, end, kind: 'url' });
    if (!isPublicName(url.host) && !isAddress(url.host)) continue;
    found.push({ ...url, isNested: true });
    if (found.length === maxNested) break;
  }
  return found;
}

interface Run {
  readonly run: string;
  readonly index: number;
  /** Where the URL around it ends. */
  readonly end?: number;
}

/** A URL whose scheme ends the run. */
function readUrl(text: string, { run, index, end: outerEnd }: Run): FoundUrl | undefined {
  const after = index + run.length;
  const next = text.charAt(after);
  if (next !== ':' && next !== '%') return undefined;
  const scheme = schemeAtEnd.exec(run.slice(-32))?.[0];
  if (scheme === undefined) return undefined;
  const start = after - scheme.length;
  afterScheme.lastIndex = after;
  const slashes = afterScheme.exec(text)?.[0];
  if (slashes !== undefined) {
    const end = outerEnd ?? endOfUrl(text, after + slashes.length);
    if (end === undefined) return undefined;
    return made(slashes.includes('%') ? decoded(text.slice(start, end)) : text.slice(start, end), { start, end, kind: 'url' });
  }
  return next === ':' ? readPlain(text, { scheme: scheme.toLowerCase(), start, after, outerEnd }) : undefined;
}

function readPlain(
  text: string,
  {
    scheme,
    start,
    after,
    outerEnd,
  }: { readonly scheme: string; readonly start: number; readonly after: number; readonly outerEnd: number | undefined },
): FoundUrl | undefined {
  const form = Object.hasOwn(plainForms, scheme) ? plainForms[scheme] : undefined;
  if (form?.test(text.slice(after, after + 128)) !== true) return undefined;
  if (scheme === 'http' || scheme === 'https') {
    const authority = text.slice(after + 1, after + 1 + maxAuthority).split(endOfAuthority, 1)[0] ?? '';
    const name = plausibleAuthority.exec(authority.slice(authority.lastIndexOf('@') + 1))?.[0] ?? '';
    const host = name.length > maxHost ? '' : (hostOf(name) ?? '');
    if (!isPublicName(host) && !isAddress(host)) return undefined;
  }
  const end = outerEnd ?? trimEnd(text, after + 1, endOfToken(text, after + 1));
  const raw = text.slice(start, end);
  if (scheme === 'mailto') {
    const address = decoded(raw.slice(7)).split(/[?,;]/, 1)[0] ?? '';
    const host = hostOf(address.slice(address.lastIndexOf('@') + 1));
    return { ...made(raw, { start, end, kind: 'email' }), host: host ?? '' };
  }
  return made(raw, { start, end, kind: 'url' });
}

/** Percent signs decoded, as often as they were put, up to three times. */
function decoded(text: string): string {
  let made = text;
  for (let time = 0; time < 3 && made.includes('%'); time += 1) made = made.replace(/(?:%[0-9a-f]{2})+/gi, decodeOnce);
  return made;
}
function decodeOnce(piece: string): string {
  try {
    return decodeURIComponent(piece);
  } catch {
    return piece.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  }
}

type Place = Pick<FoundUrl, 'start' | 'end' | 'kind'>;

function made(raw: string, { start, end, kind }: Place): FoundUrl {
  const { scheme, host, port, hasCredentials, isOdd, href } = readTarget(raw);
  const isBare = kind === 'domain' || kind === 'address';
  const url = scheme === '' ? href.replace(/^[\\/]*/, 'https://') : href;
  return { start, end, kind, url, scheme: isBare ? '' : scheme, host, port, hasCredentials, isOdd, isNested: false };
}

function endOfToken(text: string, from: number): number {
  afterUrl.lastIndex = from;
  return afterUrl.exec(text)?.index ?? text.length;
}

/** Where a URL ends whose authority begins at `from` (or behind more slashes). Undefined: no host stands there. */
function endOfUrl(text: string, from: number): number | undefined {
  let start = from;
  while (text.charAt(start) === '/' || text.charAt(start) === '\\') start += 1;
  // Only so far: what is longer names no host, and a text may have many beginnings.
  const authority = text.slice(start, start + maxAuthority).split(endOfAuthority, 1)[0] ?? '';
  if (!authority.includes('@')) {
    const plausible = plausibleAuthority.exec(authority)?.[0].length ?? 0;
    const cut = cutOfHost(authority.slice(0, plausible));
    if (cut === 0) return undefined;
    if (cut < authority.length) return trimEnd(text, start, start + cut);
  }
  return trimEnd(text, start, endOfToken(text, start));
}

/** Words of a script without spaces may follow a host at once: then the host ends where plain letters do, unless it is a name as a whole. */
function cutOfHost(authority: string): number {
  const beyond = authority.search(/\P{ASCII}/u);
  if (beyond <= 0) return authority.length;
  const host = hostOf(authority.replace(/:\d*$/, ''));
  if (host !== undefined && isPublicName(host)) return authority.length;
  return isPublicName(authority.slice(0, beyond).toLowerCase()) ? beyond : authority.length;
}

/** Marks that end a sentence, and brackets that close what was opened before, are none of the URL's. */
function trimEnd(text: string, start: number, end: number): number {
  let last = end;
  const balance = { ')': 0, ']': 0, '}': 0 };
  for (let at = start; at < end; at += 1) {
    const letter = text.charAt(at);
    if (letter === '(') balance[')'] += 1;
    else if (letter === '[') balance[']'] += 1;
    else if (letter === '{') balance['}'] += 1;
    else if (letter === ')' || letter === ']' || letter === '}') balance[letter] -= 1;
  }
  while (last > start) {
    const letter = text.charAt(last - 1);
    if (letter === ')' || letter === ']' || letter === '}') {
      if (balance[letter] >= 0) break;
      balance[letter] += 1;
    } else if (!"?!.,:;*_~'’”»，。、；：！？）】」』".includes(letter)) break;
    last -= 1;
  }
  return last;
}

/** Of a bare name: the host as a browser has it. */
function hostOf(name: string): string | undefined {
  const { host, isOdd } = readTarget(`https://${name.replaceAll('\\', '')}`);
  return isOdd || host === '' ? undefined : host;
}

function isPublicName(host: string): boolean {
  const dot = host.lastIndexOf('.');
  return dot > 0 && isTopLevelDomain(host.slice(dot + 1));
}

/** E-mail addresses, and names without a scheme, in one run. */
function readBare(text: string, index: number, run: string): readonly FoundUrl[] {
  const after = index + run.length;
  if (text.charAt(after) === '@') return readEmail(text, index, run);
  if (!run.includes('.')) return [];
  const before = text.charAt(index - 1);
  if (before === '/' || before === '\\') return readAfterSlashes(text, index);
  const host = /\P{ASCII}/u.test(run) ? hostOf(withoutEnd(run)) : undefined;
  if (host !== undefined && isPublicName(host)) return [bareName(text, index, withoutEnd(run))];
  const found: FoundUrl[] = [];
  for (const { 0: piece, index: at } of run.matchAll(/[A-Za-z0-9_.-]+/g)) {
    const name = piece.replace(/^[._-]+/, '');
    const start = index + at + piece.length - name.length;
    const trimmed = withoutEnd(name);
    if (isBareName(text, trimmed, start + trimmed.length)) found.push(bareName(text, start, trimmed));
  }
  return found;
}

/** Without the dots and dashes that a sentence adds. */
function withoutEnd(name: string): string {
  let end = name.length;
  while (end > 0 && '._-'.includes(name.charAt(end - 1))) end -= 1;
  return name.slice(0, end);
}

function isBareName(text: string, name: string, end: number): boolean {
  if (ipv4.test(name)) return isAddress(hostOf(name) ?? '');
  const ending = name.slice(name.lastIndexOf('.') + 1);
  if (name.length > 253 || name.includes('..') || !isPublicName(name.toLowerCase())) return false;
  if (/^www\./i.test(name) || '/?#'.includes(text.charAt(end) || ' ')) return true;
  // Where the space after a sentence is missing, a word stands there and no domain.
  const isNewSentence = /^[A-Z][a-z]+$/.test(ending) && !/^[A-Z]/.test(name);
  return !isNewSentence && !doubtfulEndings.has(ending.toLowerCase());
}

function bareName(text: string, start: number, name: string): FoundUrl {
  let end = start + name.length;
  portAfter.lastIndex = end;
  end += portAfter.exec(text)?.[0].length ?? 0;
  if ('/\\?#'.includes(text.charAt(end) || ' ')) end = trimEnd(text, end, endOfToken(text, end));
  return made(`https://${text.slice(start, end)}`, { start, end, kind: ipv4.test(name) ? 'address' : 'domain' });
}

/** `//host/path` and `\\host\share`; a name within a path is none. */
function readAfterSlashes(text: string, index: number): readonly FoundUrl[] {
  const before = text.slice(Math.max(0, index - 3), index);
  if (!/(?:^|[^\p{L}\p{N}:\\/])[\\/]{2}$/u.test(before)) return [];
  const name = plausibleAuthority.exec(text.slice(index, index + maxAuthority))?.[0] ?? '';
  const host = name.length > maxHost ? '' : (hostOf(name) ?? '');
  const end = isPublicName(host) || isAddress(host) ? endOfUrl(text, index) : undefined;
  if (end === undefined) return [];
  const url = made(text.slice(index - 2, end), { start: index - 2, end, kind: 'url' });
  return isPublicName(url.host) || isAddress(url.host) ? [url] : [];
}

function readEmail(text: string, index: number, run: string): readonly FoundUrl[] {
  const name = run.replace(/^[.+-]+/, '');
  const at = index + run.length;
  domainAfterAt.lastIndex = at + 1;
  const domain = withoutEnd(domainAfterAt.exec(text)?.[0] ?? '');
  const host = domain.length > 253 || !domain.includes('.') ? undefined : hostOf(domain);
  if (name === '' || host === undefined || !isPublicName(host)) return [];
  const start = at - name.length;
  const end = at + 1 + domain.length;
  const none = { scheme: '', port: '', hasCredentials: false, isOdd: false, isNested: false };
  return [{ ...none, start, end, kind: 'email', url: `mailto:${text.slice(start, end)}`, host }];
}
