import type { JsonValue } from '@guardloop/core/model';

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
