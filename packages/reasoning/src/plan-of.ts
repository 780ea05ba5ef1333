import type { Log, LogEvent } from '@guardloop/core';
import type { PlanCall, PlanProgress, StepProgress } from './plan-progress.js';
import { planCalls, planWay, readProgress } from './plan-progress.js';
import type { Plan, PlanStep } from './plan-schema.js';

/** A planned step, and what has become of it. */
export interface PlannedStep extends PlanStep {
  /** Which plan it stands in, from 1. */
  readonly plan: number;
  /**
   * `kept`: an earlier plan had done it. `skipped`: never begun, and it will not be: its plan was replaced, or the run has ended. `begun`: under
   * way, or waiting for a person. `open`: still to come.
   */
  readonly status: 'done' | 'kept' | 'failed' | 'skipped' | 'begun' | 'open';
  /** The run in which it was done. */
  readonly run?: string | undefined;
  /** Calls of tools in that run. */
  readonly calls: number;
}
/** The plans of a run beside what happened. */
export interface PlanComparison {
  readonly run: string;
  /** Plans made. */
  readonly plans: number;
  /** Of all plans, in order. */
  readonly steps: readonly PlannedStep[];
  /** Calls that did another thing than their step says: a guardrail or a person had changed them. */
  readonly changed: readonly { readonly step: string; readonly goal: string; readonly run: string }[];
  /** All happened as it was first planned. */
  readonly isAsPlanned: boolean;
}

/** The plan that holds in the latest run of {@link planAndExecute}, or in `run`; undefined where there is none. Any part of a log will do. */
export function planOf(log: Log, run?: string): Plan | undefined {
  const read = readRun(log, run);
  const steps = read && readProgress(read.calls)?.plans.at(-1);
  return steps && { steps: steps.map(({ id, goal, needs }) => ({ id, goal, needs })) };
}

/** All plans of the latest run of {@link planAndExecute}, or of `run`, beside what happened; undefined where there was none. */
export function comparePlan(log: Log, run?: string): PlanComparison | undefined {
  const read = readRun(log, run);
  const progress = read && readProgress(read.calls);
  return progress && compare(read, progress);
}

function compare({ run, calls, isEnded, toolCalls }: PlannedRun, { plans, changed }: PlanProgress): PlanComparison {
  const runOf = (call: number | undefined): string => (call === undefined ? '' : `${run}/${calls[call]?.id}`);
  const steps = plans.flatMap((plan, index) =>
    plan.map((step): PlannedStep => {
      const { id, goal, needs } = step;
      const own = runOf(step.call);
      const status = statusOf(step, index + 1 < plans.length || isEnded);
      return { id, goal, needs, plan: index + 1, status, ...(own === '' ? {} : { run: own }), calls: toolCalls.get(own) ?? 0 };
    }),
  );
  return {
    run,
    plans: plans.length,
    steps,
    changed: changed.map((index) => {
      const step = plans.flat().find(({ call }) => call === index);
      return { step: step?.id ?? '', goal: String(calls[index]?.input.goal ?? ''), run: runOf(index) };
    }),
    isAsPlanned: plans.length === 1 && changed.length === 0 && steps.every(({ status }) => status === 'done'),
  };
}

function statusOf({ status }: StepProgress, isOver: boolean): PlannedStep['status'] {
  return status === 'open' && isOver ? 'skipped' : status;
}

interface LoggedCall extends PlanCall {
  readonly id: string;
}
interface PlannedRun {
  readonly run: string;
  readonly calls: readonly LoggedCall[];
  readonly isEnded: boolean;
  /** Started calls of tools, by run. */
  readonly toolCalls: ReadonlyMap<string, number>;
}

function readRun({ events }: Log, wanted: string | undefined): PlannedRun | undefined {
  const begun = events.findLast(
    (event) => event.type === 'model.start' && event.model === planWay && (wanted === undefined || event.run === wanted),
  );
  if (begun === undefined) return undefined;
  const { run, agent } = begun;
  const calls = new Map<string, LoggedCall>();
  const toolCalls = new Map<string, number>();
  let isEnded = false;
  for (const event of events) {
    if (event.type === 'tool.start') toolCalls.set(event.run, (toolCalls.get(event.run) ?? 0) + 1);
    if (event.run !== run) continue;
    if (event.type === 'run.end') isEnded = true;
    else if (event.type === 'run.resume' && event.reopens) isEnded = false;
    else if (event.agent === agent) take(event, calls);
  }
  return { run, calls: [...calls.values()], isEnded, toolCalls };
}

const names: ReadonlySet<string> = new Set(Object.values(planCalls));

function take(event: LogEvent, calls: Map<string, LoggedCall>): void {
  if (event.type === 'model.end' && event.status === 'ok')
    for (const { id, name, input } of event.calls)
      if (names.has(name)) calls.set(id, { id, tool: name, answer: event.turn, input, isError: false });
  const id = event.type === 'tool.end' ? event.callId : event.type === 'approval.resolve' ? event.subject.slice(event.run.length + 1) : '';
  const call = calls.get(id);
  if (call === undefined) return;
  if (event.type === 'approval.resolve' && event.input) calls.set(id, { ...call, input: event.input });
  if (event.type === 'tool.end')
    calls.set(id, { ...call, text: typeof event.content === 'string' ? event.content : '', isError: event.status !== 'ok' });
}
