interface MaybeWellFormed {
  isWellFormed?(): boolean;
  toWellFormed?(): string;
}

const loneSurrogate = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/** The text with each lone surrogate replaced by U+FFFD: strict servers refuse what holds one. A text without any is returned uncopied. */
export function wellFormedText(text: string): string {
  const native = text as MaybeWellFormed;
  if (native.isWellFormed && native.toWellFormed) return native.isWellFormed() ? text : native.toWellFormed();
  return text.replace(loneSurrogate, '\uFFFD');
}
