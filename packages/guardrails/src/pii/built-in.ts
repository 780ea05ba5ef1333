import type { PiiGroup, PiiKind } from './kind.js';
import { americanKinds } from './kinds/americas.js';
import { asianKinds } from './kinds/asia-pacific.js';
import { europeanKinds } from './kinds/europe.js';
import { personKinds } from './kinds/person.js';

const all = [...europeanKinds, ...americanKinds, ...asianKinds, ...personKinds] as const;

/** Kinds that are found by more than a pattern. */
export const readKinds = [
  { id: 'email', words: 'e-mail address', group: 'contact' },
  { id: 'phone', words: 'telephone number', group: 'contact' },
  { id: 'payment-card', words: 'number of a payment card', group: 'finance' },
  { id: 'iban', words: 'international bank account number', group: 'finance' },
  { id: 'ip-address', words: 'IP address', group: 'network' },
  { id: 'postal-address', words: 'postal address', group: 'address' },
] as const satisfies readonly { readonly id: string; readonly words: string; readonly group: PiiGroup }[];

/** Ids of all kinds that `pii` knows. */
export type PiiKindId = (typeof all)[number]['id'] | (typeof readKinds)[number]['id'];

/** Kinds with a pattern, as data. */
export const builtInKinds: readonly (PiiKind & { readonly id: PiiKindId })[] = all;
