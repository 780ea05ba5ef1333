import type { Finding } from '../define/types.js';
import type { LogEvent } from '../state/events.js';

/** What the monitors of an agent's stay have been told, and found, so far. */
export interface Watching {
  readonly agent: string;
  /** Of the next event in the log. */
  index: number;
  readonly monitors: readonly { readonly name: string; look: ((event: LogEvent) => Finding | undefined) | undefined; found: Finding[] }[];
}
