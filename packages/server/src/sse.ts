// Server-sent events over the web's own streams: pulled by the reader, so that a slow one slows nobody but itself.

/** One message. `data` is one line: JSON, or a word. */
export interface SseMessage {
  readonly event?: string | undefined;
  readonly id?: string | undefined;
  readonly data: string;
}
export interface SseOptions {
  readonly heartbeatMs: number;
  readonly maxMs: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Called once: the stream ended, broke or was left. */
  readonly onEnd: () => void;
}

const line = (name: string, value: string): string => `${name}: ${value.replaceAll(/[\r\n\0]/g, ' ')}\n`;
export const sseText = ({ event, id, data }: SseMessage): string =>
  `${event === undefined ? '' : line('event', event)}${id === undefined ? '' : line('id', id)}${line('data', data)}\n`;

/**
 * The messages as a response. `messages` is taken from only as fast as it is read; when the client leaves, or `maxMs` are over, its
 * `return` is called and `signal` aborted. Who then reads nothing for `heartbeatMs` is cut off. An iterator that throws breaks the
 * connection off, so that the client comes back.
 */
export function sseResponse(make: (signal: AbortSignal) => AsyncIterable<SseMessage>, options: SseOptions): Response {
  const { heartbeatMs, maxMs, headers = {}, onEnd } = options;
  const encoder = new TextEncoder();
  const controller = new AbortController();
  let iterator: AsyncIterator<SseMessage> | undefined;
  let next: Promise<IteratorResult<SseMessage>> | undefined;
  let life: ReturnType<typeof setTimeout> | undefined;
  let stuck: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  const over = (): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(life);
    controller.abort();
    // An iterator that is waiting returns when its signal is heard.
    void Promise.resolve(iterator?.return?.()).catch(() => undefined);
    onEnd();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start(out) {
        life = setTimeout(() => {
          over();
          // Whoever reads sees the end; for one who does not, the connection would stay for ever.
          stuck = setTimeout(() => out.error(new Error('The stream was not read to its end.')), heartbeatMs);
        }, maxMs);
      },
      async pull(out) {
        clearTimeout(stuck);
        try {
          iterator ??= make(controller.signal)[Symbol.asyncIterator]();
          next ??= iterator.next();
          const came = await firstOf(next, heartbeatMs, controller.signal);
          if (came === 'silence') return out.enqueue(encoder.encode(': still here\n\n'));
          next = undefined;
          if (came === 'aborted' || came.done === true) {
            over();
            clearTimeout(stuck);
            return out.close();
          }
          out.enqueue(encoder.encode(sseText(came.value)));
        } catch (thrown) {
          over();
          clearTimeout(stuck);
          out.error(thrown);
        }
      },
      cancel() {
        clearTimeout(stuck);
        over();
      },
    },
    // Nothing is taken before somebody reads.
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      ...headers,
    },
  });
}

async function firstOf<T>(promise: Promise<T>, ms: number, signal: AbortSignal): Promise<T | 'silence' | 'aborted'> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let onAbort: (() => void) | undefined;
  promise.catch(() => undefined);
  try {
    return await Promise.race([
      promise,
      new Promise<'silence'>((resolve) => {
        timer = setTimeout(() => resolve('silence'), ms);
      }),
      new Promise<'aborted'>((resolve) => {
        if (signal.aborted) resolve('aborted');
        onAbort = () => resolve('aborted');
        signal.addEventListener('abort', onAbort, { once: true });
      }),
    ]);
  } finally {
    clearTimeout(timer);
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
  }
}
