// A run that has been entered and does nothing yet, for tests of the functions that work with one.
import { defineAgent } from '../src/define/agent.js';
import { agentSpecOf } from '../src/define/definition.js';
import type { Clock } from '../src/model/clock.js';
import type { Label, Model, ModelEvent } from '../src/model/types.js';
import { beginRun } from '../src/run/begin.js';
import type { RunHandle } from '../src/run/handle.js';
import { readOptions } from '../src/run/options.js';
import type { RecordedCall, RunEvent } from '../src/state/events.js';

/** A model that answers each call with these events. */
export function modelOf(...events: readonly ModelEvent[]): Model {
  return {
    id: 'm',
    provider: 'test',
    async *stream() {
      yield* events;
    },
  };
}

/** Time that stands still until it is set on; timers go off when it is. */
export class StillClock implements Clock {
  time = 1_000;
  timers: { readonly at: number; readonly then: () => void }[] = [];

  now(): number {
    return this.time;
  }

  after(ms: number, then: () => void): () => void {
    const timer = { at: this.time + ms, then };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((each) => each !== timer);
    };
  }

  get waiting(): number {
    return this.timers.length;
  }

  pass(ms: number): void {
    this.time += ms;
    const due = this.timers.filter(({ at }) => at <= this.time);
    this.timers = this.timers.filter(({ at }) => at > this.time);
    for (const { then } of due) then();
  }
}

export interface Entered {
  readonly handle: RunHandle;
  /** Everything that watchers are told. */
  readonly seen: RunEvent[];
  readonly clock: StillClock;
}

/** Enters the run `r` of an agent, by default of `a`, with these options, at a time that stands still. */
export async function enterRun(
  agent: unknown = defineAgent({ name: 'a', instructions: '', model: modelOf() }),
  given: object = {},
): Promise<Entered> {
  const seen: RunEvent[] = [];
  const clock = new StillClock();
  const spec = agentSpecOf(agent, 'The agent of the test');
  const options = readOptions('run', { runId: 'r', clock, observers: [(event: RunEvent) => seen.push(event)], ...given }, spec);
  return { handle: await beginRun(spec, 'Hello.', { options }), seen, clock };
}

export const trusted: Label = { origin: 'agent:a', integrity: 'trusted' };

/** A call as an answer of the first turn records it. */
export function recordedCall(name: string, given: Partial<RecordedCall> = {}): RecordedCall {
  return { id: '1.0', name, input: {}, kind: 'tool', revision: 0, ...given };
}

/** Records that the input was accepted and the model has answered with these calls. */
export function recordAnswer(handle: RunHandle, calls: readonly RecordedCall[], label: Label = trusted): void {
  const { state } = handle;
  const turn = state.turn + 1;
  handle.append({ type: 'input.accept', subject: `${state.id}/input`, revision: 0, items: handle.input ?? [] });
  handle.append({ type: 'model.start', turn, model: 'm' });
  handle.append({
    type: 'model.end',
    turn,
    status: 'ok',
    id: `${state.id}/${turn}`,
    text: '',
    revision: 0,
    calls,
    label,
    usage: { requests: 1, inputTokens: 1, outputTokens: 1 },
  });
}
