import type { ModelShare, Projection } from '@guardloop/core';
import { GuardloopError } from '@guardloop/core';
import type { JsonValue } from '@guardloop/core/model';
import type { Fact, FactKind } from './observation-facts.js';
import { factKinds, factsOf, isIn } from './observation-facts.js';

/** One result on which a summariser is measured. */
export interface SummaryCase {
  /** Of the case, for the report. */
  readonly name: string;
  /** What the tool gave: JSON, or text. */
  readonly output: JsonValue;
  /** Names of further fields whose values must not get lost. */
  readonly keep?: readonly string[] | undefined;
  /** Input fields of the agent's tools, as the projection is told; their values must not get lost either. */
  readonly arguments?: readonly string[] | undefined;
  /** Default `tool`. */
  readonly tool?: string | undefined;
}
/** How one result was summarised. */
export interface SummaryScore {
  readonly name: string;
  /** Identifiers, numbers, statuses and kept values in the result, each once. */
  readonly facts: number;
  /** Those that are not in what was shown. */
  readonly lost: readonly Fact[];
  /** Characters of the result, and of what was shown of it. */
  readonly chars: number;
  readonly shownChars: number;
  /** What the summariser told that it used. */
  readonly used: readonly ModelShare[];
  /** It threw, or gave no text: everything is lost. */
  readonly failed?: true | undefined;
}
/** How a summariser does, in each case and in sum. */
export interface SummariserReport {
  readonly cases: readonly SummaryScore[];
  readonly total: {
    readonly facts: number;
    readonly lost: number;
    readonly byKind: { readonly [K in FactKind]: { readonly facts: number; readonly lost: number } };
    readonly chars: number;
    readonly shownChars: number;
    readonly failed: number;
  };
}

/**
 * Measures a summariser by itself, or any projection: which identifiers, numbers and statuses of results are not in what it shows. Asks it
 * once for each case, one after another. A value counts as there where it stands as a word of its own; numbers may have thousands
 * separators, statuses another case. What a summariser throws is reported, not thrown. Rejects with CONFIG_INVALID for what is no list of cases, or
 * no projection.
 */
export async function evaluateSummariser(cases: readonly SummaryCase[], summariser: Projection): Promise<SummariserReport> {
  checkGiven(cases, summariser);
  const scored: { readonly score: SummaryScore; readonly facts: readonly Fact[] }[] = [];
  for (const [index, each] of cases.entries()) scored.push(await scoreOf(each, index, summariser));
  const scores = scored.map(({ score }) => score);
  const sum = (count: (score: SummaryScore) => number): number => scores.reduce((total, score) => total + count(score), 0);
  const ofKind = (kind: FactKind) => ({
    facts: scored.reduce((total, { facts }) => total + facts.filter((fact) => fact.kind === kind).length, 0),
    lost: sum(({ lost }) => lost.filter((fact) => fact.kind === kind).length),
  });
  return {
    cases: scores,
    total: {
      facts: sum(({ facts }) => facts),
      lost: sum(({ lost }) => lost.length),
      byKind: Object.fromEntries(factKinds.map((kind) => [kind, ofKind(kind)])) as SummariserReport['total']['byKind'],
      chars: sum(({ chars }) => chars),
      shownChars: sum(({ shownChars }) => shownChars),
      failed: scores.filter(({ failed }) => failed).length,
    },
  };
}

function checkGiven(cases: unknown, summariser: unknown): void {
  const refuse = (what: string): never => {
    throw new GuardloopError('CONFIG_INVALID', `evaluateSummariser: ${what}`);
  };
  if (typeof summariser !== 'function') refuse('the second argument is no projection. Give one, such as summariseObservation({ … }).');
  if (!Array.isArray(cases)) refuse('the first argument is no list of cases. Give a list of { name, output }.');
  for (const [index, each] of (cases as readonly unknown[]).entries()) {
    const { name, output } = (typeof each === 'object' && each !== null ? each : {}) as Partial<SummaryCase>;
    if (typeof name !== 'string' || output === undefined) refuse(`case ${index + 1} has no \`name\` or no \`output\`. Give both.`);
  }
}

async function scoreOf(given: SummaryCase, index: number, summariser: Projection) {
  const { name, output, keep = [], arguments: inputs = [], tool = 'tool' } = given;
  const facts = factsOf(output, new Set([...keep, ...inputs]));
  const content = typeof output === 'string' ? output : JSON.stringify(output);
  const used: ModelShare[] = [];
  let shown: unknown;
  try {
    shown = await summariser(output, {
      context: undefined,
      run: 'evaluation',
      tool,
      callId: `${index + 1}.0`,
      content,
      arguments: new Set(inputs),
      signal: new AbortController().signal,
      used: (share) => void used.push(share),
    });
  } catch {
    // Told as what gives no text is.
  }
  const text = typeof shown === 'string' ? shown : '';
  const score: SummaryScore = {
    name,
    facts: facts.length,
    lost: facts.filter((fact) => !isIn(fact, text)),
    chars: content.length,
    shownChars: text.length,
    used,
    ...(typeof shown === 'string' ? {} : { failed: true as const }),
  };
  return { score, facts };
}
