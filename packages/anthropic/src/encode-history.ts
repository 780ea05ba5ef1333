import type { AssistantMessage, Message, ToolMessage } from '@guardloop/core/model';
import type { Block, WireMessage } from './blocks.js';
import { isThinking, textBlock } from './blocks.js';
import { assistantForm, derivedId, missingResult, resultForm, userForm } from './encode-items.js';

/** A history as the API takes it. Messages are never changed once they were given out. */
export interface EncodedHistory {
  readonly messages: readonly WireMessage[];
  /** Wire names of all tools that were called, in order of first appearance. */
  readonly calledTools: ReadonlySet<string>;
  /** True if thinking blocks are among the messages. */
  readonly hasThinking: boolean;
  /** What the assistant messages since the last user message without tool results lack. */
  readonly currentTurn: { readonly lostNative: boolean; readonly lacksThinking: boolean };
}

interface OpenCalls {
  readonly ids: readonly string[];
  readonly callIds: readonly string[];
  readonly answered: boolean[];
}

interface History {
  /** Items encoded so far, and the ends of that stretch: an array that was changed otherwise than at its end is encoded anew. */
  count: number;
  first: Message | undefined;
  last: Message | undefined;
  readonly wire: { role: 'user' | 'assistant'; content: Block[] }[];
  /** Messages before this index were given out; they are copied before they are added to. */
  sealed: number;
  readonly usedIds: Set<string>;
  readonly calledTools: Set<string>;
  open: OpenCalls | undefined;
  hasThinking: boolean;
  lostNative: boolean;
  lacksThinking: boolean;
}

const histories = new WeakMap<readonly Message[], History>();

/** The API wants a user message first. */
const opening = textBlock('(The conversation begins with an answer.)');
/** The API wants something to answer, and newer models refuse to go on from an answer of their own. */
const goOn = textBlock('Continue.');

/**
 * Encodes a growing array of items: those that were encoded at an earlier call are not looked at again, so that a turn costs what is new in it.
 * Roles alternate, the first and the last message are the user's, each call has its result in the next message, results go first there.
 */
export function encodeHistory(items: readonly Message[]): EncodedHistory {
  let history = histories.get(items);
  if (history === undefined || history.count > items.length || history.first !== items[0] || history.last !== items[history.count - 1]) {
    history = emptyHistory();
    histories.set(items, history);
  }
  for (let index = history.count; index < items.length; index += 1) {
    const item = items[index];
    if (item !== undefined) add(history, item);
  }
  history.count = items.length;
  history.first = items[0];
  history.last = items.at(-1);
  history.sealed = history.wire.length;
  return {
    messages: closed(history),
    calledTools: history.calledTools,
    hasThinking: history.hasThinking,
    currentTurn: { lostNative: history.lostNative, lacksThinking: history.lacksThinking },
  };
}

function emptyHistory(): History {
  return {
    count: 0,
    first: undefined,
    last: undefined,
    wire: [],
    sealed: 0,
    usedIds: new Set(),
    calledTools: new Set(),
    open: undefined,
    hasThinking: false,
    lostNative: false,
    lacksThinking: false,
  };
}

function add(history: History, item: Message): void {
  if (item.role === 'tool') addResult(history, item);
  else if (item.role === 'assistant') addAnswer(history, item);
  else addUser(history, userForm(item));
}

function addUser(history: History, blocks: readonly Block[]): void {
  answerOpenCalls(history);
  if (blocks.length === 0) return;
  append(history, 'user', blocks);
  if (history.wire.at(-1)?.content.some(({ type }) => type === 'tool_result') === false) {
    history.lostNative = false;
    history.lacksThinking = false;
  }
}

function addAnswer(history: History, item: AssistantMessage): void {
  answerOpenCalls(history);
  const form = assistantForm(item);
  if (form.blocks.length === 0) return;
  const ids = uniqueIds(history, item, form.ids);
  const blocks = joinable(history, ids === form.ids ? form.blocks : withIds(form.blocks, ids));
  if (history.wire.length === 0) append(history, 'user', [opening]);
  append(history, 'assistant', blocks);
  for (const block of blocks) {
    if (block.type === 'tool_use') history.calledTools.add(String(block.name));
    history.hasThinking ||= isThinking(block);
  }
  history.lostNative ||= !form.isNative || blocks.length < form.blocks.length;
  history.lacksThinking ||= !isThinking(blocks[0]);
  if (ids.length > 0) history.open = { ids, callIds: item.calls.map(({ id }) => id), answered: ids.map(() => false) };
}

/** An answer that joins another one without thinking comes without its own: where a message has any, it must begin with it. */
function joinable(history: History, blocks: readonly Block[]): readonly Block[] {
  const last = history.wire.at(-1);
  if (last?.role !== 'assistant' || isThinking(last.content[0])) return blocks;
  return blocks.filter((block) => !isThinking(block));
}

/** Results are matched within their turn alone. One without a call, or a second one, is left out: the API refuses it. */
function addResult(history: History, item: ToolMessage): void {
  const { open } = history;
  const index = open?.callIds.findIndex((callId, place) => callId === item.callId && open.answered[place] === false) ?? -1;
  if (index !== -1) placeResult(history, index, resultForm(item));
}

function answerOpenCalls(history: History): void {
  history.open?.answered.forEach((isAnswered, index) => {
    if (!isAnswered) placeResult(history, index, missingResult);
  });
  history.open = undefined;
}

function placeResult(history: History, index: number, result: Block): void {
  const { open } = history;
  if (open === undefined) return;
  const before = open.answered.slice(0, index).filter(Boolean).length;
  append(history, 'user', []);
  history.wire.at(-1)?.content.splice(before, 0, withCallId(result, open.ids[index]));
  open.answered[index] = true;
}

function withCallId({ type, ...rest }: Block, id: string | undefined): Block {
  return { type, tool_use_id: id, ...rest };
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

/** The messages for one request: calls at the end that have no result yet are answered in a copy, since their results may still come. */
function closed(history: History): WireMessage[] {
  const messages: WireMessage[] = history.wire.slice();
  const { open } = history;
  if (open?.answered.includes(false)) {
    const last = messages.at(-1);
    const results = last?.role === 'user' ? last.content : [];
    let given = 0;
    const all = open.ids.map((id, index) => {
      const result = open.answered[index] === true ? results[given] : undefined;
      if (result === undefined) return withCallId(missingResult, id);
      given += 1;
      return result;
    });
    if (last?.role === 'user') messages.pop();
    messages.push({ role: 'user', content: [...all, ...results.slice(given)] });
  }
  if (messages.length === 0) return [{ role: 'user', content: [textBlock('(Nothing was said yet.)')] }];
  if (messages.at(-1)?.role === 'assistant') messages.push({ role: 'user', content: [goOn] });
  return messages;
}
