import { decodeHTML } from 'entities/decode';
import type { MappedText } from '../unicode/mapped-text.js';
import { mappedOver, TextChanges } from '../unicode/mapped-text.js';
import { normalise } from '../unicode/normalise.js';

/** An HTML entity: one class after the other, none over another, so linear. */
const entity = /&(?:#[xX][0-9a-fA-F]+|#[0-9]+|[A-Za-z][A-Za-z0-9]{1,31});?/g;
/** Browsers take the ideographic full stop for a dot in hosts. Between plain letters only: else it ends a sentence. */
const ideographicDot = /(?<=[A-Za-z0-9])[\u3002\uff61](?=[A-Za-z0-9])/g;

/** A text as those read it who follow its links: HTML entities decoded, full-width and styled letters plain, invisible characters gone. */
export function readableView(text: string): MappedText {
  const decoded = text.includes('&') ? changed(text, entity, (piece) => decodeHTML(piece)) : undefined;
  const plain = decoded?.text ?? text;
  if (!/\P{ASCII}/u.test(plain)) return decoded ?? { text, start: (index) => index, end: (index) => index };
  const dotted = changed(plain, ideographicDot, () => '.');
  const view = mappedOver(dotted, normalise(dotted.text, { case: false }));
  return decoded === undefined ? view : mappedOver(decoded, view);
}

function changed(text: string, pattern: RegExp, by: (piece: string) => string): MappedText {
  const changes = new TextChanges(text);
  for (const { 0: piece, index } of text.matchAll(pattern)) {
    const other = by(piece);
    if (other !== piece) changes.replace(index, index + piece.length, other);
  }
  return changes.done();
}
