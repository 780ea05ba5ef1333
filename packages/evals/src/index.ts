export {
  type Baseline,
  type BaselineComparison,
  baselineOf,
  compareToBaseline,
  describeComparison,
  readBaseline,
  type ScoreChange,
  type Tolerance,
  type Tolerances,
} from './baseline.js';
export {
  type AnswerDifference,
  type CallDifference,
  type DiffedCall,
  type DiffedEnd,
  diffRuns,
  type FirstDifference,
  printDiff,
  type RunDiff,
  type VerdictDifference,
} from './diff-runs.js';
export { type EvalMarkdownOptions, evalMarkdown } from './eval-markdown.js';
export {
  type EvalResult,
  type EvaluateArguments,
  type EvaluateOptions,
  evaluate,
  evaluateLogs,
  type ShownTrial,
  type TaskResult,
  type Trial,
  type TrialInfo,
} from './evaluate.js';
export { hopModel } from './hops/hop-model.js';
export { hopTasks } from './hops/hop-tasks.js';
export { hopTools } from './hops/hop-tools.js';
export { type ScoredRun, scoreLog } from './score-log.js';
export type { ScoreName, Scores } from './scores.js';
export { type EvalTask, type ExpectedAnswer, type ExpectedCall, type ExpectedEvidence, readTasks } from './task.js';
