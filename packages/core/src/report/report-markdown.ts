import { checkOptions, fromReport } from './check-report.js';
import type { Words } from './say.js';
import { say, tellCount, tellCounted, tellDuration, tellSince, tellTime } from './say.js';
import type { Told, ToldPart } from './tell-entry.js';
import {
  answerWords,
  approvalFacts,
  isNotable,
  levelWord,
  markOf,
  sayLimits,
  standingOf,
  surfaceWord,
  tellAnswer,
  tellApproval,
  tellEntry,
  tellUsage,
  verdictFacts,
} from './tell-entry.js';
import type { GuardReport, ReportCounts, ReportEntry, ReportRun, ReportStand, ReportText, ReportVerdict } from './types.js';
import { visible } from './visible.js';

/** How a Markdown report is made. */
export interface ReportMarkdownOptions {
  /** Default `Guardrail report`. */
  readonly title?: string | undefined;
}

/**
 * A report as Markdown (CommonMark): for a pull request, a ticket, or a terminal. Everything of the report stands in code spans and fences
 * that it cannot leave, so none of it becomes a link, an image or markup. Pure.
 */
export function reportMarkdown(report: GuardReport, options: ReportMarkdownOptions = {}): string {
  checkOptions('reportMarkdown', options, { names: ['title'], texts: ['title'] });
  return fromReport('reportMarkdown', report, () => markdownOf(report, options.title ?? 'Guardrail report'));
}

function markdownOf(report: GuardReport, title: string): string {
  const lines = [`# ${own(title)}`, '', ...summaryLines(report)];
  for (const run of report.runs) lines.push('', ...runLines(run, { began: run.at, indent: '' }));
  lines.push('', '## Who stood where', '', ...report.stands.flatMap(standLines));
  lines.push('', '## Guardrails', '', ...(report.guardrails.length === 0 ? ['No guardrail was asked in this log.'] : []));
  for (const { name, version, level, surfaces, counts, maxMs } of report.guardrails)
    lines.push(
      `- ${code(name)}${version === undefined ? '' : ` version ${code(version)}`}, ${levelWord(level)}, on ${surfaces.map(surfaceWord).join(', ')}: ${countsText(counts)}; ${tellDuration(counts.ms)}, longest ${tellDuration(maxMs)}`,
    );
  lines.push('', '## Usage', '');
  for (const [kind, shares] of [
    ['model', report.byModel],
    ['agent', report.byAgent],
  ] as const)
    for (const { name, usage } of shares) lines.push(`- ${kind} ${code(name)}: ${tellUsage(usage)}`);
  return `${lines.join('\n')}\n`;
}

/** Our own words: nothing in them is markup. */
const own = (text: string): string =>
  visible(text)
    .replace(/[\\`*_{}[\]<>#|~&!]/g, '\\$&')
    .replaceAll(/\s+/g, ' ');

/** Words of the log in a code span that they cannot end. */
function code(text: string): string {
  const line = visible(String(text)).replaceAll('\n', ' ⏎ ').replaceAll('\t', ' ');
  const ticks = '`'.repeat(longestRun(line) + 1);
  const pad = line === '' || /^[\s`]|[\s`]$/.test(line) ? ' ' : '';
  return `${ticks}${pad}${line}${pad}${ticks}`;
}

function longestRun(text: string): number {
  let longest = 0;
  for (const run of text.match(/`+/g) ?? []) longest = Math.max(longest, run.length);
  return longest;
}

const words = (pieces: Words): string => pieces.map((piece) => (typeof piece === 'string' ? own(piece) : code(piece.quote))).join('');

/** A content in a fence that it cannot end. */
function fence(text: string, indent: string): readonly string[] {
  const ticks = '`'.repeat(Math.max(3, longestRun(text) + 1));
  return [`${ticks}text`, ...visible(text).split(/\n|\r/), ticks].map((line) => `${indent}${line}`);
}

function summaryLines({ at, ms, runs, counts, usage, events, findings }: GuardReport): readonly string[] {
  const lines = [
    `- ${tellCounted(runs.length, 'run')}, ${tellCounted(events, 'event')}, from ${tellTime(at)}, ${tellDuration(ms)}`,
    `- ${countsText(counts)} (${tellCounted(counts.asked, 'answer')}, ${tellDuration(counts.ms)} in guardrails)`,
    `- models: ${tellUsage(usage)}`,
  ];
  if (findings === undefined) return lines;
  lines.push(findings.length === 0 ? '- audit: no breach of mediation found' : `- audit: ${tellCounted(findings.length, 'finding')}`);
  for (const finding of findings) lines.push(`  - ${code(finding)}`);
  return lines;
}

function countsText(counts: ReportCounts): string {
  const told: string[] = [];
  for (const action of ['allow', 'rewrite', 'ask', 'deny', 'halt'] as const)
    if (counts[action] > 0) told.push(`${answerWords(action).did} ${tellCount(counts[action])}`);
  if (counts.shadow > 0) told.push(`objected in shadow ${tellCount(counts.shadow)}`);
  if (counts.failed > 0) told.push(`failed ${tellCount(counts.failed)}`);
  if (counts.void > 0) told.push(`void ${tellCount(counts.void)}`);
  return told.length === 0 ? 'no guardrail was asked' : told.join(', ');
}

interface Spot {
  readonly began: number;
  readonly indent: string;
}

function runLines(run: ReportRun, { began, indent }: Spot): readonly string[] {
  const { id, agent, status, at, ms, pausedMs, usage, limits, isPartial, parent } = run;
  const facts = [`starts with ${code(agent)}`, tellTime(at), tellDuration(ms)];
  if (pausedMs > 0) facts.push(`${tellDuration(pausedMs)} of it waiting`);
  facts.push(tellUsage(usage));
  const set = limits === undefined ? [] : sayLimits(limits);
  if (set.length > 0) facts.push(`limits ${words(set)}`);
  if (isPartial) facts.push('its beginning is not in what this was made of');
  const head =
    indent === ''
      ? [`## Run ${code(id)}: ${own(standingOf(status).words)}`, '', facts.join(' · '), '']
      : [
          `${indent}- **Child run** ${code(id)}${parent === undefined ? '' : ` of ${code(parent)}`}: ${own(standingOf(status).words)} (${facts.join(' · ')})`,
        ];
  const inner = indent === '' ? '' : `${indent}  `;
  return [...head, ...run.entries.flatMap((entry) => entryLines(entry, { began, indent: inner }))];
}

function entryLines(entry: ReportEntry, spot: Spot): readonly string[] {
  const told = tellEntry(entry);
  const { indent, began } = spot;
  const status = told.status === undefined ? '' : `: **${own(told.status.words)}**`;
  const facts = [code(entry.agent), ...told.facts.map(words)].join(' · ');
  const mark = isNotable(entry) ? '! ' : '';
  const lines = [
    `${indent}- ${tellSince(entry.at - began)} ${mark}**${own(told.kind)}**${told.title.length > 0 ? ` ${words(told.title)}` : ''}${status} (${facts})`,
  ];
  const inner = `${indent}  `;
  for (const part of told.parts) lines.push(...partLines(part, inner));
  if (entry.kind === 'call' && entry.run !== undefined) lines.push(...runLines(entry.run, { began, indent: inner }));
  return lines;
}

function partLines(part: Told['parts'][number], indent: string): readonly string[] {
  switch (part.type) {
    case 'boundary':
      return boundaryLines(part, indent);
    case 'text':
      return textLines(part, indent);
    case 'approval': {
      const { approval } = part;
      const { asked, decided } = tellApproval(approval);
      const lines = [
        `${indent}- ${words(asked)}. **${words(decided)}.** (approval ${code(approval.id)}, revision ${tellCount(approval.revision)})`,
      ];
      for (const fact of approvalFacts(approval)) lines.push(`${indent}  - ${words(fact)}`);
      if (approval.input !== undefined) lines.push(...labelled('What was to cross', approval.input, `${indent}  `));
      if (approval.decision?.input !== undefined) lines.push(...labelled('The edit, as it passed', approval.decision.input, `${indent}  `));
      return lines;
    }
    case 'note':
      return [`${indent}- ${words(part.words)}`];
    default:
      return part satisfies never;
  }
}

function boundaryLines({ surface, verdicts }: Extract<ToldPart, { type: 'boundary' }>, indent: string): readonly string[] {
  const isPlain = ({ action, failed, isVoid, shadow }: ReportVerdict): boolean => action === 'allow' && !failed && !isVoid && !shadow;
  const allowed = [...new Set(verdicts.filter(isPlain).map(({ guardrail }) => guardrail))];
  const lines = verdicts
    .filter((verdict) => !isPlain(verdict))
    .map((verdict) => `${indent}- ${surfaceWord(surface)}: ${verdictText(verdict)}`);
  if (allowed.length > 0)
    lines.push(`${indent}- ${surfaceWord(surface)}: ${answerWords('allow').sign} allowed by ${allowed.map(code).join(', ')}`);
  return lines;
}

function verdictText(verdict: ReportVerdict): string {
  const { guardrail, version, reason } = verdict;
  const who = `${code(guardrail)}${version === undefined ? '' : ` version ${code(version)}`}`;
  const why = reason === undefined ? '' : `: ${code(reason)}`;
  return `${markOf(verdict).sign} **${own(tellAnswer(verdict))}** by ${who} (${verdictFacts(verdict).map(own).join(' · ')})${why}`;
}

const textLines = ({ label, text, isChanged }: Extract<ToldPart, { type: 'text' }>, indent: string): readonly string[] =>
  labelled(isChanged ? `${label}, as the rewrites left it` : label, text, indent);

function labelled(label: string, { text, chars }: ReportText, indent: string): readonly string[] {
  const left = chars - text.length;
  const more = left > 0 ? ` (${tellCounted(left, 'more character')} in the log)` : '';
  return [`${indent}- ${own(label)}${more}:`, ...fence(text, `${indent}  `)];
}

function standLines({ agent, seq, run, own: agents, tools }: ReportStand): readonly string[] {
  const names = (entries: ReportStand['run']): string =>
    entries.length === 0
      ? 'none'
      : entries.map(({ name, surfaces }) => `${code(name)} (${surfaces.map(surfaceWord).join(', ')})`).join(', ');
  return [
    `- ${words(say`${agent}`)}, from event ${tellCount(seq)} on`,
    `  - run: ${names(run)}`,
    `  - agent: ${names(agents)}`,
    ...tools.map(({ tool, guardrails }) => `  - tool ${code(tool)}: ${names(guardrails)}`),
  ];
}
