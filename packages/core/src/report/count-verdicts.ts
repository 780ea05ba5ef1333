import type { Action } from '../state/events.js';
import type { Draft, ReportCounts, ReportGuardrail, ReportVerdict } from './types.js';

type Counts = Draft<ReportCounts>;

const answers: readonly Action[] = ['allow', 'rewrite', 'ask', 'deny', 'halt'];
const noCounts = (): Counts => ({ asked: 0, allow: 0, rewrite: 0, ask: 0, deny: 0, halt: 0, failed: 0, shadow: 0, void: 0, ms: 0 });

function count(counts: Counts, { action, failed, shadow, isVoid, ms }: ReportVerdict): void {
  counts.asked += 1;
  counts.ms += ms;
  if (failed) counts.failed += 1;
  if (isVoid) counts.void += 1;
  else if (shadow && action !== 'allow') counts.shadow += 1;
  else if (answers.includes(action)) counts[action] += 1;
}

export function countVerdicts(verdicts: readonly ReportVerdict[]): ReportCounts {
  const counts = noCounts();
  for (const verdict of verdicts) count(counts, verdict);
  return counts;
}

/** By guardrail, version and level, in the order in which they were first asked. */
export function summarise(verdicts: readonly ReportVerdict[]): readonly ReportGuardrail[] {
  const guardrails = new Map<string, Draft<ReportGuardrail> & { counts: Counts }>();
  for (const verdict of verdicts) {
    const { guardrail: name, version, level, surface, ms } = verdict;
    const key = JSON.stringify([name, version, level]);
    let entry = guardrails.get(key);
    if (entry === undefined) {
      entry = { name, ...(version === undefined ? {} : { version }), level, surfaces: [], counts: noCounts(), maxMs: 0 };
      guardrails.set(key, entry);
    }
    if (!entry.surfaces.includes(surface)) entry.surfaces.push(surface);
    entry.maxMs = Math.max(entry.maxMs, ms);
    count(entry.counts, verdict);
  }
  return [...guardrails.values()];
}
