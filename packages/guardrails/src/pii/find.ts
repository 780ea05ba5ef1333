import { withoutEscapes } from '../text/escapes.js';
import type { FindInText, TextFinding } from '../text/finding.js';
import { foldText } from '../text/fold.js';
import { findAddresses } from './address.js';
import { contextReader } from './context.js';
import { findEmails } from './email.js';
import type { PiiKind } from './kind.js';
import { findIpAddresses } from './network.js';
import { findCards, findIbans } from './payment.js';
import { findPhones, phoneContext } from './phone.js';

/** What is looked for. */
export interface PiiSearch {
  readonly kinds: readonly PiiKind[];
  /** Which of the kinds without a pattern. */
  readonly read: ReadonlySet<string>;
  /** Whose national telephone numbers are known without a word that says so. */
  readonly phoneRegions: readonly string[];
}

const cardContext = [
  'card',
  'credit',
  'debit',
  'visa',
  'mastercard',
  'amex',
  'maestro',
  'diners',
  'kreditkarte',
  'karte',
  'carte',
  'tarjeta',
  'carta',
  'cartao',
  'pan',
  '卡',
  'カード',
  'карт',
];

/** Makes the search. Offsets are of the text as it is given; digits of other scripts and full-width forms count. */
export function piiFinder({ kinds, read, phoneRegions }: PiiSearch): FindInText {
  const lists: (readonly string[])[] = [cardContext, phoneContext];
  const rows = kinds.map((kind) => ({ kind, list: kind.context === undefined ? undefined : lists.push(kind.context) - 1 }));
  const readContext = contextReader(lists);
  const findNumbers = (text: string, key: string | undefined): readonly TextFinding[] => {
    const context = readContext(text, key);
    const isNear = (list: number) => (start: number, end: number) => context.isNear(list, start, end);
    const near: TextFinding[] = [];
    const plain: TextFinding[] = [];
    for (const { kind, list } of rows) {
      if (list !== undefined && context.has(list)) findByKind({ kind, text, isNear: isNear(list) }, near);
      else if (list === undefined || kind.plain !== undefined) findByKind({ kind, text, isNear: () => false }, plain);
    }
    return [
      ...(read.has('iban') ? findIbans(text) : []),
      ...(read.has('payment-card') ? findCards(text, isNear(0)) : []),
      // What a word near calls by its name goes before what merely has its form.
      ...near,
      ...plain,
      ...(read.has('phone') ? findPhones(text, phoneRegions, isNear(1)) : []),
      ...(read.has('postal-address') ? findAddresses(text) : []),
    ];
  };
  return (original, { key }) => {
    const folded = foldText(original);
    const { offset } = folded;
    const text = withoutEscapes(folded.text);
    const hasDigits = /\d/.test(text);
    const found = [
      ...(read.has('email') ? findEmails(text) : []),
      ...(read.has('ip-address') && (hasDigits || text.includes('::')) ? findIpAddresses(text) : []),
      ...(hasDigits ? findNumbers(text, key) : []),
    ];
    if (folded.text === original) return found;
    const back = ({ start, end, kind }: TextFinding): TextFinding => {
      const last = offset(end - 1);
      return { start: offset(start), end: last + widthAt(original, last), kind };
    };
    return found.map(back);
  };
}

/** Characters of the code point at an offset. */
function widthAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

function findByKind(
  { kind, text, isNear }: { readonly kind: PiiKind; readonly text: string; readonly isNear: (start: number, end: number) => boolean },
  found: TextFinding[],
): void {
  for (const match of text.matchAll(kind.pattern)) {
    const start = match.index;
    const end = start + match[0].length;
    const needsContext = kind.context !== undefined && !kind.plain?.test(match[0]);
    if (needsContext && !isNear(start, end)) continue;
    if (kind.check !== undefined && !kind.check(match[0].replace(/[\s./-]/g, '').toUpperCase(), match[0])) continue;
    found.push({ start, end, kind: kind.id });
  }
}
