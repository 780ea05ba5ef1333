import type { Message } from '../model/types.js';
import type { GuardEntry, Manifest, ViewEntry, ViewText } from './events.js';

/** One stay of one agent in a conversation: which input guardrails stood, and what they have passed. */
export interface Activation {
  readonly agent: string;
  /** `run:name@version`, or `agent:AGENT:name@version`; of a shadow with `~shadow` at the end: what it saw it has not let pass. */
  readonly guards: ReadonlySet<string>;
  /** `all`: every message before `start` was passed, too. */
  readonly view: 'all' | ReadonlySet<string>;
  /** The brief it began with, which is seen but not recorded. */
  readonly brief: string | undefined;
  /** Index in `messages` where the stay began. */
  readonly start: number;
  /** What entered with it was accepted: before that, it tells nothing of what was passed. */
  isAccepted: boolean;
  /** Index after its last message; undefined while it lasts. */
  end: number | undefined;
  /** As {@link Conversation.changed}, once it is accepted. */
  changed?: ReadonlyMap<string, Message> | undefined;
}

/** The messages that the runs of one session share; a child run has its own. */
export interface Conversation {
  /** Everything recorded, pair-complete at every turn's end. */
  messages: Message[];
  /** What the active agent sees; the same array as `messages` while that is everything. */
  view: Message[];
  /** By id: messages of the view in another form than the recorded one, which rewrites or a filter made. Undefined where there are none. */
  changed?: ReadonlyMap<string, Message> | undefined;
  /** The active agent; undefined before the first run. */
  agent: string | undefined;
  readonly activations: Activation[];
  /** Whether the active agent's view holds anything untrusted. */
  isUntrusted: boolean;
  untrustedReads: { readonly tool: string; readonly callId: string }[];
}

export function newConversation(): Conversation {
  const messages: Message[] = [];
  return { messages, view: messages, agent: undefined, activations: [], isUntrusted: false, untrustedReads: [] };
}

/** Gives the conversation lists of its own, where others hold those that it has. */
export function detachLists(conversation: Conversation): void {
  const isWhole = conversation.view === conversation.messages;
  conversation.messages = [...conversation.messages];
  conversation.view = isWhole ? conversation.messages : [...conversation.view];
  conversation.untrustedReads = [...conversation.untrustedReads];
}

export function isUntrustedView(conversation: Conversation): boolean {
  return conversation.isUntrusted;
}

interface Stay {
  readonly agent: string;
  readonly manifest: Manifest;
  readonly view: Activation['view'];
  readonly brief?: string | undefined;
}

const guardKeys = new WeakMap<Manifest, { readonly agent: string; readonly keys: ReadonlySet<string> }>();

/** Under what a guardrail is known for what it has passed; an agent's own counts for that agent alone. */
export function passKey(
  { name, version = '', shadow }: Pick<GuardEntry, 'name' | 'version' | 'shadow'>,
  agent: string | undefined,
): string {
  return `${agent === undefined ? 'run' : `agent:${agent}`}:${name}@${version}${shadow ? '~shadow' : ''}`;
}

/** The keys of the input guardrails of a stay; the same set for the same manifest. */
function inputGuards(agent: string, manifest: Manifest): ReadonlySet<string> {
  const known = guardKeys.get(manifest);
  if (known?.agent === agent) return known.keys;
  const keys = new Set<string>();
  for (const entry of manifest.run) if (entry.surfaces.includes('input')) keys.add(passKey(entry, undefined));
  for (const entry of manifest.agent) if (entry.surfaces.includes('input')) keys.add(passKey(entry, agent));
  guardKeys.set(manifest, { agent, keys });
  return keys;
}

/** Leaves one agent's stay and begins another's. */
export function activate(conversation: Conversation, { agent, manifest, view, brief }: Stay): void {
  closeActivation(conversation);
  const guards = inputGuards(agent, manifest);
  conversation.agent = agent;
  conversation.activations.push({ agent, guards, view, brief, start: conversation.messages.length, isAccepted: false, end: undefined });
}

export function acceptActivation(conversation: Conversation): void {
  const last = conversation.activations.at(-1);
  if (last === undefined) return;
  last.isAccepted = true;
  last.changed = conversation.changed;
}

export function closeActivation(conversation: Conversation): void {
  const last = conversation.activations.at(-1);
  if (last && last.end === undefined) last.end = conversation.messages.length;
}

/** A message: its index in the conversation, -1 for a brief, its id, and of an answer that is nothing but one call, that. */
export interface Place {
  readonly index: number;
  readonly id: string;
  readonly only?: string | undefined;
  /** In the form in which it is to be seen; left out: as it is recorded. */
  readonly message?: Message | undefined;
}

/**
 * Whether a guardrail (by its key, see {@link Activation}) has passed a message in one of these stays, or its agent was there when it came.
 * What was passed in another form was not passed.
 */
export function hasPassed(stays: readonly Activation[], guard: string, { index, id, only, message }: Place): boolean {
  const changedForm = changedFormOf(stays, message);
  for (let at = stays.length - 1; at >= 0; at -= 1) {
    const activation = stays[at];
    if (activation === undefined || !stoodBefore(activation, guard) || activation.changed?.get(id) !== changedForm) continue;
    if (index < 0) {
      if (activation.brief === id || (activation.view !== 'all' && activation.view.has(id))) return true;
      continue;
    }
    const end = activation.end ?? Number.POSITIVE_INFINITY;
    if (index >= activation.start && index < end) return true;
    if (index >= activation.start || (activation.view !== 'all' && !activation.view.has(id))) continue;
    // The call that handed over was left out of what its target saw: its result, and an answer that was nothing else.
    const { brief } = activation;
    if (brief !== `${id}/brief` && (only === undefined || brief !== briefOf(id, only))) return true;
  }
  return false;
}

const stoodBefore = ({ isAccepted, guards }: Activation, guard: string): boolean => isAccepted && guards.has(guard);

/** The message, if it is another form than the recorded one. */
function changedFormOf(stays: readonly Activation[], message: Message | undefined): Message | undefined {
  return message !== undefined && stays.some(({ changed }) => changed?.get(message.id) === message) ? message : undefined;
}

/** The id of the brief of a call, of which an answer is known. */
function briefOf(answer: string, call: string): string {
  return `${answer.slice(0, answer.lastIndexOf('/'))}/${call}/brief`;
}

export function addMessage(conversation: Conversation, message: Message): void {
  conversation.messages.push(frozen(message));
  if (conversation.view !== conversation.messages) conversation.view.push(message);
  taste(conversation, message);
}

export function taste(conversation: Conversation, message: Message): void {
  if (message.label.integrity === 'trusted') return;
  conversation.isUntrusted = true;
  if (message.role === 'tool') conversation.untrustedReads.push({ tool: message.tool, callId: message.callId });
}

/** Messages are shown to views, filters, guardrails and models: none of them can change what was recorded. What events hold is frozen already. */
export function frozen<M extends Message>(message: M): M {
  for (const each of message.role === 'user' ? message.parts : message.role === 'assistant' ? message.calls : []) Object.freeze(each);
  if (message.role === 'user') Object.freeze(message.parts);
  else if (message.role === 'assistant') Object.freeze(message.calls);
  return Object.freeze(message);
}

export function setView(conversation: Conversation, view: Message[]): void {
  conversation.view = view;
  conversation.changed = undefined;
  conversation.isUntrusted = false;
  conversation.untrustedReads = [];
  for (const message of view) taste(conversation, message);
}

export function withoutNative(message: Message): Message {
  if (message.role !== 'assistant' || message.native === undefined) return message;
  const { native: _, ...rest } = message;
  return frozen(rest);
}

export function idsOf(messages: readonly Message[]): ReadonlySet<string> {
  return new Set(messages.map((message) => message.id));
}

/** The same message with other text; of an answer also without the inputs of its calls. */
export function withText(message: Message, text: string, dropsInputs = false): Message {
  if (message.role === 'user')
    return frozen({
      ...message,
      parts: [{ type: 'text', text, label: message.label }, ...message.parts.filter((part) => part.type !== 'text')],
    });
  if (message.role === 'tool') return frozen({ ...message, content: text });
  const { native: _, ...rest } = message;
  return frozen({ ...rest, text, ...(dropsInputs ? { calls: rest.calls.map((call) => ({ ...call, input: {} })) } : {}) });
}

/** The messages with the texts that rewrites made of them; the same array where there are none. */
export function changeTexts(view: readonly Message[], changed: readonly ViewText[]): readonly Message[] {
  if (changed.length === 0) return view;
  const changes = new Map(changed.map((change) => [change.id, change]));
  return view.map((message) => {
    const change = changes.get(message.id);
    return change === undefined ? message : withText(message, change.text, change.dropsInputs);
  });
}

/** Notes of which messages the view has another form than the recorded one. */
export function noteChanged(conversation: Conversation, entries: readonly ViewEntry[]): void {
  const ids = new Set(entries.flatMap((entry) => (typeof entry === 'string' || 'role' in entry ? [] : [entry.id])));
  if (ids.size === 0) return;
  const changed = new Map(conversation.changed);
  for (const message of conversation.view) if (ids.has(message.id)) changed.set(message.id, message);
  conversation.changed = changed;
}

/** Makes messages of recorded references. An id that is not recorded is left out. */
export function resolveView(messages: readonly Message[], view: readonly ViewEntry[]): Message[] {
  const byId = new Map(messages.map((message) => [message.id, message]));
  const resolved: Message[] = [];
  for (const entry of view) {
    if (typeof entry !== 'string' && 'role' in entry) {
      resolved.push(entry);
      continue;
    }
    const message = byId.get(typeof entry === 'string' ? entry : entry.id);
    if (message) resolved.push(typeof entry === 'string' ? message : withText(message, entry.text, entry.dropsInputs));
  }
  return resolved;
}

/** The messages without one call and its result, left out together; `resultId` is the result message's id. */
export function withoutCall(messages: readonly Message[], resultId: string, callId: string): Message[] {
  const kept: Message[] = [];
  let owner = -1;
  for (const message of messages) {
    if (message.id === resultId) {
      const before = kept[owner];
      if (before?.role === 'assistant') {
        const calls = before.calls.filter((call) => call.id !== callId);
        const { native: _, ...rest } = before;
        if (calls.length > 0 || before.text !== '') kept[owner] = frozen({ ...rest, calls });
        else kept.splice(owner, 1);
      }
      continue;
    }
    if (message.role === 'assistant') owner = kept.length;
    kept.push(message);
  }
  return kept;
}
