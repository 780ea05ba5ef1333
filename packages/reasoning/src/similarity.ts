/** Characters of a text that are compared. */
const longest = 2_000;

/** The pairs of letters and digits in a text's words, without case, accents and punctuation. */
export function pairsOf(text: string): ReadonlySet<string> {
  const plain = text
    .slice(0, longest)
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
  const pairs = new Set<string>();
  for (let at = 0; at + 1 < plain.length; at += 1) pairs.add(plain.slice(at, at + 2));
  return pairs;
}

/** From 0 (nothing in common) to 1 (alike): twice what two sets share, over the sizes of both (Dice 1945). 0 where one is empty. */
export function similarity(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  if (one.size === 0 || other.size === 0) return 0;
  let shared = 0;
  for (const pair of one) if (other.has(pair)) shared += 1;
  return (2 * shared) / (one.size + other.size);
}
