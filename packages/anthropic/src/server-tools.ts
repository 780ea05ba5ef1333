// Tools that Anthropic runs. Each call has its result in the same assistant turn; some wait until our own tools have answered.

import type { Block, WireMessage } from './blocks.js';
import { callerOf, isServerCall, isServerResult, withoutLastThinking } from './blocks.js';
import type { ProviderTool } from './tool-fields.js';

/** The server tool calls of a history. */
export interface ServerCalls {
  readonly seen: Set<string>;
  /** Those without a result so far, by id. */
  readonly waiting: Map<string, Block>;
}

/**
 * The blocks of an answer without results that belong to no call, and calls whose id was there before: the API refuses both. Counts the
 * others as waiting or answered.
 */
export function pairServerCalls(blocks: readonly Block[], { seen, waiting }: ServerCalls): readonly Block[] {
  if (!blocks.some((block) => isServerCall(block) || isServerResult(block) || callerOf(block) !== undefined)) return blocks;
  const kept = blocks.filter((block) => {
    if (isServerCall(block)) {
      const id = String(block.id);
      if (seen.has(id)) return false;
      seen.add(id);
      waiting.set(id, block);
    }
    return !isServerResult(block) || waiting.delete(String(block.tool_use_id));
  });
  // Only code that waits for results has called anything.
  return kept.map((block) => (waiting.has(callerOf(block) ?? '') || callerOf(block) === undefined ? block : withoutCaller(block)));
}

/** Ids of calls that waited before this answer and that it neither answers nor goes on with: they will have no result any more. */
export function leftBehind(blocks: readonly Block[], before: Iterable<string>, { waiting }: ServerCalls): ReadonlySet<string> {
  const goesOn = new Set(blocks.map(callerOf));
  return new Set([...before].filter((id) => waiting.has(id) && !goesOn.has(id)));
}

/** The messages without these server tool calls; what their code called stands as called by the model. Messages without them stay the same objects. */
export function withoutServerCalls<M extends WireMessage>(messages: readonly M[], ids: ReadonlySet<string>): M[] {
  if (ids.size === 0) return [...messages];
  return messages.map((message) => {
    if (message.role !== 'assistant' || !message.content.some((block) => isOf(block, ids))) return message;
    const content = message.content.flatMap((block): readonly Block[] => {
      if (!isOf(block, ids)) return [block];
      return isServerCall(block) ? [] : [withoutCaller(block)];
    });
    return { ...message, content: withoutLastThinking(content) };
  });
}

/** True if a request with these tools can go on with a server tool call that waits for the results at its end. */
export function continues(
  call: Block,
  messages: readonly WireMessage[],
  { providerTools, isAlive }: { readonly providerTools: readonly ProviderTool[]; readonly isAlive: boolean },
): boolean {
  const isOffered = call.type === 'mcp_tool_use' || providerTools.some((tool) => tool.name === call.name || isOfCode(call, tool));
  return isOffered && (isAlive || !messages.some(({ content }) => content.some((block) => callerOf(block) === call.id)));
}

/** What code execution does with files and commands goes by names of its own. */
function isOfCode({ name }: Block, { type }: ProviderTool): boolean {
  return typeof name === 'string' && name.endsWith('code_execution') && type.startsWith('code_execution');
}

function isOf(block: Block, ids: ReadonlySet<string>): boolean {
  return isServerCall(block) ? ids.has(String(block.id)) : ids.has(callerOf(block) ?? '');
}

function withoutCaller({ caller: _, ...call }: Block): Block {
  return call as Block;
}
