import { invalid } from './read-options.js';

/** Where a watcher stands: behind an event of the log, and so many characters into the text that follows it. */
export interface Position {
  readonly seq: number;
  readonly characters: number;
  /** Of these characters: tells text that goes on from text that was taken back. */
  readonly check: string;
}

/** The check of no text. */
export const noText = '0';
export const start: Position = { seq: 0, characters: 0, check: noText };

/** FNV-1a over the UTF-16 code units, 32 bits: whoever forges a number harms only what he sees himself. */
export function checkOf(text: string, length = text.length): string {
  if (length === 0) return noText;
  let hash = 0x811c9dc5;
  for (let index = 0; index < length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return (hash >>> 0).toString(36);
}

export function writeNumber({ seq, characters, check }: Position): string {
  return `${seq}:${characters}:${check}`;
}

const form = /^(\d{1,15})(?::(\d{1,15}):([0-9a-z]{1,7}))?$/;

/** Throws CONFIG_INVALID. */
export function readNumber(text: unknown): Position {
  if (text === undefined) return start;
  const found = typeof text === 'string' ? form.exec(text) : null;
  if (found === null)
    return invalid('`after` is no number of an event. Give the `number` of the last event that was seen, or leave it out.');
  const [, seq = '0', characters = '0', check = noText] = found;
  return { seq: Number(seq), characters: Number(characters), check };
}
