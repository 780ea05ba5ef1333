import { surfaces } from '../define/guardrail.js';
import { deepFreeze } from '../run/plain-output.js';
import type { Action, Surface } from '../state/events.js';
import type { LogReplay, Plan } from './log-replay.js';
import type { ComparedAnswer, ComparedCounts, ComparedGuardrail, ComparedSubject, Comparison, Precision } from './types.js';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Counts what the replays found. */
export function compareAll(
  replays: readonly LogReplay[],
  { set }: Plan,
  { ms, isComplete }: Pick<Comparison, 'ms' | 'isComplete'>,
): Comparison {
  const subjects = replays.flatMap((replay) => replay.subjects);
  const bySurface = Object.fromEntries(surfaces.map((surface) => [surface, countSubjects(subjects, surface)])) as Comparison['surfaces'];
  const changes: Record<string, number> = {};
  for (const { recorded, replayed, status } of subjects) {
    if (status !== 'changed' || replayed === undefined) continue;
    const change = `${recorded.action} → ${replayed.action}`;
    changes[change] = (changes[change] ?? 0) + 1;
  }
  const labelled = subjects.filter(({ expected }) => expected !== undefined);
  const expectations =
    labelled.length === 0
      ? {}
      : {
          expectations: { recorded: precisionOf(labelled, (row) => row.recorded), replayed: precisionOf(labelled, (row) => row.replayed) },
        };
  return deepFreeze({
    subjects,
    runs: replays.flatMap((replay) => [...replay.runs.values()]),
    guardrails: countGuardrails(subjects, [...set.run, ...[...set.agents.values()].flat(), ...[...set.tools.values()].flat()]),
    surfaces: bySurface,
    total: countSubjects(subjects),
    changes,
    ...expectations,
    unmatched: [
      ...unmatched('agent', set.agents, (name) => replays.some(({ standIns }) => standIns.agents.has(name))),
      ...unmatched('tool', set.tools, (name) => replays.some(({ standIns }) => standIns.tools.has(name))),
    ],
    ms,
    isComplete,
  });
}

const unmatched = (kind: string, named: ReadonlyMap<string, unknown>, isKnown: (name: string) => boolean): readonly string[] =>
  [...named.keys()].filter((name) => !isKnown(name)).map((name) => `${kind} ${name}`);

function countSubjects(subjects: readonly ComparedSubject[], surface?: Surface): ComparedCounts {
  const counts = { subjects: 0, same: 0, changed: 0, unknown: 0 };
  for (const row of subjects) {
    if (surface !== undefined && row.surface !== surface) continue;
    counts.subjects += 1;
    counts[row.status] += 1;
  }
  return counts;
}

const noAnswers: { readonly [A in Action]: number } = { allow: 0, rewrite: 0, ask: 0, deny: 0, halt: 0 };

/** In the order in which they were given. */
function countGuardrails(
  subjects: readonly ComparedSubject[],
  specs: readonly { readonly name: string; readonly version: string | undefined }[],
): readonly ComparedGuardrail[] {
  const counts = new Map<string, Writable<Omit<ComparedGuardrail, 'answers'>> & { readonly answers: Record<Action, number> }>();
  for (const { name, version } of specs)
    counts.set(name, {
      guardrail: name,
      ...(version === undefined ? {} : { version }),
      answers: { ...noAnswers },
      failed: 0,
      changed: 0,
      ms: 0,
      maxMs: 0,
    });
  for (const { verdicts, status, replayed } of subjects) {
    for (const { guardrail, action, failed, ms } of verdicts) {
      const count = counts.get(guardrail);
      if (count === undefined) continue;
      count.answers[action] += 1;
      if (failed) count.failed += 1;
      count.ms += ms;
      count.maxMs = Math.max(count.maxMs, ms);
    }
    const own = status === 'changed' && replayed?.by !== undefined ? counts.get(replayed.by) : undefined;
    if (own) own.changed += 1;
  }
  return [...counts.values()];
}

function precisionOf(rows: readonly ComparedSubject[], answerOf: (row: ComparedSubject) => ComparedAnswer | undefined): Precision {
  let [caught, missed, wrong, passed] = [0, 0, 0, 0];
  for (const row of rows) {
    const isCaught = answerOf(row)?.action !== 'allow';
    if (row.expected === 'allow') {
      if (isCaught) wrong += 1;
      else passed += 1;
    } else if (isCaught) caught += 1;
    else missed += 1;
  }
  return {
    caught,
    missed,
    wrong,
    passed,
    ...(caught + wrong === 0 ? {} : { precision: caught / (caught + wrong) }),
    ...(caught + missed === 0 ? {} : { recall: caught / (caught + missed) }),
  };
}
