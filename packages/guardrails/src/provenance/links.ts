// Links in what is written or sent, and links that the user pointed to.
import { urlsIn } from '../egress/urls.js';
import type { Evidence, ReadResult } from './evidence.js';
import { isNamedByField, isOfUser } from './pointed-records.js';
import { significantWords } from './significant-words.js';

/** A link or an e-mail address in a text. */
export interface Link {
  /** As it stands in the text. */
  readonly text: string;
  /** Lower case; empty where programs may not agree on it. */
  readonly host: string;
  readonly port: string;
}

/** The links and e-mail addresses of a text, and those within another one. */
export function linksIn(text: string): readonly Link[] {
  return urlsIn(text).map(({ start, end, host, port, isOdd }) => ({ text: text.slice(start, end), host: isOdd ? '' : host, port }));
}

const bare = (url: string): string =>
  url
    .trim()
    .replace(/^https?:\/\//i, '')
    .replace(/\/$/, '');

/**
 * Whether a URL stands, as it is, in a record that the user named, or in a sentence of a named source that speaks of what the user asked. Of a
 * result with many such links none is taken: which of them is opened would carry something out.
 */
export function isLinkPointedTo(evidence: Evidence, url: string): boolean {
  const wanted = bare(url);
  return evidence.results.some((result) => {
    const links = linksOf(result);
    if (!links.some((link) => link.url === wanted)) return false;
    const reached = links.filter((link) => isReached(evidence, result, link));
    return new Set(reached.map((link) => link.url)).size <= mostLinks && reached.some((link) => link.url === wanted);
  });
}
const mostLinks = 3;

interface ResultLink {
  readonly url: string;
  /** The sentence or line that it stands in, without it: its writer chose its words. */
  readonly sentence: string;
  /** The text of a field, or of the whole where it is no JSON. */
  readonly text: string;
}

const known = new WeakMap<ReadResult, readonly ResultLink[]>();

function linksOf(result: ReadResult): readonly ResultLink[] {
  let links = known.get(result);
  if (links === undefined) {
    const texts =
      result.json === undefined
        ? [result.content]
        : result.records.flatMap(({ fields }) => fields.flatMap(({ value }) => (typeof value === 'string' ? [value] : [])));
    links = texts.flatMap((text) =>
      urlsIn(text)
        .filter(({ kind }) => kind !== 'email')
        .map(({ start, end }) => ({ url: bare(text.slice(start, end)), sentence: sentenceAround(text, start, end), text })),
    );
    known.set(result, links);
  }
  return links;
}

const reach = 300;
/** What stands beside a link, from the end of the sentence or line before to the end of its own, at most 300 characters on either side. */
function sentenceAround(text: string, start: number, end: number): string {
  const before = text.slice(Math.max(0, start - reach), start);
  const after = text.slice(end, end + reach);
  const from = Math.max(before.lastIndexOf('\n'), before.lastIndexOf('. '), before.lastIndexOf('! '), before.lastIndexOf('? ')) + 1;
  const to = [after.indexOf('\n'), after.indexOf('. '), after.indexOf('! '), after.indexOf('? ')].filter((at) => at >= 0);
  return `${before.slice(from)} ${after.slice(0, to.length === 0 ? after.length : Math.min(...to))}`;
}

function isReached(evidence: Evidence, result: ReadResult, { sentence, text }: ResultLink): boolean {
  if (result.records.some((record) => record.fields.some(({ value }) => value === text) && isNamedByField(evidence, result, record)))
    return true;
  if (!isOfUser(evidence, result)) return false;
  const shared = new Set(significantWords(sentence).filter((word) => evidence.userWords.has(word)));
  return shared.size >= 2;
}
