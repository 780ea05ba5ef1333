import type { Log, RunStatus } from '@guardloop/core';
import { canonicalJson } from '@guardloop/core';
import type { JsonValue } from '@guardloop/core/model';
import { checkOptionNames } from '@guardloop/core/model';
import { auditLog } from './audit/audit-log.js';
import type { NormalEvent } from './normal-log.js';
import { normalLog } from './normal-log.js';

/** What a resumed run came to: any run result has this form. */
export interface CutResult {
  readonly status: RunStatus;
  readonly log: Log;
}

/** What {@link cutAnywhere} may be told. */
export interface CutOptions {
  /** Whether a cut run may ask a person instead of ending the same. Default true. */
  readonly mayAsk?: boolean | ((prefix: Log, result: CutResult) => boolean) | undefined;
  /** The shortest prefix, in events. Default 1. */
  readonly from?: number | undefined;
}

/** What came of cutting a log at every place. */
export interface CutReport {
  /** Prefixes tried. */
  readonly cuts: number;
  /** Resumed to the same end. */
  readonly same: number;
  /** Resumed to a question for a person, where the whole log had none. */
  readonly asked: number;
  /** What went otherwise, naming the cut; empty when all is well. */
  readonly differences: readonly string[];
}

/**
 * Cuts a log after every event but the last, as a crash would, has `resumeAt` go on from each prefix, and compares: each run must end as the whole log
 * did, in normal form, or ask; must have added to its prefix and changed nothing in it; and its log must pass the audit. What a rejection
 * says is a difference too. Effects are the caller's to count: build tools anew for each cut, and look after each.
 *
 * ```ts
 * const whole = await run(agent, 'Refund order o1', { context });
 * const report = await cutAnywhere(whole.log, (prefix) => resume(agent, prefix, { context }).result);
 * expect(report.differences).toEqual([]);
 * ```
 *
 * Prefixes are resumed one after another. The first event is always there: a log without one holds no run.
 */
export async function cutAnywhere(
  log: Log,
  resumeAt: (prefix: Log) => PromiseLike<CutResult>,
  options: CutOptions = {},
): Promise<CutReport> {
  checkOptionNames('cutAnywhere(…)', options, { mayAsk: true, from: true } satisfies { readonly [K in keyof CutOptions]-?: true });
  const { mayAsk = true, from = 1 } = options;
  const wanted = normalLog(log);
  const differences: string[] = [];
  let [cuts, same, asked] = [0, 0, 0];
  for (let length = Math.max(1, from); length < log.events.length; length += 1) {
    const prefix: Log = { version: log.version, events: log.events.slice(0, length) };
    const cut = `cut after ${length} (${log.events[length - 1]?.type})`;
    cuts += 1;
    try {
      const result = await resumeAt(prefix);
      const faults = [...compareStart(prefix, result.log), ...auditLog(result.log)];
      const difference = compare(wanted, normalLog(result.log));
      const isAllowedToAsk = typeof mayAsk === 'function' ? mayAsk(prefix, result) : mayAsk;
      if (difference === undefined) same += 1;
      else if (isAllowedToAsk && (result.status === 'interrupted' || (result.status === endOf(log) && hasAsked(prefix, result.log))))
        asked += 1;
      else faults.push(`ended ${result.status}: ${difference}`);
      differences.push(...faults.map((fault) => `${cut}: ${fault}`));
    } catch (error) {
      differences.push(`${cut}: rejected with ${String(error)}`);
    }
  }
  return { cuts, same, asked, differences };
}

const endOf = (log: Log): string | undefined =>
  log.events.flatMap((event) => (event.type === 'run.end' && event.parent === undefined ? [event.status] : [])).at(-1);

/** A person was asked about what may have happened before the cut, although something else then ended the run. */
const hasAsked = (prefix: Log, log: Log): boolean =>
  log.events
    .slice(prefix.events.length)
    .some((event) => event.type === 'approval.request' && event.approval.surface === 'toolInput' && event.approval.mayHaveRun);

function compareStart(prefix: Log, log: Log): readonly string[] {
  const at = prefix.events.findIndex((event, index) => JSON.stringify(event) !== JSON.stringify(log.events[index]));
  return at === -1 ? [] : [`event ${at + 1} of the log was changed or lost; a log is only added to`];
}

function compare(wanted: readonly NormalEvent[], found: readonly NormalEvent[]): string | undefined {
  for (let index = 0; index < Math.max(wanted.length, found.length); index += 1) {
    const [left, right] = [canonical(wanted[index]), canonical(found[index])];
    if (left !== right) return `normal event ${index + 1} is ${shorten(right)}, expected ${shorten(left)}`;
  }
  return undefined;
}

/** Equal for equal events, however they were built. */
const canonical = (event: unknown): string => (event === undefined ? 'nothing' : canonicalJson(event as JsonValue));

function shorten(text: string): string {
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}
