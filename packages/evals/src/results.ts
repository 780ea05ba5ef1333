import type { EvalResult } from './evaluate.js';
import { invalid, isRecord, kindOf } from './given.js';

/** One result, or several, as a list. Throws CONFIG_INVALID for what `evaluate` has not made. */
export function resultsOf(where: string, given: EvalResult | readonly EvalResult[]): readonly EvalResult[] {
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  const isTask = (task: unknown): boolean =>
    isRecord(task) && typeof task.id === 'string' && isRecord(task.scores) && Array.isArray(task.trials);
  for (const result of list)
    if (!isRecord(result) || typeof result.name !== 'string' || !Array.isArray(result.tasks) || !result.tasks.every(isTask))
      invalid(
        `${where} was given ${isRecord(result) ? 'an object that is no result' : `${kindOf(result)} for a result`}. Give what \`evaluate\` or \`evaluateLogs\` gives, awaited, or a list of such.`,
      );
  return list as readonly EvalResult[];
}
