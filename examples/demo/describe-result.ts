// A run's result in words.
import type { RunResult } from '@guardloop/core';

/** How a run ended, in words. */
export function endOf(result: RunResult): string {
  switch (result.status) {
    case 'completed':
      return `completed by ${result.agent}`;
    case 'blocked':
      return `blocked on ${result.surface} by ${result.by}: ${result.reason}`;
    case 'interrupted':
      return `waits for ${result.approvals.length} decision${result.approvals.length === 1 ? '' : 's'}`;
    case 'exhausted':
      return `stopped at the limit of ${result.limit}`;
    case 'failed':
      return `failed: ${result.error.message}`;
    case 'cancelled':
      return 'cancelled';
    default:
      return result satisfies never;
  }
}

const deeds = { rewrite: 'rewrote', ask: 'asked a person on', deny: 'refused', halt: 'stopped the run on' } as const;

/** Which guardrails did more than allow, where, and what people said. */
export function deedsOf({ events }: RunResult): string {
  const surfaces = new Map<string, Set<string>>();
  for (const event of events) {
    if (event.type !== 'guard.verdict' || event.action === 'allow') continue;
    const deed = `${event.guardrail} ${deeds[event.action]}`;
    surfaces.set(deed, (surfaces.get(deed) ?? new Set()).add(event.surface));
  }
  const people = events.flatMap((event) => (event.type === 'approval.resolve' ? [`a person said ${event.decision}`] : []));
  const done = [...[...surfaces].map(([deed, where]) => `${deed} ${[...where].join(' and ')}`), ...people];
  const asked = events.filter(({ type }) => type === 'guard.verdict').length;
  if (done.length > 0) return done.join(', ');
  return asked > 0 ? `all ${asked} answers allowed it` : 'no guardrail was there';
}
