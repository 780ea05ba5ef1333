import type { SpanContext } from '@opentelemetry/api';
import type { OpenSpan } from './spans.js';

/** Where the runs of one tree hang, as the caller said. */
export interface Place {
  readonly parent: SpanContext | undefined;
  readonly conversation: string | undefined;
  /** Of a recorded log: it makes spans and counts nothing, and what is active now has no part in it. */
  readonly isPast: boolean;
}

/** A call that is under way. */
export interface OpenCall {
  readonly tool: string;
  readonly open: OpenSpan;
}
/** A model call that is under way. */
export interface OpenChat {
  readonly open: OpenSpan;
  readonly model: string;
  readonly turn: number;
  /** The wait after a failed attempt, and when it is over. */
  retry: { readonly open: OpenSpan; readonly endsAt: number } | undefined;
  /** As `telemetry.model` measured: until the answer was there, and until its first chunk. Milliseconds. */
  tookMs: number | undefined;
  firstMs: number | undefined;
}

/** A run between entering it and its end, or where it waits. */
export interface Track {
  readonly id: string;
  readonly agent: string;
  readonly place: Place;
  readonly above: Track | undefined;
  readonly open: OpenSpan;
  readonly children: Set<Track>;
  readonly calls: Map<string, OpenCall>;
  turn: OpenSpan | undefined;
  chat: OpenChat | undefined;
  /** `at` of its last event. */
  lastAt: number;
  /** Of a root: by the clock of this process, for letting go. */
  heardAt: number;
  inputTokens: number | undefined;
  outputTokens: number | undefined;
  cost: number | undefined;
}

/** What hangs under the run now, where nothing else is said. */
export const currentOf = ({ turn, open }: Track): OpenSpan => turn ?? open;
