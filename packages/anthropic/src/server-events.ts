/** What one server-sent event carried. */
export interface ServerEvent {
  /** Its `event:` field, if it had one. */
  readonly name: string | undefined;
  readonly data: string;
}

/** More than this in one event is no answer of a model. */
const mostCharacters = 32 * 1024 * 1024;

/** Thrown when one event grows beyond every bound. */
export class OversizedEvent extends Error {}

/**
 * Decodes server-sent events. Which events come out depends on the bytes alone, not on how they were cut: lines end in LF, CR or CRLF,
 * characters may be split, comments and blank events are passed over, and a last event counts without the blank line after it.
 */
export class ServerEventDecoder {
  readonly #decoder = new TextDecoder();
  #pending = '';
  #skipsLineFeed = false;
  #name: string | undefined;
  #data: string[] = [];
  #size = 0;

  push(bytes: Uint8Array): ServerEvent[] {
    return this.#read(this.#decoder.decode(bytes, { stream: true }));
  }

  end(): ServerEvent[] {
    return [...this.#read(`${this.#decoder.decode()}\n`), ...this.#read('\n')];
  }

  #read(text: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    let start = this.#skipsLineFeed && text.startsWith('\n') ? 1 : 0;
    if (text !== '') this.#skipsLineFeed = false;
    const ends = /\r\n|\r|\n/g;
    ends.lastIndex = start;
    for (let end = ends.exec(text); end !== null; end = ends.exec(text)) {
      const line = this.#pending + text.slice(start, end.index);
      this.#pending = '';
      start = ends.lastIndex;
      this.#skipsLineFeed = end[0] === '\r' && start === text.length;
      const event = this.#line(line);
      if (event !== undefined) events.push(event);
    }
    this.#pending += text.slice(start);
    if (this.#pending.length + this.#size > mostCharacters) throw new OversizedEvent();
    return events;
  }

  #line(line: string): ServerEvent | undefined {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'event') this.#name = value;
    if (field === 'data') {
      this.#data.push(value);
      this.#size += value.length;
    }
    return undefined;
  }

  #dispatch(): ServerEvent | undefined {
    const event = { name: this.#name, data: this.#data.join('\n') };
    this.#name = undefined;
    this.#data = [];
    this.#size = 0;
    return event.data === '' ? undefined : event;
  }
}
