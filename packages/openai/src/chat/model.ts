import type { Model, ModelEvent, ModelRequest } from '@guardloop/core/model';
import type OpenAI from 'openai';
import { Attempts, countedBy, lazyClient } from '../client.js';
import type { Failing } from '../failure.js';
import { aborted, frameFailure, isContentFilter, protocolFailure, requestFailure, streamCut } from '../failure.js';
import { SseReader, SseTooLong } from '../wire/sse.js';
import { ChatAssembly } from './assembly.js';
import type { ChatOptions, Dialect } from './options.js';
import { checkChatOptions, dialectOf, mergeSettings } from './options.js';
import type { PreparedRequest } from './request.js';
import { RequestMaker } from './request.js';
import { chatProvider } from './transcript.js';

const defaultMaxEventChars = 8 * 1024 * 1024;
/** How long the rest of a body that has said `[DONE]` may take, so that its connection can be used again. */
const drainMs = 250;

/**
 * A model behind the Chat Completions API of OpenAI, or of a server that imitates it.
 *
 * Nothing is read from the environment and no client is made before the first call. Throws `CONFIG_INVALID` at once for options that no
 * request could be made with (an empty `baseURL`, for example); a missing key is reported by the first call.
 *
 * @param modelId for example `gpt-5`
 */
export function openai(modelId: string, options: ChatOptions = {}): Model {
  checkChatOptions(modelId, options);
  return new ChatModel(modelId, options);
}

class ChatModel implements Model {
  readonly id: string;
  readonly provider = chatProvider;
  readonly #options: ChatOptions;
  readonly #dialect: Dialect;
  readonly #client: () => OpenAI;
  readonly #requests: RequestMaker;

  constructor(id: string, options: ChatOptions) {
    this.id = id;
    this.#options = options;
    this.#dialect = dialectOf(options);
    this.#client = lazyClient(options, id);
    this.#requests = new RequestMaker(id, this.#dialect);
  }

  async *stream(request: ModelRequest, { signal }: { readonly signal: AbortSignal }): AsyncGenerator<ModelEvent, void, undefined> {
    const prepared = this.#requests.make(request, mergeSettings(this.#options.settings, request.settings));
    const client = this.#client();
    const call = new ChatCall(this.id, signal);
    const assembly = this.#assembly(prepared, call);
    try {
      const response = yield* call.send(client, prepared);
      if (response === undefined) return;
      yield* call.read(response, assembly, this.#options.maxEventChars ?? defaultMaxEventChars);
      yield* assembly.finish(call.requests);
    } finally {
      call.close(assembly.isDone);
    }
  }

  #assembly({ names, maxTokens }: PreparedRequest, call: ChatCall): ChatAssembly {
    const assembly: ChatAssembly = new ChatAssembly({
      names,
      maxTokens,
      replayReasoning: this.#dialect.replayReasoning,
      prices: this.#options.prices,
      protocolError: (what, isRetryable) => protocolFailure(what, { ...call.failing(assembly.hasDelivered), isRetryable }),
      providerError: (error) => frameFailure(error, call.failing(assembly.hasDelivered)),
    });
    return assembly;
  }
}

/**
 * One call over HTTP. It has its own abort controller, because the SDK leaves its listener on the signal that it is given; the caller's
 * signal holds one listener while the call lasts.
 */
class ChatCall {
  readonly #model: string;
  readonly #signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #attempts = new Attempts();
  readonly #onAbort = (): void => {
    this.#rejectAborted?.();
    this.#controller.abort();
    void this.#reader?.cancel().catch(() => undefined);
  };
  #rejectAborted: (() => void) | undefined;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #requestId: string | undefined;
  #isRead = false;

  constructor(model: string, signal: AbortSignal) {
    this.#model = model;
    this.#signal = signal;
    if (signal.aborted) throw aborted(this.failing(false));
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Requests made; 1 where the client does not tell. */
  get requests(): number {
    return Math.max(1, this.#attempts.count);
  }

  failing(delivered: boolean): Failing & { readonly requestId: string | undefined } {
    const attempts = this.#attempts.count === 0 ? undefined : this.#attempts.count;
    return { provider: chatProvider, model: this.#model, attempts, delivered, requestId: this.#requestId };
  }

  /** Sends the request and waits for the head of the answer. Answers with nothing where the provider's filter refused the request. */
  async *send(client: OpenAI, { body }: PreparedRequest): AsyncGenerator<ModelEvent, Response | undefined, undefined> {
    const abort = new Promise<never>((_resolve, reject) => {
      this.#rejectAborted = () => reject(aborted(this.failing(false)));
    });
    const sent = client.chat.completions
      .create(body, { signal: this.#controller.signal, fetchOptions: countedBy(this.#attempts) as object })
      .asResponse();
    const settled = Promise.race([sent, abort]).then(
      (response) => ({ response }),
      (error: unknown) => ({ error }),
    );
    for (;;) {
      const outcome = await Promise.race([settled, this.#attempts.retried()]);
      for (const retry of this.#attempts.takeRetries()) yield { type: 'retry', ...retry };
      if (outcome === undefined) continue;
      if ('response' in outcome) {
        this.#requestId = outcome.response.headers.get('x-request-id') ?? undefined;
        return outcome.response;
      }
      if (this.#signal.aborted) throw aborted(this.failing(false));
      if (!isContentFilter(outcome.error)) throw requestFailure(outcome.error, this.failing(false));
      yield {
        type: 'end',
        stopReason: 'refusal',
        usage: { requests: this.requests, inputTokens: 0, outputTokens: 0 },
        detail: 'content filter',
      };
      return undefined;
    }
  }

  /** Feeds the body to the assembly until the answer is done or the body ends. */
  async *read(response: Response, assembly: ChatAssembly, maxEventChars: number): AsyncGenerator<ModelEvent, void, undefined> {
    const reader = response.body?.getReader();
    if (reader === undefined) throw protocolFailure('The answer has no body', { ...this.failing(false), isRetryable: true });
    this.#reader = reader;
    try {
      const isJson = /\bjson\b/i.test(response.headers.get('content-type') ?? '');
      yield* isJson ? this.#readWhole(reader, assembly, maxEventChars) : this.#readStream(reader, assembly, maxEventChars);
    } catch (error) {
      if (!(error instanceof SseTooLong)) throw error;
      throw protocolFailure(error.message, this.failing(assembly.hasDelivered));
    }
  }

  async *#readStream(
    reader: ReadableStreamDefaultReader<Uint8Array>,
    assembly: ChatAssembly,
    maxEventChars: number,
  ): AsyncGenerator<ModelEvent> {
    const frames = new SseReader(maxEventChars);
    while (!assembly.isDone) {
      const bytes = await this.#next(reader, assembly);
      for (const frame of bytes === undefined ? frames.end() : frames.push(bytes)) yield* assembly.push(frame);
      if (bytes === undefined) return;
    }
  }

  /** A server that ignores `stream` answers with one JSON object. */
  async *#readWhole(reader: ReadableStreamDefaultReader<Uint8Array>, assembly: ChatAssembly, maxChars: number): AsyncGenerator<ModelEvent> {
    const decoder = new TextDecoder();
    let text = '';
    for (let bytes = await this.#next(reader, assembly); bytes !== undefined; bytes = await this.#next(reader, assembly)) {
      text += decoder.decode(bytes, { stream: true });
      if (text.length > maxChars) throw new SseTooLong(`The answer is longer than ${maxChars} characters.`);
    }
    yield* assembly.push({ event: '', data: text + decoder.decode() });
    assembly.isDone = true;
  }

  /** The next bytes; undefined at the end of the body, and where it broke after the answer was whole. */
  async #next(reader: ReadableStreamDefaultReader<Uint8Array>, assembly: ChatAssembly): Promise<Uint8Array | undefined> {
    try {
      const { value, done } = await reader.read();
      if (this.#signal.aborted) throw aborted(this.failing(assembly.hasDelivered));
      this.#isRead = done;
      return done ? undefined : value;
    } catch (error) {
      if (this.#signal.aborted) throw aborted(this.failing(assembly.hasDelivered));
      this.#isRead = true;
      if (assembly.isTerminal) return undefined;
      throw streamCut(error, this.failing(assembly.hasDelivered));
    }
  }

  /**
   * Lets go of signal and connection. The body of an answer that is done is read to its end for a moment, so that its connection can be
   * used again; of any other the connection is cut at once.
   */
  close(isDone: boolean): void {
    this.#signal.removeEventListener('abort', this.#onAbort);
    if (this.#isRead) return;
    if (isDone && this.#reader !== undefined) void drain(this.#reader, this.#controller);
    else this.#controller.abort();
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
