import type { JsonValue, Log, LogEvent } from '@guardloop/core';
import { fromLog } from './from-log.js';
import { inCallOrder } from './normal/call-order.js';
import { nameRuns } from './normal/run-names.js';
import { dropVoid } from './normal/void-events.js';

/** An event in normal form: plain JSON, without what differs from one run to the next. */
export type NormalEvent = { readonly type: LogEvent['type']; readonly seq: number } & { readonly [field: string]: JsonValue | undefined };

/**
 * The normal form of a log: two runs in which the same happened have equal ones, whether they were run, streamed, or cut and resumed.
 *
 * It leaves out times, the writer, `run.resume`, the count of answers (their verdicts are there), verdicts that no event committed,
 * and starts of model calls and tools that were made again after a cut; the numbers of inputs that are not recorded; what an output quarantine makes up anew (its key and salted digest) too. Runs are named r1, r2, … in order; events of
 * parallel calls stand in call order; `seq` counts what is left. Throws LOG_INVALID.
 *
 * ```ts
 * expect(normalLog(streamed.log)).toEqual(normalLog(ran.log));
 * ```
 */
export function normalLog(log: Log): readonly NormalEvent[] {
  return fromLog(log, (recorded) => {
    const events = inCallOrder(dropVoid(recorded));
    const rename = nameRuns(recorded);
    return events.map((event, index) => ({ ...rename(strip(event)), seq: index + 1 }) as NormalEvent);
  });
}

/** Without times and writer, and without what a quarantine made up. Fields that are undefined are left out. */
function strip(event: LogEvent): Readonly<Record<string, unknown>> {
  const { at: _at, ...fields } = event;
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    const isTime = name === 'ms' && event.type === 'guard.verdict';
    if (value !== undefined && name !== 'writer' && name !== 'answers' && name !== 'askedAt' && !isTime) kept[name] = value;
  }
  // The numbers of inputs that are not recorded are counted anew in each process.
  if (event.type === 'model.end') kept.calls = event.calls.map(({ variant: _variant, ...call }) => call);
  if (event.type === 'approval.request' && event.approval.surface === 'output') {
    const { key: _key, digest: _digest, ...approval } = event.approval;
    kept.approval = approval;
  }
  // Of a time only that there is one.
  if (event.type === 'approval.resolve' && event.standing?.expiresAt !== undefined)
    kept.standing = { ...event.standing, expiresAt: 'then' };
  if (event.type === 'approval.resolve' && !event.subject.includes('.', event.run.length)) delete kept.digest;
  return kept;
}
