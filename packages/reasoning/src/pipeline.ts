import type { Agent, Answer, AsToolOptions, Tool } from '@guardloop/core';
import { asTool, defineTool, headTail, toolError } from '@guardloop/core';
import type { JsonObject, JsonValue } from '@guardloop/core/model';
import { optionFault } from '@guardloop/core/model';
import { z } from 'zod';
import type { DirectorOptions, Move, Situation } from './director.js';
import { checkCount, checkOptions, classOf, defineDirector, readValue } from './director.js';

/** What is left of a value that is written as JSON and read again. */
export type Plain<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends { toJSON(): infer J }
    ? Plain<J>
    : T extends object
      ? { [K in keyof T]: Plain<T[K]> }
      : T;
/** The second argument of a stage that is a function. */
export interface PipelineInfo<out C = unknown> {
  readonly context: C;
  readonly signal: AbortSignal;
}
/**
 * One stage: a function of what the stage before gave, or an agent, which is told it (a text as it is, else its JSON). A function computes:
 * it may run again after a cut, so what changes the world is for an agent with tools.
 */
export type Stage<C, I, O> = ((input: I, info: PipelineInfo<C>) => O | PromiseLike<O>) | Agent<C, Answer<string, O>>;

interface Options<C, N extends string, O> extends DirectorOptions<C, N, O> {
  /** Limits of each agent's run: its own `turns`, `handoffs`, `repairs`, `repeats`. */
  readonly stageLimits?: AsToolOptions<string, object>['limits'];
}
interface Staged<S extends readonly unknown[]> {
  /** In order. The first is given the text of the task. */
  readonly stages: S;
}
/** The types of {@link pipeline}: what a stage takes is what the one before it gives, as JSON. */
export interface Pipeline {
  <C, const N extends string, A, O = string>(options: Options<C, N, O> & Staged<readonly [Stage<C, string, A>]>): Agent<C, Answer<N, O>>;
  <C, const N extends string, A, B, O = string>(
    options: Options<C, N, O> & Staged<readonly [Stage<C, string, A>, Stage<C, Plain<A>, B>]>,
  ): Agent<C, Answer<N, O>>;
  <C, const N extends string, A, B, D, O = string>(
    options: Options<C, N, O> & Staged<readonly [Stage<C, string, A>, Stage<C, Plain<A>, B>, Stage<C, Plain<B>, D>]>,
  ): Agent<C, Answer<N, O>>;
  <C, const N extends string, A, B, D, E, O = string>(
    options: Options<C, N, O> & Staged<readonly [Stage<C, string, A>, Stage<C, Plain<A>, B>, Stage<C, Plain<B>, D>, Stage<C, Plain<D>, E>]>,
  ): Agent<C, Answer<N, O>>;
  <C, const N extends string, A, B, D, E, F, O = string>(
    options: Options<C, N, O> &
      Staged<readonly [Stage<C, string, A>, Stage<C, Plain<A>, B>, Stage<C, Plain<B>, D>, Stage<C, Plain<D>, E>, Stage<C, Plain<E>, F>]>,
  ): Agent<C, Answer<N, O>>;
  <C, const N extends string, A, B, D, E, F, G, O = string>(
    options: Options<C, N, O> &
      Staged<
        readonly [
          Stage<C, string, A>,
          Stage<C, Plain<A>, B>,
          Stage<C, Plain<B>, D>,
          Stage<C, Plain<D>, E>,
          Stage<C, Plain<E>, F>,
          Stage<C, Plain<F>, G>,
        ]
      >,
  ): Agent<C, Answer<N, O>>;
}

/** Nothing that goes from stage to stage may be left out, whatever projection the run has. */
const whole = headTail({ maxChars: Number.POSITIVE_INFINITY });
const where = 'pipeline(…)';
const optionNames = { stages: true, stageLimits: true } as const;
const stageInput = z.object({ input: z.unknown() });
const given = z.object({ value: z.unknown() });

/**
 * An agent that does what is known beforehand: one to six stages in order, without a model that decides. Each stage is a call in the log, judged
 * on `toolInput` and `toolOutput`, an agent's in a run of its own with the run's guardrails and budgets. The answer is what the last gives: its
 * text, its JSON, or with `output` its value. A stage that fails ends the run `failed`. Throws CONFIG_INVALID.
 */
export const pipeline: Pipeline = <C, N extends string, O>(
  definition: Options<C, N, O> & Staged<readonly unknown[]>,
): Agent<C, Answer<N, O>> => {
  checkOptions(where, definition, optionNames);
  const { stages, stageLimits, ...options } = definition;
  if (!Array.isArray(stages)) throw optionFault(where, 'stages is no list. Give functions and agents, in order.');
  checkCount(stages.length, 1, `The number of \`stages\` of agent ${options.name}`);
  const tools = stages.map((stage, index) => stageTool(stage, `stage_${index + 1}`, stageLimits));
  return defineDirector<C, N, O>({
    ...options,
    way: 'pipeline',
    tools: tools as readonly Tool<never>[] as never,
    turns: stages.length + 2,
    next: (situation) => nextMove(situation, stages.length),
  });
};

function stageTool(stage: unknown, name: string, limits: AsToolOptions<string, object>['limits']): Tool<never> {
  if (typeof stage === 'function') {
    const { name: own } = stage;
    return defineTool({
      name,
      description: own === '' ? 'Computes.' : `Computes ${own}.`,
      input: stageInput,
      flow: { effect: 'none', results: 'untrusted' },
      project: whole,
      execute: async ({ input }, { context, signal }) => ({ value: (await stage(input, { context, signal })) as unknown }),
    });
  }
  const agent = stage as Agent<unknown>;
  return asTool(agent, {
    name,
    description: `Asks ${agent.name}.`,
    input: stageInput,
    brief: ({ input }) => (typeof input === 'string' ? input : JSON.stringify(input)),
    limits,
    project: whole,
    result: ({ status, output, summary }) => (status === 'completed' ? { value: output } : toolError(summary ?? 'It did not answer.')),
  });
}

function nextMove({ task, calls }: Situation, count: number): Move {
  const last = calls.at(-1);
  const read = last === undefined || last.isError ? undefined : given.safeParse(readValue(last.text));
  if (last !== undefined && (!read?.success || read.data.value === undefined))
    return { kind: 'giveUp', why: `stage ${calls.length} of ${count} ${last.isError ? `failed (${classOf(last.text)})` : 'gave nothing'}` };
  const value = (last === undefined ? task : read?.data?.value) as JsonValue;
  if (calls.length >= count) return { kind: 'answer', thought: 'All stages are done.', answer: value };
  const input: JsonObject = { input: value };
  return {
    kind: 'call',
    thought: `Stage ${calls.length + 1} of ${count} comes next.`,
    calls: [{ name: `stage_${calls.length + 1}`, input }],
  };
}
