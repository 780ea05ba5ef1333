import { GuardloopError } from '../errors.js';
import type { LogEvent } from '../state/events.js';
import type { SessionStore } from './session.js';

/**
 * Sessions in memory: for tests, examples, and programs whose conversations may end with the process. Grows until it is dropped.
 *
 * Events are kept as they are and frozen; `append` costs what the batch holds, `load` what it returns. Throws CONFIG_INVALID for options:
 * there are none.
 */
export function memorySession(): SessionStore;
export function memorySession(options?: object): SessionStore {
  if (options !== undefined) refuseOptions(options);
  const logs = new Map<string, LogEvent[]>();
  return {
    async load(id, afterSeq = 0) {
      return logs.get(id)?.slice(afterSeq) ?? [];
    },
    async append(id, events, afterSeq) {
      const log = logs.get(id) ?? [];
      if (log.length !== afterSeq) {
        throw new GuardloopError(
          'LOG_CONFLICT',
          `Session ${id} ends with event ${log.length}, but the writer expected ${afterSeq}: another writer has appended. Load the events after ${afterSeq}, and start again from them.`,
          { details: { session: id, expected: afterSeq, found: log.length } },
        );
      }
      checkNumbers(id, events, afterSeq);
      for (const event of events) log.push(deepFreeze(event));
      if (events.length > 0) logs.set(id, log);
    },
  };
}

function refuseOptions(options: unknown): never {
  const [name] = typeof options === 'object' && options !== null ? Object.keys(options) : [];
  throw new GuardloopError(
    'CONFIG_INVALID',
    `memorySession was given ${name === undefined ? 'something' : `an option ${JSON.stringify(name.slice(0, 60))}`} and takes nothing: it keeps every session until it is dropped. Call it as memorySession(). The id of a session stands in the option \`session\` of run: { store, id }; a store that lets sessions expire is that of a database, such as sqliteStore.`,
  );
}

function checkNumbers(id: string, events: readonly LogEvent[], afterSeq: number): void {
  const at = events.findIndex((event, index) => event.seq !== afterSeq + 1 + index);
  if (at === -1) return;
  throw new GuardloopError(
    'LOG_INVALID',
    `An event for session ${id} has number ${events[at]?.seq}, but ${afterSeq + 1 + at} comes next. Number events one after another, from 1.`,
  );
}

/** Plain JSON has no cycles, so the walk ends; a frozen parent may still hold children that are not. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const child of Object.values(value)) deepFreeze(child);
  return Object.isFrozen(value) ? value : Object.freeze(value);
}
