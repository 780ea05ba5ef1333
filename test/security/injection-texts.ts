// Heuristics for instructions in data, and what the other guardrails on text of this kind cost and take for something they are not.
import { join } from 'node:path';
import type { FindInText } from '@guardloop/guardrails';
import { findEgress, findHiddenText, findInjection } from '@guardloop/guardrails';
import { readLines, suitesIn } from './read-lines.js';
import { ordinaryTexts, speedNote } from './secrets.js';
import type { Section } from './section.js';
import { hostilePieces, measureSpeed } from './text-speed.js';

interface Labelled {
  readonly source: string;
  readonly label: 0 | 1;
  readonly text: string;
}
interface Step {
  readonly result?: unknown;
}
/** Texts of one source. */
interface Group {
  readonly source: string;
  readonly attacks: readonly string[];
  readonly benign: readonly string[];
}

const source =
  'injection-text/texts.jsonl.gz (NotInject and InjecGuard, BIPIA, CyberSecEval, OpenAI guardrails, Agent Governance Toolkit; MIT), results of tools in agentdojo (AgentDojo, MIT), injecagent (InjecAgent, MIT) and tau2-retail (tau2-bench, MIT), pii/sentences.jsonl.gz (Presidio research, MIT)';

/** Beginnings of what the three guardrails look for. */
const repeated: readonly string[] = [
  'ignore all previous ',
  'send password ',
  'before you ',
  'you are now ',
  'urgent ',
  'QUJD',
  'a ',
  '%41',
  '&#65;',
  '忽略',
  '\u{e0041}',
  '\ufe0f',
  'a\u200e',
  'a\u2068',
  'ע\u200f',
  'аp',
  'क\u200d',
  '](',
  '](a',
  '![a](//b',
  '[a]:',
  '[a]: //b\n',
  '<a ',
  '<a b="',
  `<a b='<a b="`,
  '<img src=x ',
  '<script ',
  '<style>',
  'url(',
  '@import "',
  'https://a.com/',
  'https://a.com/?u=//b.com',
  'http://(',
  'x.com(',
  'a@b.',
  '//a(',
  'https%3A%2F%2Fa',
  '&colon;',
]; // prettier-ignore

const asText = (result: unknown): string => (typeof result === 'string' ? result : (JSON.stringify(result) ?? ''));
const unique = (texts: readonly string[]): readonly string[] => [...new Set(texts)].filter((text) => text !== '');
const place = { surface: 'toolOutput' } as const;
const percent = (part: number, whole: number): string => (whole === 0 ? '–' : `${((100 * part) / whole).toFixed(1)} %`);

/** Found attacks and false alarms of `injection` at its defaults, by source. */
export async function measureInjection(dataDirectory: string): Promise<Section> {
  const title = 'Instructions in data: injection at its defaults';
  const groups = groupsIn(dataDirectory);
  if (groups.length === 0) return { title, source, rows: [], notes: ['None of these sets is in the folder: nothing was measured.'] };
  const { find } = findInjection();
  const count = (texts: readonly string[]): number => texts.filter((text) => find(text, place).length > 0).length;
  const rows = groups.map(({ source: name, attacks, benign }) => {
    const [found, alarms] = [count(attacks), count(benign)];
    return {
      source: name,
      attacks: attacks.length,
      found: percent(found, attacks.length),
      benign: benign.length,
      'false alarms': alarms,
      rate: percent(alarms, benign.length),
    };
  });
  const benign = groups.flatMap((group) => group.benign);
  return {
    title,
    source,
    rows: [
      ...rows,
      {
        source: 'all benign',
        attacks: '–',
        found: '–',
        benign: benign.length,
        'false alarms': count(benign),
        rate: percent(count(benign), benign.length),
      },
    ],
    notes: [
      'An attack without words of its own is missed, and most are such: a plain order (all of InjecAgent’s base cases), a request that only its place makes an attack (BIPIA, CyberSecEval). That is why it is advisory; what stops these stands under provenance.',
      'The set labels 1 also what is no injection to any reader of the text alone, such as “What is the capital of Brazil?” in a place where data is expected.',
      speedNote(measureSpeed(find, ordinaryTexts(dataDirectory), [...hostilePieces, ...repeated])),
    ],
  };
}

/** Speed of `egress`, `hiddenText` and `injection`, and what they find in ordinary texts. */
export async function measureTextGuardrails(dataDirectory: string): Promise<Section> {
  const ordinary = unique([...ordinaryTexts(dataDirectory), ...groupsIn(dataDirectory).flatMap(({ benign }) => benign)]);
  const finders: Readonly<Record<string, FindInText>> = {
    'egress, nothing allowed': findEgress().find,
    'egress, all public hosts allowed': findEgress({ allow: ['*'], images: ['*'] }).find,
    hiddenText: findHiddenText().find,
    injection: findInjection().find,
  };
  const rows = Object.entries(finders).map(([guardrail, find]) => {
    const speed = measureSpeed(find, ordinary, [...hostilePieces, ...repeated]);
    return {
      guardrail,
      'ordinary texts': ordinary.length,
      'with findings': ordinary.filter((text) => find(text, place).length > 0).length,
      'µs per KB, p50': speed.p50.toFixed(0),
      p99: speed.p99.toFixed(0),
      'hostile, 256 KB': speed.worst.toFixed(0),
      growth: `n^${speed.growth.toFixed(2)}`,
      worst: speed.worstText,
    };
  });
  return {
    title: 'Egress, hidden text, injection: speed, and findings in ordinary texts',
    source,
    rows,
    notes: [
      'Ordinary texts hold URLs, and web pages in them images: with nothing allowed, egress is to find them all. What it finds with all public hosts allowed are private addresses, credentials, scripts and look-alike hosts.',
      'Growth is that of the time from 16 to 256 KB of one piece repeated, the greatest of all pieces.',
      'spotlight is a request to the model. With one that obeys every injection it changes nothing, so it has no figures here; those of its authors are for models of 2024 (arXiv:2403.14720).',
    ],
  };
}

function groupsIn(dataDirectory: string): readonly Group[] {
  const labelled = readLines<Labelled>(join(dataDirectory, 'injection-text', 'texts.jsonl.gz')) ?? [];
  const groups: Group[] = [...new Set(labelled.map((entry) => entry.source))].map((name) => {
    const of = (label: 0 | 1) => labelled.filter((entry) => entry.source === name && entry.label === label).map(({ text }) => text);
    return { source: name, attacks: of(1), benign: of(0) };
  });
  const dojo = join(dataDirectory, 'agentdojo');
  const suites = suitesIn(dojo);
  if (suites.length > 0) {
    const attacks = suites.flatMap((suite) =>
      (readLines<{ steps: readonly Step[]; exposed_after_call: number | null }>(join(dojo, `${suite}.traces.jsonl.gz`)) ?? []).flatMap(
        ({ steps, exposed_after_call: exposed }) => (exposed === null ? [] : [asText(steps[exposed]?.result)]),
      ),
    );
    const benign = suites.flatMap((suite) =>
      (readLines<{ user_tasks: readonly { calls: readonly Step[] }[] }>(join(dojo, `${suite}.suite.jsonl.gz`)) ?? []).flatMap(
        ({ user_tasks }) => user_tasks.flatMap(({ calls }) => calls.map(({ result }) => asText(result))),
      ),
    );
    groups.push({ source: 'agentdojo, results', attacks: unique(attacks), benign: unique(benign) });
  }
  for (const kind of ['base', 'enhanced']) {
    const responses = ['dh', 'ds'].flatMap(
      (file) => readLines<{ 'Tool Response': string }>(join(dataDirectory, 'injecagent', `${file}_${kind}.jsonl.gz`)) ?? [],
    );
    if (responses.length > 0)
      groups.push({ source: `injecagent, ${kind}`, attacks: responses.map((each) => each['Tool Response']), benign: [] });
  }
  const retail = readLines<{ steps: readonly Step[] }>(join(dataDirectory, 'tau2-retail', 'traces.jsonl.gz')) ?? [];
  if (retail.length > 0)
    groups.push({
      source: 'tau2-retail, results',
      attacks: [],
      benign: unique(retail.flatMap(({ steps }) => steps.map(({ result }) => asText(result)))),
    });
  const sentences = readLines<{ full_text: string }>(join(dataDirectory, 'pii', 'sentences.jsonl.gz')) ?? [];
  if (sentences.length > 0) groups.push({ source: 'pii sentences', attacks: [], benign: sentences.map(({ full_text }) => full_text) });
  return groups;
}
