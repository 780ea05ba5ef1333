import type { ComparedAnswer, ComparedCounts, ComparedSubject, Comparison, Precision, UnknownWhy } from './types.js';

/** Options of `comparisonMarkdown`. */
export interface ComparisonMarkdownOptions {
  /** Changed subjects that are listed; the rest is counted. Default 100. */
  readonly most?: number | undefined;
}

const words: { readonly [W in UnknownWhy]: string } = {
  refused: 'was refused, so its content is not recorded',
  rewritten: 'was rewritten, so the form that was judged is not recorded',
  cut: 'was cut or projected for the model, so the whole is not recorded',
  waiting: 'waits in quarantine, outside the log',
  history: 'a handoff whose target view is not recorded',
  unrecorded: 'passed, and was then not recorded for another reason',
};

/** A comparison as a page of Markdown. Holds no content: names, places, answers and the authors' reasons. */
export function comparisonMarkdown(comparison: Comparison, { most = 100 }: ComparisonMarkdownOptions = {}): string {
  const { subjects, runs, total, unmatched, isComplete, ms } = comparison;
  const changed = subjects.filter(({ status }) => status === 'changed');
  const diverging = runs.filter(({ divergence }) => divergence !== undefined).length;
  const lines = [
    '# What would change',
    '',
    `${count(total.changed, 'answer')} of ${total.subjects} would change, in ${diverging} of ${count(runs.length, 'run')}; ${total.unknown} cannot be judged again. ${Math.round(ms)} ms.`,
  ];
  if (unmatched.length > 0) lines.push('', `No log names ${unmatched.map(cell).join(', ')}: guardrails given for these were not asked.`);
  if (!isComplete) lines.push('', 'The replay was stopped before its end.');
  lines.push('', ...table(['surface', 'subjects', 'same', 'changed', 'unknown'], surfaceRows(comparison)));
  lines.push(
    '',
    ...table(['guardrail', 'allow', 'rewrite', 'ask', 'deny', 'halt', 'failed', 'changed', 'ms', 'longest'], guardrailRows(comparison)),
  );
  if (comparison.expectations) {
    const { recorded, replayed } = comparison.expectations;
    lines.push('', '## Against what was expected', '');
    lines.push(
      ...table(
        ['', 'caught', 'missed', 'wrong', 'passed', 'precision', 'recall'],
        [precisionRow('recorded', recorded), precisionRow('replayed', replayed)],
      ),
    );
  }
  if (changed.length > 0) {
    lines.push('', '## Changed', '');
    lines.push(
      ...table(['log', 'run', 'event', 'agent', 'surface', 'subject', 'recorded', 'replayed', ''], changed.slice(0, most).map(changedRow)),
    );
    if (changed.length > most) lines.push('', `and ${changed.length - most} more.`);
    if (changed.some(({ afterDivergence }) => afterDivergence))
      lines.push('', '*after*: an answer before it in the same run has changed, so this may not have come to pass.');
  }
  const whys = countWhys(subjects);
  if (whys.length > 0) lines.push('', '## Not known', '', ...whys.map(([why, number]) => `- ${number}: ${words[why]}`));
  return `${lines.join('\n')}\n`;
}

const count = (number: number, word: string): string => `${number} ${word}${number === 1 ? '' : 's'}`;

/** Text of authors and models' names in a cell: on one line, and no mark-up of its own. */
function cell(text: string | number): string {
  return String(text)
    .replace(/\s+/g, ' ')
    .replace(/[\\|`*_<>[\]#&~!]/g, '\\$&');
}

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): readonly string[] {
  if (rows.length === 0) return [];
  return [`| ${head.join(' | ')} |`, `| ${head.map(() => '---').join(' | ')} |`, ...rows.map((row) => `| ${row.map(cell).join(' | ')} |`)];
}

function surfaceRows({ surfaces, total }: Comparison): readonly (readonly (string | number)[])[] {
  const row = (name: string, { subjects, same, changed, unknown }: ComparedCounts) => [name, subjects, same, changed, unknown];
  const rows = Object.entries(surfaces).flatMap(([name, counts]) => (counts.subjects === 0 ? [] : [row(name, counts)]));
  return [...rows, row('all', total)];
}

function guardrailRows({ guardrails }: Comparison): readonly (readonly (string | number)[])[] {
  return guardrails.map(({ guardrail, version, answers: { allow, rewrite, ask, deny, halt }, failed, changed, ms, maxMs }) => [
    version === undefined ? guardrail : `${guardrail} ${version}`,
    allow,
    rewrite,
    ask,
    deny,
    halt,
    failed,
    changed,
    Math.round(ms),
    Math.round(maxMs),
  ]);
}

function precisionRow(name: string, { caught, missed, wrong, passed, precision, recall }: Precision): readonly (string | number)[] {
  const share = (value: number | undefined) => (value === undefined ? '' : value.toFixed(2));
  return [name, caught, missed, wrong, passed, share(precision), share(recall)];
}

function changedRow(row: ComparedSubject): readonly (string | number)[] {
  const { log, run, seq, agent, surface, tool, subject, recorded, replayed, afterDivergence } = row;
  const where = tool === undefined ? surface : `${surface} of ${tool}`;
  return [log, run, seq, agent, where, subject, say(recorded), replayed ? say(replayed) : '', afterDivergence ? 'after' : ''];
}

function say({ action, by, reason, failed }: ComparedAnswer): string {
  const who = by === undefined ? action : `${action} by ${by}`;
  return `${who}${failed ? ' (failed)' : ''}${reason === undefined ? '' : `: ${reason}`}`;
}

function countWhys(subjects: readonly ComparedSubject[]): readonly (readonly [UnknownWhy, number])[] {
  const counts = new Map<UnknownWhy, number>();
  for (const { why, status } of subjects) if (why !== undefined && status === 'unknown') counts.set(why, (counts.get(why) ?? 0) + 1);
  return [...counts];
}
