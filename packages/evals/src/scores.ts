/**
 * What a trajectory is scored by. A score that does not apply is left out: of a task that names no calls, a run in which nothing failed, a model
 * that tells no tokens.
 */
export interface Scores {
  /** 1: the run ended as it should, and answer and check hold; else 0. Of several trials, the share. */
  readonly success: number;
  /** Steps of thought, action and observation; of parallel calls, each is one. */
  readonly steps: number;
  /** Calls of models, those of child runs and discarded answers included. */
  readonly modelCalls: number;
  /** Calls of tools that the model made, whether or not they ran. */
  readonly calls: number;
  /** Share of the calls made that were expected. */
  readonly precision?: number | undefined;
  /** Share of the expected calls that were made. */
  readonly recall?: number | undefined;
  /** Share of the calls made that had the tool, input and result of an earlier one. */
  readonly redundant?: number | undefined;
  /** Share of the failed observations after which, in a later turn of a run that completed, a call went well. */
  readonly recovery?: number | undefined;
  /** 1: when the run stopped, what the task needs had been read; else 0. An answer under a limit is never justified. */
  readonly justified?: number | undefined;
  /** Subjects that a guardrail denied or halted in an innocent task. */
  readonly falseBlocks?: number | undefined;
  /** Input and output tokens. */
  readonly tokens?: number | undefined;
  readonly cost?: number | undefined;
  /** Milliseconds. */
  readonly ms: number;
  /** Characters of the largest observation, as the model saw it. */
  readonly largest: number;
}
/** The name of a score. */
export type ScoreName = keyof Scores;

/** Whether more is better, less is better, or neither says anything. */
export const directions: { readonly [S in ScoreName]: 'up' | 'down' | 'none' } = {
  success: 'up',
  steps: 'down',
  modelCalls: 'down',
  calls: 'none',
  precision: 'up',
  recall: 'up',
  redundant: 'down',
  recovery: 'up',
  justified: 'up',
  falseBlocks: 'down',
  tokens: 'down',
  cost: 'down',
  ms: 'down',
  largest: 'down',
};
export const scoreNames = Object.keys(directions) as ScoreName[];

/** Of each score the mean over those that have it; of the largest observation the largest. */
export function meanScores(all: readonly Scores[]): Scores {
  const mean: { -readonly [S in ScoreName]?: number } = {};
  for (const name of scoreNames) {
    const values = all.flatMap((scores) => scores[name] ?? []);
    if (values.length > 0) mean[name] = values.reduce((sum, value) => sum + value, 0) / values.length;
  }
  mean.largest = all.reduce((most, { largest }) => Math.max(most, largest), 0);
  return { success: 0, steps: 0, modelCalls: 0, calls: 0, ms: 0, ...mean, largest: mean.largest };
}
