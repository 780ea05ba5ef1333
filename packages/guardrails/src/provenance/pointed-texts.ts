// “Pay the bill in that file” licenses that file's account and amount, and only them.
import { urlsIn } from '../egress/urls.js';
import { accountSource } from './account-numbers.js';
import type { Evidence, ReadResult } from './evidence.js';
import { isOfUser } from './pointed-records.js';
import type { ArgumentValue } from './values.js';

/** What a bill names once: more than one of a kind, and nobody knows which one the user meant. */
type Kind = 'account' | 'amount' | 'email';

const anyAccount = String.raw`(?:${accountSource}|\d[\d-]{6,24}\d)`;
const account = new RegExp(String.raw`\b${anyAccount}\b`, 'g');
const wholeAccount = new RegExp(`^${anyAccount}$`);
const amount = /(?<![\d.,'])\d[\d,.']{0,15}[.,]\d{2}(?!\d)/g;
const packed = (text: string): string => text.replace(/[\s-]/g, '').toUpperCase();

/**
 * Whether these are the account and the amount of a bill: both stand in one plain text (a file, a page) that answers a call about something
 * the user named, each as the only one of its kind there. A text that names two accounts is no ground: an order that somebody hides in it,
 * with an account of its own, takes the licence away. Prose in a field of a record is no bill: descriptions and messages are written by others.
 */
export function isBill(evidence: Evidence, values: readonly ArgumentValue[]): boolean {
  const kinds = values.map(({ value }) => kindOf(value));
  if (values.length !== 2 || !kinds.includes('account') || !kinds.includes('amount')) return false;
  return evidence.results.some(
    (result) => result.json === undefined && isOfUser(evidence, result) && values.every(({ value }) => isOnlyOne(result.content, value)),
  );
}

/** “Her e-mail stands on www.dora.example”, “the account is in bill.txt”. */
const told: { readonly [K in Kind]: RegExp } = {
  email: /(?:\b(?:her|his|their|its|the|whose)|['’]s) (?:contact|e-?mail|mail address|address)\b/i,
  account: /(?:\b(?:her|his|their|its|the|whose)|['’]s) (?:account|iban|bank details|number)\b/i,
  amount: /\b(?:the|its|whose) (?:amount|total|sum|price)\b/i,
};

/**
 * Whether the user said that such a value stands in a text, in the sentence that names the text, and it is the only one of its kind there:
 * “you can find her e-mail on www.dora.example”.
 */
export function isToldToBeIn(evidence: Evidence, { value }: ArgumentValue): boolean {
  const kind = kindOf(value);
  if (kind === undefined) return false;
  return evidence.results.some(
    (result) =>
      result.json === undefined && isOfUser(evidence, result) && isOnlyOne(result.content, value) && isTold(evidence, result, kind),
  );
}

function isTold(evidence: Evidence, { input }: ReadResult, kind: Kind): boolean {
  const names = Object.values(input).filter((name): name is string => typeof name === 'string' && name.length >= 4);
  return evidence.sentences.some((sentence) => told[kind].test(sentence) && names.some((name) => sentence.includes(name)));
}

function isOnlyOne(text: string, value: ArgumentValue['value']): boolean {
  const kind = kindOf(value);
  if (kind === undefined || value === true) return false;
  const all = new Set(valuesOf(text, kind));
  return all.size === 1 && all.has(kind === 'amount' ? String(Number(value)) : packed(String(value)));
}

function kindOf(value: ArgumentValue['value']): Kind | undefined {
  if (typeof value === 'number') return 'amount';
  if (typeof value !== 'string') return undefined;
  if (wholeAccount.test(value)) return 'account';
  const [found] = urlsIn(value);
  return found?.kind === 'email' && found.start === 0 && found.end === value.length ? 'email' : undefined;
}

function valuesOf(text: string, kind: Kind): readonly string[] {
  if (kind === 'account') return (text.match(account) ?? []).map(packed);
  if (kind === 'email')
    return urlsIn(text).flatMap(({ kind: found, start, end }) => (found === 'email' ? [packed(text.slice(start, end))] : []));
  return (text.match(amount) ?? []).map((each) => String(Number(each.replace(/[,'](?=\d{3})/g, '').replace(',', '.'))));
}
