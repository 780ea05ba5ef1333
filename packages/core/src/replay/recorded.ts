import { strictest } from '../define/verdict.js';
import type { GuardVerdictEvent } from '../state/events.js';
import type { ComparedAnswer } from './types.js';

/** What names a subject within one run. */
export const keyOf = ({ surface, subject }: Pick<GuardVerdictEvent, 'surface' | 'subject'>): string => `${surface} ${subject}`;

export type Groups = Map<string, GuardVerdictEvent[]>;

/** Verdicts by what they are about, in the order in which each was first asked about. */
export function groupVerdicts(verdicts: Iterable<GuardVerdictEvent>, groups: Groups = new Map()): Groups {
  for (const verdict of verdicts) {
    const key = keyOf(verdict);
    const group = groups.get(key);
    if (group) group.push(verdict);
    else groups.set(key, [verdict]);
  }
  return groups;
}

/** Verdicts of a log that no event has committed yet: without one they are void. */
export class RecordedVerdicts {
  private readonly pending = new Map<string, GuardVerdictEvent[]>();

  add(verdict: GuardVerdictEvent): void {
    const known = this.pending.get(verdict.run);
    if (known) known.push(verdict);
    else this.pending.set(verdict.run, [verdict]);
  }

  /** Takes those of a run that an event commits. */
  take(run: string, isCommitted: (verdict: GuardVerdictEvent) => boolean = () => true): readonly GuardVerdictEvent[] {
    const known = this.pending.get(run) ?? [];
    const taken = known.filter(isCommitted);
    this.pending.set(
      run,
      known.filter((verdict) => !taken.includes(verdict)),
    );
    return taken;
  }

  /** A cut voids them all. */
  clear(): void {
    this.pending.clear();
  }
}

export const isRewritten = (verdicts: readonly GuardVerdictEvent[] = []): boolean =>
  verdicts.some(({ action, shadow }) => action === 'rewrite' && !shadow);

/** The answer that counts: the strictest; of two alike a refusal before a failure, else the one asked first. */
export function answerOf(verdicts: readonly GuardVerdictEvent[]): ComparedAnswer {
  const obeyed = verdicts.filter(({ shadow }) => !shadow);
  const first = strictest([...obeyed.filter(({ failed }) => !failed), ...obeyed.filter(({ failed }) => failed)]);
  if (first === undefined || first.action === 'allow') return { action: 'allow' };
  const { action, guardrail: by, reason, failed } = first;
  return { action, by, ...(reason === undefined ? {} : { reason }), ...(failed ? { failed } : {}) };
}

export const isEqualAnswer = (left: ComparedAnswer, right: ComparedAnswer): boolean =>
  left.action === right.action && left.by === right.by && left.reason === right.reason && left.failed === right.failed;
