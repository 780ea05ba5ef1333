import { GuardloopError } from '../errors.js';
import { withFailureDetails } from '../model/failures.js';
import type { ModelEvent, Usage } from '../model/types.js';
import { Attempts } from './attempts.js';
import type { CallState, ProviderWords } from './failure.js';
import { aborted, protocolFailure, requestFailure, streamCut } from './failure.js';
import { isTooDeep } from './json-depth.js';
import type { SseFrame } from './sse.js';
import { SseReader, SseTooLong } from './sse.js';

/** Takes the frames of one answer. */
export interface FrameSink {
  /** True once the provider has said that nothing follows. */
  readonly isDone: boolean;
  /** True once the answer is whole, though more may follow: a connection that breaks then has lost nothing. */
  readonly isTerminal: boolean;
  /** True once text or reasoning was given out. */
  readonly hasDelivered: boolean;
  /** The events of one frame. Throws what the provider reports as an error, and what breaks the protocol. */
  push(frame: SseFrame): Iterable<ModelEvent>;
}

/** Puts one answer together from the frames of its stream. */
export interface AnswerAssembly extends FrameSink {
  /** The last events: the calls, then `end`. Throws if the answer is not whole. */
  finish(requests: number): readonly ModelEvent[];
}

/**
 * Sends the request of one answer, with the SDK's retries if it has any. Rejects with what the SDK throws, or with a `GuardloopError`. The
 * controller is that of the signal, for whoever keeps a time limit himself.
 */
export type Send = (signal: AbortSignal, attempts: Attempts, controller: AbortController) => Promise<Response>;

/** One request of a call, and who takes its answer. */
export interface Asking {
  readonly send: Send;
  readonly sink: FrameSink;
  /** Given out before anything else: what of the request was dropped or changed. */
  readonly warnings?: readonly ModelEvent[] | undefined;
}

/** What an {@link HttpCall} must know. */
export interface HttpCallOptions {
  readonly words: ProviderWords;
  readonly model: string;
  readonly signal: AbortSignal;
  /** Longest single event of a stream, in characters. */
  readonly maxEventChars: number;
  /** Called when the head of an answer has come. */
  readonly onConnect?: (() => void) | undefined;
  /** More for the details of an error: what was used before it, and what the request asked for. Asked only when a call fails. */
  readonly more?: (() => { readonly usage?: Usage | undefined; readonly demands?: readonly string[] | undefined }) | undefined;
}

/** How long the rest of a body whose answer is done may take, so that its connection can be used again. */
const drainMs = 250;

type Answered = IteratorResult<ModelEvent, undefined>;

/**
 * One model call over HTTP: one answer, or several requests one after another where a provider pauses. The caller's signal holds one
 * listener while a request lasts; the SDK gets a signal of our own, because it leaves its listener on the one that it is given.
 *
 * It is an iterator by hand: of the time that a delta takes, a chain of async generators would be the largest part.
 */
export class HttpCall implements AsyncIterableIterator<ModelEvent> {
  readonly #options: HttpCallOptions;
  readonly #attempts = new Attempts();
  #open: (() => Asking) | undefined;
  #after: (() => Asking | readonly ModelEvent[]) | undefined;
  #exchange: Exchange | undefined;
  #sink: FrameSink | undefined;
  #frames: AnyBody | undefined;
  #ready: readonly ModelEvent[] = [];
  #given = 0;
  /** Thrown once what came before it is given out. */
  #failure: { readonly error: unknown } | undefined;
  #filling: Promise<Answered> | undefined;
  #isFilling = false;
  #isOver = false;
  #sent = 0;
  #hasDelivered = false;
  #requestId: string | undefined;

  constructor(options: HttpCallOptions) {
    this.#options = options;
  }

  /** Requests made, attempts that failed included; where the client does not tell of its attempts, as many as answers were asked for. */
  get requests(): number {
    return Math.max(this.#sent, this.#attempts.count);
  }

  /** Where the call stands, for the details of an error. */
  state(): CallState {
    return {
      model: this.#options.model,
      attempts: this.#attempts.count === 0 ? undefined : this.#attempts.count,
      delivered: this.#hasDelivered || this.#sink?.hasDelivered === true,
      requestId: this.#requestId,
      ...this.#options.more?.(),
    };
  }

  /** The error for a breach of the protocol. `what` is a sentence without its full stop. */
  protocolError(what: string, isRetryable = false): GuardloopError {
    return protocolFailure(what, this.#options.words, { ...this.state(), isRetryable });
  }

  /**
   * The events of the call. `open` is called when the first is asked for; `after` each time that an answer is done or its body has ended,
   * and gives the last events, or another request. What they throw is what the call fails with.
   */
  run(open: () => Asking, after: () => Asking | readonly ModelEvent[]): AsyncIterableIterator<ModelEvent> {
    this.#open = open;
    this.#after = after;
    return this;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Answered> {
    if (this.#filling !== undefined) return this.#filling.then(() => this.next());
    const value = this.#ready[this.#given];
    if (value !== undefined) {
      this.#given += 1;
      return Promise.resolve({ done: false, value });
    }
    if (this.#isOver && this.#failure === undefined) return Promise.resolve({ done: true, value: undefined });
    this.#isFilling = true;
    const filling = this.#fill();
    // It may have come to its end already.
    if (this.#isFilling) this.#filling = filling;
    return filling;
  }

  return(): Promise<Answered> {
    this.#isOver = true;
    this.#ready = [];
    this.#failure = undefined;
    this.#close();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Works until there is something to give out. */
  async #fill(): Promise<Answered> {
    try {
      this.#ready = [];
      this.#given = 1;
      while (this.#ready.length === 0) {
        if (this.#failure !== undefined) throw this.#failure.error;
        if (this.#isOver) return { done: true, value: undefined };
        if (this.#exchange === undefined) this.#goOn();
        else if (this.#frames === undefined) await this.#awaitHead(this.#exchange);
        else await this.#read(this.#exchange);
      }
      return { done: false, value: this.#ready[0] as ModelEvent };
    } catch (error) {
      const isLeft = this.#isOver && this.#failure === undefined;
      this.#isOver = true;
      this.#failure = undefined;
      this.#close();
      if (isLeft) return { done: true, value: undefined };
      throw error;
    } finally {
      this.#isFilling = false;
      this.#filling = undefined;
    }
  }

  /** The first request, another one, or the end. */
  #goOn(): void {
    const { signal } = this.#options;
    if (signal.aborted) throw this.#aborted();
    const open = this.#open;
    this.#open = undefined;
    const next = open === undefined ? (this.#after?.() ?? []) : opened(open);
    if (!('send' in next)) {
      this.#isOver = true;
      this.#ready = next;
      return;
    }
    this.#hasDelivered ||= this.#sink?.hasDelivered === true;
    this.#sink = next.sink;
    this.#frames = undefined;
    this.#sent += 1;
    this.#attempts.newRequest();
    this.#exchange = new Exchange(signal, next.send, this.#attempts);
    if (next.warnings !== undefined) this.#ready = next.warnings;
  }

  /** Waits for the head of the answer, and tells of retries. */
  async #awaitHead(exchange: Exchange): Promise<void> {
    const { words, maxEventChars } = this.#options;
    const outcome = await Promise.race([exchange.head, this.#attempts.retried()]);
    if (this.#isOver) return;
    this.#ready = this.#attempts.takeRetries();
    if (outcome === undefined) return;
    if (exchange.isAborted) throw this.#aborted();
    if ('error' in outcome) {
      if (words.isRefusal?.(outcome.error) !== true) throw requestFailure(outcome.error, words, this.state());
      this.#isOver = true;
      this.#close();
      this.#ready = [...this.#ready, { type: 'end', stopReason: 'refusal', usage: { requests: this.requests }, detail: 'content filter' }];
      return;
    }
    const { headers } = outcome.response;
    this.#requestId = headers.get(words.requestIdHeader) ?? undefined;
    this.#options.onConnect?.();
    if (!exchange.read(outcome.response)) throw this.protocolError('The answer has no body', true);
    this.#frames = new AnyBody(maxEventChars);
  }

  /** Feeds the next chunk to the sink. An answer that is done, and a body that has ended, leave no exchange. */
  async #read(exchange: Exchange): Promise<void> {
    let bytes: Uint8Array | undefined;
    try {
      bytes = await exchange.next();
    } catch (error) {
      if (exchange.isAborted) throw this.#aborted();
      if (this.#sink?.isTerminal !== true) throw streamCut(error, this.#options.words, this.state());
    }
    if (this.#isOver) return;
    if (exchange.isAborted) throw this.#aborted();
    this.#take(bytes);
    if (bytes === undefined || this.#sink?.isDone === true) this.#close();
  }

  /** What came before a failure in the same chunk counts, as it would have if it had come in a chunk of its own. */
  #take(bytes: Uint8Array | undefined): void {
    const frames = this.#frames;
    const sink = this.#sink;
    if (frames === undefined || sink === undefined) return;
    const events: ModelEvent[] = [];
    this.#ready = events;
    try {
      for (const frame of bytes === undefined ? frames.end().filter(isWhole) : frames.push(bytes)) {
        if (isTooDeep(frame.data)) throw this.protocolError('The answer holds JSON that is nested too deep');
        for (const event of sink.push(frame)) events.push(event);
        if (sink.isDone) return;
      }
      if (frames.isTooLong) frames.push(noBytes);
    } catch (error) {
      this.#failure = { error: error instanceof SseTooLong ? this.protocolError(error.message.replace(/\.$/, '')) : error };
    }
  }

  #close(): void {
    this.#exchange?.close(this.#sink?.isDone === true);
    this.#exchange = undefined;
  }

  #aborted(): GuardloopError {
    return aborted(this.#options.words, this.state());
  }
}

/** A request that could not be made was none. */
function opened(open: () => Asking): Asking {
  try {
    return open();
  } catch (error) {
    throw GuardloopError.is(error) ? withFailureDetails(error, { usage: { requests: 0 } }) : error;
  }
}

const noBytes = new Uint8Array();

type Head = { readonly response: Response } | { readonly error: unknown };

/** One request and its answer: the signal that they end by, and the body while it is read. */
class Exchange {
  /** Never rejects. Settles at an abort whatever `fetch` does. */
  readonly head: Promise<Head>;
  readonly #outer: AbortSignal;
  readonly #controller = new AbortController();
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #settle: (head: Head) => void = () => undefined;
  #isRead = false;
  #isClosed = false;

  constructor(outer: AbortSignal, send: Send, attempts: Attempts) {
    this.#outer = outer;
    outer.addEventListener('abort', this.#abort, { once: true });
    this.head = new Promise((resolve) => {
      this.#settle = resolve;
    });
    try {
      send(this.#controller.signal, attempts, this.#controller).then(
        (response) => this.#answered(response),
        (error: unknown) => this.#settle({ error }),
      );
    } catch (error) {
      this.#settle({ error });
    }
  }

  get isAborted(): boolean {
    return this.#outer.aborted;
  }

  /** False where the answer has no body. */
  read(response: Response): boolean {
    this.#reader = response.body?.getReader();
    return this.#reader !== undefined;
  }

  /** The next bytes; undefined at the end of the body. */
  async next(): Promise<Uint8Array | undefined> {
    if (this.#reader === undefined) return undefined;
    try {
      const { value, done } = await this.#reader.read();
      this.#isRead = done;
      return value;
    } catch (error) {
      this.#isRead = true;
      throw error;
    }
  }

  /**
   * Lets go of signal and connection. The body of an answer that is done is read to its end for a moment, so that its connection can be
   * used again; of any other the connection is cut at once.
   */
  close(isDone: boolean): void {
    this.#isClosed = true;
    this.#outer.removeEventListener('abort', this.#abort);
    if (this.#isRead) return;
    if (isDone && this.#reader !== undefined) void drain(this.#reader, this.#controller);
    else this.#abort();
  }

  /** An answer that comes too late is given up. */
  #answered(response: Response): void {
    if (this.#isClosed || this.#outer.aborted) void response.body?.cancel().catch(() => undefined);
    this.#settle({ response });
  }

  readonly #abort = (): void => {
    this.#settle({ error: undefined });
    this.#controller.abort();
    void this.#reader?.cancel().catch(() => undefined);
  };
}

/**
 * The frames of a body, whatever its content type says: one that begins as JSON does is a whole answer, any other is a stream. White space
 * and a byte order mark before that mean nothing.
 */
class AnyBody {
  readonly #maxChars: number;
  #found: SseReader | WholeBody | undefined;

  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  get isTooLong(): boolean {
    return this.#found?.isTooLong === true;
  }

  push(bytes: Uint8Array): readonly SseFrame[] {
    if (this.#found !== undefined) return this.#found.push(bytes);
    const begin = bytes.findIndex((byte) => !emptyBytes.has(byte));
    const first = bytes[begin];
    if (first === undefined) return [];
    this.#found = jsonBytes.has(first) ? new WholeBody(this.#maxChars) : new SseReader(this.#maxChars);
    return this.#found.push(bytes.subarray(begin));
  }

  end(): readonly SseFrame[] {
    return this.#found?.end() ?? [];
  }
}

const emptyBytes: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0d, 0x20, 0xef, 0xbb, 0xbf]);
/** `{` and `[`. */
const jsonBytes: ReadonlySet<number> = new Set([0x7b, 0x5b]);

/** A server that ignores `stream` answers with one JSON object: one frame, and the word that nothing follows. */
class WholeBody {
  readonly #decoder = new TextDecoder();
  readonly #maxChars: number;
  readonly isTooLong = false;
  #text = '';

  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  push(bytes: Uint8Array): readonly SseFrame[] {
    this.#text += this.#decoder.decode(bytes, { stream: true });
    if (this.#text.length > this.#maxChars) throw new SseTooLong(`The answer is longer than ${this.#maxChars} characters.`);
    return [];
  }

  end(): readonly SseFrame[] {
    return [this.#text + this.#decoder.decode(), '[DONE]'].map((data) => ({ event: '', data }));
  }
}

/** A stream that ends in the middle of an event has just ended too early. */
function isWhole({ data }: SseFrame): boolean {
  if (data.trim() === '[DONE]') return true;
  try {
    JSON.parse(data);
    return true;
  } catch {
    return false;
  }
}

async function drain(reader: ReadableStreamDefaultReader<Uint8Array>, controller: AbortController): Promise<void> {
  const timer = setTimeout(() => controller.abort(), drainMs);
  try {
    while (!(await reader.read()).done);
  } catch {
    // The answer is whole; how its connection ends does not matter.
  } finally {
    clearTimeout(timer);
  }
}
