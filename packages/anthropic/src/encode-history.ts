import type { AssistantMessage, Message, ToolMessage } from '@guardloop/core/model';
import { OpenCalls, standIns } from '@guardloop/core/model';
import type { Block, WireMessage } from './blocks.js';
import { callerOf, isThinking, textBlock, withoutLastThinking } from './blocks.js';
import type { Dropped } from './encode-items.js';
import { assistantForm, derivedId, resultForCode, resultForm, userForm } from './encode-items.js';
import type { Container } from './native-message.js';
import type { ServerCalls } from './server-tools.js';
import { leftBehind, pairServerCalls, withoutServerCalls } from './server-tools.js';

/** A history as the API takes it. Messages are never changed once they were given out. */
export interface EncodedHistory {
  readonly messages: readonly WireMessage[];
  /** Wire names of all tools that were called, in order of first appearance. */
  readonly calledTools: ReadonlySet<string>;
  /** True if thinking blocks are among the messages. */
  readonly hasThinking: boolean;
  readonly currentTurn: CurrentTurn;
  /** What the API does not take of items that were not encoded before. */
  readonly warnings: readonly ItemWarning[];
}

/** The assistant messages since the last user message without tool results. */
export interface CurrentTurn {
  /** True if one of them is not as the provider gave it. */
  readonly lostNative: boolean;
  /** True if one of them does not begin with thinking. */
  readonly lacksThinking: boolean;
  /** Where the provider's own tools ran. */
  readonly container: Container | undefined;
  /** Server tool calls that have no result until the results at the end of the history are there. */
  readonly waiting: ReadonlyMap<string, Block>;
}

export interface ItemWarning extends Dropped {
  /** Id of the item. */
  readonly item: string;
}

interface History {
  /** The server whose thinking may go along. */
  readonly maker: string | undefined;
  /** Items encoded so far, and the ends of that stretch: an array that was changed otherwise than at its end is encoded anew. */
  count: number;
  first: Message | undefined;
  last: Message | undefined;
  readonly wire: { role: 'user' | 'assistant'; content: Block[] }[];
  /** Messages before this index were given out; they are copied before they are added to. */
  sealed: number;
  readonly calls: OpenCalls;
  /** Of the calls of the last answer, in call order: their ids, who made them, and whether their results are there. */
  open: { readonly ids: readonly string[]; readonly isByCode: readonly boolean[]; readonly answered: boolean[] };
  readonly usedIds: Set<string>;
  readonly calledTools: Set<string>;
  readonly server: ServerCalls;
  container: Container | undefined;
  hasThinking: boolean;
  lostNative: boolean;
  lacksThinking: boolean;
  warnings: ItemWarning[];
}

/** By server, since what goes back hangs on it. */
const histories = new Map<string | undefined, WeakMap<readonly Message[], History>>();
/** Items that warnings were given for: an item is told of once, however often it is encoded. */
const told = new WeakSet<Message>();

const opening = textBlock(standIns.opening);
/** Newer models refuse to go on from an answer of their own. */
const goOn = textBlock(standIns.goOn);
const nothing = textBlock(standIns.nothing);

/**
 * Encodes a growing array of items: those that were encoded at an earlier call are not looked at again, so that a turn costs what is new in it.
 * Roles alternate, the first and the last message are the user's, each call has its result in the next message, results go first there.
 * Throws, with the item's id, for a call without a result and a result without a call. `server` names the server that it goes to, if that
 * imitates the API.
 */
export function encodeHistory(items: readonly Message[], server?: string): EncodedHistory {
  const known = historiesFor(server);
  let history = known.get(items);
  if (history === undefined || history.count > items.length || history.first !== items[0] || history.last !== items[history.count - 1]) {
    history = emptyHistory(server);
  }
  // Kept only once all is encoded: what was begun and thrown away leaves nothing behind.
  known.delete(items);
  for (let index = history.count; index < items.length; index += 1) {
    const item = items[index];
    if (item !== undefined) add(history, item);
  }
  if (history.calls.areWaiting) history.calls.close();
  known.set(items, history);
  history.count = items.length;
  history.first = items[0];
  history.last = items.at(-1);
  history.sealed = history.wire.length;
  const { calledTools, hasThinking, lostNative, lacksThinking, container, server: serverCalls, warnings } = history;
  history.warnings = [];
  return {
    messages: ended(history.wire),
    calledTools,
    hasThinking,
    currentTurn: { lostNative, lacksThinking, container, waiting: serverCalls.waiting },
    warnings,
  };
}

function historiesFor(server: string | undefined): WeakMap<readonly Message[], History> {
  let found = histories.get(server);
  if (found === undefined) {
    found = new WeakMap();
    histories.set(server, found);
  }
  return found;
}

function emptyHistory(maker: string | undefined): History {
  return {
    maker,
    count: 0,
    first: undefined,
    last: undefined,
    wire: [],
    sealed: 0,
    calls: new OpenCalls(),
    open: { ids: [], isByCode: [], answered: [] },
    usedIds: new Set(),
    calledTools: new Set(),
    server: { seen: new Set(), waiting: new Map() },
    container: undefined,
    hasThinking: false,
    lostNative: false,
    lacksThinking: false,
    warnings: [],
  };
}

function add(history: History, item: Message): void {
  if (item.role === 'tool') {
    addResult(history, item);
    return;
  }
  if (item.role === 'assistant') {
    addAnswer(history, item);
    return;
  }
  history.calls.close();
  const form = userForm(item);
  warn(history, item, form.dropped);
  addUser(history, form.blocks);
}

function addUser(history: History, blocks: readonly Block[]): void {
  if (blocks.length === 0) return;
  giveUp(history, new Set(history.server.waiting.keys()));
  append(history, 'user', blocks);
  if (history.wire.at(-1)?.content.some(({ type }) => type === 'tool_result') === true) return;
  history.lostNative = false;
  history.lacksThinking = false;
  history.container = undefined;
}

function addAnswer(history: History, item: AssistantMessage): void {
  history.calls.open(item);
  const form = assistantForm(item, history.maker);
  warn(history, item, form.dropped);
  history.open = { ids: [], isByCode: [], answered: [] };
  const blocks = placed(history, form.blocks);
  if (blocks.length === 0) return;
  const ids = uniqueIds(history, item, form.ids);
  const named = ids === form.ids ? blocks : withIds(blocks, ids);
  if (history.wire.length === 0) append(history, 'user', [opening]);
  append(history, 'assistant', named);
  const calls = named.filter(({ type }) => type === 'tool_use');
  for (const { name } of calls) history.calledTools.add(String(name));
  history.hasThinking ||= named.some(isThinking);
  history.lostNative ||= !form.isNative || named.filter(isThinking).length < form.blocks.filter(isThinking).length;
  history.lacksThinking ||= !isThinking(named[0]);
  history.container = form.container ?? history.container;
  history.open = { ids, isByCode: calls.map((call) => callerOf(call) !== undefined), answered: ids.map(() => false) };
}

/** The blocks of an answer as they can stand where it comes: with what they belong to, or without. */
function placed(history: History, given: readonly Block[]): readonly Block[] {
  const { server } = history;
  const before = [...server.waiting.keys()];
  let blocks = pairServerCalls(joinable(history, given), server);
  const behind = leftBehind(blocks, before, server);
  giveUp(history, behind);
  if (server.waiting.size > 0 && !blocks.some(({ type }) => type === 'tool_use')) {
    const left = new Set(server.waiting.keys());
    blocks = withoutServerCalls([{ role: 'assistant', content: blocks }], left)[0]?.content ?? [];
    giveUp(history, left);
  }
  return withoutLastThinking(blocks);
}

/** An answer that joins another one without thinking comes without its own: where a message has any, it must begin with it. */
function joinable(history: History, blocks: readonly Block[]): readonly Block[] {
  const last = history.wire.at(-1);
  if (last?.role !== 'assistant' || isThinking(last.content[0])) return blocks;
  return blocks.filter((block) => !isThinking(block));
}

/** Takes server tool calls out again that will have no result: the API refuses a turn that ends with one. */
function giveUp({ server, wire }: History, ids: ReadonlySet<string>): void {
  if (ids.size === 0) return;
  for (const id of ids) server.waiting.delete(id);
  for (const [index, { role, content }] of withoutServerCalls<WireMessage>(wire, ids).entries()) {
    if (content !== wire[index]?.content) wire[index] = { role, content: [...content] };
  }
}

/** Results stand in call order, whatever order they come in. */
function addResult(history: History, item: ToolMessage): void {
  const index = history.calls.answer(item);
  const { ids, isByCode, answered } = history.open;
  const form = isByCode[index] === true ? resultForCode(resultForm(item)) : resultForm(item);
  warn(history, item, form.dropped);
  append(history, 'user', []);
  history.wire.at(-1)?.content.splice(answered.slice(0, index).filter(Boolean).length, 0, withCallId(form.block, ids[index]));
  answered[index] = true;
}

function withCallId({ type, ...rest }: Block, id: string | undefined): Block {
  return { type, tool_use_id: id, ...rest };
}

function warn(history: History, item: Message, dropped: readonly Dropped[]): void {
  if (dropped.length === 0 || told.has(item)) return;
  told.add(item);
  for (const { about, message } of dropped) history.warnings.push({ about, message, item: item.id });
}

/** Adds to the last message if it has the role, else begins a message. */
function append(history: History, role: 'user' | 'assistant', blocks: readonly Block[]): void {
  const last = history.wire.at(-1);
  if (last?.role !== role) {
    history.wire.push({ role, content: [...blocks] });
    return;
  }
  const index = history.wire.length - 1;
  if (index >= history.sealed) {
    last.content.push(...blocks);
    return;
  }
  history.wire[index] = { role, content: [...last.content, ...blocks] };
  history.sealed = index;
}

/** Calls keep their ids unless an earlier call of the same history has one of them. */
function uniqueIds(history: History, item: AssistantMessage, ids: readonly string[]): readonly string[] {
  let isChanged = false;
  const unique = ids.map((id, index) => {
    let free = id;
    for (let round = 0; history.usedIds.has(free); round += 1) free = `${derivedId(item, index)}${round === 0 ? '' : `_${round}`}`;
    history.usedIds.add(free);
    isChanged ||= free !== id;
    return free;
  });
  return isChanged ? unique : ids;
}

function withIds(blocks: readonly Block[], ids: readonly string[]): readonly Block[] {
  let index = 0;
  return blocks.map((block) => {
    if (block.type !== 'tool_use') return block;
    const id = ids[index];
    index += 1;
    return { ...block, id };
  });
}

function ended(wire: readonly WireMessage[]): WireMessage[] {
  const messages = [...wire];
  if (messages.length === 0) return [{ role: 'user', content: [nothing] }];
  if (messages.at(-1)?.role === 'assistant') messages.push({ role: 'user', content: [goOn] });
  return messages;
}
