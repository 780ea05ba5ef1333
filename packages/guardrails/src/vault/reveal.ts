import type { RunEvent } from '@guardloop/core';
import type { Conversation } from './conversation.js';
import { isPlain } from './is-plain.js';
import { placeholdersLike, replacePlaceholders, settledLength } from './placeholders.js';

/** Puts values in the place of placeholders in text that comes in pieces, one after another. */
export interface Revealer {
  /** What can be shown of all that has come and was not shown yet: never a piece of a placeholder. */
  push(piece: string): Promise<string>;
  /** The rest. To be called when no more comes. */
  end(): Promise<string>;
}

/** Values for placeholders in a text, or in all texts and names of fields of plain JSON. */
export function revealed<T>(conversation: Conversation, value: T): T {
  return revealValue(value, (text) => reveal(conversation, text)) as T;
}

const reveal = (conversation: Conversation, text: string): string =>
  replacePlaceholders(text, (placeholder) => conversation.valueOf(placeholder)?.value);

function revealValue(value: unknown, show: (text: string) => string): unknown {
  if (typeof value === 'string') return show(value);
  if (Array.isArray(value)) return value.map((element: unknown) => revealValue(element, show));
  if (typeof value !== 'object' || value === null || !isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [show(name), revealValue(field, show)]));
}

export function revealer(conversation: Conversation): Revealer {
  let held = '';
  const show = async (text: string): Promise<string> => {
    // Put away since, by another process.
    if (placeholdersLike(text).some(({ placeholder, isExact }) => isExact && !conversation.has(placeholder))) await conversation.reload();
    return reveal(conversation, text);
  };
  return {
    push: (piece) => {
      held += piece;
      const length = settledLength(held);
      const settled = held.slice(0, length);
      held = held.slice(length);
      return show(settled);
    },
    end: () => {
      const rest = held;
      held = '';
      return show(rest);
    },
  };
}

type Delta = Extract<RunEvent, { readonly type: 'text.delta' }>;

interface Flowing {
  readonly revealer: Revealer;
  readonly last: Delta;
}

/**
 * The events of a stream with values in the `text.delta`s, for the person alone. All other events stay as they are. Before each other event of
 * the same run what was held back is shown; what is taken back is not.
 */
export async function* revealedEvents<E extends RunEvent>(
  open: () => Promise<Conversation>,
  events: AsyncIterable<E>,
): AsyncGenerator<E, void, undefined> {
  const flowing = new Map<string, Flowing>();
  for await (const event of events) {
    const before = flowing.get(event.run);
    if (event.type === 'text.delta') {
      const flow = before?.revealer ?? revealer(await open());
      flowing.set(event.run, { revealer: flow, last: event });
      const text = await flow.push(event.text);
      if (text !== '') yield { ...event, text };
      continue;
    }
    flowing.delete(event.run);
    const rest = before !== undefined && event.type !== 'text.retract' ? await before.revealer.end() : '';
    if (before !== undefined && rest !== '') yield { ...before.last, text: rest } as unknown as E;
    yield event;
  }
  for (const { revealer: flow, last } of flowing.values()) {
    const text = await flow.end();
    if (text !== '') yield { ...last, text } as unknown as E;
  }
}
