import { lookAlikeOf } from '../unicode/look-alikes.js';
import { meaningsOf, meaningsOfReversed, meaningsOfRotated, plainWord, reversedWord, rotatedWord } from './words.js';

/** The words of a text, in order, with what each may mean in one way of reading. */
export interface Reading {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  readonly meanings: readonly number[];
  readonly words: readonly string[];
  /** Number of the sentence in which a word stands. */
  readonly sentences: readonly number[];
  /** Whether it stands in quotation marks that the sentence around it opens: mentioned, not said. */
  readonly quoted: readonly boolean[];
}

/** Words, or one mark that ends a sentence or quotes. One class or one character at a time, so linear. */
const tokens = /[\p{L}\p{N}\p{M}_]+(?:['’-][\p{L}\p{N}\p{M}_]+)*|[.!?;:\n。！？"“”«»`'‘’]/gu;
const leetLetters: Readonly<Record<string, string>> = { '0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '8': 'b' };

/** Reads a normalised text. The ways: as it stands, with digits for letters, each letter 13 places on, words from their end. */
export function readTokens(text: string): { readonly plain: Reading; readonly disguised: readonly Reading[] } {
  const [starts, ends, words, sentences, quoted]: [number[], number[], string[], number[], boolean[]] = [[], [], [], [], []];
  const plain: number[] = [];
  const rotated: number[] = [];
  const reversed: number[] = [];
  const marks = new Marks(text);
  for (const { 0: token, index } of text.matchAll(tokens)) {
    if (marks.take(token, index, words.length)) continue;
    const word = plainForm(token);
    starts.push(index);
    ends.push(index + token.length);
    words.push(word);
    sentences.push(marks.sentence);
    quoted.push(marks.isMention);
    plain.push(meaningsOf.get(word) ?? 0);
    rotated.push(meaningsOfRotated.get(word) ?? 0);
    reversed.push(meaningsOfReversed.get(word) ?? 0);
  }
  const rest = { starts, ends, words, sentences, quoted };
  const disguised: Reading[] = [];
  const areMany = (meanings: readonly number[]): boolean => meanings.filter((meaning) => meaning !== 0).length > 2;
  if (areMany(rotated)) disguised.push({ ...rest, words: words.map(rotatedWord), meanings: rotated });
  if (areMany(reversed)) disguised.push(backwards({ ...rest, words: words.map(reversedWord), meanings: reversed }));
  return { plain: { ...rest, meanings: plain }, disguised };
}

const sentenceEnds = '.!?;\n。！？';
const quotes = '"“”«»`\'‘’';
/** Characters of a quotation that is taken for a mention. */
const maxQuotation = 400;

/** Keeps count of sentences and quotation marks. */
class Marks {
  sentence = 0;
  private quote = '';
  private isSaid = false;

  constructor(private readonly text: string) {}

  get isMention(): boolean {
    return this.quote !== '' && !this.isSaid;
  }

  /** Whether a token is a mark, and no word. */
  take(token: string, index: number, wordsBefore: number): boolean {
    if (token.length > 1) return false;
    if (sentenceEnds.includes(token)) {
      // A dot within a name or a number ends nothing.
      if (token === '.' && /[\p{L}\p{N}]/u.test(this.text.charAt(index + 1))) return true;
      this.sentence += 1;
      if (token === '\n') this.quote = '';
      return true;
    }
    if (!quotes.includes(token)) return token === ':';
    if (this.quote !== '') {
      if (token === closerOf(this.quote)) this.quote = '';
    } else if (opens(this.text, index, token)) {
      this.quote = token;
      this.isSaid = wordsBefore === 0 || isValue(this.text, index, closerOf(token));
    }
    return true;
  }
}

const closerOf = (quote: string): string => ({ '“': '”', '«': '»', '‘': '’' })[quote] ?? quote;

/** Quotation marks of JSON or YAML around a value, or around much: what stands in them is said, not mentioned. */
function isValue(text: string, index: number, closer: string): boolean {
  const length = text.slice(index + 1, index + 1 + maxQuotation).indexOf(closer);
  if (length === -1) return true;
  const isAfterMark = /[:=,[{(\\]\s*$/.test(text.slice(Math.max(0, index - 4), index));
  const after = text.slice(index + length + 2, index + length + 34).trimStart();
  return isAfterMark && (after === '' || /^[,}\]\n]/.test(after) || /^\s*\n/.test(text.slice(index + length + 2, index + length + 34)));
}

function opens(text: string, index: number, token: string): boolean {
  return token === '“' || token === '«' || token === '‘' || !/[\p{L}\p{N}]/u.test(text.charAt(index - 1));
}
/** Look-alikes, accents and digits in the place of letters taken back. */
function plainForm(token: string): string {
  let word = token.replaceAll('’', "'");
  if (/\P{ASCII}/u.test(word)) {
    const plain = plainWord(word);
    const latin = [...plain].map((letter) => lookAlikeOf(letter) ?? letter).join('');
    word = /^[\p{ASCII}]+$/u.test(latin) ? latin.toLowerCase() : plain;
  }
  if (/\d/.test(word) && /^[a-z013457_'-]+$/.test(word) && !/^\d+$/.test(word) && !meaningsOf.has(word)) {
    const letters = word.replace(/[013457]/g, (digit) => leetLetters[digit] ?? digit);
    if (meaningsOf.has(letters)) return letters;
    const other = letters.replaceAll('i', 'l');
    const known = word.includes('1')
      ? [other, word.replace(/1/, 'l').replace(/[013457]/g, (digit) => leetLetters[digit] ?? digit)].find((way) => meaningsOf.has(way))
      : undefined;
    return known ?? letters;
  }
  return word;
}

/** A text that was turned around as a whole: the last word first. */
function backwards(reading: Reading): Reading {
  return {
    starts: reading.starts.toReversed(),
    ends: reading.ends.toReversed(),
    words: reading.words.toReversed(),
    sentences: reading.sentences.toReversed(),
    quoted: reading.quoted.toReversed(),
    meanings: reading.meanings.toReversed(),
  };
}
