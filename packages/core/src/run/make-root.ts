import { GuardloopError } from '../errors.js';
import type { LogEvent } from '../state/events.js';
import { apply, fold } from '../state/fold.js';
import { readDamaged, readLog, readTail } from '../state/log.js';
import { beforeEntry, late } from './before-entry.js';
import type { Channel } from './channel.js';
import type { Root, RunHandle } from './handle.js';
import type { ReadLog } from './known-sessions.js';
import { isSameEvent, recallSession, rememberSession } from './known-sessions.js';
import { loop } from './loop.js';
import { Observers } from './observers.js';
import type { Options } from './options.js';
import { deepFreeze } from './plain-output.js';
import type { Attempt } from './session-turn.js';
import { SessionTurn } from './session-turn.js';
import type { Steering } from './steering.js';
import { StoreWriter } from './store-writer.js';
import type { SessionReference } from './types.js';

export const newId = (prefix: string): string => `${prefix}${globalThis.crypto.randomUUID().replaceAll('-', '').slice(0, 16)}`;

/** Its events are frozen: from here on they are what happened. Throws LOG_INVALID. */
export const foldLog = (events: readonly LogEvent[]): ReadLog => ({ events, log: readDamaged(() => fold(deepFreeze(events))) });

/** What a run is entered with, beside its agent and its input or log. */
export interface Door {
  readonly options: Options;
  readonly channel?: Channel | undefined;
  /** Takes what is to be called when the reader of the channel has left. */
  readonly onLeave?: ((listener: () => void) => void) | undefined;
  readonly steering?: Steering | undefined;
}

/** Where a run is to be entered: no session, its session, or none any more because it was aborted while it waited. */
export interface Place {
  readonly session: SessionReference | undefined;
  readonly turn: SessionTurn | undefined;
  readonly attempt: Attempt | undefined;
}
export const nowhere: Place = { session: undefined, turn: undefined, attempt: undefined };

/** How the runs of one tree begin. */
export interface Beginning {
  readonly root: Root;
  attach(handle: RunHandle): void;
  /** The run was entered: shows its events, those before included. A run that lost its session to another shows nothing. */
  announce(): void;
}

/** Makes what the runs of one tree share. */
export function makeRoot({ options, channel, steering }: Door, { events, log }: ReadLog, place: Place): Beginning {
  const { session, turn } = place;
  const writerId = newId('w');
  let handle: RunHandle | undefined;
  const writer =
    session && new StoreWriter(session, writerId, { afterSeq: log.seq, onFailure: (error) => handle?.abort({ kind: 'store', error }) });
  const root: { -readonly [K in keyof Root]: Root[K] } = {
    log,
    events: [...events],
    writer,
    writerId,
    channel: undefined,
    observers: undefined,
    steering,
    clock: options.clock,
    context: options.context,
    settings: options.settings,
    runGuards: options.guards,
    given: options.decisions === undefined ? undefined : { edits: new Map(), results: new Map(), deciders: new Map() },
    leave: turn && (() => turn.leave(writerId)),
    remember: session && (() => rememberSession(session.store, session.id, { events: root.events, log })),
    loop,
  };
  return {
    root,
    attach: (given) => (handle = given),
    announce() {
      root.channel = channel;
      if (options.observers.length > 0)
        root.observers = new Observers(options.observers, (event) => {
          channel?.push(event);
          root.observers?.tell(event);
        });
      for (let index = events.length; index < root.events.length; index += 1) {
        const event = root.events[index] as LogEvent;
        channel?.push(event);
        root.observers?.tell(event);
      }
    },
  };
}

/** Enters a session when it is the run's turn, which it keeps until it is over. */
export async function inTurn<T>(session: SessionReference, door: Door, enter: (place: Place) => Promise<T>): Promise<T> {
  const { clock, signal } = door.options;
  const turn = new SessionTurn(session, { clock, signal, onLeave: door.onLeave });
  try {
    return await turn.enter((attempt) => enter({ session: attempt.session, turn, attempt }));
  } catch (thrown) {
    turn.leave();
    throw thrown;
  }
}

/** Reads a session: what this process does not remember of it. */
export async function loadSession(session: SessionReference, door: Door): Promise<ReadLog> {
  const known = recallSession(session.store, session.id);
  if (known === undefined) return foldLog(await loadAll(session, door));
  const after: unknown = await loadEvents(session, door, known.log.seq - 1);
  const [same, ...tail] = Array.isArray(after) ? (after as readonly LogEvent[]) : [];
  return isSameEvent(same, known.events.at(-1)) ? addTail(known, tail) : foldLog(await loadAll(session, door));
}

async function loadAll(session: SessionReference, door: Door): Promise<readonly LogEvent[]> {
  return readLog({ version: 1, events: await loadEvents(session, door) });
}

function addTail({ events, log }: ReadLog, tail: readonly LogEvent[]): ReadLog {
  if (tail.length === 0) return { events, log };
  readDamaged(() => {
    for (const event of deepFreeze(readTail(tail, log.seq))) apply(log, event);
  });
  return { events: [...events, ...tail], log };
}

async function loadEvents({ store, id }: SessionReference, door: Door, afterSeq?: number): Promise<readonly LogEvent[]> {
  let events: readonly LogEvent[] | typeof late;
  try {
    events = await beforeEntry(door, afterSeq === undefined ? store.load(id) : store.load(id, afterSeq));
  } catch (thrown) {
    if (GuardloopError.is(thrown)) throw thrown;
    throw new GuardloopError('STORE_FAILED', `The session store failed to load ${id}. Nothing was run; look at the cause.`, {
      cause: thrown,
      isRetryable: true,
    });
  }
  if (events === late)
    throw new GuardloopError(
      'STORE_FAILED',
      `The session store did not load ${id} in time: the run was aborted, and could wait no longer. Nothing was run; look at the store.`,
      { cause: door.options.signal?.reason, isRetryable: true },
    );
  return events;
}

/** Writes what enters the run, and waits for it: the loser of two writers shows and does nothing. */
export async function fence({ writer }: Root, door: Door): Promise<void> {
  for (let wait = writer?.barrier(); wait; wait = writer?.barrier()) {
    if ((await beforeEntry(door, wait)) === late) writer?.giveUp(door.options.signal?.reason);
  }
  if (writer?.failure) throw writer.failure;
}
