// What tests read in logs, results and streams.
import type {
  GuardVerdictEvent,
  Log,
  LogEvent,
  Message,
  QuarantineStore,
  RunEvent,
  RunResult,
  RunStream,
  ToolMessage,
} from '@guardloop/core';

/** The durable events of these types, in order. */
export function eventsOf<T extends LogEvent['type']>(log: Log, ...types: readonly T[]): Extract<LogEvent, { type: T }>[] {
  return log.events.filter((event): event is Extract<LogEvent, { type: T }> => (types as readonly string[]).includes(event.type));
}

/** `guardrail surface action`, for each verdict. */
export function verdictLines(log: Log): string[] {
  return eventsOf(log, 'guard.verdict').map(({ guardrail, surface, action }: GuardVerdictEvent) => `${guardrail} ${surface} ${action}`);
}

/** `tool status`, for each end of a call. */
export const callEnds = (log: Log): string[] => eventsOf(log, 'tool.end').map(({ tool, status }) => `${tool} ${status}`);

/** The text of a message as a model or a person reads it. */
export function textOf(message: Message | undefined): string {
  if (message === undefined) return '';
  if (message.role === 'assistant') return message.text;
  const parts = message.role === 'tool' ? message.content : message.parts;
  return typeof parts === 'string' ? parts : parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

export interface Observation {
  readonly status: string;
  readonly error_class: string;
  readonly summary: string;
  readonly retryable: boolean;
}
/** The error observations among messages, in order. */
export function observationsIn(messages: readonly Message[] | undefined): Observation[] {
  return (messages ?? [])
    .filter((message): message is ToolMessage => message.role === 'tool' && message.isError)
    .map((message) => JSON.parse(textOf(message)) as Observation);
}
/** The results among messages, in order. */
export const resultsIn = (messages: readonly Message[] | undefined): string[] =>
  (messages ?? []).filter((message) => message.role === 'tool').map(textOf);

export interface Watched {
  readonly result: RunResult;
  readonly events: readonly RunEvent[];
  /** All text that was ever shown, also what was taken back. */
  readonly shown: string;
}
/** Reads a stream to its end. */
export async function watch(stream: RunStream<never> | RunStream): Promise<Watched> {
  const events: RunEvent[] = [];
  for await (const event of stream) events.push(event);
  const shown = events.map((event) => (event.type === 'text.delta' ? event.text : '')).join('');
  return { result: (await stream.result) as RunResult, events, shown };
}

/** A log as another process would read it. */
export const reread = (log: Log): Log => JSON.parse(JSON.stringify(log)) as Log;

/** A quarantine in memory. */
export function memoryQuarantine(): QuarantineStore & { readonly kept: Map<string, unknown> } {
  const kept = new Map<string, never>();
  return {
    kept,
    put: async (key, value) => void kept.set(key, value as never),
    get: async (key) => kept.get(key),
    delete: async (key) => void kept.delete(key),
  };
}

/** Settles when `open` is called. */
export function gate<T = void>(): { readonly opened: Promise<T>; open(value: T): void } {
  let open: (value: T) => void = () => undefined;
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open: (value) => open(value) };
}

/** Rejects with the signal's reason once it is aborted. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
