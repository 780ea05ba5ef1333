import type { Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Model, ModelEvent } from '@guardloop/core/model';
import { GuardloopError } from '@guardloop/core/model';
import type { Place } from './sides.js';

/** Writes one response, whose head is sent already. */
export type Play = (response: ServerResponse) => Promise<void> | void;

export interface ReadStream {
  readonly events: readonly ModelEvent[];
  /** What was thrown, as it was. */
  readonly error: unknown;
  readonly ms: number;
}

/** A server on 127.0.0.1 that answers with bytes as they are, many connections at a time. */
export class ByteServer {
  readonly #server: Server;
  readonly #plays = new Map<string, Play>();
  #count = 0;

  private constructor() {
    this.#server = createServer((request, response) => {
      const play = this.#plays.get(request.url?.split('/')[1] ?? '');
      request.resume();
      request.on('end', () => {
        response.on('error', () => undefined);
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.flushHeaders();
        void play?.(response);
      });
    });
  }

  static async start(): Promise<ByteServer> {
    const server = new ByteServer();
    await new Promise<void>((resolve) => {
      server.#server.listen(0, '127.0.0.1', resolve);
    });
    return server;
  }

  /** A place at which this is what is answered. */
  place(play: Play): Place {
    this.#count += 1;
    this.#plays.set(`${this.#count}`, play);
    const { port } = this.#server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}/${this.#count}`, fetch };
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** Reads a stream to whatever end it comes to; one that has none after `deadlineMs` is given up, and is a fault. */
export async function readStream(model: Model, deadlineMs = 10_000): Promise<ReadStream> {
  const signal = AbortSignal.timeout(deadlineMs);
  const label = { origin: 'user', integrity: 'trusted' } as const;
  const request = {
    agent: 'main',
    turn: 1,
    system: '',
    messages: [{ role: 'user', id: 'r/i1', via: 'user', parts: [{ type: 'text', text: 'Hello.' }], label }] as const,
    tools: ['find', 'send'].map((name) => ({ name, description: name, schema: { type: 'object' } })),
    settings: {},
  };
  const events: ModelEvent[] = [];
  const started = performance.now();
  let error: unknown;
  try {
    for await (const event of model.stream(request, { signal })) events.push(event);
  } catch (thrown) {
    error = thrown;
  }
  if (signal.aborted) throw new Error(`The stream had no end after ${deadlineMs} ms.`);
  return { events, error, ms: performance.now() - started };
}

/** What is wrong with what came of a stream, whatever its bytes were; empty if nothing. */
export function faultsOf({ events, error }: ReadStream): readonly string[] {
  return [...(error === undefined ? answerFaults(events) : failureFaults(events, error)), ...events.flatMap(eventFaults)];
}

function failureFaults(events: readonly ModelEvent[], error: unknown): readonly string[] {
  const isEarly = events.every(({ type }) => type !== 'end' && type !== 'tool.call');
  const order = isEarly ? [] : ['it failed behind an end or a call'];
  if (!GuardloopError.is(error)) return [...order, `it threw ${String(error)}`];
  const isKnown = error.code === 'MODEL_PROTOCOL' || error.code === 'MODEL_FAILED';
  return isKnown ? order : [...order, `it failed with ${error.code}: ${error.message}`];
}

function answerFaults(events: readonly ModelEvent[]): readonly string[] {
  const types = events.map(({ type }) => type);
  const tail = types.includes('tool.call') ? types.slice(types.indexOf('tool.call'), -1) : [];
  const end = events.at(-1);
  if (end?.type !== 'end' || types.indexOf('end') !== types.length - 1) return ['it has no end, or no single one at its end'];
  return [
    ...(tail.every((type) => type === 'tool.call') ? [] : ['something stands between calls and end']),
    ...(tail.length > 0 && end.stopReason !== 'tools' ? [`it holds calls, and ended for ${end.stopReason}`] : []),
  ];
}

function eventFaults(event: ModelEvent): readonly string[] {
  if (event.type === 'tool.call') return isWhole(event.call) ? [] : ['it holds half a call'];
  if ('text' in event) return typeof event.text === 'string' && event.text !== '' ? [] : [`it holds a ${event.type} without text`];
  if (event.type !== 'end') return [];
  const odd = Object.entries(event.usage).filter(([, count]) => count !== undefined && !(Number.isFinite(count) && Number(count) >= 0));
  return odd.map(([name, count]) => `usage.${name} is ${String(count)}`);
}

function isWhole(call: object): boolean {
  const { name, input, unparsable } = call as { readonly name?: unknown; readonly input?: unknown; readonly unparsable?: unknown };
  return typeof name === 'string' && (input === undefined) === (typeof unparsable === 'string');
}
