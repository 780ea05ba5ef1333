import type { GuardInfo, Guardrail, Route, RunEvent, Subject, Surface, Tool } from '@guardloop/core';
import { defineGuardrail, fitsPattern } from '@guardloop/core';
import { checkOptionNames, checkWholeNumber, optionFault } from '@guardloop/core/model';
import type { FindInText } from '../text/finding.js';
import { checkedFindings } from '../text/finding.js';
import { kindBehind } from '../text/text-guardrail.js';
import type { VaultCipher } from './cipher.js';
import { vaultCipher } from './cipher.js';
import type { Conversation, Keeping } from './conversation.js';
import { Conversations } from './conversations.js';
import { hideIn, hideText } from './guard.js';
import { normalValue } from './normal-value.js';
import type { FieldOf, Fields, RestoreOptions } from './restore.js';
import { restoring } from './restore.js';
import type { Revealer } from './reveal.js';
import { revealed, revealedEvents, revealer } from './reveal.js';
import type { VaultStore } from './store.js';
import { memoryVaultStore } from './store.js';

/** A secret of 32 bytes or more, as bytes, or as their base64. */
export type VaultKey = Uint8Array | string;

/** Options of {@link vault}. */
export interface VaultOptions<C> {
  /**
   * Names the conversation, of the run's context: the session's id, say. One value has one placeholder in a conversation, and no placeholder
   * means anything in another. The same for all runs and child runs of a session.
   */
  readonly conversation: (context: C) => string;
  /** What is put away: what these text guardrails find (`pii()`, `secrets()`; they need not stand themselves), or functions of yours. */
  readonly hides: readonly (Guardrail<never> | FindInText)[];
  /** Kinds that only `put` gives (`customer`), for `restore` to take. Default: none beside those that `hides` finds. */
  readonly kinds?: readonly string[] | undefined;
  /** Where values are kept. Default: in this process, until `forget`. */
  readonly store?: VaultStore | undefined;
  /** Seals what is stored (AES-256-GCM). Needed with `store`. Default: values are kept as they are, in memory. */
  readonly key?: VaultKey | undefined;
  /** Keys that were in use before: they open what they have sealed. */
  readonly oldKeys?: readonly VaultKey[] | undefined;
  /** Says that a `store` without `key` is meant: it seals what it stores itself. */
  readonly unsealed?: true | undefined;
  /**
   * `counted`: `[EMAIL_1]`. `keyed`: `[EMAIL_K7Q2M9XW]`, made of the value by HMAC-SHA-256 under `key`: the same in one conversation also
   * where the store was lost, and it does not tell how many there are. Default `counted`.
   */
  readonly names?: 'counted' | 'keyed' | undefined;
  /**
   * The form in which values of a kind are compared; what is put back is what was put away first. Default: e-mail addresses in any case;
   * numbers of cards, accounts, telephones and persons without spaces, dots, dashes and brackets; all else as it is.
   */
  readonly normal?: ((kind: string, value: string) => string) | undefined;
  /** Names or patterns (`notes_*`) of tools whose results may hold placeholders: agents as tools, a memory of your own. Default: none. */
  readonly keeps?: readonly string[] | undefined;
  /**
   * Characters: lets answers flow instead of holding them back. No finding and no value may be longer; an answer with a longer one is refused.
   * For `hides` that have such a window themselves. Default: answers are held.
   */
  readonly window?: number | undefined;
  /** Of the guardrail, in the log. Default `vault`. */
  readonly name?: string | undefined;
  /** Where the guardrail stands. Default: all five surfaces. */
  readonly on?: readonly Surface[] | undefined;
  readonly version?: string | undefined;
  /** Milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** What counts when it fails, the store for example. Default `deny`. */
  readonly onError?: 'deny' | 'halt' | undefined;
}

/** Values behind placeholders, made by {@link vault}. */
export interface Vault<C> {
  /** Replaces values by placeholders. To stand in the run, or in every agent of it, before other guardrails. */
  readonly guardrail: Guardrail<C>;
  /**
   * A tool of the same type that is executed with the values. Log, approvals, guardrails and models have the placeholders; its results, details
   * and words of failure are hidden again before anybody sees them. Throws CONFIG_INVALID.
   */
  readonly restore: <D, N extends string, I, A extends Route>(
    tool: Tool<D, N, I, A>,
    options: RestoreOptions<FieldOf<NoInfer<I>>>,
  ) => Tool<D & C, N, I, A>;
  /** Puts a value away beforehand; gives its placeholder, for instructions for example. */
  readonly put: (conversation: string, kind: string, value: string) => Promise<string>;
  /** Values for the placeholders in a text or in plain JSON: for the person of this conversation. What is revealed must not enter a run again. */
  readonly reveal: <T>(conversation: string, value: T) => Promise<T>;
  /** As `reveal`, for text that comes in pieces. */
  readonly revealer: (conversation: string) => Promise<Revealer>;
  /** As `reveal`, for the events of a stream: its `text.delta`s have the values. */
  readonly revealStream: <E extends RunEvent>(conversation: string, events: AsyncIterable<E>) => AsyncIterable<E>;
  /** Forgets a conversation, in the store too. What stands in logs can then be put back by nobody. */
  readonly forget: (conversation: string) => Promise<void>;
}

const optionNames = {
  conversation: true,
  hides: true,
  kinds: true,
  store: true,
  key: true,
  oldKeys: true,
  unsealed: true,
  names: true,
  normal: true,
  keeps: true,
  window: true,
  name: true,
  on: true,
  version: true,
  timeoutMs: true,
  onError: true,
} as const satisfies { readonly [K in keyof VaultOptions<unknown>]-?: true };
const where = 'vault(…)';
const surfaces = ['input', 'toolInput', 'toolOutput', 'handoff', 'output'] as const;
const leastKeyBytes = 32;

/**
 * Redaction that can be taken back: values in what enters, in results and in answers become placeholders, the same value the same one in a
 * conversation; tools that need the values are given them. Throws CONFIG_INVALID.
 */
export function vault<C = unknown>(options: VaultOptions<C>): Vault<C> {
  checkOptionNames(where, options, optionNames);
  const { find, kinds } = readHides(options);
  checkOptions(options);
  const keeping: Keeping = {
    store: options.store ?? memoryVaultStore(),
    cipher: readCipher(options),
    names: options.names ?? 'counted',
    normal: options.normal ?? normalValue,
  };
  const conversations = new Conversations(keeping);
  const restored = new Map<string, readonly Fields[]>();
  const { keeps = [] } = options;
  const conversationOf = ({ context, run }: { readonly context: C; readonly run: string }) =>
    conversations.inRun(nameOf(options.conversation(context)), run);
  const guarding = {
    find,
    window: options.window,
    conversationOf,
    keepsPlaceholders: (tool: string) => restored.has(tool) || keeps.some((pattern) => fitsPattern(pattern, tool)),
    restoredFields: (tool: string) => restored.get(tool) ?? [],
  };
  const guardrail = guardrailOf(options, (subject, info) => hideIn(guarding, subject, info));
  return Object.freeze<Vault<C>>({
    guardrail,
    restore: <D, N extends string, I, A extends Route>(tool: Tool<D, N, I, A>, given: RestoreOptions<FieldOf<NoInfer<I>>>) => {
      const hide = (conversation: Conversation, text: string) => hideText(conversation, text, find);
      const readyConversation = ({ context, run }: { readonly context: C; readonly run: string }) =>
        conversations.ready(nameOf(options.conversation(context)), run);
      const by = { conversationOf, readyConversation, hide, kinds };
      const { made, fields } = restoring<C, D, N, I, A>(by, tool, given as RestoreOptions);
      restored.set(tool.name, [...(restored.get(tool.name) ?? []), fields]);
      return made;
    },
    put: async (conversation, kind, value) => {
      if (typeof conversation !== 'string' || conversation === '')
        throw optionFault('vault.put', 'the name of the conversation is no text, or empty. Give what `conversation` makes of the context.');
      if (typeof kind !== 'string' || kind.trim() === '')
        throw optionFault('vault.put', 'the kind is no text. Give what kind of thing the value is, such as email.');
      if (typeof value !== 'string' || value === '')
        throw optionFault('vault.put', 'the value is no text, or empty. Give what is to be put away.');
      const [placeholder = ''] = await (await conversations.fresh(nameOf(conversation))).placeholdersFor([{ kind, value }]);
      return placeholder;
    },
    reveal: async (conversation, value) => revealed(await conversations.fresh(nameOf(conversation)), value),
    revealer: async (conversation) => revealer(await conversations.fresh(nameOf(conversation))),
    revealStream: (conversation, events) => revealedEvents(() => conversations.fresh(nameOf(conversation)), events),
    forget: (conversation) => conversations.forget(nameOf(conversation)),
  });
}

function nameOf(given: unknown): string {
  if (typeof given !== 'string' || given === '') throw new TypeError('the name of a conversation is no text, or empty');
  return given;
}

type Hide<C> = (subject: Subject, info: GuardInfo<C>) => ReturnType<typeof hideIn>;

function guardrailOf<C>(
  { name = 'vault', on = surfaces, version, timeoutMs, onError, window }: VaultOptions<C>,
  rewrite: Hide<C>,
): Guardrail<C> {
  const definition = { name, on, version, timeoutMs, onError, rewrite, ...(window === undefined ? {} : { window }) };
  // Where it stands is known only now: core checks the definition.
  return defineGuardrail(definition as unknown as Parameters<typeof defineGuardrail<Surface>>[0]) as unknown as Guardrail<C>;
}

/** The search, and the kinds of values that there can be; undefined where a finder does not say which it finds. */
function readHides<C>({ hides, window, kinds: given = [] }: VaultOptions<C>): {
  readonly find: FindInText;
  readonly kinds: ReadonlySet<string> | undefined;
} {
  const kinds = new Set(readKinds(given));
  let areKnown = true;
  if (!Array.isArray(hides))
    throw optionFault(where, 'hides is no list. Give text guardrails whose findings are put away, such as pii(), or functions that find.');
  const finders = (hides as readonly unknown[]).map((given, index) => {
    if (typeof given === 'function') {
      areKnown = false;
      return given as FindInText;
    }
    const kind = kindBehind(given);
    if (kind === undefined)
      throw optionFault(where, `entry ${index + 1} of hides is no text guardrail. Give one, such as pii(), or a function that finds.`);
    if (window !== undefined && (kind.window ?? Number.POSITIVE_INFINITY) > window)
      throw optionFault(
        where,
        `window is ${window}, but ${kind.name} needs ${kind.window === undefined ? 'the whole text' : `${kind.window}`}. Give a larger one, or leave it out: answers are then held.`,
      );
    if (kind.kinds === undefined) areKnown = false;
    for (const each of kind.kinds ?? []) kinds.add(each);
    return kind.find;
  });
  return {
    find: (text, place) => finders.flatMap((find) => checkedFindings(find(text, place), text)),
    kinds: areKnown ? kinds : undefined,
  };
}

function readKinds(given: unknown): readonly string[] {
  if (!(Array.isArray(given) && given.every((kind) => typeof kind === 'string' && kind.trim() !== '')))
    throw optionFault(where, "kinds is no list of kinds. Give what `put` is given, such as ['customer'], or leave it out.");
  return given as readonly string[];
}

function checkOptions<C>(options: VaultOptions<C>): void {
  const { conversation, store, key, unsealed, names, normal, keeps, window, onError } = options;
  if (typeof conversation !== 'function')
    throw optionFault(where, 'conversation is no function. Give one that names the conversation of a context: ({ chatId }) => chatId.');
  if (
    store !== undefined &&
    ['load', 'append', 'delete'].some((method) => typeof (store as unknown as Record<string, unknown>)[method] !== 'function')
  )
    throw optionFault(where, 'store is no store. It needs load, append and delete.');
  if (unsealed !== undefined && (unsealed as unknown) !== true)
    throw optionFault(where, 'unsealed is not true. Leave it out, and give a key.');
  if (store !== undefined && key === undefined && unsealed === undefined)
    throw optionFault(
      where,
      'it has a store and no key: real values would be stored as they are. Give a key of 32 bytes, or unsealed: true where the store seals them.',
    );
  if (key !== undefined && unsealed === true) throw optionFault(where, 'it has a key and unsealed: true. Leave one out.');
  if (names !== undefined && names !== 'counted' && names !== 'keyed')
    throw optionFault(where, "names is neither 'counted' nor 'keyed'. Give one, or leave it out.");
  if (names === 'keyed' && key === undefined)
    throw optionFault(where, "names is 'keyed', which needs a key: placeholders are made with it.");
  if (normal !== undefined && typeof normal !== 'function') throw optionFault(where, 'normal is no function. Give one, or leave it out.');
  if (keeps !== undefined && !(Array.isArray(keeps) && keeps.every((pattern) => typeof pattern === 'string' && pattern !== '')))
    throw optionFault(where, 'keeps is no list of names of tools. Give names or patterns, or leave it out.');
  if ((onError as unknown) !== undefined && onError !== 'deny' && onError !== 'halt')
    throw optionFault(where, "onError is neither 'deny' nor 'halt'. What could not be hidden is not let through.");
  checkWholeNumber(where, { window }, 1);
}

function readCipher<C>({ key, oldKeys = [] }: VaultOptions<C>): VaultCipher | undefined {
  if (key === undefined) {
    if (oldKeys.length > 0) throw optionFault(where, 'it has oldKeys and no key. Give the key that is in use now.');
    return undefined;
  }
  if (!Array.isArray(oldKeys)) throw optionFault(where, 'oldKeys is no list. Give the keys that were in use before.');
  return vaultCipher([readKey('key', key), ...(oldKeys as readonly unknown[]).map((old, index) => readKey(`oldKeys[${index}]`, old))]);
}

/** Its own copy: what becomes of the bytes that were given changes nothing. Messages hold nothing of the key. */
function readKey(name: string, key: unknown): Uint8Array<ArrayBuffer> {
  const bytes = typeof key === 'string' ? bytesOf(key) : key instanceof Uint8Array ? new Uint8Array(key) : undefined;
  if (bytes === undefined || bytes.length < leastKeyBytes)
    throw optionFault(
      where,
      `${name} is no key. Give ${leastKeyBytes} random bytes or more, as a Uint8Array or as their base64; such as those of: openssl rand -base64 32.`,
    );
  return bytes;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64.trim()), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
