/** Whether a server's name of a tool fits a name, or a pattern in which `*` stands for any number of characters. Takes linear time for each `*`. */
export function fitsPattern(pattern: string, name: string): boolean {
  const pieces = pattern.split('*');
  const [head = ''] = pieces;
  if (pieces.length === 1) return name === head;
  const tail = pieces.at(-1) ?? '';
  if (name.length < head.length + tail.length || !name.startsWith(head) || !name.endsWith(tail)) return false;
  let from = head.length;
  const end = name.length - tail.length;
  for (const piece of pieces.slice(1, -1)) {
    const at = name.indexOf(piece, from);
    if (at === -1 || at + piece.length > end) return false;
    from = at + piece.length;
  }
  return true;
}

/** What is said of a tool by names and patterns: its name goes before patterns, and of these the first that fits counts. */
export function byPattern<T>(
  entries: Readonly<Record<string, T>>,
  name: string,
): { readonly pattern: string; readonly value: T } | undefined {
  const exact = Object.hasOwn(entries, name) ? entries[name] : undefined;
  if (exact !== undefined) return { pattern: name, value: exact };
  for (const [pattern, value] of Object.entries(entries))
    if (pattern.includes('*') && fitsPattern(pattern, name)) return { pattern, value };
  return undefined;
}
