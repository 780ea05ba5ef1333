const single = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}`;
// The alternatives share no character, so there is one way to match each text: linear.
const word = new RegExp(String.raw`[${single}]|(?:[^\P{L}${single}]|[\p{N}\p{M}'’])+`, 'gu');

/** Runs of letters, marks and digits. In scripts without spaces (Han, Kana, Thai, Lao, Khmer, Burmese) each letter is a word. */
export function wordsOf(text: string): readonly string[] {
  return text.match(word) ?? [];
}
