import type { TextFinding, TextPlace } from '../text/finding.js';
import { lookAlikeOf } from '../unicode/look-alikes.js';
import type { AllowList } from './allow-list.js';
import { isAddress, isPrivateHost } from './host.js';
import { htmlTargets } from './html.js';
import { markdownTargets } from './markdown.js';
import { readableHost } from './punycode.js';
import type { Target } from './target.js';
import { readTarget, schemeOf, trimTarget } from './target.js';
import type { TextTarget } from './text-target.js';
import { eachUrlIn } from './urls.js';
import { readableView } from './view.js';

/** What may be reached. */
export interface EgressRules {
  readonly links: AllowList;
  /** For what loads without a click. */
  readonly loads: AllowList;
  readonly schemes: ReadonlySet<string>;
  readonly bareDomains: boolean;
}

type Kind = TextTarget['kind'];

/** What in a text leads where it may not. Time grows with the length; never throws on text. */
export function egressIn(text: string, place: TextPlace, rules: EgressRules): readonly TextFinding[] {
  const found: TextFinding[] = [];
  const add = (start: number, end: number, kind: string | undefined): void => {
    if (kind !== undefined) found.push({ start, end, kind });
  };
  if (place.surface === 'toolInput' && place.key !== undefined) add(0, text.length, faultOfArgument(text, place.key, rules));
  for (const url of eachUrlIn(text)) {
    if (url.kind === 'email' && !url.url.includes('?')) continue;
    const isBare = url.kind === 'domain' || url.kind === 'address';
    // Renderers of GitHub's Markdown make links of names that begin so.
    if (isBare && !rules.bareDomains && !url.host.startsWith('www.')) continue;
    add(url.start, url.end, faultOf(url, text.slice(url.start - 3, url.start) === '![[' ? 'image' : 'link', rules));
  }
  if (/\]\s?[(:]/.test(text)) for (const target of markdownTargets(text)) add(target.start, target.end, faultOfTarget(text, target, rules));
  if (text.includes('<')) for (const target of htmlTargets(text)) add(target.start, target.end, faultOfTarget(text, target, rules));
  return merged(found);
}

/** Overlapping ones as one, so that no half of a URL stays. The first one's kind stands. */
function merged(found: readonly TextFinding[]): readonly TextFinding[] {
  if (found.length < 2) return found;
  const sorted = [...found].sort((left, right) => left.start - right.start || right.end - left.end || rank(right.kind) - rank(left.kind));
  const made: TextFinding[] = [];
  for (const finding of sorted) {
    const last = made.at(-1);
    if (last === undefined || finding.start >= last.end) made.push(finding);
    else {
      const kind = rank(finding.kind) > rank(last.kind) ? finding.kind : last.kind;
      made[made.length - 1] = { start: last.start, end: Math.max(last.end, finding.end), kind };
    }
  }
  return made;
}
const rank = (kind: string): number => ['external-link', 'external-content', 'external-image', 'script'].indexOf(kind);

/** Without these no other URL stands in it. */
const mayHoldMore = /[:?#%&]|\P{ASCII}/u;
/** A path of the page's own has none of these. */
const leads = /[:\\&%]|\/\/|\P{ASCII}/u;

function faultOfTarget(text: string, { start, end, kind, target }: TextTarget, rules: EgressRules): string | undefined {
  if (kind === 'script') return 'script';
  const raw = target ?? text.slice(start, end);
  if (!leads.test(raw)) return undefined;
  const plain = readableView(raw).text;
  // A renderer takes a backslash off before a mark, a browser makes a slash of it.
  const readings = plain.includes('\\') ? [plain, plain.replace(/\\([!-/:-@[-`{-~])/g, '$1')] : [plain];
  for (const reading of readings) {
    const fault = faultOf(readTarget(reading), kind, rules);
    if (fault !== undefined) return fault;
  }
  if (!mayHoldMore.test(raw)) return undefined;
  for (const url of eachUrlIn(raw)) {
    const fault = url.kind === 'url' ? faultOf(url, kind, rules) : undefined;
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** A {@link Target}, or a URL that was found. */
type Leading = Omit<Target, 'href'> & { readonly url?: string; readonly href?: string };

/** Why a target may not be followed; undefined: it may. */
function faultOf(target: Leading, kind: Kind, rules: EgressRules): string | undefined {
  if (target.scheme === 'javascript' || target.scheme === 'vbscript') return 'script';
  if (target.isOdd) return 'unreadable-url';
  return faultOfScheme(target, kind, rules) ?? (target.host === '' ? undefined : faultOfHost(target, kind, rules));
}

function faultOfScheme(target: Leading, kind: Kind, rules: EgressRules): string | undefined {
  const { scheme, host } = target;
  const href = target.url ?? target.href ?? '';
  if (scheme === 'data') return isPicture(href) && kind !== 'content' ? undefined : 'unusual-scheme';
  // A letter with words in it is data too; one without is only an address.
  if (scheme === 'mailto') return href.includes('?') && !rules.links.has(host, '') ? 'external-link' : undefined;
  return scheme === '' || rules.schemes.has(scheme) ? undefined : 'unusual-scheme';
}

function faultOfHost({ scheme, host, port, hasCredentials }: Leading, kind: Kind, rules: EgressRules): string | undefined {
  if (hasCredentials) return 'credentials-in-url';
  if (scheme === 'mailto') return undefined;
  const isLoaded = kind !== 'link';
  const list = isLoaded ? rules.loads : rules.links;
  if (list.has(host, port)) return isLoaded && scheme === 'http' ? external(kind) : undefined;
  if (isPrivateHost(host)) return 'private-address';
  if (isLookAlike(host, rules)) return 'look-alike-host';
  return list.isOpen && !isAddress(host) && host.includes('.') ? undefined : external(kind);
}

const external = (kind: Kind): string => (kind === 'image' ? 'external-image' : kind === 'content' ? 'external-content' : 'external-link');
const isPicture = (url: string): boolean => /^data:image\/(?:png|jpe?g|gif|webp|avif|bmp)[;,]/i.test(url.slice(0, 64));

/** It reads as an allowed name does, or mixes Latin letters with those that are taken for them. */
function isLookAlike(host: string, { links, loads }: EgressRules): boolean {
  if (!host.includes('xn--')) return false;
  const readable = readableHost(host);
  const plain = [...readable].map((letter) => lookAlikeOf(letter) ?? letter).join('');
  if (plain === readable) return false;
  if ([...links.names, ...loads.names].includes(plain)) return true;
  return readable.split('.').some((label) => /[a-z]/.test(label) && [...label].some((letter) => lookAlikeOf(letter) !== undefined));
}

/** Words of an argument's name that say that its value is an address. */
const urlWords: ReadonlySet<string> = new Set(['url', 'urls', 'uri', 'uris', 'href', 'endpoint', 'webhook', 'website', 'origin']);
const hostWords: ReadonlySet<string> = new Set(['host', 'hostname', 'hosts', 'ip', 'server']);
/** An address without a scheme: a name with dots, a name with a port, an IPv6 address. */
const hostLike = /^(?:[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)+|[\p{L}\p{N}_-]+(?=:\d)|localhost|\[[0-9a-f:.]+\])(?::\d{1,5})?(?:[/?#\\]|$)/iu;
const maxArgument = 2048;

/** An argument whose name says that it is an address is read as one, also without a scheme. */
function faultOfArgument(text: string, key: string, rules: EgressRules): string | undefined {
  const words = key
    .slice(0, 100)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  const isHost = words.some((word) => hostWords.has(word));
  if (!isHost && !words.some((word) => urlWords.has(word))) return undefined;
  if (text === key) return undefined;
  const value = trimTarget(readableView(text.slice(0, maxArgument)).text);
  if (value === '') return undefined;
  if (schemeOf(value) !== undefined && /^[^:]*:[\\/]/.test(value)) return faultOf(readTarget(value), 'link', rules);
  if (/^[\\/]{2}/.test(value)) return faultOf(readTarget(value), 'link', rules);
  if (hostLike.test(value) || (isHost && /^[^\s/]+$/.test(value))) return faultOf(readTarget(`https://${value}`), 'link', rules);
  return undefined;
}
