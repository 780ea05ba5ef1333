// The parts of the page beside the timeline.
import type { GuardEntry } from '../state/events.js';
import type { Html } from './html.js';
import { html } from './html.js';
import type { Page } from './html-entry.js';
import { badge, quote, words } from './html-entry.js';
import { tellCount, tellCounted, tellDuration, tellTime } from './say.js';
import {
  isNotable,
  levelWord,
  markOf,
  sayLimits,
  standingOf,
  surfaceWord,
  tellAnswer,
  tellCost,
  tellEntry,
  tellUsage,
} from './tell-entry.js';
import type { GuardReport, ReportCounts, ReportEntry, ReportGuardrail, ReportRun, ReportShare, ReportStand } from './types.js';

/** Longest list that a page shows. */
const maxRows = 100;

/** The first of a list as markup, and words about the rest. */
function rows<T>(list: readonly T[], noun: string, row: (item: T) => Html): Html {
  const left = list.length - maxRows;
  return html`${list.slice(0, maxRows).map(row)}${left > 0 && html`<li class="gap">${tellCounted(left, noun)} more: the page shows the first ${maxRows}.</li>`}`;
}

/** All entries with their runs, those of child runs after the call that started them. */
export function* entriesOf(runs: readonly ReportRun[]): Generator<readonly [ReportEntry, ReportRun]> {
  for (const run of runs) {
    for (const entry of run.entries) {
      yield [entry, run];
      if (entry.kind === 'call' && entry.run !== undefined) yield* entriesOf([entry.run]);
    }
  }
}

const tile = (label: string, count: number, tone: string): Html =>
  html`<div class="${count > 0 ? 'some' : 'none'} ${tone}"><dt>${label}</dt><dd>${tellCount(count)}</dd></div>`;

export function summaryHtml(report: GuardReport, entries: readonly ReportEntry[]): Html {
  const { counts, runs, usage, findings } = report;
  const calls = entries.filter(({ kind }) => kind === 'call').length;
  const approvals = entries.flatMap((entry) => ('approvals' in entry ? entry.approvals : []));
  const open = entries.filter((entry) => 'status' in entry && entry.status === 'waiting').length;
  const fact = (name: string, content: Html | string): Html => html`<dt>${name}</dt><dd>${content}</dd>`;
  return html`<section class="part" aria-labelledby="summary"><h2 id="summary">Summary</h2>
<p class="about">How often guardrails answered, and what. Guardrails in shadow are logged, not obeyed, and count for themselves.</p>
<dl class="tiles">${tile('answers in all', counts.asked, '')}${tile('allowed', counts.allow, 'good')}${tile('rewrote', counts.rewrite, 'changed')}${tile('asked a person', counts.ask, 'waiting')}${tile('refused', counts.deny, 'bad')}${tile('stopped the run', counts.halt, 'bad')}${tile('failed', counts.failed, 'bad')}${tile('objected in shadow', counts.shadow, 'changed')}</dl>
<dl class="facts">
${fact('Runs', html`${runsText(runs)}`)}
${fact('Time', `${tellTime(report.at)}, ${tellDuration(report.ms)}`)}
${fact('Work', `${tellCounted(entries.filter(({ kind }) => kind === 'turn').length, 'model turn')}, ${tellCounted(calls, 'call')}, ${tellCounted(entries.filter(({ kind }) => kind === 'handoff').length, 'handoff')}`)}
${fact('People', approvals.length === 0 ? 'nobody was asked' : `asked ${tellCounted(approvals.length, 'time')}${open > 0 ? `; ${tellCount(open)} without an answer` : ''}`)}
${fact('Models', tellUsage(usage))}
${fact('Guarding', `${tellDuration(counts.ms)} in guardrails${counts.void > 0 ? `; ${tellCounted(counts.void, 'answer')} did not count, since the log was cut` : ''}`)}
${findings !== undefined && fact('Audit', findings.length === 0 ? html`<span class="good">✓ no breach of mediation found in this log</span>` : html`<span class="bad">✗ ${tellCounted(findings.length, 'finding')}</span>`)}
</dl>
${findings !== undefined && findings.length > 0 && html`<ul class="issues">${rows(findings, 'finding', (finding) => html`<li><span class="sign bad" aria-hidden="true">✗</span><span dir="auto">${finding}</span></li>`)}</ul>`}
</section>
`;
}

function runsText(runs: readonly ReportRun[]): Html {
  const statuses = new Map<string, number>();
  for (const { status } of runs) statuses.set(status, (statuses.get(status) ?? 0) + 1);
  return html`${[...statuses].map(([status, count], index) => html`${index > 0 && ' '}${tellCount(count)} ${badge(standingOf(status as ReportRun['status']))}`)}`;
}

/** What a reader looks for first. */
export function issuesHtml({ anchors, runs }: Page, entries: readonly ReportEntry[]): Html {
  const notable = entries.filter((entry) => isNotable(entry) && entry.kind !== 'end');
  const isOneRun = new Set(runs.values()).size < 2;
  const row = (entry: ReportEntry): Html => issueHtml(entry, anchors.get(entry) ?? '', isOneRun ? undefined : runs.get(entry)?.id);
  return html`<section class="part" aria-labelledby="issues"><h2 id="issues">Stopped, changed or put to a person</h2>
${
  notable.length === 0
    ? html`<p class="about">Nothing: every answer was to allow.</p>`
    : html`<ul class="issues">${rows(notable, 'entry', row)}</ul>`
}</section>
`;
}

function issueHtml(entry: ReportEntry, anchor: string, run: string | undefined): Html {
  const told = tellEntry(entry);
  const stricter = entry.verdicts.filter(({ action, failed }) => action !== 'allow' || failed);
  const main = strictestOf(stricter);
  const { sign, tone } = main === undefined ? { sign: '·', tone: told.status?.tone ?? 'plain' } : markOf(main);
  const others = stricter.length - 1;
  const deed =
    main !== undefined &&
    html`: ${quote(main.guardrail)} ${tellAnswer(main)} on ${surfaceWord(main.surface)}${others > 0 && html`, and ${tellCounted(others, 'more answer')}`}`;
  const why = main?.reason !== undefined && html`<span class="why" dir="auto">${main.reason}</span>`;
  const where = run !== undefined && html`<span class="meta"><span>agent ${quote(entry.agent)}</span><span>run ${quote(run)}</span></span>`;
  return html`<li><span class="sign ${tone}" aria-hidden="true">${sign}</span><div><a href="#${anchor}">${told.kind} ${words(told.title)}</a>${deed}${told.status && html` ${badge(told.status)}`}${why}${where}</div></li>`;
}

const order = ['allow', 'rewrite', 'ask', 'deny', 'halt'];
function strictestOf(verdicts: ReportEntry['verdicts']): ReportEntry['verdicts'][number] | undefined {
  let first: ReportEntry['verdicts'][number] | undefined;
  const rank = (verdict: ReportEntry['verdicts'][number]): number =>
    order.indexOf(verdict.action) - (verdict.shadow || verdict.isVoid ? 10 : 0);
  for (const verdict of verdicts) if (first === undefined || rank(verdict) > rank(first)) first = verdict;
  return first;
}

export function runHeadHtml(run: ReportRun, depth: number): Html {
  const { id, agent, status, ms, pausedMs, limits, usage, isPartial } = run;
  const fact = (content: Html | string): Html => html`<span>${content}</span>`;
  const title = depth === 0 ? html`Run ${quote(id)}` : html`Child run ${quote(id)}`;
  const set = limits === undefined ? [] : sayLimits(limits);
  return html`<div class="runhead">${depth === 0 ? html`<h3 id="r${run.seq}">${title}</h3>` : html`<h5 id="r${run.seq}">${title}</h5>`}${badge(standingOf(status))}
<p class="meta">${fact(html`starts with ${quote(agent)}`)}${fact(tellTime(run.at))}${fact(tellDuration(ms))}${pausedMs > 0 && fact(`${tellDuration(pausedMs)} of it waiting`)}${fact(tellUsage(usage))}${set.length > 0 && fact(html`limits ${words(set)}`)}${isPartial && fact('its beginning is not in what this was made of')}</p></div>
`;
}

const counted = (counts: ReportCounts): Html => {
  const told: Html[] = [];
  const add = (count: number, text: string, tone: string): void => {
    if (count > 0) told.push(html`<span class="${tone}">${text} ${tellCount(count)}</span>`);
  };
  add(counts.allow, '✓ allowed', 'good');
  add(counts.rewrite, '✎ rewrote', 'changed');
  add(counts.ask, '? asked a person', 'waiting');
  add(counts.deny, '✗ refused', 'bad');
  add(counts.halt, '■ stopped the run', 'bad');
  add(counts.shadow, 'in shadow, objected', 'changed');
  add(counts.failed, 'failed', 'bad');
  add(counts.void, 'void', 'waiting');
  return html`${told.map((each, index) => html`${index > 0 && ', '}${each}`)}`;
};

export function guardrailsHtml(guardrails: readonly ReportGuardrail[]): Html {
  return html`<section class="part" aria-labelledby="guardrails"><h2 id="guardrails">Guardrails</h2>
<p class="about">Who was asked, how often, and how long it took.</p>
${
  guardrails.length === 0
    ? html`<p>No guardrail was asked in this log.</p>`
    : html`<ul class="cards">${rows(
        guardrails,
        'guardrail',
        ({
          name,
          version,
          level,
          surfaces,
          counts,
          maxMs,
        }) => html`<li><h3>${quote(name)}${version !== undefined && html` ${quote(`version ${version}`)}`}</h3>
<p class="meta"><span>${levelWord(level)}</span><span>on ${surfaces.map(surfaceWord).join(', ')}</span></p><p class="answers">${counted(counts)}</p>
<p class="meta"><span>asked ${tellCounted(counts.asked, 'time')}</span><span>${tellDuration(counts.ms)}</span><span>longest ${tellDuration(maxMs)}</span></p></li>`,
      )}</ul>`
}</section>
`;
}

const surfaces = ['input', 'toolInput', 'toolOutput', 'handoff', 'output'] as const;

export function standsHtml(stands: readonly ReportStand[]): Html {
  return html`<section class="part" aria-labelledby="stands"><h2 id="stands">Who stood where</h2>
<p class="about">The guardrails on each boundary of each agent, as the log's manifests tell. “none” is a boundary on which nobody stood.</p>
<ul class="cards wider">${rows(stands, 'agent', standHtml)}</ul></section>
`;
}

function standHtml({ agent, seq, run, own, tools }: ReportStand): Html {
  const all = [...run.map((entry) => named(entry, 'run')), ...own.map((entry) => named(entry, 'agent'))];
  const list = (guards: readonly Html[]): Html =>
    guards.length === 0 ? html`<span class="empty">none</span>` : html`${guards.map((guard, index) => html`${index > 0 && ', '}${guard}`)}`;
  const rowsOf = surfaces.map(
    (surface) =>
      html`<dt>${surface}</dt><dd>${list(all.filter(({ entry }) => entry.surfaces.includes(surface)).map(({ name }) => name))}</dd>`,
  );
  const toolRows = tools.map(
    ({ tool, guardrails }) => html`<dt>tool</dt><dd>${quote(tool)}: ${list(guardrails.map((entry) => named(entry, 'tool').name))}</dd>`,
  );
  return html`<li class="stand"><h3><bdi>${agent}</bdi></h3><p class="meta"><span>from event ${seq} on</span></p><dl>${rowsOf}${toolRows}</dl></li>`;
}

function named(entry: GuardEntry, level: string): { readonly entry: GuardEntry; readonly name: Html } {
  const marks = [level, ...(entry.beside ? ['beside the model'] : []), ...(entry.shadow ? ['shadow'] : [])];
  if (entry.onError !== undefined) marks.push(entry.onError === 'allow' ? 'allows when it fails' : 'halts when it fails');
  const patterns = entry.tools === undefined ? undefined : html` for ${quote(entry.tools.join(', '))}`;
  return { entry, name: html`${quote(entry.name)} <span class="meta">(${marks.join(', ')}${patterns})</span>` };
}

export function usageHtml(report: GuardReport): Html {
  return html`<section class="part" aria-labelledby="usage"><h2 id="usage">Usage</h2>
<p class="about">What model calls used, failed and refused ones included. A dash is a count that nobody told.</p>
${usageTable('By model', report.byModel)}${usageTable('By agent', report.byAgent)}</section>
`;
}

function usageTable(caption: string, shares: readonly ReportShare[]): Html {
  const cell = (count: number | undefined, tell: (count: number) => string): Html =>
    html`<td class="n">${count === undefined ? '–' : tell(count)}</td>`;
  const left = shares.length - maxRows;
  return html`<table><caption>${caption}</caption><thead><tr><th scope="col">Name</th><th scope="col" class="n">Requests</th><th scope="col" class="n">In</th><th scope="col" class="n">Out</th><th scope="col" class="n">Cost</th></tr></thead>
<tbody>${shares.slice(0, maxRows).map(({ name, usage }) => html`<tr><th scope="row">${quote(name)}</th>${cell(usage.requests, tellCount)}${cell(usage.inputTokens, tellCount)}${cell(usage.outputTokens, tellCount)}${cell(usage.cost, tellCost)}</tr>`)}${left > 0 && html`<tr><td colspan="5">${tellCounted(left, 'row')} more: the page shows the first ${maxRows}.</td></tr>`}</tbody></table>
`;
}

/** The filter bar; a script shows it, so a page without scripts has none. */
export function filtersHtml({ agents, guardrails }: Page): Html {
  const select = (field: string, label: string, options: readonly (readonly [string, string | number])[]): Html =>
    html`<div><label for="f-${field}">${label}</label><select id="f-${field}" data-field="${field}"><option value="">any</option>${options.map(([text, value]) => html`<option value="${value}">${text.slice(0, 80)}</option>`)}</select></div>`;
  const byName = (names: Page['agents']): readonly (readonly [string, number])[] => names.all.slice(0, 300);
  return html`<form class="filters scripted" id="filters" role="search" aria-label="Filter the timeline" hidden><div class="row">
<div class="find"><label for="find">Search the entries</label><input type="search" id="find" autocomplete="off" spellcheck="false"></div>
${select(
  'surface',
  'Surface',
  surfaces.map((surface) => [surface, surface]),
)}
${select('action', 'Answer', [
  ['anything but a plain pass', 'notable'],
  ['allowed', 'allow'],
  ['rewrote', 'rewrite'],
  ['asked a person', 'ask'],
  ['refused', 'deny'],
  ['stopped the run', 'halt'],
])}
${select('agent', 'Agent', byName(agents))}${select('guardrail', 'Guardrail', byName(guardrails))}
<div><button type="reset">Reset</button></div></div><p id="count" role="status" aria-live="polite"></p></form>
`;
}

export const helpHtml: Html = html`<dialog id="help" aria-labelledby="help-title"><h2 id="help-title">Keyboard</h2>
<dl><dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>next and previous entry</dd><dt><kbd>↓</kbd> <kbd>↑</kbd></dt><dd>the same, from an entry</dd><dt><kbd>Home</kbd> <kbd>End</kbd></dt><dd>first and last entry, from an entry</dd><dt><kbd>Enter</kbd></dt><dd>open or close what an entry folds away</dd><dt><kbd>/</kbd></dt><dd>search; <kbd>Esc</kbd> empties it</dd><dt><kbd>?</kbd></dt><dd>this help</dd></dl>
<label><input type="checkbox" id="letters" checked> Keys of one sign (j, k, /, ?) work</label><button type="button" id="help-close">Close</button></dialog>
`;
