import type { DurableResult } from '@guardloop/durable';
import type { RunOutcome } from './show.js';

/** How the run ended; undefined where it has not. */
export function outcomeOf(result: DurableResult): RunOutcome | undefined {
  switch (result.status) {
    case 'completed':
      return { status: 'completed', text: result.text, ...(result.value === undefined ? {} : { value: result.value }) };
    case 'blocked': {
      const { surface, by, reason, reply } = result;
      const refusal = { action: 'deny' as const, surface, by, reason };
      return { status: 'blocked', refusal, ...(reply === undefined ? {} : { reply }) };
    }
    case 'exhausted': {
      const { limit, text, value } = result;
      return { status: 'exhausted', limit, ...(text === undefined ? {} : { text }), ...(value === undefined ? {} : { value }) };
    }
    case 'cancelled':
      return { status: 'cancelled' };
    case 'failed':
      return { status: 'failed', error: result.error };
    default:
      return undefined;
  }
}
