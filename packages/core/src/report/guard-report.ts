import { GuardloopError } from '../errors.js';
import type { Log, LogEvent, Manifest } from '../state/events.js';
import { readLog } from '../state/log.js';
import { usageBy } from '../state/usage-by.js';
import type { StandDraft } from './collect-runs.js';
import { RunCollector } from './collect-runs.js';
import { countVerdicts, summarise } from './count-verdicts.js';
import type { RunDraft } from './run-draft.js';
import type { Draft, GuardReport, ReportOptions, ReportRun, ReportShare, ReportStand } from './types.js';

/**
 * Makes a log readable: the runs as timelines, each verdict at the boundary where it fell, approvals, handoffs, child runs, which
 * guardrails stood where, and what was used. Takes a log (of a run or a session, whole or cut) or a list of durable events
 * (`result.events`). Plain JSON, made of what the log holds and nothing else: what was refused is in neither. Pure; time grows with the
 * number of events. Throws LOG_INVALID for what is no log.
 */
export function guardReport(log: Log | readonly LogEvent[], options: ReportOptions = {}): GuardReport {
  const { maxChars = 2_000, findings } = options;
  if (!Number.isInteger(maxChars) || maxChars < 1)
    throw new GuardloopError(
      'CONFIG_INVALID',
      'maxChars of guardReport is not a whole number from 1. Give how many characters of a content to keep.',
    );
  const events = Array.isArray(log) ? (log as readonly LogEvent[]) : readLog(log);
  const collector = new RunCollector(maxChars);
  for (const [index, event] of events.entries()) takeEvent(collector, event, index);
  const last = events.at(-1);
  for (const run of collector.runs.values()) if (last !== undefined) collector.leaveOpen(run, last);
  const usage = usageBy(events);
  return {
    version: 1,
    events: events.length,
    at: events[0]?.at ?? 0,
    ms: Math.max(0, (last?.at ?? 0) - (events[0]?.at ?? 0)),
    runs: collector.roots.map(finishRoot),
    counts: countVerdicts(collector.verdicts),
    guardrails: summarise(collector.verdicts),
    stands: standsOf(collector.stands),
    usage: usage.total,
    byModel: sharesOf(usage.byModel),
    byAgent: sharesOf(usage.byAgent),
    ...(findings === undefined ? {} : { findings: [...findings] }),
  };
}

/** An event that does not have the form of its type says so here, not somewhere in the page. */
function takeEvent(collector: RunCollector, event: LogEvent, index: number): void {
  try {
    collector.take(event);
  } catch {
    throw new GuardloopError(
      'LOG_INVALID',
      `Event ${index + 1} of the log does not have the form of its type. Give \`result.log\`, \`result.events\` or a session's log as it was written.`,
    );
  }
}

const sharesOf = (shares: { readonly [name: string]: ReportShare['usage'] }): readonly ReportShare[] =>
  Object.entries(shares).map(([name, usage]) => ({ name, usage }));

/** Fills in what is known only at the end, in the run and its child runs. */
function finishRoot(root: RunDraft): ReportRun {
  const waiting = new Set<RunDraft>();
  for (const each of root.family)
    if (each.open.size > 0) for (let run: RunDraft | undefined = each; run; run = run.parent) waiting.add(run);
  const events = new Map<RunDraft, LogEvent[]>(root.family.map((run) => [run, []]));
  const byId = new Map(root.family.map((run) => [run.data.id, run]));
  for (const event of root.events) for (let run = byId.get(event.run); run; run = run.parent) events.get(run)?.push(event);
  for (const run of root.family) {
    const data: Draft<Omit<ReportRun, 'entries'>> = run.data as never;
    data.usage = usageBy(events.get(run) ?? []).total;
    if (data.status === 'open' && waiting.has(run)) data.status = 'interrupted';
  }
  return root.data as unknown as ReportRun;
}

/** Every set of guardrails once for each agent, from where it first stood. */
function standsOf(drafts: readonly StandDraft[]): readonly ReportStand[] {
  const known = new Set<string>();
  return drafts.flatMap(({ agent, seq, manifest }) => {
    const key = JSON.stringify([agent, manifest.run, manifest.agent, manifest.tools]);
    if (known.has(key)) return [];
    known.add(key);
    return [standOf(agent, seq, manifest)];
  });
}

function standOf(agent: string, seq: number, manifest: Manifest): ReportStand {
  return {
    agent,
    seq,
    run: manifest.run,
    own: manifest.agent,
    tools: Object.entries(manifest.tools).map(([tool, guardrails]) => ({ tool, guardrails })),
  };
}
