import type { LogEvent } from '../src/state/events.js';

/** An event without what every event has: its place, its time, its run and agent, its writer. */
export function bare(event: LogEvent): object {
  const { seq: _seq, at: _at, run: _run, agent: _agent, ...rest } = event;
  const { writer: _writer, askedAt: _askedAt, ...own } = rest as typeof rest & { readonly writer?: string; readonly askedAt?: number };
  return own;
}

/** The events of a log after the last of a type, bare. */
export const after = ({ events }: { readonly events: readonly LogEvent[] }, type: LogEvent['type']): readonly object[] =>
  events.slice(events.findLastIndex((event) => event.type === type) + 1).map(bare);
