import type { LimitName } from './events.js';
import type { RunState } from './state.js';

/** The first limit that is reached, of this run or of one above it; `turns` is the run's own. */
export function limitReached(run: RunState): LimitName | undefined {
  if (run.limitHit) return run.limitHit;
  if (run.usedTurns >= run.limits.turns) return 'turns';
  if (run.limits.repeats * 2 <= run.repeated) return 'repeats';
  return spentLimit(run);
}

/** A spent `tokens`, `cost` or `ms`, which also keep calls from starting. */
export function spentLimit(run: RunState): 'tokens' | 'cost' | 'ms' | undefined {
  for (let each: RunState | undefined = run; each; each = each.parent) {
    if ((each.usage.inputTokens ?? 0) + (each.usage.outputTokens ?? 0) >= each.limits.tokens) return 'tokens';
    if ((each.usage.cost ?? 0) >= each.limits.cost) return 'cost';
    if (each.activeMs >= each.limits.ms) return 'ms';
  }
  return undefined;
}

/** Whether one more call of a tool may start, here and in every run above. */
export function hasToolCallsLeft(run: RunState): boolean {
  for (let each: RunState | undefined = run; each; each = each.parent) if (each.usedToolCalls >= each.limits.toolCalls) return false;
  return true;
}
