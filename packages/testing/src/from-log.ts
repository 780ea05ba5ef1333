import type { AssertLogOptions, Log, LogEvent } from '@guardloop/core';
import { assertLog, GuardloopError } from '@guardloop/core';

/** What is read of a log. Throws LOG_INVALID for what is none, and where reading it throws anything else: an event of it is damaged. */
export function fromLog<T>(log: Log, read: (events: readonly LogEvent[]) => T, options: AssertLogOptions = {}): T {
  try {
    assertLog(log, options);
    return read(log.events);
  } catch (thrown) {
    if (GuardloopError.is(thrown)) throw thrown;
    throw new GuardloopError(
      'LOG_INVALID',
      'An event of the log does not fit those before it, or cannot be read. Give `result.log` or a stored log as it was written.',
    );
  }
}

/** The log with its events numbered anew: for those that say themselves whether they were numbered rightly. */
export function numberedAnew(log: Log): Log {
  try {
    return { ...log, events: log.events.map((event, index) => (typeof event.seq === 'number' ? { ...event, seq: index + 1 } : event)) };
  } catch {
    return log;
  }
}
