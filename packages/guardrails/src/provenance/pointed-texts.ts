// “Pay the bill in that file” licenses that file's account, and only it.
import { urlsIn } from '../egress/urls.js';
import type { Evidence } from './evidence.js';
import { isOfUser } from './pointed-records.js';
import type { ArgumentValue } from './values.js';

/** What a text may name once: more than one of a kind, and nobody knows which one the user meant. */
type Kind = 'email' | 'link' | 'account' | 'amount';

const account = /\b(?:[A-Z]{2}\d{2}(?: ?[A-Z0-9]{1,4}){3,8}|\d[\d-]{6,24}\d)\b/g;
const amount = /\d[\d,.']*[.,]\d{2}\b/g;
const packed = (text: string): string => text.replace(/[\s-]/g, '').toUpperCase();

/**
 * Whether all these values stand in one plain text (a file, a page) that answers a call about something the user named, each as the only one
 * of its kind there: e-mail address, link, account number, amount. A text that names two is no ground: an order that somebody hides in it, with
 * an account of its own, takes the licence away. One value alone says too little: `others` are arguments of the call that other sources vouch
 * for, or there are values of two kinds, as on a bill. Prose in a field of a record is no such text: descriptions and messages are written by others.
 */
export function areOnlyOnesOf(
  evidence: Evidence,
  { values, others }: { readonly values: readonly ArgumentValue[]; readonly others: number },
): boolean {
  if (others === 0 && new Set(values.map(({ value }) => kindOf(value))).size < 2) return false;
  return evidence.results.some(
    (result) => result.json === undefined && isOfUser(evidence, result) && values.every(({ value }) => isOnlyOne(result.content, value)),
  );
}

function isOnlyOne(text: string, value: string | number): boolean {
  const kind = kindOf(value);
  if (kind === undefined) return false;
  const all = new Set(valuesOf(text, kind));
  return all.size === 1 && all.has(formOf(value, kind));
}

function kindOf(value: string | number): Kind | undefined {
  if (typeof value === 'number') return 'amount';
  const [link, second] = urlsIn(value);
  if (link !== undefined && second === undefined && link.start === 0 && link.end === value.length)
    return link.kind === 'email' ? 'email' : 'link';
  const whole = value.match(account);
  return whole !== null && whole.length === 1 && whole[0] === value ? 'account' : undefined;
}

function formOf(value: string | number, kind: Kind): string {
  if (kind === 'amount') return String(Number(value));
  return kind === 'account' ? packed(String(value)) : bare(String(value));
}

const bare = (url: string): string =>
  url
    .replace(/^https?:\/\//i, '')
    .replace(/\/$/, '')
    .toLowerCase();

function valuesOf(text: string, kind: Kind): readonly string[] {
  if (kind === 'account') return (text.match(account) ?? []).map(packed);
  if (kind === 'amount')
    return (text.match(amount) ?? []).map((each) => String(Number(each.replace(/[,'](?=\d{3})/g, '').replace(',', '.'))));
  return urlsIn(text)
    .filter((url) => (url.kind === 'email') === (kind === 'email'))
    .map(({ start, end }) => bare(text.slice(start, end)));
}
