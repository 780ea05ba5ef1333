import type { ByteServer } from './byte-server.js';
import { checkRequest } from './model-server.js';
import type { Place } from './sides.js';
import type { Dialect, WireRequest } from './wire-request.js';
import { wireRequest } from './wire-request.js';

/** A place that answers with these streams, one after another; the strict checker of the dialect looks at each request. */
export class SpokenPlace implements Place {
  readonly url: string;
  readonly requests: WireRequest[] = [];
  readonly problems: string[] = [];
  readonly #dialect: Dialect;

  constructor(server: ByteServer, dialect: Dialect, streams: readonly string[]) {
    this.#dialect = dialect;
    this.url = server.place((response) => void response.end(streams[this.requests.length - 1] ?? '')).url;
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const body: unknown = JSON.parse(String(init?.body));
    this.requests.push(wireRequest(this.#dialect, body));
    this.problems.push(...checkRequest(this.#dialect, body, new Headers(init?.headers)));
    return fetch(input, init);
  };
}
