import type { FilePart, ImagePart, Message, Part } from '@guardloop/core';
import { leftOutBy, markTokens } from './left-out.js';

/** Counts the tokens of a text in the encoding `o200k_base`. */
export type CountText = (text: string) => number;

/**
 * An image: what Anthropic's vision guide names as the most one takes, about 1,600 (1568 pixels a side, width × height / 750); one of OpenAI's
 * takes less (85 and 170 for each of at most eight tiles of 512 pixels).
 */
const imageTokens = 1_600;
/** A page of a PDF: 1,500 to 3,000 by Anthropic's guide to PDFs. */
const pageTokens = 3_000;
/** Bytes that stand for one page, where a file is no text. */
const pageBytes = 100_000;
/** What a message and a call take beside their texts: roles, ids, separators. */
const frameTokens = 4;

/** Longer pieces are cut before they are counted: a run of letters takes time that grows with the square of its length. */
const pieceChars = 256;
/** Tokens for each character from which a piece is costly to count: words take a quarter, random letters a half. */
const costlyRate = 0.4;
/** Of one text, so many costly pieces are counted; all further ones are taken for as dense as the densest. */
const costlyPieces = 128;
/** Words whose tokens are kept. */
const maxWords = 10_000;

let loading: Promise<CountText> | undefined;
let loaded: CountText | undefined;

/** The counter, once {@link loadCounter} has loaded it. */
export const readyCounter = (): CountText | undefined => loaded;

/** Loads the encoding on first use: it is large. */
export function loadCounter(): Promise<CountText> {
  loading ??= (async () => {
    const [{ GptEncoding }, { default: ranks }, { O200K_TOKEN_SPLIT_REGEX: word }] = await Promise.all([
      import('gpt-tokenizer/GptEncoding'),
      import('gpt-tokenizer/bpeRanks/o200k_base'),
      import('gpt-tokenizer/encodingParams/constants'),
    ]);
    const encoding = GptEncoding.getEncodingApi('o200k_base', () => ranks);
    encoding.setMergeCacheSize(0);
    const asText = { disallowedSpecial: new Set<string>() };
    loaded = countInPieces(countByWords((part) => encoding.countTokens(part, asText), word));
    return loaded;
  })();
  return loading;
}

/** Counts each word once: most words of a text were in another one, and finding them takes less than parting them again. */
function countByWords(count: CountText, word: RegExp): CountText {
  const words = new Map<string, number>();
  return (piece) => {
    let tokens = 0;
    for (const each of piece.match(word) ?? []) {
      let own = words.get(each);
      if (own === undefined) {
        own = count(each);
        if (words.size === maxWords) words.clear();
        words.set(each, own);
      }
      tokens += own;
    }
    return tokens;
  };
}

/** Counts a text by pieces, in a time that is bounded for any text. */
export function countInPieces(count: CountText): CountText {
  return (text) => {
    let tokens = 0;
    let costly = 0;
    let densest = 0;
    for (let at = 0; at < text.length; ) {
      const end = endOfPiece(text, at);
      if (costly === costlyPieces) return tokens + Math.ceil((text.length - at) * densest);
      const piece = count(copyOf(text, at, end));
      const rate = piece / (end - at);
      tokens += piece;
      if (rate > densest) densest = rate;
      if (rate > costlyRate) costly += 1;
      at = end;
    }
    return tokens;
  };
}

/** A part of a text that does not keep the text in memory as long as it is kept itself. */
const copyOf = (text: string, at: number, end: number): string => (text.length <= pieceChars ? text : ` ${text.slice(at, end)}`.slice(1));

/** Before a space, where tokens end anyway, if there is one in the second half; never within a character. */
function endOfPiece(text: string, at: number): number {
  const end = at + pieceChars;
  if (end >= text.length) return text.length;
  // In the piece alone: in the text it would look for a space up to its beginning.
  const space = text.slice(at, end).lastIndexOf(' ');
  if (space > pieceChars / 2) return at + space;
  const unit = text.charCodeAt(end - 1);
  return unit >= 0xd800 && unit <= 0xdbff ? end - 1 : end;
}

const known = new WeakMap<Message, number>();
/** Names of tools are few, and stand in every call. */
const names = new Map<string, number>();
const maxNames = 1_000;

/** What a message takes, about. Counted once for each message. */
export function tokensOf(message: Message, count: CountText): number {
  let tokens = known.get(message);
  if (tokens === undefined) {
    tokens = leftOutBy(message) === undefined ? countMessage(message, count) : markTokens;
    known.set(message, tokens);
  }
  return tokens;
}

/** What a message takes at most: no token is less than one byte. Counts nothing. */
export const mostTokensOf = (message: Message): number => countMessage(message, mostTokens);

const mostTokens: CountText = (text) => (/^[\0-\x7f]*$/.test(text) ? text.length : text.length * 3);

function countMessage(message: Message, count: CountText): number {
  switch (message.role) {
    case 'user':
      return frameTokens + countParts(message.parts, count);
    case 'assistant': {
      let tokens = frameTokens + count(message.text);
      for (const { name, input } of message.calls) tokens += frameTokens + countName(name, count) + count(JSON.stringify(input));
      return tokens;
    }
    case 'tool': {
      const { content, note } = message;
      const tokens = frameTokens + (typeof content === 'string' ? count(content) : countParts(content, count));
      return note === undefined ? tokens : tokens + count(note);
    }
  }
  return message satisfies never;
}

function countName(name: string, count: CountText): number {
  if (count === mostTokens) return count(name);
  let tokens = names.get(name);
  if (tokens === undefined) {
    tokens = count(name);
    if (names.size === maxNames) names.clear();
    if (name.length <= 64) names.set(name, tokens);
  }
  return tokens;
}

function countParts(parts: readonly Part[], count: CountText): number {
  let tokens = 0;
  for (const part of parts) tokens += part.type === 'text' ? count(part.text) : dataTokens(part);
  return tokens;
}

function dataTokens(part: ImagePart | FilePart): number {
  if (part.type === 'image') return imageTokens;
  const bytes = ((part.data?.length ?? 0) * 3) / 4;
  // A text has at least about three bytes to a token.
  if (/^(text\/|application\/(json|xml))/.test(part.mediaType)) return Math.ceil(bytes / 3);
  return pageTokens * Math.max(1, Math.ceil(bytes / pageBytes));
}
