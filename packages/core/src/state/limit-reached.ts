import type { LimitName, RecordedError } from './events.js';
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
    const unheld = unheldLimit(each);
    if (unheld) return unheld;
    if (each.activeMs >= each.limits.ms) return 'ms';
  }
  return undefined;
}

/** A limit of this run that cannot hold, since a model does not tell what it counts. It is no limit more, and is taken as reached. */
function unheldLimit({ limits, unpriced, uncounted }: RunState): 'tokens' | 'cost' | undefined {
  if (uncounted !== undefined && limits.tokens !== Number.POSITIVE_INFINITY) return 'tokens';
  return unpriced !== undefined && limits.cost !== Number.POSITIVE_INFINITY ? 'cost' : undefined;
}

/** Why a limit of this run, or of one above it, cannot hold; undefined where all can. */
export function unheldError(run: RunState): RecordedError | undefined {
  for (let each: RunState | undefined = run; each; each = each.parent) {
    const limit = unheldLimit(each);
    if (limit === undefined) continue;
    const message =
      limit === 'cost'
        ? `The limit cost is ${each.limits.cost}, and what an answer of model ${each.unpriced} cost is not known: the limit cannot hold. Give \`prices\` to the model's adapter; where it has them, its provider tells no usage. Else take the limit off, or use \`turns\` or \`ms\`.`
        : `The limit tokens is ${each.limits.tokens}, and model ${each.uncounted} does not tell how many tokens an answer took: the limit cannot hold. Have its server tell usage, or take the limit off, or use \`turns\` or \`ms\`.`;
    return { code: 'CONFIG_INVALID', message, isRetryable: false };
  }
  return undefined;
}

/** Whether one more call of a tool may start, here and in every run above. */
export function hasToolCallsLeft(run: RunState): boolean {
  for (let each: RunState | undefined = run; each; each = each.parent) if (each.usedToolCalls >= each.limits.toolCalls) return false;
  return true;
}
