// Text from a server, as a person may read it: what cannot be seen is written out.

const invisible = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Zl}\p{Zp}\p{Variation_Selector}\u115f\u1160\u3164\uffa0]/gu;

/** The text with everything that is not seen written as `\u{e0041}`. One character at a time, so linear. */
export function showText(text: string): string {
  return text.replace(invisible, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

const longestName = 80;

/** A name for a message, on one line and not too long. */
export function showName(name: string): string {
  const cut = name.length > longestName ? `${name.slice(0, longestName)}…` : name;
  return showText(cut);
}

/** Words for the model in one line. */
export function oneLine(text: string, mostChars: number): string {
  let line = '';
  for (const piece of text.split(/[\r\n\u2028\u2029]/)) {
    const trimmed = piece.trim();
    if (trimmed !== '') line += line === '' ? trimmed : ` ${trimmed}`;
    if (line.length > mostChars) return `${line.slice(0, mostChars)} […]`;
  }
  return line;
}
