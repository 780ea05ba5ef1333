import { GuardloopError } from '../errors.js';
import type { LogEvent } from './events.js';

const types: ReadonlySet<unknown> = new Set<LogEvent['type']>([
  'run.start',
  'run.resume',
  'guard.verdict',
  'input.accept',
  'model.start',
  'model.end',
  'approval.request',
  'approval.resolve',
  'tool.start',
  'tool.end',
  'handoff',
  'handoff.refused',
  'monitor.alert',
  'run.end',
]);

/** The version of the log format that this package writes. */
export const logVersion = 1;

/** The events of a log, checked so far that a fold makes sense of them. Throws LOG_INVALID; says nothing of what the log holds. */
export function readLog(log: unknown): readonly LogEvent[] {
  return readDamaged(() => readEvents(log));
}

function readEvents(log: unknown): readonly LogEvent[] {
  if (typeof log === 'string') {
    throw new GuardloopError('LOG_INVALID', 'The log is a text. Give it parsed, as it was in `result.log`: JSON.parse(text).');
  }
  const { version, events } = (typeof log === 'object' && log !== null ? log : {}) as { version?: unknown; events?: unknown };
  if (version !== logVersion) {
    throw new GuardloopError(
      'LOG_INVALID',
      `The log has the version ${typeof version === 'number' ? version : 'none'}; this package reads version ${logVersion}. Give \`result.log\`, or a session { store, id }.`,
    );
  }
  if (!Array.isArray(events)) throw new GuardloopError('LOG_INVALID', 'The log has no list of events. Give `result.log` as it was.');
  return readTail(events, 0);
}

/** Events that follow the first `before` of a log, checked like {@link readLog}. */
export function readTail(events: readonly unknown[], before: number): readonly LogEvent[] {
  for (const [index, event] of events.entries()) {
    const expected = before + index + 1;
    const { type, seq, run, at } = (typeof event === 'object' && event !== null ? event : {}) as {
      type?: unknown;
      seq?: unknown;
      run?: unknown;
      at?: unknown;
    };
    if (seq !== expected || !types.has(type) || typeof run !== 'string' || typeof at !== 'number') {
      throw new GuardloopError(
        'LOG_INVALID',
        `Event ${expected} of the log is damaged: its number, type, run or time is missing or wrong. The log must hold every event, in order, as it was written.`,
      );
    }
  }
  return events as readonly LogEvent[];
}

/** What a log comes to. Throws LOG_INVALID where reading it throws anything else than a GuardloopError: an event of it is damaged. */
export function readDamaged<T>(read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    throw GuardloopError.is(thrown) ? thrown : damagedLog();
  }
}

export function damagedLog(): GuardloopError {
  return new GuardloopError(
    'LOG_INVALID',
    'An event of the log is damaged: something in it is missing or has another form. The log must hold every event, in order, as it was written.',
  );
}
