/** One server-sent event. */
export interface SseFrame {
  /** Empty where the server named none. */
  readonly event: string;
  /** All data lines, joined with a line feed. */
  readonly data: string;
}

/** Thrown when one event is longer than the reader holds. */
export class SseTooLong extends Error {
  override readonly name = 'SseTooLong';
}

const lineEnd = /\r\n|\r|\n/g;

/**
 * Turns bytes into server-sent events. What comes out depends on the bytes alone, however they are cut: lines may end with LF, CR or
 * CRLF, characters may be split, and the last event counts without its blank line. Time is linear in the bytes, memory bounded by
 * `maxChars` for one event and one chunk.
 */
export class SseReader {
  readonly #decoder = new TextDecoder();
  readonly #maxChars: number;
  #pending = '';
  #event = '';
  #data: string[] = [];
  #size = 0;
  #skipLineFeed = false;

  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  /** The events that these bytes complete; they must be drained before the next call. */
  *push(bytes: Uint8Array): Generator<SseFrame> {
    yield* this.#read(this.#decoder.decode(bytes, { stream: true }));
  }

  /** What is complete once no more bytes will come. */
  *end(): Generator<SseFrame> {
    yield* this.#read(this.#decoder.decode());
    if (this.#pending !== '') this.#takeLine('');
    yield* this.#dispatch();
  }

  *#read(chunk: string): Generator<SseFrame> {
    if (chunk === '') return;
    const text = this.#skipLineFeed && chunk.startsWith('\n') ? chunk.slice(1) : chunk;
    this.#skipLineFeed = chunk.endsWith('\r');
    let start = 0;
    for (const match of text.matchAll(lineEnd)) {
      const isBlank = this.#takeLine(text.slice(start, match.index));
      start = match.index + match[0].length;
      if (isBlank) yield* this.#dispatch();
    }
    this.#pending += text.slice(start);
    this.#grow(text.length - start);
  }

  /** Takes the rest of a line; true if the whole line is blank. */
  #takeLine(rest: string): boolean {
    const line = this.#pending + rest;
    this.#pending = '';
    this.#grow(rest.length);
    if (line === '') return true;
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') this.#data.push(value);
    else if (field === 'event') this.#event = value;
    else this.#size -= line.length;
    return false;
  }

  *#dispatch(): Generator<SseFrame> {
    const frame = { event: this.#event, data: this.#data.join('\n') };
    const isEmpty = this.#data.length === 0;
    this.#event = '';
    this.#data = [];
    this.#size = 0;
    if (!isEmpty) yield frame;
  }

  #grow(chars: number): void {
    this.#size += chars;
    if (this.#size > this.#maxChars) throw new SseTooLong(`An event of the stream is longer than ${this.#maxChars} characters.`);
  }
}
