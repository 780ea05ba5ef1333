import type { GuardloopError } from '../errors.js';
import type { ModelEvent, Usage } from '../model/types.js';
import { Attempts } from './attempts.js';
import type { CallState, ProviderWords } from './failure.js';
import { aborted, protocolFailure, requestFailure, streamCut } from './failure.js';
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

/** Sends the request of one answer, with the SDK's retries if it has any. Rejects with what the SDK throws, or with a `GuardloopError`. */
export type Send = (signal: AbortSignal, attempts: Attempts) => Promise<Response>;

/** What an {@link HttpCall} must know. */
export interface HttpCallOptions {
  readonly words: ProviderWords;
  readonly model: string;
  readonly signal: AbortSignal;
  /** Longest single event of a stream, in characters. */
  readonly maxEventChars: number;
  /** More for the details of an error: what was used before it, and what the request asked for. Asked only when a call fails. */
  readonly more?: (() => { readonly usage?: Usage | undefined; readonly demands?: readonly string[] | undefined }) | undefined;
}

/** How long the rest of a body whose answer is done may take, so that its connection can be used again. */
const drainMs = 250;

/**
 * One model call over HTTP: one answer, or several requests one after another where a provider pauses. The caller's signal holds one
 * listener while a request lasts; the SDK gets a signal of our own, because it leaves its listener on the one that it is given.
 */
export class HttpCall {
  readonly #options: HttpCallOptions;
  readonly #attempts = new Attempts();
  #assembly: FrameSink | undefined;
  #sent = 0;
  #hasDelivered = false;
  #isRefused = false;
  #requestId: string | undefined;

  constructor(options: HttpCallOptions) {
    this.#options = options;
  }

  /** Requests made, attempts that failed included; where the client does not tell of its attempts, as many as answers were asked for. */
  get requests(): number {
    return Math.max(this.#sent, this.#attempts.count);
  }

  /** True once the provider's filter refused the request instead of answering: `end` was given out, and there is nothing to finish. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  /** Where the call stands, for the details of an error. */
  state(): CallState {
    return {
      model: this.#options.model,
      attempts: this.#attempts.count === 0 ? undefined : this.#attempts.count,
      delivered: this.#hasDelivered || this.#assembly?.hasDelivered === true,
      requestId: this.#requestId,
      ...this.#options.more?.(),
    };
  }

  /** The error for a breach of the protocol. `what` is a sentence without its full stop. */
  protocolError(what: string, isRetryable = false): GuardloopError {
    return protocolFailure(what, this.#options.words, { ...this.state(), isRetryable });
  }

  /** A whole answer: its events, and those of `finish`. */
  async *stream(send: Send, assembly: AnswerAssembly): AsyncGenerator<ModelEvent, void, undefined> {
    // Not `yield* batch`: delegation costs an async generator three turns of the event loop for each event.
    for await (const batch of this.answer(send, assembly)) for (const event of batch) yield event;
    if (!this.#isRefused) for (const event of assembly.finish(this.requests)) yield event;
  }

  /**
   * Sends one request and feeds its answer to the assembly, up to where the answer is done or the body ends. Gives out the events of each
   * chunk together; `finish` is left to the caller.
   */
  async *answer(send: Send, assembly: FrameSink): AsyncGenerator<readonly ModelEvent[], void, undefined> {
    this.#hasDelivered ||= this.#assembly?.hasDelivered === true;
    this.#assembly = assembly;
    const exchange = new Exchange(this.#options.signal);
    try {
      if (exchange.isAborted) throw this.#aborted();
      const response = yield* this.#head(send, exchange);
      if (response === undefined) return;
      const reader = exchange.open(response);
      if (reader === undefined) throw this.protocolError('The answer has no body', true);
      const isJson = /\bjson\b/i.test(response.headers.get('content-type') ?? '');
      const frames = isJson ? new WholeBody(this.#options.maxEventChars) : new SseReader(this.#options.maxEventChars);
      while (!exchange.isRead && !assembly.isDone) {
        const bytes = await this.#next(exchange, assembly);
        const { events, failure } = take(bytes === undefined ? () => frames.end().filter(isWhole) : () => frames.push(bytes), assembly);
        if (events.length > 0) yield events;
        if (failure instanceof SseTooLong) throw this.protocolError(failure.message.replace(/\.$/, ''));
        if (failure !== undefined) throw failure;
        if (frames.isTooLong) throw this.protocolError(`An event of the stream is longer than ${this.#options.maxEventChars} characters`);
      }
    } finally {
      exchange.close(assembly.isDone);
    }
  }

  /** Waits for the head of the answer and tells of retries. Answers with nothing where the provider's filter refused the request. */
  async *#head(send: Send, exchange: Exchange): AsyncGenerator<readonly ModelEvent[], Response | undefined, undefined> {
    const { words } = this.#options;
    this.#sent += 1;
    this.#attempts.newRequest();
    const settled = exchange.race(send(exchange.signal, this.#attempts));
    for (;;) {
      const outcome = await Promise.race([settled, this.#attempts.retried()]);
      const retries = this.#attempts.takeRetries();
      if (retries.length > 0) yield retries;
      if (outcome === undefined) continue;
      if (exchange.isAborted) throw this.#aborted();
      if ('response' in outcome) {
        this.#requestId = outcome.response.headers.get(words.requestIdHeader) ?? undefined;
        return outcome.response;
      }
      if (words.isRefusal?.(outcome.error) !== true) throw requestFailure(outcome.error, words, this.state());
      this.#isRefused = true;
      yield [{ type: 'end', stopReason: 'refusal', usage: { requests: this.requests }, detail: 'content filter' }];
      return undefined;
    }
  }

  /** The next bytes; undefined at the end of the body, and where it broke after the answer was whole. */
  async #next(exchange: Exchange, assembly: FrameSink): Promise<Uint8Array | undefined> {
    try {
      const bytes = await exchange.read();
      if (exchange.isAborted) throw this.#aborted();
      return bytes;
    } catch (error) {
      if (exchange.isAborted) throw this.#aborted();
      if (assembly.isTerminal) return undefined;
      throw streamCut(error, this.#options.words, this.state());
    }
  }

  #aborted(): GuardloopError {
    return aborted(this.#options.words, this.state());
  }
}

/** One request and its answer: the signal that they end by, and the body while it is read. */
class Exchange {
  /** The body has ended, or broke. */
  isRead = false;
  readonly #outer: AbortSignal;
  readonly #controller = new AbortController();
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #onAborted: (() => void) | undefined;

  constructor(outer: AbortSignal) {
    this.#outer = outer;
    if (!outer.aborted) outer.addEventListener('abort', this.#abort, { once: true });
  }

  readonly #abort = (): void => {
    this.#onAborted?.();
    this.#controller.abort();
    void this.#reader?.cancel().catch(() => undefined);
  };

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isAborted(): boolean {
    return this.#outer.aborted;
  }

  /** Never rejects. Settles at an abort whatever `fetch` does, and gives up the answer that comes too late. */
  race(sent: Promise<Response>): Promise<{ readonly response: Response } | { readonly error: unknown }> {
    return new Promise((resolve) => {
      this.#onAborted = () => resolve({ error: undefined });
      sent.then(
        (response) => {
          if (this.isAborted) void response.body?.cancel().catch(() => undefined);
          resolve({ response });
        },
        (error: unknown) => resolve({ error }),
      );
    });
  }

  open(response: Response): ReadableStreamDefaultReader<Uint8Array> | undefined {
    this.#reader = response.body?.getReader();
    return this.#reader;
  }

  async read(): Promise<Uint8Array | undefined> {
    try {
      const { value, done } = (await this.#reader?.read()) ?? { done: true, value: undefined };
      this.isRead = done;
      return value;
    } catch (error) {
      this.isRead = true;
      throw error;
    }
  }

  /**
   * Lets go of signal and connection. The body of an answer that is done is read to its end for a moment, so that its connection can be
   * used again; of any other the connection is cut at once.
   */
  close(isDone: boolean): void {
    this.#outer.removeEventListener('abort', this.#abort);
    if (this.isRead) return;
    if (isDone && this.#reader !== undefined) void drain(this.#reader, this.#controller);
    else this.#abort();
  }
}

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

/** What came before a failure in the same chunk counts, as it would have if it had come in a chunk of its own. */
function take(
  read: () => readonly SseFrame[],
  assembly: FrameSink,
): { readonly events: readonly ModelEvent[]; readonly failure?: unknown } {
  const events: ModelEvent[] = [];
  try {
    for (const frame of read()) {
      for (const event of assembly.push(frame)) events.push(event);
      if (assembly.isDone) break;
    }
  } catch (failure) {
    return { events, failure };
  }
  return { events };
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
