import type { Agent, Answer, AsToolOptions, ChildRun } from '@guardloop/core';
import { asTool, headTail, toolError } from '@guardloop/core';
import type { JsonValue } from '@guardloop/core/model';
import { checkOptionNames, wellFormedText } from '@guardloop/core/model';
import { z } from 'zod';
import type { DirectorOptions, Move, Situation } from './director.js';
import { checkCount, checkKind, checkOptions, defineDirector, readValue } from './director.js';
import type { PlanProgress } from './plan-progress.js';
import { failureOf, planCalls, planWay, readProgress, readySteps } from './plan-progress.js';
import type { Plan, PlanStep } from './plan-schema.js';

/** What {@link planAndExecute} takes. */
export interface PlanAndExecuteOptions<C, N extends string, O> extends DirectorOptions<C, N, O> {
  /** Makes the plan, and a new one when a step has failed: an agent with `output: planSchema`. */
  readonly planner: Agent<C, Answer<string, Plan>>;
  /** Does one step in each of its runs. */
  readonly executor: Agent<C, Answer<string, unknown>>;
  /** Makes the answer of the task and all results. Default: the answer is the result of the plan's last step. */
  readonly finisher?: Agent<C, Answer<string, NoInfer<O>>> | undefined;
  /** Whether the answer of a step is good enough; if not, why, in a sentence: then the step has failed. Pure. Default: every answer is. */
  readonly check?: ((answer: string, step: Pick<PlanStep, 'id' | 'goal'>) => string | undefined) | undefined;
  /** `max`: new plans after steps that failed. Default 2. */
  readonly replan?: { readonly max?: number | undefined } | undefined;
  /** Steps that need none of each other run at the same time. Default: one after another, in the order of the plan. */
  readonly parallel?: boolean | undefined;
  /** Limits of each step's run: its own `turns`, `handoffs`, `repairs`, `repeats`. */
  readonly stepLimits?: AsToolOptions<string, object>['limits'];
}

const done = z.object({ id: z.string(), goal: z.string(), result: z.string() });
const planInput = z.object({
  task: z.string(),
  done: z.array(done),
  failed: z.array(z.object({ id: z.string(), goal: z.string(), why: z.string() })),
  fault: z.string().optional(),
});
const stepInput = z.object({ id: z.string(), goal: z.string(), results: z.array(z.object({ id: z.string(), result: z.string() })) });
const answerInput = z.object({ task: z.string(), results: z.array(done) });

const where = 'planAndExecute(…)';
const optionNames = { planner: true, executor: true, finisher: true, check: true, replan: true, parallel: true, stepLimits: true } as const;

/** Nothing of a plan may be left out, whatever projection the run has. */
const whole = headTail({ maxChars: Number.POSITIVE_INFINITY });

/**
 * An agent that plans before it acts: the planner makes an ordered plan as typed data, the executor does each step in a run of its own with
 * nothing but the step's goal and the results it needs, and a step that fails makes the planner plan what is left. Plan, steps and answer are
 * child runs in one log, with the run's guardrails and budgets; what one has done as a declared write or send, no other does again for an equal
 * input. A plan that cannot be carried out ends the run `failed`. Throws CONFIG_INVALID.
 */
export function planAndExecute<C, const N extends string, O = string>(given: PlanAndExecuteOptions<C, N, O>): Agent<C, Answer<N, O>> {
  checkOptions(where, given, optionNames);
  const { planner, executor, finisher, check, replan, parallel = false, stepLimits, ...options } = given;
  checkKind(where, { parallel }, 'boolean');
  checkKind(where, { check }, 'function');
  if (replan !== undefined) checkOptionNames(`\`replan\` of ${where}`, replan, { max: true });
  const max = replan?.max ?? 2;
  checkCount(max, 0, `\`replan.max\` of agent ${options.name}`);
  const plan = asTool(planner, {
    name: planCalls.plan,
    description: 'Makes a plan for a task, or for what is left of it.',
    input: planInput,
    brief: writePlanBrief,
    project: whole,
  });
  const step = asTool(executor, {
    name: planCalls.step,
    description: 'Does one step of the plan.',
    input: stepInput,
    brief: writeStepBrief,
    limits: stepLimits,
    effects: 'shared',
    ...(check === undefined ? {} : { result: (child: ChildRun, input: z.infer<typeof stepInput>) => checked(child, input, check) }),
  });
  const answer =
    finisher &&
    asTool(finisher, {
      name: planCalls.answer,
      description: 'Makes the answer.',
      input: answerInput,
      brief: writeAnswerBrief,
      project: whole,
    });
  return defineDirector<C, N, O>({
    ...options,
    way: planWay,
    tools: answer === undefined ? [plan, step] : [plan, step, answer],
    // Each of the plans may have 50 steps.
    turns: (max + 1) * 51 + 3,
    next: (situation) => nextMove(situation, { max, parallel, hasFinisher: finisher !== undefined, isText: options.output === undefined }),
  });
}

function checked(
  child: ChildRun,
  { id, goal }: z.infer<typeof stepInput>,
  check: NonNullable<PlanAndExecuteOptions<never, '', never>['check']>,
) {
  if (child.status !== 'completed') return toolError(child.summary ?? 'The step did not come to its end.');
  const why: unknown = check(child.text ?? '', { id, goal });
  if (why !== undefined && typeof why !== 'string') {
    // Nobody waits for it, and its rejection must end no process.
    Promise.resolve(why).catch(() => undefined);
    throw new Error('`check` gave no sentence. Give one, or undefined, at once.');
  }
  return why === undefined ? child.output : toolError(why, { errorClass: 'bad_result' });
}

interface Ways {
  readonly max: number;
  readonly parallel: boolean;
  readonly hasFinisher: boolean;
  readonly isText: boolean;
}

function nextMove({ task, said, calls }: Situation, ways: Ways): Move {
  const progress = readProgress(calls);
  const latest = calls.at(-1);
  const whole = [task, ...said.map(({ text }) => text)].join('\n\n');
  if (progress === undefined) return callPlan('A plan comes first.', { task: whole, done: [], failed: [] });
  if (latest?.tool === planCalls.answer) return finish(latest.text, latest.isError, ways);
  const { asked, fault } = progress;
  if (progress.isWithoutPlan) return { kind: 'giveUp', why: `no plan could be made: ${progress.isWithoutPlan}` };
  const failed = progress.steps.filter(({ status }) => status === 'failed');
  const hasNews = said.some(({ after }) => after >= progress.plannedAt);
  if (fault !== undefined || failed.length > 0 || hasNews) {
    if (asked > ways.max && !hasNews)
      return { kind: 'giveUp', why: `${failureOf(progress)}, and it may take no more than ${ways.max} new plans` };
    const words = fault ?? (hasNews && failed.length === 0 ? 'the person has said more' : undefined);
    return callPlan('What is left needs a new plan.', {
      task: whole,
      done: doneOf(progress),
      failed: failed.map(({ id, goal, text }) => ({ id, goal, why: excerpt(text) })),
      ...(words === undefined ? {} : { fault: words }),
    });
  }
  const ready = readySteps(progress.steps).slice(0, ways.parallel ? undefined : 1);
  if (ready.length > 0) {
    const count = progress.steps.length;
    const at = ready.map(({ number }) => number).join(' and ');
    return {
      kind: 'call',
      thought: `Step ${at} of ${count} comes next: what it needs is there.`,
      calls: ready.map(({ id, goal, needs }) => ({
        name: planCalls.step,
        input: { id, goal, results: needs.map((need) => ({ id: need, result: progress.results.get(need)?.text ?? '' })) },
      })),
    };
  }
  if (ways.hasFinisher) {
    const input = { task: whole, results: [...progress.results].map(([id, { goal, text }]) => ({ id, goal, result: text })) };
    return { kind: 'call', thought: 'All steps are done: the answer can be made.', calls: [{ name: planCalls.answer, input }] };
  }
  return finish(progress.steps.at(-1)?.text ?? '', false, ways);
}

function finish(text: string, isError: boolean, { isText }: Ways): Move {
  if (isError) return { kind: 'giveUp', why: 'all steps are done, but the answer could not be made of them' };
  return { kind: 'answer', thought: 'All steps are done.', answer: isText ? text : ((readValue(text) ?? text) as JsonValue) };
}

const callPlan = (thought: string, input: z.infer<typeof planInput>): Move => ({
  kind: 'call',
  thought,
  calls: [{ name: planCalls.plan, input }],
});

const doneOf = ({ results }: PlanProgress) => [...results].map(([id, { goal, text }]) => ({ id, goal, result: excerpt(text) }));

const longestExcerpt = 1_000;

function excerpt(text: string): string {
  return text.length > longestExcerpt ? `${wellFormedText(text.slice(0, longestExcerpt))} […]` : text;
}

function writePlanBrief({ task, done: finished, failed, fault }: z.infer<typeof planInput>): string {
  const contract =
    'Each step is done by somebody who sees its goal and the results of the steps in its `needs`, and nothing else. The steps are done in their order; the last gives what the task asks for.';
  if (finished.length === 0 && failed.length === 0 && fault === undefined) return `Make a plan for this task. ${contract}\n\nTask: ${task}`;
  return [
    `Make a plan for what is left of this task. ${contract} Steps that are done may be needed, and are not done again. Give new steps new ids.`,
    `Task: ${task}`,
    ...(fault === undefined ? [] : [`Why there must be a new plan: ${fault}`]),
    ...finished.map(({ id, goal, result }) => `Done: ${id}: ${goal}\nIts result: ${result}`),
    ...failed.map(({ id, goal, why }) => `Failed: ${id}: ${goal}\nWhy: ${why}`),
  ].join('\n\n');
}

function writeStepBrief({ goal, results }: z.infer<typeof stepInput>): string {
  return [goal, ...results.map(({ id, result }) => `Result of ${id}:\n${result}`)].join('\n\n');
}

function writeAnswerBrief({ task, results }: z.infer<typeof answerInput>): string {
  return [
    `All steps are done. Answer this from their results:\n${task}`,
    ...results.map(({ id, goal, result }) => `${id}: ${goal}\n${result}`),
  ].join('\n\n');
}
