import { GuardloopError } from '../errors.js';
import type { Message, UserMessage } from '../model/types.js';
import type { ModelShare } from '../model/usage.js';
import type { Refusal, ViewEntry } from '../state/events.js';
import { enter } from './enter.js';
import type { RunHandle } from './handle.js';
import { deepFreeze } from './plain-output.js';
import { standNow } from './plan.js';
import { readOnly } from './read-only.js';
import { readShare } from './read-share.js';
import type { View } from './types.js';

export interface MadeView {
  readonly messages: readonly Message[];
  /** Undefined while it is everything. */
  readonly entries: readonly ViewEntry[] | undefined;
  /** What the view told that it used; undefined for nothing. */
  readonly usage: readonly ModelShare[] | undefined;
  readonly refusal: Refusal | undefined;
  readonly isStopped: boolean;
}

/** What a view is asked. */
interface Choice {
  readonly view: View<never>;
  readonly turn: number;
  readonly seen: readonly Message[];
}

/** What views are shown of a transcript. */
interface Shown {
  readonly list: readonly Message[];
  /** Where in it a message stands, by its id. */
  readonly places: Map<string, number>;
}

/** By transcript, which only grows while it is one array: so views know what they have seen, and asking one costs what is new. */
const shown = new WeakMap<readonly Message[], Shown>();

function show(seen: readonly Message[]): Shown {
  let all = shown.get(seen);
  if (all === undefined) {
    all = { list: readOnly(seen), places: new Map() };
    shown.set(seen, all);
  }
  const { places } = all;
  for (let index = places.size; index < seen.length; index += 1) {
    const message = seen[index];
    if (message) places.set(message.id, index);
  }
  return all;
}

/** What a view gives, each message once. */
class Chosen {
  readonly messages: Message[] = [];
  /** Place of the last one, while all came in their order. */
  private last = -1;
  /** Once they did not: all of them. */
  private all: Set<Message> | undefined;

  constructor(
    private readonly seen: readonly Message[],
    private readonly places: ReadonlyMap<string, number>,
  ) {}

  /** Takes a message of the transcript, also by a copy; false for anything else. */
  take(given: unknown): boolean {
    const next = this.seen[this.last + 1];
    // Most views give the messages themselves, in their order.
    if (this.all === undefined && next !== undefined && given === next) {
      this.messages.push(next);
      this.last += 1;
      return true;
    }
    const { id } = (typeof given === 'object' && given !== null ? given : {}) as { id?: unknown };
    const place = typeof id === 'string' ? (this.places.get(id) ?? -1) : -1;
    const message = this.seen[place];
    if (message === undefined) return false;
    if (place <= this.last) this.all ??= new Set(this.messages);
    this.last = place;
    if (!this.all?.has(message)) {
      this.all?.add(message);
      this.messages.push(message);
    }
    return true;
  }

  /** Adds a text of the view's own. */
  add(item: UserMessage): void {
    if (!this.messages.includes(item)) this.messages.push(item);
  }
}

/** Lets the run's view choose what the model sees of `seen`, judges what it wrote itself, and keeps calls with their results. */
export function makeView(handle: RunHandle, turn: number, seen: readonly Message[]): MadeView | Promise<MadeView> {
  const { view } = handle.root.settings;
  return view === undefined
    ? { messages: seen, entries: undefined, usage: undefined, refusal: undefined, isStopped: false }
    : chooseView(handle, { view, turn, seen });
}

async function chooseView(handle: RunHandle, { view, turn, seen }: Choice): Promise<MadeView> {
  const { conversation } = handle.state;
  const all = { messages: seen, entries: undefined, usage: undefined, refusal: undefined, isStopped: false };
  const { list, places } = show(seen);
  const given = await askView(handle, { view, turn, seen: list });
  if (given === undefined) return { ...all, isStopped: true };
  if (given === list) return all;

  const chosen = new Chosen(seen, places);
  const fresh: UserMessage[] = [];
  let usage: ModelShare[] | undefined;
  for (const each of given) {
    if (chosen.take(each)) continue;
    const { text, used } = (typeof each === 'object' && each !== null ? each : {}) as { text?: unknown; used?: unknown };
    if (typeof text !== 'string')
      throw new GuardloopError(
        'CONFIG_INVALID',
        `The view of the run gave something that is neither a message it was given nor { text }. Return only those.`,
      );
    if (used !== undefined) {
      usage ??= [];
      usage.push(readShare(used, 'The view of the run gave a text whose `used`'));
    }
    const label = { origin: 'developer', integrity: conversation.isUntrusted ? 'untrusted' : 'trusted' } as const;
    let item = handle.state.viewItems?.get(text);
    if (item === undefined) {
      item = deepFreeze({
        role: 'user',
        id: `${handle.state.id}/${turn}/v${fresh.length + 1}`,
        via: 'view',
        parts: [{ type: 'text', text, label }],
        label,
      });
      fresh.push(item);
    }
    chosen.add(item);
  }
  if (fresh.length === 0) return { ...all, usage, ...keptOf(chosen.messages, places) };
  const entered = await enter(handle, {
    subject: `${handle.state.id}/${turn}/view`,
    about: 'view',
    agent: handle.state.agent,
    fresh,
    history: [],
    guards: fresh.length > 0 ? standNow(handle).input : [],
    stays: conversation.activations.length - 1,
  });
  if (entered.isStopped || entered.refusal) return { ...all, usage, refusal: entered.refusal, isStopped: entered.isStopped };
  const passed = new Map(entered.items.map((item) => [item.id, item]));
  return {
    ...all,
    usage,
    ...keptOf(
      chosen.messages.map((message) => passed.get(message.id) ?? message),
      places,
    ),
  };
}

/** What is sent of what the view chose, and what is recorded of that. */
function keptOf(chosen: readonly Message[], places: ReadonlyMap<string, number>): Pick<MadeView, 'messages' | 'entries'> {
  const messages = keepPairs(chosen);
  const isOwn = (message: Message): message is UserMessage => message.role === 'user' && message.via === 'view' && !places.has(message.id);
  return { messages, entries: messages.map((message): ViewEntry => (isOwn(message) ? message : message.id)) };
}

/** What the view chose; undefined when the run was stopped meanwhile. Throws CONFIG_INVALID. */
async function askView(handle: RunHandle, { view, turn, seen }: Choice): Promise<readonly unknown[] | undefined> {
  const { signal, state } = handle;
  let given: unknown;
  try {
    const chosen = view(seen, { context: handle.root.context as never, agent: state.agent, turn, signal });
    const settled = await handle.wait(Promise.resolve(chosen));
    if (settled.kind === 'stopped') return undefined;
    if (settled.kind !== 'value') throw settled.kind === 'threw' ? settled.error : undefined;
    given = settled.value;
  } catch (thrown) {
    throw new GuardloopError(
      'CONFIG_INVALID',
      `The view of the run threw before turn ${turn} of agent ${state.agent}. Mend it; it gives a list of messages and texts.`,
      { cause: thrown },
    );
  }
  if (!Array.isArray(given))
    throw new GuardloopError(
      'CONFIG_INVALID',
      `The view of the run gave no list before turn ${turn}. Return a list of the messages it was given and of { text }.`,
    );
  return given;
}

/** Leaves out answers whose calls are not all followed by their results, and results without their call. */
export function keepPairs(messages: readonly Message[]): readonly Message[] {
  const kept: Message[] = [];
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index];
    if (message === undefined || message.role === 'tool') continue;
    if (message.role === 'user' || message.calls.length === 0) {
      kept.push(message);
      continue;
    }
    if (!hasResults(messages, index)) continue;
    kept.push(message);
    for (let left = message.calls.length; left > 0; left -= 1) {
      index += 1;
      const result = messages[index];
      if (result) kept.push(result);
    }
  }
  return kept;
}

/** Whether the calls of an answer are followed by all their results. */
function hasResults(messages: readonly Message[], index: number): boolean {
  const answer = messages[index];
  if (answer?.role !== 'assistant') return false;
  for (let at = 0; at < answer.calls.length; at += 1) {
    const result = messages[index + 1 + at];
    if (result?.role !== 'tool' || result.callId !== answer.calls[at]?.id) return false;
  }
  return true;
}
