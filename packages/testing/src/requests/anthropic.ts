// What the Messages API refuses, as far as a request alone tells. Every rule here has been an answer with status 400 to somebody.

import { checkOptionNames } from '@guardloop/core/model';
import { checkBlock } from './anthropic-blocks.js';
import type { Fields, Problems } from './anthropic-fields.js';
import { contentOf, hasText, isFields, isThinking, listOf, show } from './anthropic-fields.js';
import { takesPrefill } from './anthropic-models.js';
import { checkServerTools } from './anthropic-server-tools.js';
import { checkSettings } from './anthropic-settings.js';

const mostMessages = 100_000;

/** What a body alone does not tell. */
export interface MessagesRequestOptions {
  /** The `anthropic-version` header: newer ones than `2023-06-01` refuse `temperature`, `top_p` and `top_k`. Left out, these are taken. */
  readonly apiVersion?: string | undefined;
}

/**
 * Everything for which the Messages API would refuse this request body, in words that name the place and the ids concerned; empty when it
 * is legal. Pure. Some rules are those of the model that the body names; other ids have only the common ones. Stricter than the API where
 * it is lenient to some: messages of one role in a row, a system role inside messages, names and ids over 64 characters.
 */
export function checkMessagesRequest(body: unknown, options: MessagesRequestOptions = {}): readonly string[] {
  checkOptionNames('checkMessagesRequest(…)', options, { apiVersion: true } satisfies {
    readonly [K in keyof MessagesRequestOptions]-?: true;
  });
  if (!isFields(body)) return ['the body is not an object'];
  return [...checkSettings(body, options.apiVersion), ...checkMessages(body), ...checkSurrogates(body, 'body')];
}

function* checkMessages(body: Fields): Problems {
  const messages = listOf(body.messages);
  if (messages.length === 0) return yield 'messages: missing or empty';
  if (messages.length > mostMessages) yield `messages: ${messages.length}, and ${mostMessages} are allowed`;
  for (const [index, message] of messages.entries()) yield* checkMessage(message, index, messages[index - 1]);
  yield* checkIds(messages);
  for (const index of messages.keys()) {
    yield* checkPairs(messages, index);
    yield* checkOrder(messages, index);
  }
  yield* checkEnds(messages);
  yield* checkPrefill(messages.at(-1), body.model);
  yield* checkServerTools(body);
  if (body.tools === undefined && messages.flatMap(contentOf).some(({ type }) => type === 'tool_use' || type === 'tool_result')) {
    yield 'tools: missing, though messages hold tool_use or tool_result blocks';
  }
  if (isFields(body.thinking) && body.thinking.type === 'enabled') yield* checkCurrentTurn(messages);
}

function* checkMessage(message: unknown, index: number, previous: unknown): Problems {
  const place = `messages.${index}`;
  if (!isFields(message)) return yield `${place}: not an object`;
  const { role, content } = message;
  if (role === 'system') yield `${place}.role: system text goes to the top-level field`;
  else if (role !== 'user' && role !== 'assistant') yield `${place}.role: ${show(role)} is neither user nor assistant`;
  if (index === 0 && role !== 'user') yield `${place}.role: the first message is not the user's`;
  if (isFields(previous) && previous.role === role) yield `${place}.role: two messages of ${show(role)} in a row`;
  for (const field of Object.keys(message))
    if (field !== 'role' && field !== 'content') yield `${place}.${field}: the API has no such field`;
  if (typeof content === 'string') {
    if (!hasText(content)) yield `${place}.content: empty or only whitespace`;
    return;
  }
  if (!Array.isArray(content) || content.length === 0) yield `${place}.content: neither text nor a list of blocks, or an empty one`;
  for (const [position, block] of listOf(content).entries()) yield* checkBlock(block, `${place}.content.${position}`, role);
}

function* checkIds(messages: readonly unknown[]): Problems {
  const ids = new Set<string>();
  for (const [index, message] of messages.entries()) {
    for (const id of callsOf(message)) {
      if (ids.has(id)) yield `messages.${index}: ${show(id)} is the id of two calls`;
      ids.add(id);
    }
  }
}

/** Every call is answered once, in the very next message; and nothing is answered that was not called. */
function* checkPairs(messages: readonly unknown[], index: number): Problems {
  const next = messages[index + 1];
  const answered = resultsOf(next);
  const missing = callsOf(messages[index]).filter((id) => !answered.includes(id));
  if (missing.length > 0) yield `messages.${index}: no tool_result in the next message for ${missing.map(show).join(', ')}`;
  const results = resultsOf(messages[index]);
  const called = callsOf(messages[index - 1]);
  for (const id of new Set(results)) {
    if (!called.includes(id)) yield `messages.${index}: tool_result for ${show(id)}, which the message before does not call`;
    if (results.filter((other) => other === id).length > 1) yield `messages.${index}: more than one tool_result for ${show(id)}`;
  }
}

function* checkOrder(messages: readonly unknown[], index: number): Problems {
  const types = contentOf(messages[index]).map(({ type }) => type);
  const other = types.findIndex((type) => type !== 'tool_result');
  if (other !== -1 && types.lastIndexOf('tool_result') > other)
    yield `messages.${index}: a ${show(types[other])} block stands before a tool_result`;
}

function* checkEnds(messages: readonly unknown[]): Problems {
  for (const [index, message] of messages.entries()) {
    if (roleOf(message) === 'assistant' && isThinking(contentOf(message).at(-1))) {
      yield `messages.${index}: the last block of an assistant message is thinking`;
    }
  }
  const last = messages.at(-1);
  if (!isFields(last) || last.role !== 'assistant') return;
  const end = typeof last.content === 'string' ? last.content : contentOf(last).at(-1)?.text;
  if (typeof end === 'string' && /\s$/.test(end)) yield `messages.${messages.length - 1}: the final assistant message ends in whitespace`;
}

/** Newer models go on from an answer only where it paused for a server tool. */
function* checkPrefill(last: unknown, model: unknown): Problems {
  if (roleOf(last) !== 'assistant' || takesPrefill(model)) return;
  if (!contentOf(last).some(({ type }) => typeof type === 'string' && /^(?:server|mcp)_tool_use$|_tool_result$/.test(type)))
    yield `messages: the last one is the assistant's, and ${show(model)} does not go on from it`;
}

/** With a thinking budget, each assistant message since the last user message without results begins with thinking. */
function* checkCurrentTurn(messages: readonly unknown[]): Problems {
  const start = messages.findLastIndex((message) => roleOf(message) === 'user' && resultsOf(message).length === 0);
  for (const [index, message] of messages.entries()) {
    if (index > start && roleOf(message) === 'assistant' && !isThinking(contentOf(message)[0])) {
      yield `messages.${index}.content.0: thinking is on, and this message of the current turn does not begin with thinking`;
    }
  }
}

function* checkSurrogates(value: unknown, place: string): Problems {
  if (typeof value === 'string') {
    if (/\p{Surrogate}/u.test(value)) yield `${place}: holds half a surrogate pair`;
    return;
  }
  for (const [index, item] of listOf(value).entries()) yield* checkSurrogates(item, `${place}.${index}`);
  for (const [key, item] of Object.entries(isFields(value) ? value : {})) {
    if (/\p{Surrogate}/u.test(key)) yield `${place}: has a key with half a surrogate pair`;
    yield* checkSurrogates(item, `${place}.${key}`);
  }
}

function roleOf(message: unknown): unknown {
  return isFields(message) ? message.role : undefined;
}

function callsOf(message: unknown): readonly string[] {
  if (roleOf(message) !== 'assistant') return [];
  return contentOf(message).flatMap(({ type, id }) => (type === 'tool_use' && typeof id === 'string' ? [id] : []));
}

function resultsOf(message: unknown): readonly string[] {
  if (roleOf(message) !== 'user') return [];
  return contentOf(message).flatMap(({ type, tool_use_id: id }) => (type === 'tool_result' && typeof id === 'string' ? [id] : []));
}
