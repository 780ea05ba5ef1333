import { atOnce } from '../define/at-once.js';
import type { Finding } from '../define/types.js';
import { safeCause } from '../errors.js';
import type { LogEvent, MonitorAlertEvent } from '../state/events.js';
import type { RunHandle } from './handle.js';
import { isPromise } from './is-promise.js';
import type { Watching } from './watching.js';

/** Tells the active agent's monitors what has happened, and records what they find. True: something was recorded. Never throws. */
export function watchRun(handle: RunHandle): boolean {
  const { state, agents, root } = handle;
  const monitors = agents.get(state.agent)?.monitors;
  if (monitors === undefined) return false;
  if (handle.watching?.agent !== state.agent || handle.watching.index > root.events.length) {
    handle.watching = {
      agent: state.agent,
      index: startOfStay(handle),
      monitors: monitors.map(({ name, start }) => ({ name, look: ask(handle, 'run.start', start), found: [] })),
    };
  }
  const { watching } = handle;
  for (; watching.index < root.events.length; watching.index += 1) {
    const event = root.events[watching.index];
    if (event?.run === state.id) tell(handle, watching, event);
  }
  const before = root.events.length;
  for (const each of watching.monitors) {
    for (const { sign, reason, then = 'nothing' } of each.found) {
      handle.append({ type: 'monitor.alert', monitor: each.name, turn: state.turn, sign, reason, then });
      watching.index = root.events.length;
    }
    each.found = [];
  }
  return root.events.length > before;
}

function tell(handle: RunHandle, { monitors }: Watching, event: LogEvent): void {
  for (const each of monitors) {
    if (event.type === 'monitor.alert') {
      // Of a log that is read again: it was found, and recorded.
      if (event.monitor === each.name) each.found = each.found.filter(({ sign }) => sign !== event.sign);
      continue;
    }
    const { look } = each;
    const finding = typeof look === 'function' ? ask(handle, event.type, () => look(event)) : undefined;
    if (isFinding(finding)) each.found.push(finding);
  }
}

/** What a monitor gives; one that throws, or does not answer at once, is told to those who watch, and changes nothing. */
function ask<R>(handle: RunHandle, event: LogEvent['type'], call: () => R): R | undefined {
  try {
    const given = atOnce(call());
    if (isPromise(given)) throw new TypeError('It gave a promise.');
    return given;
  } catch (thrown) {
    handle.emit({ type: 'observer.error', event, cause: safeCause(thrown) });
    return undefined;
  }
}

const outcomes: ReadonlySet<unknown> = new Set<NonNullable<MonitorAlertEvent['then']> | undefined>([
  undefined,
  'nothing',
  'note',
  'ask',
  'finalize',
  'stop',
]);

function isFinding(value: unknown): value is Finding {
  if (typeof value !== 'object' || value === null) return false;
  const { sign, reason, then } = value as { readonly sign?: unknown; readonly reason?: unknown; readonly then?: unknown };
  return typeof sign === 'string' && typeof reason === 'string' && outcomes.has(then);
}

/** Where in the log the active agent took over. */
function startOfStay({ root: { events }, state }: RunHandle): number {
  for (let index = events.length - 1; index >= 0; index -= 1) {
    const event = events[index];
    if (event?.run === state.id && (event.type === 'run.start' || event.type === 'handoff')) return index;
  }
  return 0;
}
