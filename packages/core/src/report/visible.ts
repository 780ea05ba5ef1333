const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|[\u{e0100}-\u{e01ef}]/gu;
/** Line ends and tabs; joiners, without which emoji and some scripts are written wrong; signs of Arabic and Syriac, which are seen. */
const kept = /\n|\t|\u200c|\u200d|[\u0600-\u0605]|\u06dd|\u070f|\u0890|\u0891|\u08e2/u;

/** A text in which nothing hides: characters that steer or are not seen stand as their numbers, so none can turn or fake what is read. */
export function visible(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(invisible, (sign) =>
      kept.test(sign) ? sign : `⟨U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`,
    );
}
