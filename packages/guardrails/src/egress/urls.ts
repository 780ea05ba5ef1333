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
  if (text.length <= partless) return urlsOfPart(text);
  const found: FoundUrl[] = [];
  // No URL has white space in it.
  for (const part of partsAtSpace(text)) {
    for (const url of urlsOfPart(part.text)) found.push({ ...url, start: url.start + part.start, end: url.end + part.start });
  }
  return found;
}

/** Characters up to which a text is read as a whole. */
const partless = 16_384;

function urlsOfPart(text: string): readonly FoundUrl[] {
  const view = readableView(text);
  const found = scanUrls(view.text);
  if (view.text === text) return found;
  return found.map((url) => ({ ...url, start: view.start(url.start), end: view.end(url.end) }));
}

/** The hosts that a text names, in URLs, bare domains and e-mail addresses: see {@link urlsIn}. */
export function hostsIn(text: string): readonly FoundHost[] {
  return urlsIn(text).flatMap(({ start, end, host, kind }) => (host === '' ? [] : [{ start, end, host, kind }]));
}
