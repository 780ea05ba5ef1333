import type { SessionStore } from '../session/session.js';
import { detachLists } from '../state/conversation.js';
import type { LogEvent } from '../state/events.js';
import type { LogState } from '../state/state.js';

/** A log as it was read, and what it folds to. */
export interface ReadLog {
  readonly events: readonly LogEvent[];
  readonly log: LogState;
}

/** How much of one store's sessions is remembered; those that were used last. */
const mostSessions = 200;
const mostEvents = 20_000;

interface Memory {
  /** Least recently kept first. */
  readonly sessions: Map<string, ReadLog>;
  events: number;
}
const memories = new WeakMap<SessionStore, Memory>();

/**
 * Remembers a session whose run has ended and is stored, so that the next run in this process reads only what came after it. It may be
 * forgotten at any time; the store is asked in any case.
 */
export function rememberSession(view: SessionStore, id: string, read: ReadLog): void {
  const store = view.origin ?? view;
  let memory = memories.get(store);
  if (memory === undefined) {
    memory = { sessions: new Map(), events: 0 };
    memories.set(store, memory);
  }
  forget(memory, id);
  if (read.events.length > mostEvents) return;
  memory.sessions.set(id, read);
  memory.events += read.events.length;
  for (const oldest of memory.sessions.keys()) {
    if (memory.sessions.size <= mostSessions && memory.events <= mostEvents) return;
    forget(memory, oldest);
  }
}

/** Takes what is remembered of a session: it belongs to one run at a time, which changes it. */
export function recallSession(store: SessionStore, id: string): ReadLog | undefined {
  const memory = memories.get(store.origin ?? store);
  const read = memory?.sessions.get(id);
  if (memory === undefined || read === undefined) return undefined;
  forget(memory, id);
  // The result of the run before holds the lists.
  detachLists(read.log.conversation);
  return read;
}

function forget(memory: Memory, id: string): void {
  const read = memory.sessions.get(id);
  if (read === undefined) return;
  memory.sessions.delete(id);
  memory.events -= read.events.length;
}

/** Whether a stored event is the one that is remembered: not that of a session of the same id that was deleted and begun anew. */
export function isSameEvent(stored: LogEvent | undefined, remembered: LogEvent | undefined): boolean {
  return (
    remembered !== undefined &&
    stored?.seq === remembered.seq &&
    stored.type === remembered.type &&
    stored.run === remembered.run &&
    stored.at === remembered.at
  );
}
