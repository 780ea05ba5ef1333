import { join } from 'node:path';
import { dataFlow, freeze, literalAuthority, ruleOfTwo, trustedAuthority } from '@guardloop/guardrails';
import type { Encoding, MeasuredPolicy, Tally } from './agentdojo.js';
import { encodings, measurePolicy } from './agentdojo.js';
import { isAnnotated, trusted } from './annotations.js';
import { suitesIn } from './read-lines.js';
import type { Section } from './section.js';

/** The policies that are measured; each with the options that the tools' annotations give. */
export const policies: readonly MeasuredPolicy[] = [
  { name: 'none', guardrails: () => [] },
  { name: 'freeze', guardrails: () => [freeze()] },
  { name: 'ruleOfTwo', guardrails: () => [ruleOfTwo()] },
  { name: 'literalAuthority', guardrails: () => [literalAuthority()] },
  { name: 'trustedAuthority', guardrails: () => [trustedAuthority({ trust: trusted })] },
  { name: 'dataFlow', guardrails: () => [dataFlow({ trust: trusted })] },
  { name: 'dataFlow, nothing trusted', guardrails: () => [dataFlow()] },
];

const percent = (part: number, whole: number): string => (whole === 0 ? '-' : `${((100 * part) / whole).toFixed(1)} %`);

/** Measures each policy on the suites of AgentDojo in the folder. */
export async function measureProvenance(dataDirectory: string): Promise<Section> {
  const folder = join(dataDirectory, 'agentdojo');
  const suites = suitesIn(folder);
  const title = 'Tool policies on AgentDojo, with a model that obeys every injection';
  const source = 'AgentDojo v1.2 (MIT), recorded steps; see https://github.com/ethz-spylab/agentdojo';
  if (suites.length === 0)
    return { title, source, rows: [], notes: [`Skipped: ${folder} holds no <name>.suite.jsonl.gz with its traces.`] };
  const rows: Record<string, string | number>[] = [];
  const notes: string[] = [];
  for (const policy of policies) {
    const by = new Map<Encoding, Tally>();
    for (const encoding of encodings) {
      const tallies = await measurePolicy(folder, policy, encoding);
      by.set(encoding, sum([...tallies.values()]));
      if (policy.name === 'dataFlow') for (const [suite, tally] of tallies) notes.push(...tell(suite, encoding, tally));
    }
    const plain = by.get('plain');
    if (plain === undefined) continue;
    rows.push({
      policy: policy.name,
      'benign untouched': `${percent(plain.untouched, plain.benign)} (${plain.untouched}/${plain.benign})`,
      'approvals per 100 side effects': ((100 * plain.approvals) / Math.max(1, plain.sideEffects)).toFixed(1),
      ...Object.fromEntries(
        encodings.map((encoding) => [`attacks, ${encoding}`, percent(by.get(encoding)?.succeeded ?? 0, by.get(encoding)?.attacks ?? 0)]),
      ),
      'bytes sent out': plain.bytesOut,
    });
    if (policy.name === 'none')
      notes.push(
        `${plain.attacks} attacks by calls; ${plain.outputOnly} pairs are in the answer alone and set apart: no tool policy can stop them.`,
      );
  }
  const unknown = suites.filter((suite) => !isAnnotated(suite));
  if (unknown.length > 0) notes.push(`No annotations for ${unknown.join(', ')}: their flow is what suggestFlow proposes.`);
  return { title, source, rows, notes };
}

function sum(tallies: readonly Tally[]): Tally {
  return tallies.reduce((left, right) => ({
    benign: left.benign + right.benign,
    untouched: left.untouched + right.untouched,
    sideEffects: left.sideEffects + right.sideEffects,
    approvals: left.approvals + right.approvals,
    touched: [...left.touched, ...right.touched],
    attacks: left.attacks + right.attacks,
    succeeded: left.succeeded + right.succeeded,
    outputOnly: left.outputOnly + right.outputOnly,
    successes: [...left.successes, ...right.successes],
    faults: [...left.faults, ...right.faults],
    bytesOut: left.bytesOut + right.bytesOut,
  }));
}

function tell(suite: string, encoding: Encoding, tally: Tally): readonly string[] {
  return [
    ...(encoding === 'plain'
      ? [
          `dataFlow, ${suite}: ${tally.untouched} of ${tally.benign} benign tasks untouched; a person was asked in ${tally.touched.join(', ') || 'none'}.`,
        ]
      : []),
    ...(tally.faults.length > 0
      ? [`${suite}, ${encoding}: ${tally.faults.length} recordings could not be played to their end, such as ${tally.faults[0]}.`]
      : []),
    ...(tally.successes.length > 0 ? [`dataFlow, ${suite}, ${encoding}: attacks that succeeded: ${tally.successes.join(', ')}.`] : []),
  ];
}
