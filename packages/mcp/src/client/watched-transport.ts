import type { Transport, TransportSendOptions } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, MessageExtraInfo, RequestId } from '@modelcontextprotocol/sdk/types.js';
import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import { RequestFailure } from './failure.js';

/** Requests of the server that are answered at the same time: what comes beyond is left unanswered, or a server could make this client send for ever. */
const mostAsked = 16;

type OnMessage = NonNullable<Transport['onmessage']>;

const isRequest = (message: JSONRPCMessage): message is JSONRPCMessage & { readonly id: RequestId; readonly method: string } =>
  'method' in message && 'id' in message;
const isAnswer = (message: JSONRPCMessage): message is JSONRPCMessage & { readonly id: RequestId } =>
  !('method' in message) && 'id' in message && message.id !== undefined;

function cancelledBy(message: JSONRPCMessage): RequestId | undefined {
  if (!('method' in message) || message.method !== 'notifications/cancelled') return undefined;
  const id = (message.params as { readonly requestId?: unknown } | undefined)?.requestId;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

/**
 * A transport of the SDK, with one thing added: each request that was sent gets exactly one answer. Where the way breaks, that is an error
 * response whose `data` is the {@link RequestFailure}, so that the SDK keeps nothing of a request that is over.
 */
export class WatchedTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: OnMessage;
  isOver = false;
  private readonly pending = new Set<RequestId>();
  /** Requests of the server that have no answer of ours yet. */
  private readonly asked = new Set<RequestId>();
  private readonly inner: Transport;
  private readonly serverName: string;
  /** Called when the last open request is over. */
  onidle: (() => void) | undefined;
  /** Says of a request that could not be sent why, where the way below knows better than what it threw. */
  explain: ((id: RequestId) => RequestFailure | undefined) | undefined;
  /** Says how the way ended, where the way below knows. `wasReady`: something had come over it. */
  ending: ((wasReady: boolean) => string) | undefined;
  private hasReceived = false;

  constructor(inner: Transport, serverName: string) {
    this.inner = inner;
    this.serverName = serverName;
  }

  get sessionId(): string | undefined {
    return this.inner.sessionId;
  }

  /** Requests that have no answer yet. */
  get open(): number {
    return this.pending.size;
  }

  setProtocolVersion(version: string): void {
    this.inner.setProtocolVersion?.(version);
  }

  start(): Promise<void> {
    this.inner.onmessage = (message, extra) => {
      this.hasReceived = true;
      this.receive(message, extra);
    };
    this.inner.onerror = (error) => this.onerror?.(error);
    this.inner.onclose = () => this.end();
    return this.inner.start();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (isRequest(message)) this.pending.add(message.id);
    try {
      await this.inner.send(message, options);
    } catch (thrown) {
      if (isRequest(message)) this.fail(message.id, this.explain?.(message.id) ?? this.readThrown(thrown));
      else throw thrown;
    } finally {
      if (isAnswer(message)) this.asked.delete(message.id);
      const given = cancelledBy(message);
      if (given !== undefined) this.drop(given);
    }
  }

  /** Ends a request that has no answer yet; does nothing for any other. */
  fail(id: RequestId, failure: RequestFailure): void {
    if (!this.pending.has(id)) return;
    this.receive({ jsonrpc: '2.0', id, error: { code: ErrorCode.InternalError, message: failure.message, data: failure } }, undefined);
  }

  /** The request was given up: what comes for it now is nobody's. */
  private drop(id: RequestId): void {
    if (this.pending.delete(id) && this.pending.size === 0) this.onidle?.();
  }

  async close(): Promise<void> {
    this.isOver = true;
    await this.inner.close();
    this.end();
  }

  private receive(message: JSONRPCMessage, extra: MessageExtraInfo | undefined): void {
    if (isRequest(message)) {
      if (this.asked.size >= mostAsked || this.asked.has(message.id)) return;
      this.asked.add(message.id);
    }
    // What it takes back is not answered.
    const withdrawn = cancelledBy(message);
    if (withdrawn !== undefined) this.asked.delete(withdrawn);
    // As the SDK reads ids: a server may write a number as a text.
    const isLast =
      isAnswer(message) && (this.pending.delete(message.id) || this.pending.delete(Number(message.id))) && this.pending.size === 0;
    this.onmessage?.(message, extra);
    if (isLast) this.onidle?.();
  }

  private end(): void {
    this.isOver = true;
    const words = this.ending?.(this.hasReceived) ?? `The connection to server ${this.serverName} was lost.`;
    for (const id of [...this.pending]) this.fail(id, new RequestFailure('lost', words));
    const told = this.onclose;
    delete this.onclose;
    told?.();
  }

  private readThrown(thrown: unknown): RequestFailure {
    if (thrown instanceof RequestFailure) return thrown;
    // The transport was not connected: nothing was written.
    if (thrown instanceof Error && thrown.message === 'Not connected')
      return new RequestFailure('unreachable', `Server ${this.serverName} is not connected.`);
    if (thrown instanceof SyntaxError || (thrown instanceof Error && thrown.name === 'ZodError'))
      return new RequestFailure('unreadable', `The answer of server ${this.serverName} cannot be read.`);
    return new RequestFailure('lost', `The connection to server ${this.serverName} was lost.`);
  }
}
