import type { InputItem, InputSubject } from '../define/types.js';
import type { AssistantMessage, Label, Message, UserMessage } from '../model/types.js';
import { hasPassed, passKey, withText } from '../state/conversation.js';
import type { Refusal, ViewText } from '../state/events.js';
import type { Matter, Ruling, Viewer } from './guard.js';
import { judge } from './guard.js';
import type { LogDraft, RunHandle } from './handle.js';
import { contentText, deepFreeze } from './plain-output.js';
import { rewriteText } from './rewrite-text.js';
import type { Placed } from './stand.js';

/** What is about to enter an agent's view. */
export interface Entry<M extends Message> {
  readonly subject: string;
  readonly agent: string;
  /** Never judged by anyone: the input, the brief, what a view wrote. */
  readonly fresh: readonly M[];
  /** What the agent will see of the recorded messages. */
  readonly history: readonly Message[];
  readonly guards: readonly Placed[];
  /** How many of the conversation's stays are over; those tell what was passed before. */
  readonly stays: number;
  /** History whose text a filter wrote: new to everyone. */
  readonly rewritten?: ReadonlySet<string> | undefined;
  /** Rewrites that an earlier part of the same entry took. */
  readonly revision?: number | undefined;
  /** As {@link Matter.about}. */
  readonly about?: string | undefined;
}

export interface Entered<M extends Message> {
  readonly refusal: Refusal | undefined;
  readonly isStopped: boolean;
  /** The fresh items in the form that passed. */
  readonly items: readonly M[];
  /** History items that were rewritten for this agent. */
  readonly changed: readonly ViewText[];
  readonly judged: readonly string[];
  readonly revisions: { readonly [item: string]: number };
  readonly revision: number;
}

type InputAccept = Extract<LogDraft, { type: 'input.accept' }>;

/** Records what has passed on its way into the active agent's view. */
export function acceptEntry(
  handle: RunHandle,
  subject: string,
  {
    items,
    changed,
    judged,
    revisions,
    revision,
  }: Pick<Entered<UserMessage | AssistantMessage>, 'items' | 'changed' | 'judged' | 'revisions' | 'revision'>,
): void {
  const accept: { -readonly [K in keyof InputAccept]: InputAccept[K] } = {
    type: 'input.accept',
    seq: 0,
    at: 0,
    run: '',
    agent: '',
    subject,
    revision,
    items,
  };
  if (changed.length > 0) accept.changed = changed;
  if (judged.length > 0) accept.judged = judged;
  if (revision > 0) accept.revisions = revisions;
  handle.append(accept);
}

export function messageText(message: Message): string {
  if (message.role === 'user') return contentText(message.parts);
  if (message.role === 'tool') return contentText(message.content);
  return message.text;
}

/** The calls of an answer as guardrails are shown them: a line for each that has arguments, its tool and their JSON. */
function callLines(message: Message): readonly string[] {
  if (message.role !== 'assistant') return [];
  return message.calls.filter(({ input }) => Object.keys(input).length > 0).map(({ name, input }) => `${name} ${JSON.stringify(input)}`);
}

/** The call of an answer that is nothing else. */
function onlyCall(message: Message): string | undefined {
  return message.role === 'assistant' && message.text === '' && message.calls.length === 1 ? message.calls[0]?.id : undefined;
}

/** All that a message brings into a view: its text, and under it the calls of an answer. */
function enteringText(message: Message): string {
  const lines = callLines(message);
  if (lines.length === 0) return messageText(message);
  return [...(message.role === 'assistant' && message.text !== '' ? [message.text] : []), ...lines].join('\n');
}

/** A message of which a rewrite made another entering text. Where it touched the lines of the calls, their inputs are left out. */
function withEnteringText(message: Message, text: string): Message {
  const lines = callLines(message);
  if (lines.length === 0) return withText(message, text);
  const calls = lines.join('\n');
  if (text === calls) return withText(message, '');
  if (text.endsWith(`\n${calls}`)) return withText(message, text.slice(0, -calls.length - 1));
  const rest = text.split('\n');
  return withText(message, rest.length < lines.length ? text : rest.slice(0, -lines.length).join('\n'), true);
}

function toItem(message: Message): InputItem {
  const text = enteringText(message);
  const parts =
    message.role === 'user'
      ? message.parts
      : message.role === 'tool' && typeof message.content !== 'string'
        ? message.content
        : [{ type: 'text' as const, text }];
  return { id: message.id, role: message.role, via: message.role === 'user' ? message.via : 'session', label: message.label, text, parts };
}

function toSubject(messages: readonly Message[]): InputSubject {
  const items = messages.map(toItem);
  const label: Label = items.find((item) => item.label.integrity === 'untrusted')?.label ??
    items[0]?.label ?? { origin: 'user', integrity: 'trusted' };
  return deepFreeze({ surface: 'input', content: items.map((item) => item.text).join('\n'), label, items });
}

/**
 * Judges what is new to an agent's view: each item by the rewrites, then the whole entry by the checks. Items that a guardrail has passed in
 * this conversation are not put to it again.
 */
export async function enter<M extends Message>(handle: RunHandle, entry: Entry<M>): Promise<Entered<M>> {
  const { fresh } = entry;
  const viewer = entry.agent === handle.state.agent ? undefined : { agent: entry.agent, messages: entry.history };
  const asking: Asking = { entry, newTo: findNew(handle, entry), viewer };
  const rewriting = entry.guards.some(({ spec }) => spec.rewrite) ? rewriteItems(handle, asking) : nothingRewritten(entry);
  const rewritten = rewriting instanceof Promise ? await rewriting : rewriting;
  const ending = rewritten.isStopped || rewritten.refusal ? rewritten : checkEntry(handle, afterRewrites(asking, rewritten), rewritten);
  const end = ending instanceof Promise ? await ending : ending;
  if (end.isStopped || end.refusal)
    return {
      refusal: end.refusal,
      isStopped: end.isStopped,
      items: fresh,
      changed: [],
      judged: [],
      revisions: {},
      revision: entry.revision ?? 0,
    };
  const { current, changed, revisions, revision } = rewritten;
  const items = fresh.map((message) => (current.get(message.id) ?? message) as M);
  return { refusal: undefined, isStopped: false, items, changed, judged: asking.newTo.all.map(({ id }) => id), revisions, revision };
}

/** An entry that is being judged. */
interface Asking {
  readonly entry: Entry<Message>;
  readonly newTo: News;
  readonly viewer: Viewer | undefined;
}

interface Outcome {
  readonly refusal: Refusal | undefined;
  readonly isStopped: boolean;
}

interface RewrittenItems extends Outcome {
  /** What became of each message, by id. */
  readonly current: ReadonlyMap<string, Message>;
  readonly changed: readonly ViewText[];
  readonly revisions: { readonly [item: string]: number };
  readonly revision: number;
}

function nothingRewritten({ revision = 0 }: Entry<Message>): RewrittenItems {
  return { refusal: undefined, isStopped: false, current: noMessages, changed: [], revisions: {}, revision };
}

const noMessages: ReadonlyMap<string, Message> = new Map();

/** Puts each item to the rewrites. Ends with the first refusal. */
function rewriteItems(handle: RunHandle, { entry, newTo, viewer }: Asking): RewrittenItems | Promise<RewrittenItems> {
  const { about, fresh } = entry;
  const revisions: Record<string, number> = {};
  let revision = entry.revision ?? 0;
  const current = new Map<string, Message>();
  const changed: ViewText[] = [];
  const messages = [...newTo.all, ...fresh];
  /** Whether it goes on. */
  const keep = (message: Message, { refusal, isStopped, ...ruling }: Ruling<Message>): boolean => {
    if (isStopped || refusal) return false;
    if (ruling.revision === 0) return true;
    revisions[message.id] = ruling.revision;
    revision += ruling.revision;
    current.set(message.id, ruling.value);
    if (fresh.includes(message)) return true;
    const dropsInputs = callLines(message).length > callLines(ruling.value).length;
    changed.push({ id: message.id, text: messageText(ruling.value), ...(dropsInputs ? { dropsInputs } : {}) });
    return true;
  };
  const end = ({ refusal, isStopped }: Outcome): RewrittenItems => ({ refusal, isStopped, current, changed, revisions, revision });
  const rewriteFrom = (from: number): RewrittenItems | Promise<RewrittenItems> => {
    for (let index = from; index < messages.length; index += 1) {
      const message = messages[index];
      if (message === undefined) break;
      const guards = entry.guards.filter((placed) => placed.spec.rewrite !== undefined && newTo.isNew(placed, message));
      if (guards.length === 0) continue;
      const judging = judge<Message>(handle, {
        surface: 'input',
        subject: message.id,
        about,
        viewer,
        revision: 0,
        value: message,
        guards,
        phases: 'rewrite',
        canAsk: false,
        toSubject: (value) => toSubject([value]),
        rewrite(value, by) {
          const text = rewriteText(enteringText(value), by);
          return text === undefined ? undefined : { value: deepFreeze(withEnteringText(value, text)) };
        },
      });
      if (judging instanceof Promise) return judging.then((ruling) => (keep(message, ruling) ? rewriteFrom(index + 1) : end(ruling)));
      if (!keep(message, judging)) return end(judging);
    }
    return end(passed);
  };
  return rewriteFrom(0);
}

const passed: Outcome = { refusal: undefined, isStopped: false };
const stopped: Outcome = { refusal: undefined, isStopped: true };

/** What rewrites made of the history is what the checks are told of it. */
function afterRewrites(asking: Asking, { current, changed }: RewrittenItems): Asking {
  if (changed.length === 0) return asking;
  const { agent, history } = asking.entry;
  return { ...asking, viewer: { agent, messages: history.map((message) => current.get(message.id) ?? message) } };
}

/** Puts the whole entry to the checks. Those that are to see the same items are asked together. */
function checkEntry(handle: RunHandle, asking: Asking, { revision, ...rewritten }: RewrittenItems): Outcome | Promise<Outcome> {
  const { entry, viewer } = asking;
  const { about, subject } = entry;
  const groups = groupChecks(asking, rewritten)[Symbol.iterator]();
  let strictest: Refusal | undefined;
  /** Whether it goes on. */
  const keep = ({ refusal, isStopped }: Outcome): boolean => {
    if (refusal && (strictest === undefined || (strictest.action === 'deny' && refusal.action === 'halt'))) strictest = refusal;
    return !isStopped;
  };
  const checkRest = (): Outcome | Promise<Outcome> => {
    for (let group = groups.next(); !group.done; group = groups.next()) {
      const { items, guards } = group.value;
      const judging = judge<readonly Message[]>(handle, {
        surface: 'input',
        subject,
        about,
        viewer,
        revision,
        value: items,
        guards,
        phases: 'check',
        canAsk: false,
        toSubject,
        rewrite: () => undefined,
      });
      if (judging instanceof Promise) return judging.then((ruling) => (keep(ruling) ? checkRest() : stopped));
      if (!keep(judging)) return stopped;
    }
    return strictest === undefined ? passed : { refusal: strictest, isStopped: false };
  };
  return checkRest();
}

interface CheckGroup {
  readonly items: readonly Message[];
  readonly guards: Placed[];
}

/** What was rewritten is new to every check. */
function groupChecks(
  { entry, newTo }: Asking,
  { current, revisions }: Pick<RewrittenItems, 'current' | 'revisions'>,
): Iterable<CheckGroup> {
  if (newTo.all.length === 0) {
    const guards = entry.guards.filter(({ spec }) => spec.check !== undefined);
    return entry.fresh.length === 0 || guards.length === 0
      ? []
      : [{ items: entry.fresh.map((message) => current.get(message.id) ?? message), guards }];
  }
  const groups = new Map<string, CheckGroup>();
  for (const placed of entry.guards) {
    if (placed.spec.check === undefined) continue;
    const old = newTo.all.filter((message) => newTo.isNew(placed, message) || revisions[message.id] !== undefined);
    const items = [...old, ...entry.fresh].map((message) => current.get(message.id) ?? message);
    if (items.length === 0) continue;
    const key = old.length === 0 ? '' : items.map((item) => item.id).join('\n');
    const group = groups.get(key);
    if (group) group.guards.push(placed);
    else groups.set(key, { items, guards: [placed] });
  }
  return groups.values();
}

/** What of the history is new, to any guardrail and to each. */
interface News {
  readonly all: readonly Message[];
  isNew(placed: Placed, message: Message): boolean;
}

/** Which history items are new to which guardrail. */
function findNew(handle: RunHandle, entry: Entry<Message>): News {
  const { conversation } = handle.state;
  const { guards, history, stays, agent } = entry;
  const everything = () => true;
  if (guards.length === 0 || history.length === 0) return { all: [], isNew: everything };
  const keys = guards.map(({ spec, level }) => passKey(spec.entry, level === 'run' ? undefined : agent));
  // The usual case: the same guardrails stood in the stay before, which saw everything.
  const last = conversation.activations[stays - 1];
  if (
    entry.rewritten === undefined &&
    last?.view === 'all' &&
    last.isAccepted &&
    last.changed === undefined &&
    (last.end ?? conversation.messages.length) === conversation.messages.length &&
    keys.every((key) => last.guards.has(key))
  ) {
    return { all: [], isNew: everything };
  }
  const indexes = new Map(conversation.messages.map((message, index) => [message.id, index]));
  const before = conversation.activations.slice(0, stays);
  const fresh = new Map<Placed, Set<string>>();
  const all: Message[] = [];
  for (const message of history) {
    // Results of the answer that hands over are not recorded yet: they come last. A brief never is.
    const index = indexes.get(message.id) ?? (message.role === 'tool' ? conversation.messages.length : -1);
    const place = { index, id: message.id, only: onlyCall(message), message };
    let isNew = false;
    for (const [at, placed] of guards.entries()) {
      const key = keys[at];
      if (key === undefined || (!entry.rewritten?.has(message.id) && hasPassed(before, key, place))) continue;
      isNew = true;
      const ids = fresh.get(placed);
      if (ids) ids.add(message.id);
      else fresh.set(placed, new Set([message.id]));
    }
    if (isNew) all.push(message);
  }
  const historyIds = new Set(all.map((message) => message.id));
  return { all, isNew: (placed, message) => !historyIds.has(message.id) || (fresh.get(placed)?.has(message.id) ?? false) };
}
