import type { JsonObject, JsonValue } from '@guardloop/core/model';

/** A content block of the Messages API, in either direction. */
export interface Block {
  readonly type: string;
  readonly [key: string]: JsonValue | undefined;
}

/** A message of the Messages API. */
export interface WireMessage {
  readonly role: 'user' | 'assistant';
  readonly content: readonly Block[];
}

export function textBlock(text: string): Block {
  return { type: 'text', text };
}

export function isThinking(block: Block | undefined): boolean {
  return block?.type === 'thinking' || block?.type === 'redacted_thinking';
}

/** The blocks without thinking that nothing follows: the API does not take it at the end of a message. */
export function withoutLastThinking(blocks: readonly Block[]): readonly Block[] {
  const end = blocks.findLastIndex((block) => !isThinking(block)) + 1;
  return end === blocks.length ? blocks : blocks.slice(0, end);
}

/** The call of a tool that Anthropic runs, or that it calls on an MCP server. */
export function isServerCall(block: Block): boolean {
  return block.type === 'server_tool_use' || block.type === 'mcp_tool_use';
}

/** What such a call gave: `web_search_tool_result`, `mcp_tool_result` and their like. */
export function isServerResult(block: Block): boolean {
  return block.type !== 'tool_result' && block.type.endsWith('_tool_result');
}

/** The server tool call whose code makes this call of one of our tools; undefined for calls that the model makes itself. */
export function callerOf(block: Block): string | undefined {
  const { caller } = block;
  if (block.type !== 'tool_use' || !isObject(caller) || caller.type === 'direct') return undefined;
  return typeof caller.tool_id === 'string' ? caller.tool_id : '';
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
