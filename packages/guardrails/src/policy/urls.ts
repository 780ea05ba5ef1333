import type { Place } from './fault.js';
import { at, entriesOf, fault, listAt, told } from './fault.js';
import type { Truth } from './truth.js';

export interface Urls {
  /** A whole host, or `*.` and what every host below ends with. */
  readonly hosts: readonly string[];
  readonly schemes: readonly string[];
  /** Empty: the scheme's own. */
  readonly ports: readonly number[];
}

const longest = 8_192;

/** A host as a browser writes it: lower case, punycode, without a dot at the end. Undefined: it is none. */
function hostOf(text: string): string | undefined {
  try {
    const { hostname, host, pathname } = new URL(`https://${text}`);
    return hostname === '' || host !== hostname || pathname !== '/' ? undefined : hostname.replace(/\.$/, '');
  } catch {
    return undefined;
  }
}

function readHost(given: unknown, place: Place): string {
  const isBelow = typeof given === 'string' && given.startsWith('*.');
  const text = typeof given === 'string' ? given.slice(isBelow ? 2 : 0) : '';
  const host = text.includes('*') || /[/@?#:\s]/.test(text.replace(/^\[[0-9a-fA-F:.]+\]$/, '')) ? undefined : hostOf(text);
  if (host === undefined || (isBelow && !host.includes('.'))) {
    fault(place, `${told(given)} is no host. Give a name such as api.shop.example, or *.shop.example for every host below it.`);
  }
  return isBelow ? `*.${host}` : host;
}

/** Throws CONFIG_INVALID. */
export function readUrls(given: unknown, place: Place): Urls {
  const entries = entriesOf(given, { place, names: ['hosts', 'schemes', 'ports'], what: 'option of url' });
  const hosts = listAt(entries.get('hosts'), at(place, 'hosts')).map((host, index) => readHost(host, at(at(place, 'hosts'), index)));
  const schemes = entries.has('schemes') ? listAt(entries.get('schemes'), at(place, 'schemes')) : ['https'];
  for (const [index, scheme] of schemes.entries()) {
    if (typeof scheme !== 'string' || !/^[a-z][a-z0-9+.-]{0,30}$/.test(scheme))
      fault(at(at(place, 'schemes'), index), `${told(scheme)} is no scheme in lower case, such as https.`);
  }
  const ports = entries.has('ports') ? listAt(entries.get('ports'), at(place, 'ports')) : [];
  for (const [index, port] of ports.entries()) {
    if (!Number.isSafeInteger(port) || (port as number) < 1 || (port as number) > 65_535)
      fault(at(at(place, 'ports'), index), `${told(port)} is no port from 1 to 65535.`);
  }
  return { hosts, schemes: schemes as readonly string[], ports: ports as readonly number[] };
}

const ownPorts: { readonly [scheme: string]: number | undefined } = { http: 80, https: 443, ws: 80, wss: 443, ftp: 21 };

export const coversHost = (wide: string, narrow: string): boolean =>
  wide === narrow || (wide.startsWith('*.') && narrow.endsWith(wide.slice(1)) && narrow.length > wide.length - 1);

/** Whether a text is a URL to one of the hosts. One that is no URL, or that holds a name or password, is not. */
export function urlFits(value: unknown, { hosts, schemes, ports }: Urls): Truth {
  if (typeof value !== 'string') return undefined;
  // What a reader may take away or turn round is refused before it is read.
  if (value.length > longest || /[\s\\\p{Cc}]/u.test(value)) return false;
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    return false;
  }
  const scheme = url.protocol.slice(0, -1);
  if (!schemes.includes(scheme) || url.username !== '' || url.password !== '' || /^[a-z+.-]+:\/\/[^/?#]*@/i.test(value)) return false;
  const port = url.port === '' ? ownPorts[scheme] : Number(url.port);
  if (ports.length === 0 ? url.port !== '' : port === undefined || !ports.includes(port)) return false;
  const host = url.hostname.replace(/\.$/, '');
  return hosts.some((each) => coversHost(each, host));
}

export const urlWords = ({ hosts, schemes }: Urls): string =>
  `a URL (${schemes.join(', ')}) to ${hosts.slice(0, 5).join(', ')}${hosts.length > 5 ? ` or ${hosts.length - 5} more` : ''}`;
