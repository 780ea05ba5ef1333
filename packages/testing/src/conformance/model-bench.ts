import type { JsonObject, Model } from '@guardloop/core/model';

/** A call as the fake provider makes it. */
export interface BenchCall {
  readonly id: string;
  /** As it goes over the wire: one of {@link ModelBench.toolNames}, or a name that was not offered. */
  readonly name: string;
  /** The text of the arguments, as the provider streams it; need not be JSON. */
  readonly arguments: string;
}

/** What a fake provider says in one stream, in the words of no provider. */
export type BenchStream =
  /** A whole answer: `text` piece by piece, then `calls`. 12 tokens in, 5 out; `usage: false` leaves both out. */
  | {
      readonly type: 'answer';
      readonly text?: readonly string[] | undefined;
      readonly calls?: readonly BenchCall[] | undefined;
      readonly usage?: false | undefined;
    }
  /** The answer is cut by the token limit after this text and, if given, within the arguments of the last of these calls. */
  | { readonly type: 'length'; readonly text: string; readonly calls?: readonly BenchCall[] | undefined }
  /** The provider, or its content filter, refuses. */
  | { readonly type: 'refusal' }
  /** The beginning of an answer, up to behind this text; nothing that ends it. */
  | { readonly type: 'beginning'; readonly text: string };

/** What the fake provider does with one request. */
export type BenchReply =
  | Exclude<BenchStream, { type: 'beginning' }>
  /** An error status, before any stream, with a body that holds `secret`; `retryAfter` in seconds as the header. */
  | { readonly type: 'status'; readonly status: number; readonly secret: string; readonly retryAfter?: number | undefined }
  /** The stream begins with this text and then ends as if it were whole, without its terminal event. */
  | { readonly type: 'unfinished'; readonly text: string }
  /** The stream begins with this text, and the connection breaks. */
  | { readonly type: 'broken'; readonly text: string }
  /** Nothing at all: the request is taken, and not even the head of an answer comes until the client leaves. */
  | { readonly type: 'silent' }
  /** A stream without any event. */
  | { readonly type: 'empty' }
  /** The stream begins with this text, if there is any, and nothing follows until the client leaves. */
  | { readonly type: 'hang'; readonly text: string };

/** A request as the fake provider received it. */
export interface BenchRequest {
  /** Parsed. */
  readonly body: unknown;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * An adapter's model, and the fake provider it talks to over HTTP on 127.0.0.1. One is made for each test, and closed after it.
 * `httpBench` makes one of what is the provider's own.
 */
export interface ModelBench {
  /** Makes no further attempts of its own. */
  readonly model: Model;
  /** The same model, but one that makes up to two further attempts of its own. Left out by adapters that never do. */
  readonly retryingModel?: Model | undefined;
  /** False for an adapter that is given a client by its caller, and is not told of that client's attempts. */
  readonly countsAttempts?: boolean | undefined;
  /** Adds to what the provider does with the next requests, in order. */
  reply(...replies: readonly BenchReply[]): void;
  /** The requests so far. */
  readonly requests: readonly BenchRequest[];
  /** How many connections the client closed before their answer was whole. */
  readonly left: number;
  /** Every breach of the provider's grammar in a request: the strict checker of the provider. */
  check(request: BenchRequest): readonly string[];
  /** The names under which a request body offers its tools, in order. */
  toolNames(body: unknown): readonly string[];
  /** Fields of the provider's requests for which the contract has no setting, with values that it takes: they must pass through. */
  readonly extra?: JsonObject | undefined;
  /** May be called twice. */
  close(): Promise<void>;
}
