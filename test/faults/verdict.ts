// What must hold at the end of every run that was struck.
import { existsSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { LogEvent } from '@guardloop/core';
import { auditLog, normalLog } from '@guardloop/testing';
import { readLedger } from './ledger.js';
import type { KeptRequest, SceneFiles } from './scene.js';
import { expectedEffects, repeatableTools } from './scene.js';

/** A run to its end. */
export interface Ending {
  readonly run: string;
  readonly events: readonly LogEvent[];
  readonly files: SceneFiles;
  /** Processes that were struck. */
  readonly strikes: number;
  /** The faults struck the store, so that one process went on with the run more than once. */
  readonly isOneProcess?: boolean | undefined;
}

/** What is not as it must be; empty: all is well. `undisturbed` is the same run without strikes. */
export function judge(ending: Ending, undisturbed: Ending): readonly string[] {
  return [
    ...judgeEnd(ending, undisturbed),
    ...judgeLedger(ending),
    ...judgeRequests(ending, undisturbed),
    ...judgeLog(ending, undisturbed),
  ];
}

const endOf = ({ events, run }: Ending) => events.findLast((event) => event.type === 'run.end' && event.run === run);

function judgeEnd(ending: Ending, undisturbed: Ending): readonly string[] {
  const [end, wanted] = [endOf(ending), endOf(undisturbed)];
  if (end?.type !== 'run.end' || wanted?.type !== 'run.end') return ['the run has not ended'];
  if (end.status !== wanted.status) return [`the run ended ${end.status}, not ${wanted.status}`];
  return end.text === wanted.text ? [] : [`the last answer is another: ${end.text}`];
}

function judgeLedger({ files, events, run }: Ending): readonly string[] {
  const attempts = readLedger(files.ledger);
  const faults: string[] = [];
  const applied = new Map(attempts.map((attempt) => [attempt.key, attempt]));
  const effects = [...applied.values()].map(({ tool, input, value }) => `${tool} ${input} ${value}`).sort();
  if (!isDeepStrictEqual(effects, [...expectedEffects].sort())) faults.push(`the ledger holds ${effects.join(', ')}`);
  for (const [key, { tool }] of applied) {
    const tries = attempts.filter((attempt) => attempt.key === key).length;
    if (tries > 1 + approvedAgain(events, key) && !repeatableTools.includes(tool)) faults.push(`${tool} was tried ${tries} times`);
    if (!key.startsWith(`${run}/`)) faults.push(`${tool} has a key of another run`);
  }
  const starts = events.flatMap((event) => (event.type === 'tool.start' ? [event.idempotencyKey] : []));
  for (const key of applied.keys()) if (!starts.includes(key)) faults.push(`an effect has no tool.start: ${key}`);
  return faults;
}

/**
 * How often a person approved that this call runs although it may have run already: with the same key, so that a ledger refuses what a process that
 * was thought dead still does.
 */
function approvedAgain(events: readonly LogEvent[], key: string): number {
  const asked = askedBecauseOfStrike(events);
  return events.filter(
    (event) => event.type === 'approval.resolve' && event.decision === 'approve' && asked.has(event.id) && event.subject === key,
  ).length;
}

export function readRequests(file: string): readonly KeptRequest[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as KeptRequest);
}

function judgeRequests(ending: Ending, undisturbed: Ending): readonly string[] {
  const wanted = new Map(readRequests(undisturbed.files.requests).map(({ turn, text }) => [turn, text.replaceAll(undisturbed.run, 'RUN')]));
  const requests = readRequests(ending.files.requests);
  const faults: string[] = [];
  const seen = new Set<number>();
  const processes = new Set<number>();
  let repeated = 0;
  const lost = lostLeases(ending);
  for (const { turn, text, pid } of requests) {
    const isFirstOfProcess = !processes.has(pid);
    processes.add(pid);
    if (seen.has(turn)) {
      repeated += 1;
      if (!isFirstOfProcess && !ending.isOneProcess && lost === 0)
        faults.push(`turn ${turn} was asked for again, and not as what was in flight`);
    }
    seen.add(turn);
    if (text.replaceAll(ending.run, 'RUN') !== wanted.get(turn)) faults.push(`the request of turn ${turn} is another one`);
  }
  if (repeated > ending.strikes + lost)
    faults.push(`${repeated} requests were repeated after ${ending.strikes} strikes and ${lost} leases that were lost`);
  if (seen.size !== wanted.size) faults.push(`${seen.size} turns were asked for, not ${wanted.size}`);
  return faults;
}

/**
 * How often the run was entered again without a strike and without a decision: on a machine that is too busy a living worker may not renew its lease
 * in time. What is in flight is repeated then as after a strike.
 */
function lostLeases({ events, strikes }: Ending): number {
  const entries = events.filter((event, index) => event.type === 'run.resume' && events[index + 1]?.type !== 'approval.resolve').length;
  return Math.max(0, entries - strikes);
}

/** Ids of questions about calls that may have run: these are asked because of a strike alone. */
export function askedBecauseOfStrike(events: readonly LogEvent[]): ReadonlySet<string> {
  return new Set(
    events.flatMap((event) =>
      event.type === 'approval.request' && event.approval.surface === 'toolInput' && event.approval.mayHaveRun ? [event.approval.id] : [],
    ),
  );
}

function judgeLog(ending: Ending, undisturbed: Ending): readonly string[] {
  const { events } = ending;
  const faults = auditLog({ version: 1, events }).map((finding) => `audit: ${finding}`);
  const asked = askedBecauseOfStrike(events);
  const plain = (each: Ending) => normalLog({ version: 1, events: each.events });
  if (asked.size === 0) return isDeepStrictEqual(plain(ending), plain(undisturbed)) ? faults : [...faults, 'the log is another one'];
  // Somebody was asked whether a call had run: the answers and results of the run are the same all the same.
  return isDeepStrictEqual(contents(ending), contents(undisturbed)) ? faults : [...faults, 'what the log holds is something else'];
}

/** What the log holds of a run's content, by what it is about. */
function contents({ events, run }: Ending): unknown {
  const kept = events.flatMap((event): unknown[] => {
    switch (event.type) {
      case 'input.accept':
        return [['accept', event.items]];
      case 'model.end':
        return [['answer', event.turn, event.text, event.calls.map(({ variant: _, ...call }) => call)]];
      case 'tool.end':
        return [['result', event.callId, event.tool, event.content]];
      case 'handoff':
        return [['handoff', event.from, event.to, event.brief, event.item]];
      default:
        return [];
    }
  });
  const texts = kept.map((each) => JSON.stringify(each).replaceAll(run, 'RUN'));
  return texts.sort();
}
