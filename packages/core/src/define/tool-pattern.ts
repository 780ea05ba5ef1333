const allowed = /^[a-zA-Z0-9_*-]{1,64}$/;

/** A tool's name, or a pattern of names in which `*` stands for any number of characters. */
export const isToolPattern = (value: unknown): value is string => typeof value === 'string' && allowed.test(value);

/** Whether a tool's name fits a name or a pattern, in which `*` stands for any number of characters. In time that grows with the name alone. */
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
