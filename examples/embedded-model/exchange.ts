// The part of the transcript that is about what the person asked last.
import type { Message, ModelRequest, Part, ToolMessage } from '@guardloop/core';

export interface Exchange {
  /** What was asked, and the briefs of handoffs since. */
  readonly request: string;
  /** Calls made for it, by tool name. */
  readonly calls: ReadonlyMap<string, number>;
  /** Their results, oldest first. */
  readonly results: readonly ToolMessage[];
  /** Handoffs that led here. */
  readonly handoffs: number;
  /** What people said and tools gave before, newest first. */
  readonly earlier: readonly string[];
}

/** The text of a message's content. */
export function textOf(content: string | readonly Part[]): string {
  return typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join(' ');
}

const isQuestion = (message: Message): boolean => message.role === 'user' && message.via !== 'handoff' && message.via !== 'view';

/** Reads the transcript. What stands in it is all that the model knows. */
export function readExchange({ messages }: ModelRequest): Exchange {
  const start = Math.max(0, messages.findLastIndex(isQuestion));
  const said: string[] = [];
  const results: ToolMessage[] = [];
  const calls = new Map<string, number>();
  let handoffs = 0;
  for (const message of messages.slice(start)) {
    if (message.role === 'tool') results.push(message);
    if (message.role === 'assistant') for (const { name } of message.calls) calls.set(name, (calls.get(name) ?? 0) + 1);
    if (message.role !== 'user') continue;
    const text = textOf(message.parts);
    if (message.via !== 'handoff') said.push(text);
    else {
      handoffs += 1;
      if (!text.startsWith('Handed off from ')) said.push(text);
    }
  }
  const earlier = messages.slice(0, start).flatMap((message) => {
    if (message.role === 'user') return [textOf(message.parts)];
    return message.role === 'tool' && !message.isError ? [textOf(message.content)] : [];
  });
  return { request: said.join('\n'), calls, results, handoffs, earlier: earlier.reverse() };
}
