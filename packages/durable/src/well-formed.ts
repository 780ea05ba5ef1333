/** Whether every database and protocol can carry this text as it is: no U+0000, no lone surrogate. */
export function isWellFormed(text: string): boolean {
  return !text.includes('\u0000') && !/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text);
}
