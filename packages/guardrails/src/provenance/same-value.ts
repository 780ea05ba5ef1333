const caseFree = /^[\p{L}\p{M}' .-]+$|^[^\s@/\\]+@[^\s@/\\]+$/u;

/** Whether two values are the same for a tool: the text as it is but for the case of words and e-mail addresses, a number and its digits. */
export function isSame(left: string | number, right: string | number): boolean {
  if (left === right) return true;
  const [one, other] = [String(left).trim(), String(right).trim()];
  if (one === '' || other === '') return false;
  if (one === other) return true;
  if (typeof left === 'number' || typeof right === 'number') return Number(one) === Number(other);
  return caseFree.test(one) && foldedValue(one) === foldedValue(other);
}

/** A form that is equal of values that are the same, and may be of some that are not. */
export function foldedValue(value: string | number): string {
  const text = String(value).trim();
  const number = text === '' ? Number.NaN : Number(text);
  return Number.isFinite(number) ? String(number) : text.normalize('NFC').toLowerCase();
}
