// `npm run evals [-- --update] [--steps] [--trials N] [--json FILE] [--retail DIR]`: five tasks of several hops on an embedded model, in each
// reasoning mode, against baseline.json. Fails where a score has become worse.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Mode } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, deny } from '@guardloop/core';
import type { EvalResult, ScoreName } from '@guardloop/evals';
import {
  baselineOf,
  compareToBaseline,
  describeComparison,
  evalMarkdown,
  evaluate,
  hopModel,
  hopTasks,
  hopTools,
  readBaseline,
} from '@guardloop/evals';
import { printSteps, react, textReact } from '@guardloop/reasoning';
import { auditLog } from '@guardloop/testing';
import { evaluateRetail } from './retail.js';

const { values } = parseArgs({
  options: {
    update: { type: 'boolean', default: false },
    steps: { type: 'boolean', default: false },
    trials: { type: 'string', default: '1' },
    json: { type: 'string' },
    baseline: { type: 'string' },
    retail: { type: 'string' },
  },
});
const trials = Number(values.trials);
if (!Number.isSafeInteger(trials) || trials < 1) {
  process.stderr.write('Usage: npm run evals -- [--update] [--steps] [--trials 1] [--json FILE] [--baseline FILE] [--retail DIR]\n');
  process.exit(2);
}
const baselineFile = values.baseline ?? fileURLToPath(new URL('../../evals/baseline.json', import.meta.url));
const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** Stands on every task, and has nothing to say about any: what it refuses is a false block. */
const noAddresses = defineGuardrail({
  name: 'no-addresses',
  on: ['toolInput', 'toolOutput', 'output'],
  check: ({ content }) => (/\S+@\S+\.\S+/.test(content) ? deny('addresses stay here') : allow()),
});

const faults: string[] = [];
function runMode(name: string, mode: Mode | undefined): Promise<EvalResult> {
  return evaluate({
    name,
    tasks: hopTasks,
    trials,
    concurrency: 1,
    agent: () =>
      defineAgent({
        name: 'researcher',
        instructions: 'Answer from what the tools say.',
        model: hopModel(),
        mode,
        tools: hopTools(),
        guardrails: [noAddresses],
      }),
    run: { limits: { turns: 12 } },
    onTrial: ({ task, trial, log }) => {
      for (const finding of auditLog(log)) faults.push(`${name}, ${task.id}: ${finding}`);
      if (values.steps && trial === 1) say(`── ${name}, ${task.id}\n${printSteps(log, { maxChars: 120 })}\n`);
    },
  });
}

// One after another, so that times can be compared.
const results = [await runMode('tools', undefined), await runMode('react', react()), await runMode('text-react', textReact())];
const shown: readonly ScoreName[] = [
  'success',
  'modelCalls',
  'calls',
  'precision',
  'recall',
  'redundant',
  'recovery',
  'justified',
  'falseBlocks',
  'tokens',
  'ms',
  'largest',
];
say(evalMarkdown(results, { scores: shown }));

const retail = values.retail ?? process.env.GUARDLOOP_RETAIL;
if (retail === undefined || !existsSync(join(retail, 'traces.jsonl.gz')))
  say(
    retail === undefined
      ? 'The recorded retail tasks were skipped: give their folder with --retail DIR (tau2-bench, traces.jsonl.gz and tools.jsonl.gz).'
      : `The recorded retail tasks were skipped: ${retail} holds no traces.jsonl.gz.`,
  );
else {
  const recorded = await evaluateRetail(retail);
  say(
    evalMarkdown(recorded, {
      tasks: false,
      scores: ['success', 'steps', 'calls', 'precision', 'recall', 'redundant', 'recovery', 'falseBlocks', 'ms', 'largest'],
    }),
  );
  for (const { id, scores, trials: all } of recorded.tasks)
    if (scores.success < 1 || (scores.recall ?? 1) < 1)
      faults.push(`retail, ${id}: ${all[0]?.why ?? 'not every recorded call came through'}`);
}

if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(results, undefined, 2)}\n`);
if (values.update) {
  writeFileSync(baselineFile, `${JSON.stringify(baselineOf(results), undefined, 2)}\n`);
  say(`The baseline was written to ${baselineFile}.`);
} else {
  const comparison = compareToBaseline(results, readBaseline(JSON.parse(readFileSync(baselineFile, 'utf8'))), { tokens: { share: 0.02 } });
  say(describeComparison(comparison));
  if (!comparison.holds) faults.push('a score is worse than in the baseline; where that is wanted, write it anew with --update');
}
for (const fault of faults) process.stderr.write(`${fault}\n`);
process.exitCode = faults.length > 0 ? 1 : 0;
