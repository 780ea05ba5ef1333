import { checkOptionNames } from '@guardloop/core/model';
import type { EvalResult } from './evaluate.js';
import { checkScoreNames, invalid } from './given.js';
import { resultsOf } from './results.js';
import type { ScoreName, Scores } from './scores.js';
import { scoreNames } from './scores.js';

/** Options of {@link evalMarkdown}. */
export interface EvalMarkdownOptions {
  /** The columns. Default: every score that some task has. */
  readonly scores?: readonly ScoreName[] | undefined;
  /** False: only a row for each result. Default true. */
  readonly tasks?: boolean | undefined;
}

const shares: ReadonlySet<ScoreName> = new Set(['success', 'precision', 'recall', 'redundant', 'recovery', 'justified']);

/**
 * Results side by side, as Markdown: a row for each, then a table of each one's tasks, then the trials that were no success, and why. Throws
 * CONFIG_INVALID for what is no result, and for options that there are not.
 */
export function evalMarkdown(results: EvalResult | readonly EvalResult[], options: EvalMarkdownOptions = {}): string {
  const list = resultsOf('evalMarkdown', results);
  checkOptionNames('evalMarkdown(…)', options, { scores: true, tasks: true });
  const { scores, tasks = true } = options;
  if (!Array.isArray(scores ?? [])) invalid('evalMarkdown has `scores` that are no list of scores.');
  checkScoreNames('evalMarkdown', scores ?? []);
  const columns: readonly ScoreName[] =
    scores ?? scoreNames.filter((name) => list.some((result) => result.tasks.some((each) => each.scores[name] !== undefined)));
  const head = (first: string) => [first, ...columns.map((name) => (shares.has(name) ? `${name} %` : name))];
  const row = (first: string, of: Scores) => [first, ...columns.map((name) => tell(name, of[name]))];
  const parts = [
    table(
      head('result'),
      list.map(({ name, scores: of }) => row(name, of)),
    ),
  ];
  if (tasks)
    for (const { name, tasks: all } of list)
      parts.push(
        `## ${cell(name)}\n\n${table(
          head('task'),
          all.map(({ id, scores: of }) => row(id, of)),
        )}`,
      );
  const failures = list.flatMap(({ name, tasks: all }) =>
    all.flatMap(({ id, trials }) =>
      trials.flatMap(({ trial, why }) => (why === undefined ? [] : [`- ${cell(name)}, ${cell(id)}, trial ${trial}: ${cell(why)}`])),
    ),
  );
  if (tasks && failures.length > 0) parts.push(`## No success\n\n${failures.join('\n')}`);
  return `${parts.join('\n\n')}\n`;
}

function tell(name: ScoreName, value: number | undefined): string {
  if (value === undefined) return '';
  if (shares.has(name)) return String(Math.round(value * 1000) / 10);
  if (name === 'cost') return value.toFixed(4);
  return String(Math.round(value * 10) / 10);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), line(head.map((_, index) => (index === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n');
}

/** On one line, and no mark-up of its own. */
const cell = (text: string): string => (/^-+:?$/.test(text) ? text : text.replace(/\s+/g, ' ').replace(/[\\|`*_<>[\]#~]/g, '\\$&'));
