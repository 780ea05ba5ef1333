import { join } from 'node:path';
import type { PiiKindId, TextFinding } from '@guardloop/guardrails';
import { findPii, piiKinds } from '@guardloop/guardrails';
import { readLines } from './read-lines.js';
import { ordinaryTexts, speedNote } from './secrets.js';
import type { Section } from './section.js';
import { hostilePieces, measureSpeed } from './text-speed.js';

interface Sentence {
  readonly full_text: string;
  readonly spans: readonly { readonly entity_type: string; readonly start_position: number; readonly end_position: number }[];
}

const source = 'pii/sentences.jsonl.gz: synthetic sentences with spans, from Presidio research (MIT).';

const types: readonly (readonly [PiiKindId, string])[] = [
  ['email', 'EMAIL_ADDRESS'],
  ['payment-card', 'CREDIT_CARD'],
  ['iban', 'IBAN_CODE'],
  ['us-ssn', 'US_SSN'],
  ['ip-address', 'IP_ADDRESS'],
  ['phone', 'PHONE_NUMBER'],
  ['postal-address', 'STREET_ADDRESS'],
];

const repeated = [
  '4111 ',
  '4111 1111 1111 1111 ',
  '5 ',
  '01 2 ',
  '123-45-6789 ',
  'ssn 1',
  'tel 1',
  'phone 555 0',
  '+1 650 253 0000 ',
  '+491',
  'DE44 ',
  'GB82 WEST ',
  'born 1/',
  '01.01.',
  '1/1/',
  '12:',
  'fe80::',
  'passport A1',
  'card 4',
  'nhs 9',
  'A1 ',
  'main st ',
  '12 Main St ',
  'a [at] b ',
  '555 0123 ',
  '0171 2345678, ',
  '12 34 56 ',
  'x1y2',
]; // prettier-ignore

interface Counts {
  right: number;
  missed: number;
  wrong: number;
}

const ratio = (part: number, whole: number): string => (whole === 0 ? '–' : (part / whole).toFixed(3));

/** Precision and recall of `pii` by kind: a finding is right where it overlaps a span of its type. And its speed. */
export async function measurePii(dataDirectory: string): Promise<Section> {
  const title = 'Personal data';
  const sentences = readLines<Sentence>(join(dataDirectory, 'pii', 'sentences.jsonl.gz'));
  if (sentences === undefined)
    return { title, source, rows: [], notes: ['pii/sentences.jsonl.gz is not in the folder: nothing was measured.'] };
  const { find } = findPii({ kinds: piiKinds().map(({ id }) => id) });
  const found = sentences.map(({ full_text }) => find(full_text, { surface: 'toolOutput' }));
  const rows = types.map(([kind, type]) => {
    const counts = countKind(sentences, found, { kind, type });
    return {
      kind,
      spans: counts.right + counts.missed,
      recall: ratio(counts.right, counts.right + counts.missed),
      findings: counts.right + counts.wrong,
      precision: ratio(counts.right, counts.right + counts.wrong),
    };
  });
  const others = found.flat().filter(({ kind }) => !types.some(([known]) => known === kind)).length;
  const benign = (readLines<{ label: 0 | 1; text: string }>(join(dataDirectory, 'injection-text', 'texts.jsonl.gz')) ?? []).filter(
    ({ label }) => label === 0,
  );
  const defaults = findPii().find;
  const alarms = benign.filter(({ text }) => defaults(text, { surface: 'toolOutput' }).length > 0).length;
  return {
    title,
    source,
    rows,
    notes: [
      `${piiKinds().length} kinds. The set holds ${sentences.length} sentences; a kind with – has no span in it. postal-address is off by default, for the recall that stands here.`,
      `${others} findings are of kinds that the set does not label, such as dates of birth. At the defaults something is found in ${alarms} of the ${benign.length} benign texts of injection-text.`,
      speedNote(measureSpeed(defaults, ordinaryTexts(dataDirectory), [...hostilePieces, ...repeated])),
    ],
  };
}

function countKind(
  sentences: readonly Sentence[],
  found: readonly (readonly TextFinding[])[],
  { kind, type }: { readonly kind: string; readonly type: string },
): Counts {
  const counts: Counts = { right: 0, missed: 0, wrong: 0 };
  for (const [index, { spans }] of sentences.entries()) {
    const labelled = spans.filter(({ entity_type }) => entity_type === type);
    const mine = (found[index] ?? []).filter((finding) => finding.kind === kind);
    const overlaps = (span: Sentence['spans'][number], { start, end }: TextFinding): boolean =>
      start < span.end_position && end > span.start_position;
    for (const span of labelled) {
      if (mine.some((finding) => overlaps(span, finding))) counts.right += 1;
      else counts.missed += 1;
    }
    counts.wrong += mine.filter((finding) => !labelled.some((span) => overlaps(span, finding))).length;
  }
  return counts;
}
