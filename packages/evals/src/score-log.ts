import type { Log, LogEvent, Message, RunStatus } from '@guardloop/core';
import { assertLog, canonicalJson, replay } from '@guardloop/core';
import type { JsonValue } from '@guardloop/core/model';
import type { Evidence, Step } from '@guardloop/reasoning';
import { missingEvidence, steps } from '@guardloop/reasoning';
import type { MadeCall } from './match.js';
import { countMatches, isAnswer } from './match.js';
import type { Scores } from './scores.js';
import type { EvalTask, ExpectedEvidence } from './task.js';
import { readTask } from './task.js';

/** How a run came out, and its scores. */
export interface ScoredRun {
  readonly run: string;
  readonly status: RunStatus;
  /** The text of the answer, where there is one. */
  readonly answer?: string | undefined;
  /** Why it was no success; left out of one. Holds no content. */
  readonly why?: string | undefined;
  readonly scores: Scores;
}

/**
 * Scores the last run of a log, child runs included, against its task. Any log will do, of an agent in any mode. Throws CONFIG_INVALID for what
 * is no task, and LOG_INVALID for what is no whole log.
 */
export function scoreLog(task: EvalTask, log: Log): ScoredRun {
  readTask(task, 'The task');
  assertLog(log);
  const reading = readRun(log);
  const { id, events, end, status, messages } = reading;
  const all = steps({ version: log.version, events });
  const made = all.flatMap((step) => (step.action.kind === 'call' ? [{ ...step.action, step }] : []));
  const failed = made.filter(({ step }) => ['error', 'denied', 'rejected', 'unknown'].includes(step.status));
  const answer = status === 'completed' || end?.text !== undefined ? end?.text : undefined;
  const why = faultOf(task, { status, answer, value: end?.value });
  const scores: { -readonly [S in keyof Scores]: Scores[S] } = {
    success: why === undefined ? 1 : 0,
    steps: all.length,
    modelCalls: events.filter(({ type }) => type === 'model.start').length,
    calls: made.length,
    ms: Math.max(0, (events.at(-1)?.at ?? 0) - (events[0]?.at ?? 0)),
    largest: largestOf(events),
    ...usageOf(reading),
  };
  if (made.length > 0) scores.redundant = countRedundant(made) / made.length;
  if (task.calls) {
    const matches = countMatches(task.calls, made);
    if (task.calls.length > 0) scores.recall = matches / task.calls.length;
    if (made.length > 0) scores.precision = matches / made.length;
  }
  if (failed.length > 0) {
    const completed = new Set(events.flatMap((event) => (event.type === 'run.end' && event.status === 'completed' ? [event.run] : [])));
    const isRecovered = ({ step }: { readonly step: Step }): boolean =>
      completed.has(step.run) && made.some(({ step: later }) => later.run === step.run && later.turn > step.turn && later.status === 'ok');
    scores.recovery = failed.filter(isRecovered).length / failed.length;
  }
  if (task.evidence && end !== undefined && end.status !== 'blocked') {
    const state = { run: id, answer: answer ?? '', value: end.value ?? answer, messages };
    scores.justified = status === 'completed' && missingEvidence(task.evidence.map(evidenceOf), state).length === 0 ? 1 : 0;
  }
  if (task.innocent) scores.falseBlocks = countBlocks(events);
  return {
    run: id,
    status,
    ...(answer === undefined ? {} : { answer }),
    ...(why === undefined ? {} : { why }),
    scores,
  };
}

interface Reading {
  readonly id: string;
  /** Of the run and its child runs. */
  readonly events: readonly LogEvent[];
  readonly messages: readonly Message[];
  readonly end: Extract<LogEvent, { type: 'run.end' }> | undefined;
  readonly status: RunStatus;
  readonly usage: {
    readonly inputTokens?: number | undefined;
    readonly outputTokens?: number | undefined;
    readonly cost?: number | undefined;
  };
}

function readRun(log: Log): Reading {
  const id = log.events.findLast(({ type, parent }) => type === 'run.start' && parent === undefined)?.run ?? '';
  const events = log.events.filter(({ run }) => run === id || run.startsWith(`${id}/`));
  let messages: readonly Message[] = [];
  let usage: Reading['usage'] = {};
  for (const { run } of replay(log)) if (run.id === id) ({ messages, usage } = run);
  const end = events.findLast((event): event is NonNullable<Reading['end']> => event.type === 'run.end' && event.run === id);
  // One that was reopened after its end has none.
  const isOpen = end === undefined || events.some((event) => event.type === 'run.resume' && event.reopens && event.seq > end.seq);
  return { id, events, messages, usage, end: isOpen ? undefined : end, status: isOpen ? 'interrupted' : end.status };
}

function usageOf({ usage: { inputTokens, outputTokens, cost } }: Reading): Pick<Scores, 'tokens' | 'cost'> {
  const isCounted = inputTokens !== undefined || outputTokens !== undefined;
  return {
    ...(isCounted ? { tokens: (inputTokens ?? 0) + (outputTokens ?? 0) } : {}),
    ...(cost === undefined ? {} : { cost }),
  };
}

function faultOf(
  { ends = 'completed', answer: expected }: EvalTask,
  { status, answer, value }: { readonly status: RunStatus; readonly answer: string | undefined; readonly value: JsonValue | undefined },
): string | undefined {
  if (status !== ends) return `it ended ${status}, not ${ends}`;
  if (expected === undefined) return undefined;
  return answer !== undefined && isAnswer(expected, answer, value) ? undefined : 'the answer is not the expected one';
}

function largestOf(events: readonly LogEvent[]): number {
  const sizes = events.flatMap((event) => {
    if (event.type !== 'tool.end') return [];
    const { content } = event;
    return typeof content === 'string'
      ? content.length
      : content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0);
  });
  return sizes.reduce((largest, size) => Math.max(largest, size), 0);
}

type Made = MadeCall & { readonly step: Step };

/** Each call is looked at once, however many there are. */
function countRedundant(made: readonly Made[]): number {
  const seen = new Set<string>();
  let redundant = 0;
  for (const { name, input, step } of made) {
    const key = canonicalJson([step.run, name, input, step.observation?.text ?? null]);
    if (step.observation && seen.has(key)) redundant += 1;
    seen.add(key);
  }
  return redundant;
}

/** That an answer was premature is the work's affair and no false block. */
function countBlocks(events: readonly LogEvent[]): number {
  const blocked = new Set<string>();
  for (const event of events) {
    if (event.type !== 'guard.verdict' || event.shadow || event.guardrail === 'evidence') continue;
    if (event.action === 'deny' || event.action === 'halt') blocked.add(`${event.surface} ${event.subject} ${event.revision}`);
  }
  return blocked.size;
}

function evidenceOf(expected: ExpectedEvidence): Evidence {
  if (typeof expected === 'string') return expected;
  const { tool, contains } = expected;
  const wanted = contains.toLowerCase();
  return {
    what: `a result of ${tool} with ${contains}`,
    holds: ({ results }) => results.some((result) => result.tool === tool && textOf(result.content).toLowerCase().includes(wanted)),
  };
}

const textOf = (content: Extract<Message, { role: 'tool' }>['content']): string =>
  typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
