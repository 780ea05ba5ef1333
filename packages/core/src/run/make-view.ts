import { GuardloopError } from '../errors.js';
import type { Message, Usage, UserMessage } from '../model/types.js';
import type { ModelShare } from '../model/usage.js';
import { addUsage } from '../model/usage.js';
import type { Refusal, ViewEntry } from '../state/events.js';
import { enter } from './enter.js';
import type { RunHandle } from './handle.js';
import { deepFreeze } from './plain-output.js';
import { standNow } from './plan.js';
import { readOnly } from './read-only.js';
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

  // A message that the view gives twice is sent once.
  const messages = new Map<string, Message>();
  const fresh: UserMessage[] = [];
  let usage: ModelShare[] | undefined;
  for (const each of given) {
    const { id, text, used } = (typeof each === 'object' && each !== null ? each : {}) as { id?: unknown; text?: unknown; used?: unknown };
    const message = typeof id === 'string' ? seen[places.get(id) ?? -1] : undefined;
    if (message) {
      messages.set(message.id, message);
      continue;
    }
    if (typeof text !== 'string')
      throw new GuardloopError(
        'CONFIG_INVALID',
        `The view of the run gave something that is neither a message it was given nor { text }. Return only those.`,
      );
    if (used !== undefined) {
      usage ??= [];
      usage.push(readShare(used));
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
    messages.set(item.id, item);
  }
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
  const chosen = keepPairs([...messages.values()].map((message) => passed.get(message.id) ?? message));
  return {
    ...all,
    usage,
    messages: chosen,
    entries: chosen.map((message): ViewEntry => (places.has(message.id) ? message.id : (message as UserMessage))),
  };
}

/** What a view says that a text of its own took. Throws CONFIG_INVALID. */
function readShare(used: unknown): ModelShare {
  const { model, usage } = (typeof used === 'object' && used !== null ? used : {}) as { model?: unknown; usage?: Partial<Usage> };
  if (typeof model !== 'string' || !Number.isFinite(usage?.requests))
    throw new GuardloopError(
      'CONFIG_INVALID',
      'The view of the run gave a text whose `used` does not fit. Give { model, usage }, with the usage from the end of that model’s answer.',
    );
  return { model, usage: addUsage({ requests: 0 }, usage as Usage) };
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
    const results = messages.slice(index + 1, index + 1 + message.calls.length);
    if (
      results.length === message.calls.length &&
      results.every((result, at) => result.role === 'tool' && result.callId === message.calls[at]?.id)
    ) {
      kept.push(message, ...results);
      index += results.length;
    }
  }
  return kept;
}
