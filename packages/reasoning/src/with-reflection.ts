import type { Agent, Answer, AsToolOptions, Awaitable, ChildRun, LogEvent } from '@guardloop/core';
import { asTool, headTail } from '@guardloop/core';
import type { JsonObject, JsonValue } from '@guardloop/core/model';
import { wellFormedText } from '@guardloop/core/model';
import { z } from 'zod';
import type { DirectorOptions, DoneCall, Move, Situation } from './director.js';
import { checkCount, checkOptions, classOf, defineDirector, readValue } from './director.js';
import { printSteps } from './print-steps.js';
import type { Step } from './steps.js';
import { steps } from './steps.js';

/** An attempt that has ended, for the judge. */
export interface Attempt<out O = unknown> {
  /** From 1. */
  readonly number: number;
  readonly task: string;
  /** Only a `completed` one can be good enough. */
  readonly status: ChildRun['status'];
  /** The answer, parsed. */
  readonly output?: O | undefined;
  /** The answer's text; of a structured one, its JSON. */
  readonly text?: string | undefined;
  /** Of any that did not complete: how it ended, in a sentence. */
  readonly summary?: string | undefined;
  readonly steps: readonly Step[];
  readonly events: readonly LogEvent[];
}
/** What a judge that is an agent answers. */
export interface ReflectionVerdict {
  readonly isGood: boolean;
  /** In a few sentences: what is wrong, and what to do otherwise. */
  readonly critique: string;
}
/** The `output` of an agent that judges attempts. */
export const verdictSchema: z.ZodType<ReflectionVerdict> = z.object({
  isGood: z.boolean().describe('Whether the task is done as it should be, and what was found out justifies the answer.'),
  critique: z.string().describe('In a few sentences: what is wrong, and what to do otherwise next time. Empty if nothing is.'),
});

/** What {@link withReflection} takes. */
export interface ReflectionOptions<C, N extends string, O> extends DirectorOptions<C, N, O> {
  /** Makes each attempt, in a run of its own. */
  readonly agent: Agent<C, Answer<string, NoInfer<O>>>;
  /**
   * Whether an attempt is good enough. A function gives nothing if it is, else what is wrong in a few sentences; it depends on the attempt alone,
   * and one that throws ends the run. An agent with `output: verdictSchema` is shown the task, the steps and the answer, in a run of its own.
   */
  readonly judge: ((attempt: Attempt<O>) => Awaitable<string | undefined>) | Agent<C, Answer<string, ReflectionVerdict>>;
  /** Attempts, the first included. Default 3. */
  readonly attempts?: number | undefined;
  /** Limits of each attempt: its own `turns`, `handoffs`, `repairs`, `repeats`. */
  readonly attemptLimits?: AsToolOptions<string, object>['limits'];
}

const optionNames = { agent: true, judge: true, attempts: true, attemptLimits: true } as const;
const names = { attempt: 'make_attempt', judge: 'judge_attempt' } as const;
/** Nothing of an attempt may be left out, whatever projection the run has. */
const whole = headTail({ maxChars: Number.POSITIVE_INFINITY });
const longestCritique = 2_000;
const longestSteps = 12_000;

const effect = z.object({ tool: z.string(), input: z.record(z.string(), z.unknown()), result: z.string() });
type Effect = z.infer<typeof effect>;
const attemptInput = z.object({ number: z.number(), task: z.string(), critiques: z.array(z.string()), done: z.array(effect) });
type AttemptInput = z.infer<typeof attemptInput>;
const report = z.object({
  status: z.enum(['completed', 'blocked', 'exhausted', 'failed']),
  answer: z.unknown().optional(),
  summary: z.string().optional(),
  critique: z.string().optional(),
  /** For a judge that is an agent. */
  steps: z.string().optional(),
  done: z.array(effect),
});
type Report = z.infer<typeof report>;
const judgeInput = z.object({ task: z.string(), steps: z.string(), outcome: z.string() });

/**
 * An agent that makes attempts at a task with another one, until the judge finds one good enough: what was wrong is told to the next attempt, with
 * what the earlier ones have done. Attempts and verdicts are child runs in one log, with the run's guardrails and budgets; what one attempt has
 * done as a declared write or send, no other does again for an equal input. When no attempt was good enough the run ends `failed`.
 * Throws CONFIG_INVALID.
 */
export function withReflection<C, const N extends string, O = string>(given: ReflectionOptions<C, N, O>): Agent<C, Answer<N, O>> {
  checkOptions('withReflection(…)', given, optionNames);
  const { agent, judge, attempts = 3, attemptLimits, ...options } = given;
  checkCount(attempts, 1, `\`attempts\` of agent ${options.name}`);
  const judgeRun = typeof judge === 'function' ? undefined : judge;
  const judgeNow = typeof judge === 'function' ? judge : undefined;
  const attempt = asTool(agent, {
    name: names.attempt,
    description: 'Makes one attempt at the task.',
    input: attemptInput,
    brief: writeAttemptBrief,
    limits: attemptLimits,
    effects: 'shared',
    project: whole,
    result: (child, input) => reportOf(child, input, judgeNow as ((attempt: Attempt) => Awaitable<string | undefined>) | undefined),
  });
  const verdict =
    judgeRun &&
    asTool(judgeRun, { name: names.judge, description: 'Judges an attempt.', input: judgeInput, brief: writeJudgeBrief, project: whole });
  return defineDirector<C, N, O>({
    ...options,
    way: 'reflection',
    tools: verdict === undefined ? [attempt] : [attempt, verdict],
    turns: attempts * 2 + 2,
    next: (situation) => nextMove(situation, { attempts, hasJudge: verdict !== undefined }),
  });
}

async function reportOf(
  child: ChildRun,
  { number, task }: AttemptInput,
  judge: ((attempt: Attempt) => Awaitable<string | undefined>) | undefined,
): Promise<JsonObject> {
  const { status, output, text, summary, events } = child;
  const log = { version: 1, events } as const;
  const own = judge === undefined ? undefined : await judge({ number, task, status, output, text, summary, steps: steps(log), events });
  const critique = own ?? (status === 'completed' ? undefined : summary);
  return {
    status,
    done: effectsOf(events) as unknown as JsonValue,
    ...(status === 'completed' ? { answer: output as JsonValue } : { summary }),
    ...(critique === undefined ? {} : { critique: shorten(critique, longestCritique) }),
    ...(judge === undefined ? { steps: shorten(printSteps(log), longestSteps) } : {}),
  };
}

/** Declared writes and sends that were done. */
function effectsOf(events: readonly LogEvent[]): readonly Effect[] {
  const begun = new Map<string, Omit<Effect, 'result'>>();
  const done: Effect[] = [];
  for (const event of events) {
    if (event.type === 'tool.start' && event.once) begun.set(event.idempotencyKey, { tool: event.tool, input: event.input });
    const start = event.type === 'tool.end' && event.status === 'ok' ? begun.get(event.id) : undefined;
    if (start === undefined || event.type !== 'tool.end') continue;
    done.push({ ...start, result: shorten(typeof event.content === 'string' ? event.content : '[media]', longestCritique) });
  }
  return done;
}

function shorten(text: string, chars: number): string {
  return text.length > chars ? `${wellFormedText(text.slice(0, chars))} […]` : text;
}

interface Ways {
  readonly attempts: number;
  readonly hasJudge: boolean;
}
interface Judged {
  readonly report: Report;
  readonly verdict: DoneCall | undefined;
}

function nextMove({ task, said, calls }: Situation, { attempts, hasJudge }: Ways): Move {
  const whole = [task, ...said.map(({ text }) => text)].join('\n\n');
  const made: Judged[] = [];
  for (const [index, call] of calls.entries()) {
    if (call.tool !== names.attempt) continue;
    const read = call.isError ? undefined : report.safeParse(readValue(call.text));
    if (!read?.success) return { kind: 'giveUp', why: `attempt ${made.length + 1} could not be made or judged (${classOf(call.text)})` };
    const next = calls[index + 1];
    made.push({ report: read.data, verdict: next?.tool === names.judge ? next : undefined });
  }
  const last = made.at(-1);
  if (last === undefined) return callAttempt('The first attempt.', { number: 1, task: whole, critiques: [], done: [] });
  const hasNews = said.some(({ after }) => after >= calls.length) && made.length < attempts;
  if (hasJudge && last.verdict === undefined && !hasNews) {
    const { status, answer, summary, steps: taken = '' } = last.report;
    if (status === 'completed' || made.length < attempts) {
      const outcome = status === 'completed' ? `It answered: ${wordsOf(answer)}` : `It did not answer: ${summary ?? status}`;
      return {
        kind: 'call',
        thought: 'It is to be judged.',
        calls: [{ name: names.judge, input: { task: whole, steps: taken, outcome } }],
      };
    }
  }
  const critiques = made.map(critiqueOf);
  const latest = critiques.at(-1);
  if (latest === unjudged) return { kind: 'giveUp', why: `attempt ${made.length} could not be judged` };
  if (latest === undefined && last.report.status === 'completed' && !hasNews)
    return { kind: 'answer', thought: 'It is good enough.', answer: last.report.answer as JsonValue };
  if (made.length >= attempts) return { kind: 'giveUp', why: `none of ${attempts} attempts was good enough` };
  return callAttempt(hasNews ? 'The person has said more: once more.' : 'It was not good enough: once more, with what was wrong.', {
    number: made.length + 1,
    task: whole,
    critiques: critiques.map((critique) =>
      typeof critique === 'string' && critique !== '' ? critique : 'The person has said more since.',
    ),
    done: made.flatMap(({ report: { done } }) => done),
  });
}

const unjudged = Symbol('no verdict');

/** What was wrong with an attempt; undefined if nothing. */
function critiqueOf({ report: { status, critique, summary }, verdict }: Judged): string | undefined | typeof unjudged {
  if (verdict === undefined) return critique ?? (status === 'completed' ? undefined : (summary ?? status));
  const read = verdict.isError ? undefined : verdictSchema.safeParse(readValue(verdict.text));
  if (!read?.success) return unjudged;
  return read.data.isGood && status === 'completed' ? undefined : shorten(read.data.critique || (summary ?? ''), longestCritique);
}

const callAttempt = (thought: string, input: AttemptInput): Move => ({
  kind: 'call',
  thought,
  calls: [{ name: names.attempt, input: input as unknown as JsonObject }],
});

const wordsOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

function writeAttemptBrief({ task, critiques, done }: AttemptInput): string {
  if (critiques.length === 0) return task;
  return [
    task,
    `Earlier attempts were not good enough:\n${critiques.map((critique, index) => `${index + 1}. ${critique}`).join('\n')}`,
    ...(done.length === 0
      ? []
      : [
          `They have done this already, and it is not to be done again:\n${done.map(({ tool, input, result }) => `- ${tool} ${JSON.stringify(input)}: ${result}`).join('\n')}`,
        ]),
  ].join('\n\n');
}

function writeJudgeBrief({ task, steps: taken, outcome }: z.infer<typeof judgeInput>): string {
  return `Judge an attempt at this task.\n\nTask: ${task}\n\nIts steps:\n${taken}\n\n${outcome}`;
}
