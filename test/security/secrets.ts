import { join } from 'node:path';
import { findSecrets, secretKinds } from '@guardloop/guardrails';
import { readLines } from './read-lines.js';
import type { Section } from './section.js';
import { hostilePieces, measureSpeed } from './text-speed.js';

interface Labelled {
  readonly source: string;
  readonly rule: string;
  readonly label: 0 | 1;
  readonly text: string;
}

const source =
  'secrets/secrets.jsonl.gz: strings from the tests of gitleaks, secretlint (MIT) and detect-secrets (Apache-2.0), each with the label that its own rule gives it; ordinary texts: the benign ones of injection-text, all sentences of pii, and the recorded results of agentdojo that speak of no password, secret or key.';

const repeated = [
  ' ghp_',
  ' glpat-',
  '-eyJ-',
  ' eyJa.',
  'AKIA',
  ' sk-',
  'T3BlbkFJ-',
  'Q~',
  '-us',
  ':A1',
  '1|',
  'xoxb-1-',
  '-----BEGIN PRIVATE KEY-----\n',
  '-----BEGIN RSA PRIVATE KEY-----\nAAAA+/AA',
  'PuTTY-User-Key-File-2: ',
  'password=',
  "password='",
  'token:"',
  'secret: ',
  'datadog_api_key=',
  '--token ',
  'my password is ',
  '<password>',
  '://a:b@',
  'curl -u a:b ',
  'Bearer ',
  'pwd=',
  '-ops_eyJ',
  'a.aaaaaa.',
  'A3-',
  '"d":"',
  'hooks.slack.com/services/T',
  '$ANSIBLE_VAULT;1.1;AES256\n',
  'aA1_secret=aA1aA1aA1aA1aA1aA1 ',
]; // prettier-ignore

const share = (part: number, whole: number): string => (whole === 0 ? '–' : `${((100 * part) / whole).toFixed(1)} %`);

/** Found and false alarms of `secrets` at its defaults, and its speed. */
export async function measureSecrets(dataDirectory: string): Promise<Section> {
  const title = 'Secrets';
  const labelled = readLines<Labelled>(join(dataDirectory, 'secrets', 'secrets.jsonl.gz'));
  if (labelled === undefined)
    return { title, source, rows: [], notes: [`secrets/secrets.jsonl.gz is not in the folder: nothing was measured.`] };
  const { find } = findSecrets();
  const isFound = (text: string): boolean => find(text, { surface: 'toolOutput' }).length > 0;
  const rows = [...new Set(labelled.map((entry) => entry.source))].map((name) => {
    const positive = labelled.filter((entry) => entry.source === name && entry.label === 1);
    const negative = labelled.filter((entry) => entry.source === name && entry.label === 0);
    const [hits, alarms] = [positive, negative].map((entries) => entries.filter(({ text }) => isFound(text)).length);
    return {
      source: name,
      secrets: positive.length,
      found: share(hits ?? 0, positive.length),
      'label 0': negative.length,
      'of them found': alarms ?? 0,
    };
  });
  const positive = labelled.filter(({ label }) => label === 1);
  const found = positive.filter(({ text }) => isFound(text));
  const missed = positive.filter((entry) => !found.includes(entry)).map(({ source: name, rule }) => `${name} ${rule}`);
  const inSecrets = new Set(positive.map(({ text }) => text.trim()));
  const alarms = labelled.filter(({ label, text }) => label === 0 && isFound(text));
  const ordinary = ordinaryTexts(dataDirectory);
  const ordinaryAlarms = ordinary.filter(isFound).length;
  const speed = measureSpeed(find, ordinary, [...hostilePieces, ...repeated]);
  return {
    title,
    source,
    rows: [
      ...rows,
      {
        source: 'all',
        secrets: positive.length,
        found: share(found.length, positive.length),
        'label 0': labelled.length - positive.length,
        'of them found': alarms.length,
      },
      { source: 'ordinary texts', secrets: 0, found: '–', 'label 0': ordinary.length, 'of them found': ordinaryAlarms },
    ],
    notes: [
      `${secretKinds().length} kinds. Missed: ${counted(missed)}.`,
      `Label 0 and found, by the tool's rule: ${counted(alarms.map(({ source: name, rule }) => `${name} ${rule}`))}. ${alarms.filter(({ text }) => inSecrets.has(text.trim()) || [...inSecrets].some((secret) => secret.length > 20 && text.includes(secret))).length} of them are, or contain, a string that the set labels 1 elsewhere; the others are tokens of another kind than the rule that was tested, or differ from one in a length or a last letter that its maker does not document.`,
      speedNote(speed),
    ],
  };
}

/** Texts without secrets: the benign ones of the injection set, and the sentences with personal data. */
export function ordinaryTexts(dataDirectory: string): readonly string[] {
  const benign = readLines<{ label: 0 | 1; text: string }>(join(dataDirectory, 'injection-text', 'texts.jsonl.gz')) ?? [];
  const sentences = readLines<{ full_text: string }>(join(dataDirectory, 'pii', 'sentences.jsonl.gz')) ?? [];
  const traces = ['banking', 'slack', 'workspace'].flatMap(
    (suite) => readLines<{ steps: readonly { result: string }[] }>(join(dataDirectory, 'agentdojo', `${suite}.traces.jsonl.gz`)) ?? [],
  );
  const results = new Set(
    traces.flatMap(({ steps }) => steps.map(({ result }) => String(result))).filter((text) => !/password|secret|key/i.test(text)),
  );
  return [...benign.filter(({ label }) => label === 0).map(({ text }) => text), ...sentences.map(({ full_text }) => full_text), ...results];
}

export function speedNote(speed: ReturnType<typeof measureSpeed>): string {
  return `Speed: ${speed.p50.toFixed(0)} µs per KB at p50, ${speed.p99.toFixed(0)} at p99 on ordinary texts from 512 characters on; at most ${speed.worst.toFixed(0)} on hostile texts of 256 KB (${speed.worstText} repeated), growing at most as n^${speed.growth.toFixed(2)} from 16 to 256 KB.`;
}

function counted(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => (count === 1 ? name : `${name} (${count})`)).join(', ') || 'none';
}
