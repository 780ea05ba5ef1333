import { GuardloopError } from '../errors.js';
import type { Log, LogEvent, Manifest } from '../state/events.js';
import { asWritten, checkEvent, damagedEvent, readDamaged, readLog } from '../state/log.js';
import { divideEvents } from '../state/usage-by.js';
import { checkOptions } from './check-report.js';
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
  const { maxChars = 2_000, findings } = readOptions(options);
  const events = Array.isArray(log) ? readDamaged(() => readList(log)) : readLog(log, { words: 'any' });
  const collector = new RunCollector(maxChars);
  for (const [index, event] of events.entries()) takeEvent(collector, event, index + 1);
  const last = events.at(-1);
  if (last !== undefined) collector.close(last);
  const usage = divideEvents(events);
  return {
    version: 1,
    events: events.length,
    at: events[0]?.at ?? 0,
    ms: Math.max(0, (last?.at ?? 0) - (events[0]?.at ?? 0)),
    runs: [...collector.roots.map(finishRoot), ...collector.loose.map(({ data }) => data as unknown as ReportRun)],
    counts: countVerdicts(collector.verdicts),
    guardrails: summarise(collector.verdicts),
    stands: standsOf(collector.stands),
    usage: usage.total,
    byModel: sharesOf(usage.byModel),
    byAgent: sharesOf(usage.byAgent),
    ...(findings === undefined ? {} : { findings: [...findings] }),
  };
}

function readOptions(options: ReportOptions): ReportOptions {
  checkOptions('guardReport', options, { names: ['maxChars', 'findings'] });
  const { maxChars = 2_000, findings } = options;
  if (!Number.isInteger(maxChars) || maxChars < 1)
    throw new GuardloopError(
      'CONFIG_INVALID',
      'maxChars of guardReport is not a whole number from 1. Give how many characters of a content to keep.',
    );
  if (findings !== undefined && !(Array.isArray(findings) && findings.every((finding) => typeof finding === 'string')))
    throw new GuardloopError(
      'CONFIG_INVALID',
      'findings of guardReport is no list of texts. Give what auditLog(log) gave, or leave it out.',
    );
  return { maxChars, findings };
}

/** Events of a part of a log, which may be of types that this version does not know: they are shown as they are. */
function readList(list: readonly unknown[]): readonly LogEvent[] {
  for (let index = 0; index < list.length; index += 1) checkEvent(list[index], index + 1, { unknown: 'listed', words: 'any' });
  return list as readonly LogEvent[];
}

/** What only shows when an event is read says so here, not somewhere in the page. */
function takeEvent(collector: RunCollector, event: LogEvent, place: number): void {
  try {
    collector.take(event);
  } catch (thrown) {
    throw GuardloopError.is(thrown) ? thrown : damagedEvent(place, `it does not fit the events before it. ${asWritten}`);
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
    data.usage = divideEvents(events.get(run) ?? []).total;
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
