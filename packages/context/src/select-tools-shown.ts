import type { Awaitable, Message, UserMessage } from '@guardloop/core';
import type { AssistantMessage } from '@guardloop/core/model';
import { foundBy } from './search-tools.js';
import type { Offer } from './select-tools-offer.js';

/** Ranks the tools of an offer by words; at most `top` names, best first. */
export type Rank = (words: string) => Awaitable<readonly string[]>;

/** What a transcript shows of an offer: a function of its messages, so that a resumed run shows the same. */
interface Progress {
  readonly offer: Offer;
  /** Messages that have been read. */
  at: number;
  /** The run whose messages are read. */
  run: string | undefined;
  /** Who called what, in this run or before. */
  readonly called: Set<string>;
  /** In the order in which they came in. */
  shown: Set<string>;
  answer: AssistantMessage | undefined;
}

/** What is asked of {@link Shown}. */
export interface Showing {
  readonly offer: Offer;
  readonly rank: Rank;
}

/** Which tools the messages of a transcript bring in, beside those that are always shown. Reads each message once. */
export class Shown {
  private readonly progress = new WeakMap<readonly Message[], Progress>();
  private readonly ranked = new WeakMap<UserMessage, { readonly offer: Offer; readonly names: readonly string[] }>();

  /** Names in the order in which they came in: what is shown never moves while a run goes on. May throw what ranking throws. */
  of(messages: readonly Message[], showing: Showing): Awaitable<ReadonlySet<string>> {
    let progress = this.progress.get(messages);
    if (progress?.offer !== showing.offer || progress.at > messages.length) {
      progress = { offer: showing.offer, at: 0, run: undefined, called: new Set(), shown: new Set(), answer: undefined };
      this.progress.set(messages, progress);
    }
    return this.read(messages, progress, showing);
  }

  private read(messages: readonly Message[], progress: Progress, showing: Showing): Awaitable<ReadonlySet<string>> {
    while (progress.at < messages.length) {
      const message = messages[progress.at];
      if (message?.role === 'user' && speaks(message)) {
        const names = this.rankFor(message, showing);
        if ('then' in names) return this.goOn(messages, { progress, showing, names });
        hear(progress, message, names);
      } else if (message !== undefined) look(progress, message);
      progress.at += 1;
    }
    return progress.shown;
  }

  private async goOn(messages: readonly Message[], waiting: Waiting): Promise<ReadonlySet<string>> {
    const { progress, showing, names } = waiting;
    const { at } = progress;
    const settled = await names;
    const message = messages[at];
    // Another call with the same messages may have read on meanwhile.
    if (progress.at === at && message?.role === 'user') {
      hear(progress, message, settled);
      progress.at += 1;
    }
    return this.read(messages, progress, showing);
  }

  private rankFor(message: UserMessage, { offer, rank }: Showing): Awaitable<readonly string[]> {
    const known = this.ranked.get(message);
    if (known?.offer === offer) return known.names;
    const keep = (given: readonly string[]): readonly string[] => {
      // Where nothing fits and nothing can be searched, nothing is hidden.
      const names = given.length > 0 || offer.hasSearch ? given : offer.candidates.map(({ name }) => name);
      this.ranked.set(message, { offer, names });
      return names;
    };
    const ranking = rank(message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n'));
    return 'then' in ranking ? Promise.resolve(ranking).then(keep) : keep(ranking);
  }
}

interface Waiting {
  readonly progress: Progress;
  readonly showing: Showing;
  readonly names: PromiseLike<readonly string[]>;
}

/** Who says what is to be done; what views and earlier conversations say does not count. */
const speaks = ({ via }: UserMessage): boolean => via === 'user' || via === 'parent' || via === 'handoff';

function hear(progress: Progress, { id, via }: UserMessage, names: readonly string[]): void {
  const run = via === 'handoff' ? undefined : /^(.*)\/[is]\d+$/.exec(id)?.[1];
  if (run !== undefined && run !== progress.run) {
    progress.run = run;
    progress.shown = new Set(progress.called);
  }
  for (const name of names) progress.shown.add(name);
}

function look(progress: Progress, message: Message): void {
  if (message.role === 'assistant') {
    progress.answer = message;
    for (const { name } of message.calls) {
      progress.called.add(name);
      progress.shown.add(name);
    }
  } else if (message.role === 'tool' && !message.isError) {
    const call = progress.answer?.calls.find(({ id }) => id === message.callId);
    if (call !== undefined) for (const name of foundBy(call)) progress.shown.add(name);
  }
}
