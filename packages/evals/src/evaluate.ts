import type { Agent, Answer, Log, RunOptions, RunResult } from '@guardloop/core';
import { run } from '@guardloop/core';
import { checkOptionNames } from '@guardloop/core/model';
import { invalid, isRecord, kindOf, own } from './given.js';
import type { ScoredRun } from './score-log.js';
import { scoreLog } from './score-log.js';
import type { Scores } from './scores.js';
import { meanScores } from './scores.js';
import type { EvalTask } from './task.js';
import { isFieldName, readTasks } from './task.js';

/** Which trial of which task. */
export interface TrialInfo {
  readonly task: EvalTask;
  /** From 1. */
  readonly trial: number;
  /** Of this trial: the first has `seed`, the next `seed + 1`. */
  readonly seed: number;
}
/** A trial, scored. */
export interface Trial extends ScoredRun {
  readonly trial: number;
  readonly seed: number;
}
/** A trial with its log, as it is shown to `onTrial`. */
export interface ShownTrial extends TrialInfo {
  readonly scored: Trial;
  readonly log: Log;
}
/** The trials of one task. */
export interface TaskResult {
  readonly id: string;
  readonly tags: readonly string[];
  readonly trials: readonly Trial[];
  /** The mean of its trials; of `largest`, the largest. */
  readonly scores: Scores;
}
/** What `evaluate` gives. Plain JSON. */
export interface EvalResult {
  readonly name: string;
  readonly tasks: readonly TaskResult[];
  /** The mean of the tasks; of `largest`, the largest. */
  readonly scores: Scores;
}
/** Options of {@link evaluate}. */
export interface EvaluateOptions<C, A extends Answer> {
  readonly tasks: readonly EvalTask[];
  /** The agent, or what makes one for each trial, so that its tools can have a state of their own. */
  readonly agent: Agent<C, A> | ((trial: TrialInfo) => Agent<C, A> | PromiseLike<Agent<C, A>>);
  /** In tables and baselines. Default: `agent`. */
  readonly name?: string | undefined;
  /** Runs of each task. Default 1. */
  readonly trials?: number | undefined;
  /** Goes to the model as its setting `seed`, one more in each trial. Default: none goes, and trials are counted from 1. */
  readonly seed?: number | undefined;
  /** Runs at the same time. Default 4. */
  readonly concurrency?: number | undefined;
  /** Checks by task id, beside the expected answer; one that throws, or says nothing, does not hold. */
  readonly checks?:
    | { readonly [task: string]: (trial: { readonly result: RunResult<A> } & TrialInfo) => boolean | PromiseLike<boolean> }
    | undefined;
  /** Options of each run, for example a model, guardrails or limits. */
  readonly run?: Omit<RunOptions<C>, 'session' | 'runId'> | undefined;
  /** Is shown each trial with its log, when it is scored: to keep it, or to print it. What it throws ends the evaluation. */
  readonly onTrial?: ((shown: ShownTrial) => unknown) | undefined;
}
/** With a context exactly where the agent needs one. */
export type EvaluateArguments<C, A extends Answer> = EvaluateOptions<C, A> &
  (unknown extends C ? { readonly context?: undefined } : { readonly context: C });

const optionNames = {
  tasks: true,
  agent: true,
  name: true,
  trials: true,
  seed: true,
  concurrency: true,
  checks: true,
  run: true,
  onTrial: true,
  context: true,
} as const satisfies { readonly [K in keyof EvaluateOptions<unknown, Answer> | 'context']-?: true };

/**
 * Runs an agent over tasks and scores its trajectories. Outcomes of runs are scores; rejects with CONFIG_INVALID, with what `run` rejects with,
 * and with what making an agent, or `onTrial`, throws.
 */
export async function evaluate<C, A extends Answer>(options: EvaluateArguments<C, A>): Promise<EvalResult> {
  checkOptionNames('evaluate(…)', options, optionNames);
  const tasks = readTasks(options.tasks);
  const { name = 'agent', trials = 1, seed = 1, concurrency = 4, checks = {} } = options;
  checkName('evaluate', name);
  for (const [option, value] of Object.entries({ trials, concurrency }))
    if (!Number.isSafeInteger(value) || value < 1) invalid(`evaluate has a \`${option}\` that cannot be. Give a whole number from 1.`);
  if (!Number.isSafeInteger(seed)) invalid('evaluate has a `seed` that cannot be. Give a whole number.');
  if (options.onTrial !== undefined && typeof options.onTrial !== 'function') invalid('evaluate has `onTrial` that is no function.');
  if (!isRecord(checks)) invalid(`evaluate has \`checks\` that are ${kindOf(checks)}. Give an object of functions by the tasks' ids.`);
  for (const [id, check] of Object.entries(checks)) {
    if (!tasks.some((task) => task.id === id)) invalid(`evaluate has a check for ${id}, and no task of that id.`);
    if (typeof check !== 'function') invalid(`evaluate has a check for ${id} that is no function.`);
  }
  const infos = tasks.flatMap((task) =>
    Array.from({ length: trials }, (_, index): TrialInfo => ({ task, trial: index + 1, seed: seed + index })),
  );
  const scored = new Map<TrialInfo, Trial>();
  let next = 0;
  const work = async (): Promise<void> => {
    for (let info = infos[next++]; info; info = infos[next++]) {
      try {
        scored.set(info, await runTrial(info, options));
      } catch (thrown) {
        next = infos.length;
        throw thrown;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, infos.length) }, work));
  return resultOf(
    name,
    tasks.map((task) => ({ task, trials: infos.flatMap((info) => (info.task === task ? (scored.get(info) ?? []) : [])) })),
  );
}

/** Scores logs that are there already, each against its task: recorded runs, or those of another process. Throws CONFIG_INVALID and LOG_INVALID. */
export function evaluateLogs(name: string, recorded: readonly { readonly task: EvalTask; readonly log: Log }[]): EvalResult {
  checkName('evaluateLogs', name);
  const given: unknown = recorded;
  if (!Array.isArray(given) || !given.every(isRecord))
    invalid('evaluateLogs was given no list of recorded runs. Give a list of { task, log }.');
  const tasks = [...new Set(recorded.map(({ task }) => task))];
  readTasks(tasks);
  return resultOf(
    name,
    tasks.map((task) => ({
      task,
      trials: recorded
        .filter((each) => each.task === task)
        .map(({ log }, index): Trial => ({ trial: index + 1, seed: 0, ...scoreLog(task, log) })),
    })),
  );
}

function checkName(where: string, name: unknown): void {
  if (typeof name !== 'string' || name === '' || !isFieldName(name))
    invalid(`${where} has a \`name\` that cannot be. Give a text: it stands in tables and baselines.`);
}

function resultOf(name: string, tasks: readonly { readonly task: EvalTask; readonly trials: readonly Trial[] }[]): EvalResult {
  const results = tasks.map(
    ({ task: { id, tags = [] }, trials }): TaskResult => ({ id, tags, trials, scores: meanScores(trials.map(({ scores }) => scores)) }),
  );
  return { name, tasks: results, scores: meanScores(results.map(({ scores }) => scores)) };
}

async function runTrial<C, A extends Answer>(info: TrialInfo, options: EvaluateArguments<C, A>): Promise<Trial> {
  const { task, trial, seed } = info;
  const agent = typeof options.agent === 'function' ? await options.agent(info) : options.agent;
  const given = {
    ...options.run,
    ...(options.seed === undefined ? {} : { settings: { ...options.run?.settings, seed } }),
    ...(options.context === undefined ? {} : { context: options.context }),
  };
  const began = performance.now();
  const result = (await run(agent as Agent<unknown, A>, task.input, given as RunOptions)) as RunResult<A>;
  const ms = performance.now() - began;
  const { scores, why, ...rest } = scoreLog(task, result.log);
  const isChecked = why === undefined && (await check(info, result, options));
  const reason = why ?? (isChecked ? undefined : 'its check does not hold');
  const scored: Trial = {
    trial,
    seed,
    ...rest,
    ...(reason === undefined ? {} : { why: reason }),
    scores: { ...scores, success: isChecked ? 1 : 0, ms },
  };
  await options.onTrial?.({ ...info, scored, log: result.log });
  return scored;
}

async function check<C, A extends Answer>(info: TrialInfo, result: RunResult<A>, { checks }: EvaluateOptions<C, A>): Promise<boolean> {
  try {
    const ofTask = own(checks, info.task.id);
    return ofTask === undefined || Boolean(await ofTask({ ...info, result }));
  } catch {
    return false;
  }
}
