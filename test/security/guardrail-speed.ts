// What guardrails cost that are asked about a whole answer: the difference to the same run without them.
import type { Guardrail } from '@guardloop/core';
import { defineAgent, run } from '@guardloop/core';
import { canary, language, leak, length } from '@guardloop/guardrails';
import { say, scriptedModel } from '@guardloop/testing';
import type { Section } from './section.js';
import { hostilePieces } from './text-speed.js';

const instructions =
  'You are the assistant of a garden shop. Be kind, answer in short sentences, and speak of plants, tools and opening hours only.';
const prose =
  'The garden opens at nine, and those who come early may help with the roses, the beans and the old apple trees behind the house. ';
const sizes = [16_384, 262_144] as const;
const tries = 5;

const measured: Readonly<Record<string, () => Guardrail<unknown>>> = {
  canary: () => canary({ key: 'a key that is kept for this bench alone', on: ['output'] }).guardrail,
  leak: () => leak({ instructions, on: ['output'] }),
  length: () => length({ on: ['output'], max: 1_000_000, unit: 'words' }),
  language: () => language({ on: ['output'], allowed: ['eng'] }),
};

/** Processor milliseconds of a run, the best of five tries; each size is given as much text in all. */
async function timeOf(text: string, guardrails: readonly Guardrail<unknown>[]): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  const calls = Math.round(sizes[1] / text.length);
  for (let count = 0; count < tries; count += 1) {
    const agent = defineAgent({ name: 'desk', instructions, model: scriptedModel([say(text), say(text)], { record: false }), guardrails });
    const start = process.cpuUsage();
    for (let call = 0; call < calls; call += 1) await run(agent, 'Hello');
    const { user, system } = process.cpuUsage(start);
    best = Math.min(best, (user + system) / 1_000 / calls);
  }
  return best;
}

/** Microseconds per KB of one guardrail on a text, at both sizes. */
async function costsOf(make: () => Guardrail<unknown>, piece: string): Promise<readonly [number, number]> {
  const costs: number[] = [];
  for (const size of sizes) {
    const text = piece.repeat(Math.ceil(size / piece.length)).slice(0, size);
    const spent = (await timeOf(text, [make()])) - (await timeOf(text, []));
    costs.push((Math.max(0, spent) * 1_000) / (size / 1_024));
  }
  return [costs[0] ?? 0, costs[1] ?? 0];
}

export async function measureAnswerGuardrails(): Promise<Section> {
  const rows: Record<string, string | number>[] = [];
  for (const [guardrail, make] of Object.entries(measured)) {
    await costsOf(make, prose);
    const [, ordinary] = await costsOf(make, prose);
    let worst = 0;
    let growth = 0;
    for (const piece of hostilePieces) {
      const [small, large] = await costsOf(make, piece);
      worst = Math.max(worst, large);
      if (large > 100 && small > 0) growth = Math.max(growth, 1 + Math.log(large / small) / Math.log(sizes[1] / sizes[0]));
    }
    rows.push({
      guardrail,
      'µs per KB, prose': ordinary.toFixed(0),
      'hostile, 256 KB': worst.toFixed(0),
      growth: growth === 0 ? '–' : `n^${growth.toFixed(2)}`,
    });
  }
  return {
    title: 'Canary, leak, length, language: speed in a run',
    source: 'made here: answers of prose and of hostile pieces, of 16 and 256 KB',
    rows,
    notes: ['The difference to the same run without the guardrail, the best of five. Growth of pieces that take more than 100 µs per KB.'],
  };
}
