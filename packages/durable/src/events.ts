import type { Store } from '@guardloop/store';
import { Changes } from './changes.js';
import { Follower } from './follow.js';
import { readNumber } from './number.js';
import { onAbort } from './on-abort.js';
import { describe, invalid, OptionReader } from './read-options.js';
import type { EventsOptions, NumberedEvent, Until } from './types.js';

/** Reads the options at once: throws CONFIG_INVALID before the first event is asked for. */
export function watchEvents(store: Store, id: string, options?: EventsOptions): AsyncIterableIterator<NumberedEvent> {
  const reader = new OptionReader('events', options, ['after', 'until', 'signal']);
  const after = readNumber(reader.get('after'));
  const until = reader.choice('until', ['end', 'wait']) ?? 'end';
  const given = reader.signal('signal');
  const leaving = new AbortController();
  const leave = (): void => leaving.abort();
  const off = given && onAbort(given, leave);
  if (given?.aborted) leave();
  const events = follow(store, new Follower(id, after), { id, until, signal: leaving.signal, off });
  // Who leaves while he waits for the next event does not wait for it.
  return {
    next: () => events.next(),
    return: async () => {
      leave();
      off?.();
      return events.return(undefined);
    },
    throw: async (error) => {
      leave();
      off?.();
      return events.throw(error);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

interface Watched {
  readonly id: string;
  readonly until: Until;
  readonly signal: AbortSignal;
  readonly off: (() => void) | undefined;
}

async function* follow(store: Store, follower: Follower, { id, until, signal, off }: Watched): AsyncGenerator<NumberedEvent, undefined> {
  let changes: Changes | undefined;
  try {
    const first = await store.runs.get(id);
    if (first === undefined) invalid(`There is no run ${describe(id)}, or its session was deleted. Give the id that submit gave.`);
    const { session } = first;
    changes = new Changes(store, session);
    for (let seq = 0; !signal.aborted; await changes.next(undefined, signal)) {
      // Read before the log: what it says has happened stands in what is loaded after it. Live text is read before the log too, which has
      // the last word.
      const record = await store.runs.get(id);
      const live = follower.hasOpenCall ? await store.live.get(session) : undefined;
      const events = await store.load(session, seq);
      seq = events.at(-1)?.seq ?? seq;
      for (const told of follower.take(events)) {
        yield told;
        if (signal.aborted) return;
      }
      if (follower.isOver || record === undefined || record.state === 'ended' || (record.state === 'waiting' && until === 'wait')) return;
      // A call that has begun since may have text already.
      const shown = live ?? (follower.hasOpenCall ? await store.live.get(session) : undefined);
      for (const told of follower.takeLive(shown)) yield told;
    }
  } finally {
    changes?.end();
    off?.();
  }
}
