import { describe, invalid } from '../define/definition-reader.js';
import { newId } from '../run/make-root.js';
import type { Log, LogEvent, ToolEndEvent } from '../state/events.js';
import { fold } from '../state/fold.js';
import { logVersion, readDamaged, readLog } from '../state/log.js';
import type { RunState } from '../state/state.js';
import { renameRun } from './rename-run.js';

/** Where a log is forked: after the event with this `seq`, or before the model is asked for this turn of the log's last run. */
export type ForkPlace = number | { readonly turn: number };
/** Options of {@link forkLog}. */
export interface ForkLogOptions {
  /** The fork's run id; its keys of effects begin with it. Default: a new one. */
  readonly runId?: string | undefined;
}

/**
 * The beginning of a log as a log of its own, to go on from with `resume`. Its last run has another id, and so have its messages, approvals and
 * idempotency keys: nothing that the fork does is taken for an effect of the original, and no approval token of the original holds in it. What
 * was under way is settled: a tool's call that had started gets the end that it had in the original, a model's call is not begun. Throws
 * LOG_INVALID and CONFIG_INVALID.
 */
export function forkLog(log: Log, at: ForkPlace, options: ForkLogOptions = {}): Log {
  const events = readLog(log);
  const length = lengthOf(events, at);
  const { runId = newId('r') } = options;
  if (typeof runId !== 'string' || runId === '' || runId.includes('/') || events.some(({ run }) => run === runId))
    invalid('The run id of a fork must be a text without / that the log does not have yet. Give another `runId`, or none.');
  return readDamaged(() => {
    const prefix = events.slice(0, length);
    const { root, runs } = fold(prefix);
    if (root === undefined) return { version: logVersion, events: [] };
    const own = [...runs.values()].filter((run) => run.ended === undefined && rootOf(run) === root);
    const begun = new Set(own.flatMap((run) => modelCallUnderWay(prefix, run)));
    const ends = own.flatMap((run) => endsOf(run, events, length)).sort((left, right) => left.seq - right.seq);
    const rename = renameRun(root.id, runId);
    const kept = [...prefix.filter((event) => !begun.has(event)), ...ends];
    return { version: logVersion, events: kept.map((event, index) => rename({ ...event, seq: index + 1 })) };
  });
}

function lengthOf(events: readonly LogEvent[], at: ForkPlace): number {
  if (typeof at === 'number') {
    if (Number.isInteger(at) && at >= 1 && at <= events.length) return at;
    return invalid(`A log of ${events.length} events cannot be forked at ${at}. Give the \`seq\` of one of its events, or { turn }.`);
  }
  const turn = typeof at === 'object' && at !== null ? at.turn : undefined;
  if (typeof turn !== 'number') return invalid(`The place of a fork is ${describe(at)}. Give the \`seq\` of an event, or { turn: 2 }.`);
  const run = events.findLast(({ type, parent }) => type === 'run.start' && parent === undefined)?.run;
  const index = events.findIndex((event) => event.type === 'model.start' && event.run === run && event.turn === turn);
  return index > 0 ? index : invalid(`The last run of the log has no turn ${turn} before which it could be forked. Give another one.`);
}

const rootOf = (run: RunState): RunState => (run.parent ? rootOf(run.parent) : run);

/** A call of the model without its end: it would only cost the fork a turn. */
function modelCallUnderWay(events: readonly LogEvent[], { id }: RunState): readonly LogEvent[] {
  const start = events.findLastIndex(({ type, run }) => type === 'model.start' && run === id);
  const isSettled = events
    .slice(start + 1)
    .some(
      (event) =>
        event.run === id && (event.type === 'model.end' || (event.type === 'approval.request' && event.approval.surface === 'output')),
    );
  const event = events[start];
  return event === undefined || isSettled ? [] : [event];
}

/** The ends that started calls had, with the verdicts on what they gave. Of one that a later process took up again, nothing: the fork does so too. */
function endsOf({ id, calls }: RunState, events: readonly LogEvent[], length: number): readonly LogEvent[] {
  const later = events.slice(length);
  return [...calls.values()].flatMap(({ call, path, phase }) => {
    if (phase !== 'started' || call.kind === 'agent') return [];
    const end = later.find((event): event is ToolEndEvent => event.type === 'tool.end' && event.run === id && event.callId === call.id);
    if (end === undefined) return [];
    const between = later.filter(({ seq }) => seq < end.seq);
    if (between.some(({ type }) => type === 'run.resume')) return [];
    const verdicts = between.filter(
      (event) => event.type === 'guard.verdict' && event.run === id && (event.subject === path || event.subject.startsWith(`${path}/`)),
    );
    return [...verdicts, end];
  });
}
