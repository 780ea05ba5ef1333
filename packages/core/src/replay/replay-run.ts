import type { JsonObject, Message, Usage } from '../model/types.js';
import { openApprovals } from '../run/open-approvals.js';
import type { Approval, LimitName, Limits, Log, LogEvent, RunStatus } from '../state/events.js';
import { apply } from '../state/fold.js';
import { limitNames } from '../state/limits.js';
import { readDamaged, readLog } from '../state/log.js';
import type { CallState, RunState } from '../state/state.js';
import { newLogState } from '../state/state.js';

/** A call of the latest answer, while not all calls of it have ended. */
export interface ReplayedCall {
  readonly id: string;
  readonly tool: string;
  /** In the form that runs. */
  readonly input: JsonObject;
  /** `started`: its effect may have happened. */
  readonly phase: 'prepared' | 'waiting' | 'decided' | 'started' | 'ended';
}
/** A run as it stood after an event. A value of its own: it does not change when the replay goes on. */
export interface ReplayedRun {
  readonly id: string;
  /** Of a child run. */
  readonly parent?: string | undefined;
  /** The active agent. */
  readonly agent: string;
  /** `entering`: its input is not accepted yet. `waiting`: for people. Else how it ended, or that it goes on. */
  readonly status: 'entering' | 'running' | 'waiting' | Exclude<RunStatus, 'interrupted'>;
  /** Recorded answers, refused ones included. */
  readonly turn: number;
  /** Everything recorded in its conversation so far, of a session with the runs before. */
  readonly messages: readonly Message[];
  readonly calls: readonly ReplayedCall[];
  /** What people are asked, here and in its child runs. */
  readonly approvals: readonly Approval[];
  /** Of its model calls and those of its child runs. */
  readonly usage: Usage;
  readonly limits: Limits;
  /** What is left of each limit, never below 0; of those that it shares with the runs above, what is left there too. */
  readonly left: Limits;
}
/** One event of a log, and how its run stood after it. */
export interface ReplayStep {
  readonly event: LogEvent;
  readonly run: ReplayedRun;
}

/**
 * A log step by step: each event with the state of its run. Asks no guardrail, model or tool, and reads any beginning of a log. What it gives
 * can be iterated again, and begins anew. Throws LOG_INVALID.
 */
export function replay(log: Log): Iterable<ReplayStep> {
  const events = readLog(log);
  return { [Symbol.iterator]: () => stepsOf(events) };
}

function* stepsOf(events: readonly LogEvent[]): Generator<ReplayStep, undefined> {
  const state = newLogState();
  const known = new WeakMap<readonly Message[], readonly Message[]>();
  for (const event of events) {
    const run = readDamaged(() => {
      apply(state, event);
      return stateOf(state.runs.get(event.run), known);
    });
    if (run) yield { event, run };
  }
  return undefined;
}

function stateOf(state: RunState | undefined, known: WeakMap<readonly Message[], readonly Message[]>): ReplayedRun | undefined {
  if (state === undefined) return undefined;
  const approvals = state.ended ? [] : openApprovals(state);
  const run: { -readonly [K in keyof ReplayedRun]: ReplayedRun[K] } = {
    id: state.id,
    agent: state.agent,
    status: state.ended?.status ?? (approvals.length > 0 ? 'waiting' : state.accepted ? 'running' : 'entering'),
    turn: state.turn,
    messages: copyOf(state.conversation.messages, known),
    calls: [...state.calls.values()].map(callOf),
    approvals,
    usage: state.usage,
    limits: state.limits,
    left: leftOf(state),
  };
  if (state.parent) run.parent = state.parent.id;
  return run;
}

/** The transcript only grows, and what stands in it is changed only when results are added: between, one copy serves all steps. */
function copyOf(messages: readonly Message[], known: WeakMap<readonly Message[], readonly Message[]>): readonly Message[] {
  const before = known.get(messages);
  if (before?.length === messages.length) return before;
  const copy = Object.freeze([...messages]);
  known.set(messages, copy);
  return copy;
}

function callOf({ call, input, phase }: CallState): ReplayedCall {
  return { id: call.id, tool: call.name, input, phase: phase === 'handoff' ? 'started' : phase };
}

/** Limits that a child run shares with the runs above it. */
const shared: ReadonlySet<LimitName> = new Set(['toolCalls', 'tokens', 'cost', 'ms']);

function leftOf(run: RunState): Limits {
  const left = {} as { -readonly [K in LimitName]: number };
  for (const name of limitNames) {
    left[name] = Math.max(0, run.limits[name] - usedOf(run, name));
    if (shared.has(name))
      for (let above = run.parent; above; above = above.parent)
        left[name] = Math.min(left[name], Math.max(0, above.limits[name] - usedOf(above, name)));
  }
  return left;
}

function usedOf(run: RunState, name: LimitName): number {
  switch (name) {
    case 'turns':
      return run.usedTurns;
    case 'toolCalls':
      return run.usedToolCalls;
    case 'tokens':
      return (run.usage.inputTokens ?? 0) + (run.usage.outputTokens ?? 0);
    case 'cost':
      return run.usage.cost ?? 0;
    case 'ms':
      return run.activeMs;
    case 'handoffs':
      return run.usedHandoffs;
    case 'repairs':
      return run.repairs;
    case 'repeats':
      return run.repeated;
    default:
      return name satisfies never;
  }
}
