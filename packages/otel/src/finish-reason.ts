import type { StopReason } from '@guardloop/core';

/** Why an answer ended, in the words of the conventions. */
export const finishReason = {
  stop: 'stop',
  tools: 'tool_call',
  length: 'length',
  refusal: 'content_filter',
} as const satisfies Record<StopReason, string>;
