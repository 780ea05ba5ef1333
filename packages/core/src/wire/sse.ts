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

const nothing: readonly SseFrame[] = [];

/**
 * Turns bytes into server-sent events. What comes out depends on the bytes alone, however they are cut: lines may end with LF, CR or
 * CRLF, characters may be split, a byte order mark may stand at the beginning, and the last event counts without its blank line. A line
 * `error: …` is an event of that name. Time is linear in the bytes, memory bounded by `maxChars` for one event and one chunk.
 */
export class SseReader {
  readonly #decoder = new TextDecoder();
  readonly #maxChars: number;
  #pending = '';
  #event = '';
  #data: string | undefined;
  #size = 0;
  #skipsLineFeed = false;
  #isTooLong = false;

  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  /** True once an event was too long. Nothing follows but the {@link SseTooLong} that the next call throws. */
  get isTooLong(): boolean {
    return this.#isTooLong;
  }

  /** The events that these bytes complete. Throws {@link SseTooLong} once the events before the one that is too long are given out. */
  push(bytes: Uint8Array): readonly SseFrame[] {
    return this.#read(this.#decoder.decode(bytes, { stream: true }));
  }

  /** What is complete once no more bytes will come. */
  end(): readonly SseFrame[] {
    return this.#read(`${this.#decoder.decode()}\n\n`);
  }

  #read(chunk: string): readonly SseFrame[] {
    if (this.#isTooLong) throw this.#tooLong();
    if (chunk === '') return nothing;
    let text = this.#skipsLineFeed && chunk.startsWith('\n') ? chunk.slice(1) : chunk;
    this.#skipsLineFeed = chunk.endsWith('\r');
    if (text.includes('\r')) text = text.replace(/\r\n?/g, '\n');
    const frames: SseFrame[] = [];
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1 && !this.#isTooLong; end = text.indexOf('\n', start)) {
      const frame = this.#takeLine(text.slice(start, end));
      if (frame !== undefined) frames.push(frame);
      start = end + 1;
    }
    this.#pending += text.slice(start);
    this.#grow(text.length - start);
    if (this.#isTooLong && frames.length === 0) throw this.#tooLong();
    return frames;
  }

  /** Takes the rest of a line; answers with the event that a blank line ends. */
  #takeLine(rest: string): SseFrame | undefined {
    this.#grow(rest.length);
    if (this.#isTooLong) return undefined;
    const line = this.#pending + rest;
    this.#pending = '';
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    else if (field === 'event') this.#event = value;
    else if (field === 'error') this.#takeError(value);
    else this.#size -= line.length;
    return undefined;
  }

  /** Not of the standard: older llama.cpp names its errors so (ggml-org/llama.cpp#16109). */
  #takeError(value: string): void {
    this.#event = 'error';
    this.#data = value;
  }

  #dispatch(): SseFrame | undefined {
    const frame = this.#data === undefined ? undefined : { event: this.#event, data: this.#data };
    this.#event = '';
    this.#data = undefined;
    this.#size = 0;
    return frame;
  }

  #grow(chars: number): void {
    this.#size += chars;
    if (this.#size > this.#maxChars) this.#isTooLong = true;
  }

  #tooLong(): SseTooLong {
    return new SseTooLong(`An event of the stream is longer than ${this.#maxChars} characters.`);
  }
}
