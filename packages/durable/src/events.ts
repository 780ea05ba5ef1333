import type { Store } from '@guardloop/store';
import { Changes } from './changes.js';
import { Follower } from './follow.js';
import { readNumber } from './number.js';
import { describe, invalid, OptionReader } from './read-options.js';
import type { EventsOptions, NumberedEvent, Until } from './types.js';

/** Reads the options at once: throws CONFIG_INVALID before the first event is asked for. */
export function watchEvents(store: Store, id: string, options?: EventsOptions): AsyncIterableIterator<NumberedEvent> {
  const reader = new OptionReader('events', options, ['after', 'until', 'signal']);
  const after = readNumber(reader.get('after'));
  const until = reader.choice('until', ['end', 'wait']) ?? 'end';
  return follow(store, new Follower(id, after), { id, until, signal: reader.get('signal') as AbortSignal | undefined });
}

interface Watched {
  readonly id: string;
  readonly until: Until;
  readonly signal: AbortSignal | undefined;
}

async function* follow(store: Store, follower: Follower, { id, until, signal }: Watched): AsyncGenerator<NumberedEvent, undefined> {
  const first = await store.runs.get(id);
  if (first === undefined) invalid(`There is no run ${describe(id)}, or its session was deleted. Give the id that submit gave.`);
  const { session } = first;
  const changes = new Changes(store, session);
  try {
    for (let seq = 0; !signal?.aborted; await changes.next(undefined, signal)) {
      // Read before the log: what it says has happened stands in what is loaded after it. Live text is read before the log too, which has the last word.
      const record = await store.runs.get(id);
      const live = follower.hasOpenCall ? await store.live.get(session) : undefined;
      const events = await store.load(session, seq);
      seq = events.at(-1)?.seq ?? seq;
      for (const told of follower.take(events)) {
        yield told;
        if (signal?.aborted) return;
      }
      if (follower.isOver || record === undefined || record.state === 'ended' || (record.state === 'waiting' && until === 'wait')) return;
      // A call that has begun since may have text already.
      const shown = live ?? (follower.hasOpenCall ? await store.live.get(session) : undefined);
      for (const told of follower.takeLive(shown)) yield told;
    }
  } finally {
    changes.end();
  }
}
