import { partsAtSpace } from '../unicode/parts.js';
import type { FoundUrl } from './found-url.js';
import { scanUrls } from './scan-urls.js';
import { readableView } from './view.js';

export type { FoundUrl } from './found-url.js';

/** A host that a text names, and how. */
export interface FoundHost {
  readonly start: number;
  readonly end: number;
  readonly host: string;
  readonly kind: FoundUrl['kind'];
}

/**
 * All URLs, bare domains and e-mail addresses of a text, in order of their beginning: also those whose scheme or host is encoded (percent, HTML
 * entities, full-width letters, invisible characters in between), and those within the path or query of another. A bare domain ends in a
 * top-level domain of IANA's list; one that may as well be a file's name (`main.py`) counts only with `www.` or a path. Time grows
 * with the length; never throws on text.
 */
export function urlsIn(text: string): readonly FoundUrl[] {
  return [...eachUrlIn(text)];
}

/** The same one after the other: a hostile text may hold more of them than should be kept. */
export function* eachUrlIn(text: string): Generator<FoundUrl, undefined> {
  if (text.length <= partless) yield* urlsOfPart(text, 0);
  // No URL has white space in it.
  else for (const part of partsAtSpace(text)) yield* urlsOfPart(part.text, part.start);
  return undefined;
}

/** Characters up to which a text is read as a whole. */
const partless = 16_384;

function* urlsOfPart(text: string, offset: number): Generator<FoundUrl, undefined> {
  const view = readableView(text);
  const isSame = view.text === text;
  for (const url of scanUrls(view.text)) {
    if (isSame && offset === 0) yield url;
    else if (isSame) yield { ...url, start: url.start + offset, end: url.end + offset };
    else yield { ...url, start: view.start(url.start) + offset, end: view.end(url.end) + offset };
  }
  return undefined;
}

/** The hosts that a text names, in URLs, bare domains and e-mail addresses: see {@link urlsIn}. */
export function hostsIn(text: string): readonly FoundHost[] {
  return urlsIn(text).flatMap(({ start, end, host, kind }) => (host === '' ? [] : [{ start, end, host, kind }]));
}
