import type { Message, ViewInfo } from '@guardloop/core';
import { Transcript } from './transcript.js';

/** A transcript that a view follows, and what it keeps of it. */
export interface Followed<S> {
  readonly transcript: Transcript;
  readonly state: S;
}

interface Entry<S> extends Followed<S> {
  source: readonly Message[];
}

/** What a view keeps of a transcript. */
interface Keeping<S> {
  /** For a transcript that is new to the view. */
  readonly begin: () => S;
  /** Asked after each message that leaves no call open: so what it decides depends on the messages alone, not on when the view was asked. */
  readonly onClosed?: ((followed: Followed<S>) => void) | undefined;
}

interface Follower<S> {
  readonly follow: (messages: readonly Message[], info: ViewInfo) => Followed<S>;
  /** The transcript is read anew next time. */
  readonly forget: (messages: readonly Message[], info: ViewInfo) => void;
}

/**
 * Reads of each transcript only what is new. It is known again by its first message and its agent, and read anew where anything that was
 * there is gone or another message; one and the same array only grows.
 */
export function follower<S>({ begin, onClosed }: Keeping<S>): Follower<S> {
  const known = new WeakMap<Message, Map<string, Entry<S>>>();
  const follow: Follower<S>['follow'] = (messages, { agent }) => {
    const [first] = messages;
    let entry = first && known.get(first)?.get(agent);
    if (entry === undefined || !isGrown(entry, messages)) {
      entry = { transcript: new Transcript(), state: begin(), source: messages };
      if (first !== undefined) {
        const byAgent = known.get(first) ?? new Map<string, Entry<S>>();
        known.set(first, byAgent.set(agent, entry));
      }
    }
    entry.source = messages;
    const { transcript } = entry;
    for (let index = transcript.list.length; index < messages.length; index += 1) {
      const message = messages[index];
      if (message === undefined) continue;
      transcript.add(message);
      if (transcript.isClosed) onClosed?.(entry);
    }
    return entry;
  };
  const forget: Follower<S>['forget'] = ([first], { agent }) => {
    if (first) known.get(first)?.delete(agent);
  };
  return { follow, forget };
}

function isGrown({ source, transcript: { list } }: Entry<unknown>, messages: readonly Message[]): boolean {
  const { length } = list;
  if (messages.length < length) return false;
  if (source === messages) return messages[length - 1] === list[length - 1];
  for (let index = length - 1; index >= 0; index -= 1) if (messages[index] !== list[index]) return false;
  return true;
}
