// What of a text is written in a language, in pieces that are judged each by itself.

/** A piece of prose. */
export interface ProsePiece {
  /** Of a long piece words from all over it. */
  readonly prose: string;
  /** Of the whole piece. */
  readonly letters: number;
  /** Of `prose`. */
  readonly seen: number;
}

/** Characters of a piece: a short text is looked at closely, of a long one each piece costs up to a millisecond. */
const pieceOf = (text: string): number => (text.length > 16_384 ? 1_600 : text.length > 2_048 ? 1_000 : 400);
const longestLine = 2_000;

// Each is linear: a fixed opening, then one quantified class up to what ends it; or single classes.
const fence = /^\s{0,3}(?:```|~~~)/;
const inlineCode = /`[^`\n]{1,500}`/g;
const notProse = /[^\p{L}\p{M}'’\s.!?;:,。！？،؟।-]/gu;
const noLetter = /[^\p{L}\p{M}]+/gu;
const sign = /[{}()[\]<>=;$_\\/|&*+^%#~"]/g;
const sentenceEnd = /[.!?。！？؟।]/;

const isAddress = (word: string): boolean => word.includes('@') || word.includes('://') || word.startsWith('www.');
/** Without fenced and inline code, addresses, digits and signs, and lines that look like code. Never throws; linear in the text. */
export function prosePieces(text: string): readonly ProsePiece[] {
  const pieces: ProsePiece[] = [];
  const longest = pieceOf(text);
  let prose = '';
  let isFenced = false;
  const close = (): void => {
    const letters = prose.replace(noLetter, '').length;
    if (letters > 0) pieces.push({ ...sampled(prose, letters), letters });
    prose = '';
  };
  for (const line of linesOf(text)) {
    if (fence.test(line)) {
      isFenced = !isFenced;
      continue;
    }
    if (isFenced) continue;
    const words = proseOf(line);
    if (words === '') {
      // A paragraph ends where there is enough of it: a list of short lines is judged together.
      if (prose.length >= longest / 4) close();
      continue;
    }
    for (const sentence of sentencesOf(words, longest)) {
      if (prose.length + sentence.length > longest && prose !== '') close();
      prose += `${prose === '' ? '' : ' '}${sentence}`;
    }
  }
  close();
  return pieces;
}

const enough = 640;

/** Telling a language costs by the different letters in a row; so many are enough, if they come from everywhere. */
function sampled(prose: string, letters: number): Pick<ProsePiece, 'prose' | 'seen'> {
  if (prose.length <= enough) return { prose, seen: letters };
  const stride = Math.ceil(prose.length / enough);
  const sample = prose
    .split(' ')
    .filter((_, index) => index % stride === 0)
    .join(' ');
  return { prose: sample, seen: sample.replace(noLetter, '').length };
}

function* linesOf(text: string): Generator<string> {
  for (const line of text.split(/\r\n|\r|\n|\u2028|\u2029/)) {
    for (let start = 0; start === 0 || start < line.length; start += longestLine) yield line.slice(start, start + longestLine);
  }
}

function proseOf(line: string): string {
  const bare = line
    .replace(inlineCode, ' ')
    .normalize('NFC')
    .split(/\s+/)
    .filter((word) => !isAddress(word))
    .join(' ');
  const words = bare.replace(notProse, ' ').replace(/\s+/g, ' ').trim();
  // In code a fifth of the characters and more are signs that prose does not have.
  const signs = bare.length - bare.replace(sign, '').length;
  return signs * 7 > bare.trim().length ? '' : words;
}

function sentencesOf(words: string, longest: number): readonly string[] {
  const sentences: string[] = [];
  let start = 0;
  for (let at = 0; at < words.length; at += 1) {
    const isLong = at - start >= longest - 1;
    const isEnd = sentenceEnd.test(words.charAt(at)) && at + 1 < words.length;
    if (!isLong && !isEnd) continue;
    sentences.push(words.slice(start, at + 1).trim());
    start = at + 1;
  }
  sentences.push(words.slice(start).trim());
  return sentences.filter((sentence) => sentence !== '');
}
