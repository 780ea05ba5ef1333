import { GuardloopError } from '../errors.js';
import { checkOptions, fromReport } from './check-report.js';
import type { Html } from './html.js';
import { html } from './html.js';
import type { Page, Spot } from './html-entry.js';
import { entryHtml, Names } from './html-entry.js';
import {
  entriesOf,
  filtersHtml,
  guardrailsHtml,
  helpHtml,
  issuesHtml,
  runHeadHtml,
  standsHtml,
  summaryHtml,
  usageHtml,
} from './html-lists.js';
import { pageScript, pageScriptHash } from './page-script.js';
import { pageStyle, pageStyleHash } from './page-style.js';
import { tellCounted } from './say.js';
import { isNotable } from './tell-entry.js';
import type { GuardReport, ReportEntry, ReportRun } from './types.js';

/** How a page is made. */
export interface ReportHtmlOptions {
  /** Default `Guardrail report`. */
  readonly title?: string | undefined;
  /** One or two sentences under the title: what was run, and why one reads this. */
  readonly about?: string | undefined;
  /** Largest page, in bytes. Default 4,500,000. Beyond it texts are cut shorter, then entries in which nothing was objected to are left out; the page says so. */
  readonly maxBytes?: number | undefined;
}

/**
 * A report as one HTML page that needs nothing else: no network, no font, no file. Its policy forbids all of these, and any script and
 * style but its own two. Everything of the report stands in it as text, with characters that are not seen or turn the line as their
 * numbers. It can be read without scripts, printed, and by a screen reader; with scripts it can be filtered and walked by keys. Pure; time
 * grows with the size of the report.
 */
export function reportHtml(report: GuardReport, options: ReportHtmlOptions = {}): string {
  checkOptions('reportHtml', options, { names: ['title', 'about', 'maxBytes'], texts: ['title', 'about'] });
  const { maxBytes = 4_500_000 } = options;
  if (!(maxBytes >= 100_000))
    throw new GuardloopError('CONFIG_INVALID', 'maxBytes of reportHtml is below 100,000, which no page fits. Give more, or leave it out.');
  return fromReport('reportHtml', report, () => pageOf(report, { ...options, maxBytes }));
}

function pageOf(
  report: GuardReport,
  { title = 'Guardrail report', about, maxBytes }: ReportHtmlOptions & { readonly maxBytes: number },
): string {
  const runs = new Map(entriesOf(report.runs));
  const entries = [...runs.keys()];
  const page: Page = {
    agents: new Names(),
    guardrails: new Names(),
    runs,
    anchors: new Map(entries.map((entry, index) => [entry, `e${index + 1}`])),
    maxText: fitTexts(entries, maxBytes * 0.4),
  };
  const around = [
    summaryHtml(report, entries),
    issuesHtml(page, entries),
    standsHtml(report.stands),
    guardrailsHtml(report.guardrails),
    usageHtml(report),
  ] as const;
  const [summary, issues, stands, guardrails, usage] = around;
  const timeline = new Timeline(page);
  for (const run of report.runs) timeline.addRun(run, { began: run.at, depth: 0 });
  const room = maxBytes - pageStyle.length - pageScript.length - 20_000 - sum(around.map((part) => bytesOf(part)));
  const { markup, left } = timeline.write(room, report.runs);
  const policy = `default-src 'none'; style-src 'sha256-${pageStyleHash}'; script-src 'sha256-${pageScriptHash}'; base-uri 'none'; form-action 'none'`;
  const head = html`<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}"><meta name="referrer" content="no-referrer"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark"><title>${title}</title>`;
  const top = html`<a class="skip" href="#timeline">Skip to the timeline</a>
<header class="top"><div class="wide"><div><h1 dir="auto">${title}</h1>${about !== undefined && html`<p class="lead" dir="auto">${about}</p>`}</div>
<div class="tools scripted" hidden><button type="button" id="theme">Dark</button><button type="button" id="help-button" class="help" aria-haspopup="dialog">Keys</button></div></div></header>
<main class="wide">
${summary}${issues}<section class="part" aria-labelledby="timeline"><h2 id="timeline">Timeline</h2>
<p class="about">Every run from its beginning: what came in, each answer of the model, each call and handoff, and the guardrails that answered at that boundary. Times count from the start of the run.${left > 0 && ` To keep the page small, ${tellCounted(left, 'entry')} without any objection ${left === 1 ? 'is' : 'are'} not on it; the report as data has them all.`}${page.maxText < 2_000 && ` Texts are shown up to ${tellCounted(page.maxText, 'character')}.`}</p>
${filtersHtml(page)}`;
  const bottom = html`</section>
${stands}${guardrails}${usage}</main>
<footer><div class="wide"><p>Made of ${tellCounted(report.events, 'event')} of a log and of nothing else. What guardrails refused is in no log, so it is not here: only its size, who refused it, and why. Reasons are words of the guardrails’ authors.</p></div></footer>
${helpHtml}`;
  return `<!doctype html>
<html lang="en"><head>${head.markup}<style>${pageStyle}</style></head>
<body>
${top.markup}${markup}${bottom.markup}<script>${pageScript}</script>
</body></html>
`;
}

const encoder = new TextEncoder();
const bytesOf = ({ markup }: Html): number => encoder.encode(markup).length;
const sum = (numbers: readonly number[]): number => {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
};

/** The longest text, so that all of them together fit. */
function fitTexts(entries: readonly ReportEntry[], room: number): number {
  const sizes = entries.flatMap(textSizes);
  const limits = [20_000, 5_000, 2_000, 800, 300, 120];
  return limits.find((limit) => sum(sizes.map((size) => Math.min(size, limit))) <= room) ?? 60;
}

function textSizes(entry: ReportEntry): readonly number[] {
  const texts = Object.values(entry).flatMap((value) => (isText(value) ? [value.text.length] : []));
  return entry.kind === 'input' ? entry.items.map(({ text }) => text.text.length) : texts;
}

const isText = (value: unknown): value is { readonly text: string } =>
  typeof value === 'object' && value !== null && 'text' in value && typeof value.text === 'string';

/** One entry, rendered, and whether there is room for it. */
interface Row {
  readonly markup: string;
  readonly bytes: number;
  readonly isNotable: boolean;
  isKept: boolean;
}

/** Renders all entries, then keeps what there is room for: first what was objected to, then the rest, in order. */
class Timeline {
  private readonly rows = new Map<ReportEntry, Row>();
  private readonly heads = new Map<ReportRun, Row>();

  constructor(private readonly page: Page) {}

  addRun(run: ReportRun, spot: Spot): void {
    this.heads.set(run, rowOf(runHeadHtml(run, spot.depth), run.status !== 'completed' || run.entries.some(isNotable)));
    for (const entry of run.entries) {
      this.rows.set(entry, rowOf(entryHtml(this.page, entry, spot), isNotable(entry)));
      if (entry.kind === 'call' && entry.run !== undefined) this.addRun(entry.run, { ...spot, depth: spot.depth + 1 });
    }
  }

  write(room: number, runs: readonly ReportRun[]): { readonly markup: string; readonly left: number } {
    let left = room;
    const all = [...this.heads.values(), ...this.rows.values()];
    for (const wanted of [true, false]) {
      for (const row of all) {
        if (row.isNotable !== wanted || row.bytes > left) continue;
        row.isKept = true;
        left -= row.bytes;
      }
    }
    const markup = this.runsMarkup(runs, 0);
    return { markup, left: [...this.rows.values()].filter(({ isKept }) => !isKept).length };
  }

  private runsMarkup(runs: readonly ReportRun[], depth: number): string {
    let missing = 0;
    let markup = '';
    for (const run of runs) {
      const body = this.entriesMarkup(run, depth);
      const head = this.heads.get(run);
      if (head?.isKept || body.hasRows)
        markup += `<section class="run" aria-labelledby="r${Number(run.seq)}">${head?.markup}<ol class="line">${body.markup}</ol></section>\n`;
      else missing += 1;
    }
    return missing === 0
      ? markup
      : `${markup}${html`<p class="gap">${tellCounted(missing, 'run')} without any objection left out here.</p>`.markup}`;
  }

  private entriesMarkup(run: ReportRun, depth: number): { readonly markup: string; readonly hasRows: boolean } {
    let markup = '';
    let missing = 0;
    let hasRows = false;
    const tellMissing = (): void => {
      if (missing > 0) markup += html`<li class="gap">${tellCounted(missing, 'entry')} without any objection left out here.</li>\n`.markup;
      missing = 0;
    };
    for (const entry of run.entries) {
      const row = this.rows.get(entry);
      if (row?.isKept) {
        tellMissing();
        markup += row.markup;
        hasRows = true;
      } else missing += 1;
      if (entry.kind !== 'call' || entry.run === undefined) continue;
      const child = this.runsMarkup([entry.run], depth + 1);
      tellMissing();
      markup += `<li class="nest">${child}</li>\n`;
      hasRows ||= child.includes('class="entry');
    }
    tellMissing();
    return { markup, hasRows };
  }
}

const rowOf = (content: Html, isNotableRow: boolean): Row => ({
  markup: content.markup,
  bytes: bytesOf(content),
  isNotable: isNotableRow,
  isKept: false,
});
