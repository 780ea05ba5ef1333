import type { Awaitable, Message, UserMessage, View, ViewInfo, ViewText } from '@guardloop/core';
import { GuardloopError } from '@guardloop/core';
import type { Seen } from './cut.js';
import { standForMark } from './left-out.js';

/**
 * One view of several: each is given what the one before it gave. Texts of a view are shown to the next ones as user messages with
 * `via: 'view'`; the views of this package keep them, but for marks, which they take into their own. A text that tells what it took is
 * given at least once. Throws CONFIG_INVALID for what is no view.
 */
export function views<C = unknown>(...each: readonly View<C>[]): View<C> {
  const wrong = each.findIndex((view) => typeof view !== 'function');
  if (wrong !== -1)
    throw new GuardloopError(
      'CONFIG_INVALID',
      `views: argument ${wrong + 1} is no view. Give views one after another, such as views(dropObservations({ olderThan: 3 }), lastTurns(10)).`,
    );
  return (messages, info) => {
    const told = new Map<UserMessage, ViewText>();
    const from = (index: number, given: readonly Message[]): Seen | Promise<Seen> => {
      for (let at = index, now = given; ; at += 1) {
        const view = each[at];
        if (view === undefined) return asGiven(now, messages, told);
        const seen = view(now, info as ViewInfo<C>);
        if (isPromise(seen)) return Promise.resolve(seen).then((later) => from(at + 1, toMessages(later, now, told)));
        now = toMessages(seen, now, told);
      }
    };
    return from(0, messages);
  };
}

const isPromise = (value: Awaitable<Seen>): value is PromiseLike<Seen> => 'then' in value;
const isMessage = (value: Message | ViewText): value is Message => 'role' in value;

/** The messages that stand for texts between two views: the same for the same text, so that the next view knows it again. */
const standIns = new WeakMap<ViewText, UserMessage>();
const texts = new WeakMap<Message, ViewText>();
let count = 0;

function standIn(text: ViewText): UserMessage {
  let message = standIns.get(text);
  if (message === undefined) {
    // What a view writes may be made of anything.
    const label = { origin: 'developer', integrity: 'untrusted' } as const;
    count += 1;
    message = { role: 'user', id: `view/${count}`, via: 'view', parts: [{ type: 'text', text: text.text, label }], label };
    standIns.set(text, message);
    texts.set(message, text);
    standForMark(message, text);
  }
  return message;
}

function toMessages(seen: Seen, given: readonly Message[], told: Map<UserMessage, ViewText>): readonly Message[] {
  if (seen === given) return given;
  return seen.map((each) => {
    if (isMessage(each)) return each;
    const message = standIn(each);
    told.set(message, each);
    return message;
  });
}

function asGiven(now: readonly Message[], messages: readonly Message[], told: Map<UserMessage, ViewText>): Seen {
  if (now === messages) return messages;
  const seen: (Message | ViewText)[] = [];
  for (const message of now) {
    const text = texts.get(message);
    if (text === undefined) seen.push(message);
    // One that a view has kept from an earlier turn has told then what it took.
    else seen.push(told.has(message as UserMessage) || text.used === undefined ? text : { text: text.text });
    told.delete(message as UserMessage);
  }
  const left = [...told.values()].filter(({ used }) => used !== undefined);
  return left.length === 0 ? seen : [...left, ...seen];
}
