// Escapes in a text that was not decoded: JSON in a text, a log with colours, a query. They end a word, although letters stand in them.

// `\n`, `\u000a`, `\x0a`, `%0A`, and the end of a terminal's colour, `[32m`. Each part is bounded: linear.
const source = '\\\\(?:[bfnrtv]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})|%[0-9a-fA-F]{2}|\\[[0-9;]{1,10}m';
const atEnd = new RegExp(`(?:${source})$`);
const here = new RegExp(source, 'y');
const each = new RegExp(source, 'g');
/** Characters of the longest. */
const longest = 12;

/** Whether an escape ends at this offset. */
export function endsEscape(text: string, at: number): boolean {
  return atEnd.test(text.slice(Math.max(0, at - longest), at));
}

/** The start of a word whose letters were followed back to `start`, without the escape whose letters they are partly. */
export function afterEscape(text: string, start: number, end: number): number {
  if (start < 1 || !'\\%['.includes(text.charAt(start - 1))) return start;
  here.lastIndex = start - 1;
  return here.test(text) && here.lastIndex < end ? here.lastIndex : start;
}

/** The same text, as long as before, with the sign that an escape stands for at its end and spaces before that. Letters stay escaped. */
export function withoutEscapes(text: string): string {
  if (!text.includes('\\') && !text.includes('%') && !text.includes('\u001b')) return text;
  return text.replace(each, (written) => {
    const sign = signOf(written);
    return sign === undefined ? written : sign.padStart(written.length);
  });
}

/** Undefined: it is part of a word. */
function signOf(written: string): string | undefined {
  const first = written.charAt(0);
  if (first === '[') return ' ';
  if (first === '\\' && written.length === 2) return written === '\\t' ? '\t' : '\n';
  const sign = String.fromCharCode(Number.parseInt(written.slice(first === '%' ? 1 : 2), 16));
  return sign >= '\u0080' || /[0-9A-Za-z]/.test(sign) ? undefined : sign;
}
