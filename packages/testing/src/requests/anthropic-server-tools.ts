// Tools that Anthropic runs itself: their calls and results stand in assistant messages, and some wait for the results of our own tools.

import type { Fields, Problems } from './anthropic-fields.js';
import { contentOf, isFields, listOf, show } from './anthropic-fields.js';

/** Every call of a server tool has its result in the same assistant turn, or waits for our results at the end of the request. */
export function* checkServerTools(body: Fields): Problems {
  const messages = listOf(body.messages);
  const waiting = new Map<string, Fields>();
  const seen = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const place = `messages.${index}`;
    const isLast = index === messages.length - 1;
    const blocks = contentOf(message);
    const isUser = isFields(message) && message.role === 'user';
    if (isUser && (blocks.length === 0 || blocks.some(({ type }) => type !== 'tool_result'))) yield* unresolved(waiting, place);
    if (isUser) continue;
    yield* checkCalls(blocks, place, { waiting, seen });
    if (!isLast && !blocks.some(({ type }) => type === 'tool_use')) yield* unresolved(waiting, place);
    yield* checkProgrammatic(blocks, messages[index + 1], { place, seen });
  }
  for (const [id, block] of waiting) {
    if (!isOffered(block, body.tools)) yield `tools: ${show(block.name)} waits for its result (${show(id)}) and is not offered`;
  }
  if (body.container === undefined && isPaused(messages)) yield 'container: missing, though code waits for the results of its calls';
}

function* checkCalls(
  blocks: readonly Fields[],
  place: string,
  { waiting, seen }: { readonly waiting: Map<string, Fields>; readonly seen: Set<string> },
): Problems {
  for (const block of blocks) {
    if (isServerCall(block)) {
      const id = String(block.id);
      if (seen.has(id)) yield `${place}: ${show(id)} is the id of two server tool calls`;
      seen.add(id);
      waiting.set(id, block);
    } else if (isServerResult(block) && !waiting.delete(String(block.tool_use_id))) {
      yield `${place}: ${show(block.type)} for ${show(block.tool_use_id)}, which no server tool call before it has as its id`;
    }
  }
}

function* unresolved(waiting: Map<string, Fields>, place: string): Problems {
  for (const [id, { name }] of waiting) yield `${place}: the turn ends, and server tool call ${show(id)} (${show(name)}) has no result`;
  waiting.clear();
}

/** Code that calls our tools takes their results alone, and as text. */
function* checkProgrammatic(
  blocks: readonly Fields[],
  next: unknown,
  { place, seen }: { readonly place: string; readonly seen: ReadonlySet<string> },
): Problems {
  const ids = new Set<unknown>();
  for (const block of blocks) {
    const tool = callerOf(block);
    if (tool === undefined) continue;
    ids.add(block.id);
    if (!seen.has(tool)) yield `${place}: call ${show(block.id)} comes from ${show(tool)}, which is no server tool call before it`;
  }
  if (ids.size === 0) return;
  const answers = contentOf(next);
  if (answers.some(({ type }) => type !== 'tool_result'))
    yield `${place}: the message after calls made by code holds more than their results`;
  for (const answer of answers) {
    if (ids.has(answer.tool_use_id) && listOf(answer.content).some((inner) => !isFields(inner) || inner.type !== 'text'))
      yield `${place}: the result of ${show(answer.tool_use_id)} goes to code and holds more than text`;
  }
}

function isPaused(messages: readonly unknown[]): boolean {
  const answer = messages.at(-2);
  return isFields(answer) && answer.role === 'assistant' && contentOf(answer).some((block) => callerOf(block) !== undefined);
}

function callerOf(block: Fields): string | undefined {
  if (block.type !== 'tool_use' || !isFields(block.caller) || block.caller.type === 'direct') return undefined;
  return String(block.caller.tool_id);
}

function isServerCall({ type }: Fields): boolean {
  return type === 'server_tool_use' || type === 'mcp_tool_use';
}

function isServerResult({ type }: Fields): boolean {
  return typeof type === 'string' && type !== 'tool_result' && type.endsWith('_tool_result');
}

/** The blocks of code execution have names of their own; tools of MCP servers stand in a field of theirs. */
function isOffered({ type, name }: Fields, tools: unknown): boolean {
  if (type === 'mcp_tool_use') return true;
  const isCode = typeof name === 'string' && name.endsWith('code_execution');
  return listOf(tools).some(
    (tool) => isFields(tool) && (tool.name === name || (isCode && typeof tool.type === 'string' && tool.type.startsWith('code_execution'))),
  );
}
