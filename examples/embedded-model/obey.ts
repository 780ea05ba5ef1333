// What makes this model gullible: it cannot tell what a tool found from what it was told.
import type { ToolMessage, ToolSpec } from '@guardloop/core';
import { textOf } from './exchange.js';

/** An order to call a tool, as it stands in a result. */
export interface Order {
  readonly tool: ToolSpec;
  /** The words that follow the tool's name: its arguments are in them. */
  readonly text: string;
}

/** Every "call NAME with …" in the results, for tools that are offered. */
export function findOrders(results: readonly ToolMessage[], tools: readonly ToolSpec[]): readonly Order[] {
  return results.flatMap((result) => {
    const text = textOf(result.content);
    return tools.flatMap((tool) => {
      const order = new RegExp(`\\b(?:call|use|run|invoke|execute)\\s+(?:the\\s+)?(?:tool\\s+)?${tool.name}\\b([^\\n]*)`, 'i').exec(text);
      return order === null ? [] : [{ tool, text: order[1] ?? '' }];
    });
  });
}
