const isAddress = /e-?mail/i;
const isNumber = /card|iban|ssn|phone|account|tax|passport|person(?:al)?-?(?:id|number)|national/i;
/** National ids: `fr-nir`. */
const isNational = /^[a-z]{2}-/;
const numberLike = /^[\dA-Z .\-/]{5,24}$/i;
// One class: linear.
const separators = /[\s.\-()/‐‑–]+/g;

/** The form in which values of a kind are compared: two that are written otherwise and are the same have one placeholder. */
export function normalValue(kind: string, value: string): string {
  if (isAddress.test(kind)) return value.trim().toLowerCase();
  return isNumber.test(kind) || (isNational.test(kind) && numberLike.test(value)) ? value.replace(separators, '').toUpperCase() : value;
}
