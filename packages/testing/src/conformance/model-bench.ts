import type { Model } from '@guardloop/core/model';

/** A call as the fake provider makes it. */
export interface BenchCall {
  readonly id: string;
  readonly name: string;
  /** The text of the arguments, as the provider streams it; need not be JSON. */
  readonly arguments: string;
}

/** What the fake provider does with one request, in the words of no provider. */
export type BenchReply =
  /** A whole answer that streams: `text` piece by piece, then `calls`. 12 tokens in, 5 out. */
  | { readonly type: 'answer'; readonly text?: readonly string[] | undefined; readonly calls?: readonly BenchCall[] | undefined }
  /** The answer is cut by the token limit after this text. */
  | { readonly type: 'length'; readonly text: string }
  /** The provider, or its content filter, refuses. */
  | { readonly type: 'refusal' }
  /** An error status, before any stream, with a body that holds `secret`; `retryAfter` in seconds as the header. */
  | { readonly type: 'status'; readonly status: number; readonly secret: string; readonly retryAfter?: number | undefined }
  /** The stream begins with this text and then ends as if it were whole, without its terminal event. */
  | { readonly type: 'unfinished'; readonly text: string }
  /** The stream begins with this text, and the connection breaks. */
  | { readonly type: 'broken'; readonly text: string }
  /** A stream without any event. */
  | { readonly type: 'empty' }
  /** The stream begins with this text, and nothing follows until the client leaves. */
  | { readonly type: 'hang'; readonly text: string };

/**
 * An adapter's model, and the fake provider it talks to over HTTP on 127.0.0.1. One is made for each test, and closed after it.
 */
export interface ModelBench {
  /** Makes no further attempts of its own. */
  readonly model: Model;
  /** Adds to what the provider does with the next requests, in order. */
  reply(...replies: readonly BenchReply[]): void;
  /** Bodies of the requests so far, parsed. */
  readonly requests: readonly unknown[];
  /** How many connections the client closed before their answer was whole. */
  readonly left: number;
  /** Every breach of the provider's grammar in a request body: the strict checker of the provider. */
  check(body: unknown): readonly string[];
  close(): Promise<void>;
}
