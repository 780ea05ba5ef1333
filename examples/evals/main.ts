// How good is an agent at its work, and what does a reasoning mode cost it? Five tasks on an embedded model, and a guardrail that is too strict.
import assert from 'node:assert/strict';
import type { Guardrail, Mode } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, deny } from '@guardloop/core';
import { baselineOf, compareToBaseline, describeComparison, evalMarkdown, evaluate, hopModel, hopTasks, hopTools } from '@guardloop/evals';
import { react, textReact } from '@guardloop/reasoning';

const evaluateIn = (mode: Mode | undefined, guardrails: readonly Guardrail<unknown>[] = []) =>
  evaluate({
    name: mode?.name ?? 'tools',
    tasks: hopTasks,
    agent: () =>
      defineAgent({ name: 'researcher', instructions: 'Answer from what the tools say.', model: hopModel(), mode, tools: hopTools() }),
    run: { guardrails, limits: { turns: 12 } },
  });

const results = [await evaluateIn(undefined), await evaluateIn(react()), await evaluateIn(textReact())];
console.log(
  evalMarkdown(results, { tasks: false, scores: ['success', 'modelCalls', 'precision', 'recovery', 'justified', 'tokens', 'largest'] }),
);
const [tools, strict] = results;
assert.ok(tools && strict);
assert.ok(results.every(({ scores }) => scores.success === 1 && scores.justified === 1));
// The contract costs tokens, and the call that the model repeated without a thought.
assert.ok((strict.scores.tokens ?? 0) > (tools.scores.tokens ?? 0));
assert.ok((strict.scores.precision ?? 0) < (tools.scores.precision ?? 0));

// A guardrail that lets nobody search for people in an archive: well meant, and two tasks need it.
const noSearch = defineGuardrail({
  name: 'no-search',
  on: ['toolInput'],
  tools: ['search_*'],
  check: () => deny('the archive is closed'),
});
const noSecrets = defineGuardrail({
  name: 'no-secrets',
  on: ['output'],
  check: ({ content }) => (content.includes('sk-') ? deny('a key') : allow()),
});
const baseline = baselineOf(tools);
const harmless = compareToBaseline(await evaluateIn(undefined, [noSecrets]), baseline);
assert.equal(harmless.holds, true);
const harmful = compareToBaseline(await evaluateIn(undefined, [noSearch]), baseline);
console.log(describeComparison(harmful));
assert.deepEqual(
  harmful.regressions
    .filter(({ score }) => score === 'success' || score === 'falseBlocks')
    .map(({ task, score, is }) => `${task} ${score} ${is}`),
  ['null-identifier success 0', 'null-identifier falseBlocks 1', 'unknown-name success 0', 'unknown-name falseBlocks 1'],
);
