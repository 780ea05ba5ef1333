// One entry of the timeline as markup.

import type { JsonValue } from '../model/types.js';
import { jsonText } from './excerpt.js';
import type { Html } from './html.js';
import { html } from './html.js';
import type { Words } from './say.js';
import { isoTime, tellCount, tellCounted, tellDuration, tellSince } from './say.js';
import type { Standing, Told, ToldPart } from './tell-entry.js';
import { approvalFacts, isNotable, markOf, tellAnswer, tellApproval, tellEntry, verdictFacts } from './tell-entry.js';
import type { ReportApproval, ReportEntry, ReportRun, ReportText, ReportVerdict } from './types.js';

/** Numbers that stand in the page for names, so that no name stands in an attribute that a script reads. */
export class Names {
  private readonly numbers = new Map<string, number>();
  numberOf(name: string): number {
    const known = this.numbers.get(name);
    if (known !== undefined) return known;
    this.numbers.set(name, this.numbers.size);
    return this.numbers.size - 1;
  }
  get all(): readonly (readonly [string, number])[] {
    return [...this.numbers];
  }
}

/** What all entries of a page share. */
export interface Page {
  readonly agents: Names;
  readonly guardrails: Names;
  /** Ids of the entries in the page. */
  readonly anchors: ReadonlyMap<ReportEntry, string>;
  /** The run of each entry. */
  readonly runs: ReadonlyMap<ReportEntry, ReportRun>;
  /** Longest text that is shown, in characters. */
  readonly maxText: number;
}

/** Where an entry stands. */
export interface Spot {
  /** When its outermost run began. */
  readonly began: number;
  /** 0 in a run, 1 and more in child runs. */
  readonly depth: number;
}

/** Text that stands in the log, as an own piece of the line, however it is written. */
export const quote = (text: string): Html => html`<code dir="auto">${text}</code>`;

export const words = (pieces: Words): Html => html`${pieces.map((piece) => (typeof piece === 'string' ? piece : quote(piece.quote)))}`;

export const badge = ({ tone, words: text }: Standing): Html => html`<span class="badge ${tone}">${text}</span>`;

/** How an entry went, for its mark in the margin. */
export function toneOf(entry: ReportEntry, told: Told): string {
  if (told.status !== undefined && told.status.tone !== 'good') return told.status.tone;
  if (!isNotable(entry)) return 'plain';
  const counted = entry.verdicts.filter(({ shadow, isVoid }) => !shadow && !isVoid).map(({ action }) => action);
  if (counted.includes('deny') || counted.includes('halt')) return 'bad';
  return counted.includes('ask') ? 'waiting' : counted.includes('rewrite') ? 'changed' : 'plain';
}

export function entryHtml(page: Page, entry: ReportEntry, { began, depth }: Spot): Html {
  const told = tellEntry(entry);
  const id = page.anchors.get(entry) ?? '';
  const level = depth === 0 ? 'h4' : 'h6';
  const head = html`<span class="kind">${told.kind}</span> ${words(told.title)}`;
  const heading = level === 'h4' ? html`<h4 id="${id}-h">${head}</h4>` : html`<h6 id="${id}-h">${head}</h6>`;
  const fact = (content: Html): Html => html`<span>${content}</span>`;
  return html`<li class="entry tone-${toneOf(entry, told)}" ${fieldsOf(page, entry)}>
<time datetime="${isoTime(entry.at)}" title="${isoTime(entry.at)}">${tellSince(entry.at - began)}</time>
<article id="${id}" tabindex="-1" aria-labelledby="${id}-h"><div class="head">${heading}${told.status && badge(told.status)}</div>
<p class="meta">${fact(html`<span class="sr">agent </span><bdi class="agent">${entry.agent}</bdi>`)}${told.facts.map((each) => fact(words(each)))}${fact(html`event ${entry.seq}`)}</p>
${told.parts.map((part) => partHtml(page, part))}</article></li>
`;
}

/** What the filters look at. */
function fieldsOf(page: Page, entry: ReportEntry): Html {
  const actions = new Set<string>(entry.verdicts.map(({ action }) => action));
  if (isNotable(entry)) actions.add('notable');
  const list = (values: Iterable<string | number>): string => [...new Set(values)].join(' ');
  return html`data-surface="${list(entry.verdicts.map(({ surface }) => surface))}" data-action="${list(actions)}" data-agent="${page.agents.numberOf(entry.agent)}" data-guardrail="${list(entry.verdicts.map(({ guardrail }) => page.guardrails.numberOf(guardrail)))}"`;
}

function partHtml(page: Page, part: ToldPart): Html {
  switch (part.type) {
    case 'boundary':
      return boundaryHtml(part.surface, part.verdicts);
    case 'text':
      return textHtml(page, part);
    case 'approval':
      return approvalHtml(page, part.approval);
    case 'note':
      return html`<p class="note ${part.tone}">${words(part.words)}</p>`;
    default:
      return part satisfies never;
  }
}

/** What was asked on one surface: what was not allowed stands open, what was allowed in one line that opens. */
function boundaryHtml(surface: string, verdicts: readonly ReportVerdict[]): Html {
  const isPlain = ({ action, failed, isVoid }: ReportVerdict): boolean => action === 'allow' && !failed && !isVoid;
  const allowed = verdicts.filter(isPlain);
  const rest = verdicts.filter((verdict) => !isPlain(verdict));
  return html`<div class="boundary" role="group" aria-label="Guardrails on ${surface}"><span class="surface">${surface}</span><div>
${rest.length > 0 && html`<ul>${rest.map((verdict) => html`<li>${verdictHtml(verdict)}</li>`)}</ul>`}${allowed.length > 0 && allowsHtml(allowed)}</div></div>
`;
}

function allowsHtml(allowed: readonly ReportVerdict[]): Html {
  const names = [...new Set(allowed.map(({ guardrail }) => guardrail))];
  let ms = 0;
  for (const verdict of allowed) ms += verdict.ms;
  const told = names.slice(0, 4).map((name, index) => html`${index > 0 && ', '}${quote(name)}`);
  const more = names.length > 4 && html` and ${tellCounted(names.length - 4, 'other')}`;
  return html`<details class="allows"><summary><span class="ok"><span aria-hidden="true">✓</span> allowed</span> by ${told}${more}, ${tellDuration(ms)}</summary><ul>${allowed.map((verdict) => html`<li>${verdictHtml(verdict)}</li>`)}</ul></details>`;
}

export function verdictHtml(verdict: ReportVerdict): Html {
  const { guardrail, version, reason, isVoid } = verdict;
  const { sign, tone } = markOf(verdict);
  return html`<div class="verdict${isVoid && ' void'}"><span class="sign ${tone}" aria-hidden="true">${sign}</span> ${quote(guardrail)}${version !== undefined && html` ${quote(`version ${version}`)}`} <span class="did ${tone}">${tellAnswer(verdict)}</span> <span class="how meta">${verdictFacts(verdict).map((fact) => html`<span>${fact}</span>`)}</span>${reason !== undefined && html`<span class="why" dir="auto">${reason}</span>`}</div>`;
}

function textHtml({ maxText }: Page, { label, text, isData, isChanged }: Extract<ToldPart, { type: 'text' }>): Html {
  const shown = text.text.length > maxText ? `${text.text.slice(0, maxText)}` : text.text;
  const left = text.chars - shown.length;
  const more = left > 0 && html`<span class="more">${tellCounted(left, 'more character')} in the log</span>`;
  const body = html`<div class="text${isData && ' data'}" dir="auto">${isData ? pretty(shown, left) : shown}${more}</div>`;
  const isLong = shown.length > 600 || shown.split('\n').length > 12;
  const mark = isChanged && html` <span class="mark">✎ as the rewrites left it</span>`;
  return html`<div class="content${isChanged && ' is-changed'}"><span class="label">${label}${mark}</span>${isLong ? html`<details class="long"><summary><span class="begin" dir="auto">${beginOf(shown)} … </span><span class="meta">${tellCounted(text.chars, 'character')}</span></summary>${body}</details>` : body}</div>
`;
}

const beginOf = (text: string): string => text.slice(0, 160).split('\n').slice(0, 3).join('\n');

/** JSON that came in one line, in lines, where it is whole. */
function pretty(text: string, left: number): string {
  if (left > 0 || !/^[[{]/.test(text) || text.includes('\n')) return text;
  try {
    return jsonText(JSON.parse(text) as JsonValue);
  } catch {
    return text;
  }
}

function approvalHtml(page: Page, approval: ReportApproval): Html {
  const { tone, asked, decided } = tellApproval(approval);
  const { id, agentPath, revision, digest, input, decision } = approval;
  const text = (label: string, content: ReportText | undefined): Html | undefined =>
    content && textHtml(page, { type: 'text', label, text: content, isData: true, isChanged: false });
  return html`<div class="person" role="group" aria-label="Approval"><span>${words(asked)}.</span>
<span class="decided ${tone}"><span aria-hidden="true">${tone === 'good' ? '✓' : tone === 'bad' ? '✗' : '…'}</span> ${words(decided)}.</span>
<span class="meta"><span>approval ${quote(id)}</span><span>agents ${quote(agentPath.join(' > '))}</span><span>revision ${tellCount(revision)}</span><span>digest ${quote(String(digest).slice(0, 12))}</span>${approvalFacts(approval).map((fact) => html`<span>${words(fact)}</span>`)}</span>${text('What was to cross', input)}${text('The edit, as it passed', decision?.input)}</div>
`;
}
