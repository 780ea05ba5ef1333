import type { Log } from '@guardloop/core';
import { guardReport, reportMarkdown } from '@guardloop/core/report';
import { expect, it } from 'vitest';
import { sessionLog } from './stories.js';

/** The log with times by the clock of its numbers, so that its report is the same each time. */
const still = (log: Log): Log => ({
  version: 1,
  events: log.events.map((event) => ({ ...event, at: event.seq * 10, ...('ms' in event ? { ms: 0 } : {}) })) as Log['events'],
});

it('tells a run from its beginning to its end', async () => {
  const text = reportMarkdown(guardReport(still(await sessionLog()), { findings: [] }), { title: 'Refund of *o1*' });
  const lines = text.split('\n');
  expect(lines.slice(0, 9).join('\n')).toMatchInlineSnapshot(`
    "# Refund of \\*o1\\*

    - 2 runs, 79 events, from 1970-01-01 00:00:00 UTC, 780 ms
    - allowed 37, rewrote 2, asked a person 2, refused 3, stopped the run 1, objected in shadow 1, failed 3 (46 answers, 0 ms in guardrails)
    - models: 7 requests, 70 tokens in, 35 out
    - audit: no breach of mediation found

    ## Run \`r1\`: completed
    "
  `);
  const from = lines.findIndex((line) => line.includes('`remove`'));
  expect(lines.slice(from, from + 14).join('\n')).toMatchInlineSnapshot(`
    "- +0.130 s ! **Tool call** \`remove\`: **refused, did not run** (\`triage\` · call \`1.1\` · never started · \`denied\` · result trusted)
      - toolInput: ✗ **refused** by \`no-secrets\` (run level · check · revision 0 · 0 ms): \`a secret word\`
      - toolInput: ✓ allowed by \`mask\`
      - Its input is in no log, since it did not run.
      - What the model sees:
        \`\`\`text
        {"status":"denied","error_class":"denied","summary":"a secret word","retryable":false}
        \`\`\`
    - +0.400 s ! **Model turn** 2 by \`scripted\`: **answer discarded** (\`triage\` · 40 ms · 1 request, 10 tokens in, 5 out · untrusted)
      - output: ✗ **refused** by \`no-secrets\` (run level · check · revision 0 · 0 ms): \`a secret word\`
      - output: ✓ **allowed** by \`suspicious\` (run level · check · revision 0 · 0 ms · in shadow: not obeyed)
      - output: ✓ allowed by \`mask\`
      - 22 characters were discarded. What they said is in no log.
    - +0.450 s **Model turn** 3 by \`scripted\` (\`triage\` · 30 ms · 1 request, 10 tokens in, 5 out · 1 call · untrusted)"
  `);
  const handoff = lines.findIndex((line) => line.includes('**Handoff**'));
  expect(lines.slice(handoff, handoff + 30).join('\n')).toMatchInlineSnapshot(`
    "- +0.480 s **Handoff** from \`triage\` to \`billing\`: **done** (\`triage\` · call \`3.0\` · the target sees everything so far)
      - handoff: ✓ allowed by \`mask\`, \`no-secrets\`
      - input: ✓ allowed by \`mask\`, \`no-secrets\`, \`no-poems\`
      - Brief:
        \`\`\`text
        Handed off from triage.
        \`\`\`
      - Guardrails of the agents. Leave: none. Come: \`large\`. Stay: \`mask\`, \`no-secrets\`, \`no-poems\`, \`suspicious\`, \`flaky\`.
    - +0.530 s **Model turn** 4 by \`scripted\` (\`billing\` · 40 ms · 1 request, 10 tokens in, 5 out · 1 call · untrusted)
    - +0.570 s ! **Tool call** \`refund\`: **ok** (\`billing\` · call \`4.0\` · 40 ms · result untrusted)
      - toolInput: ? **asked a person** by \`large\` (agent level · check · revision 0 · 0 ms): \`a large refund\`
      - toolInput: ? **asked a person** by \`large\` (agent level · check · revision 0 · 0 ms · the approval answers it): \`a large refund\`
      - toolInput: ✓ allowed by \`mask\`, \`no-secrets\`
      - Input:
        \`\`\`text
        { "id": "o1", "cents": 9000 }
        \`\`\`
      - A person was asked. \`large\`: \`a large refund\`. **Approved after 20 ms; by whom, the log does not say.** (approval \`r1/p1\`, revision 0)
        - effect \`send\`; arguments that decide: \`cents\`
        - the agent had read untrusted results of \`ask_clerk\`
        - What was to cross:
          \`\`\`text
          { "id": "o1", "cents": 9000 }
          \`\`\`
      - toolOutput: ! **failed, which allowed** by \`flaky\` (run level · check · revision 0 · 0 ms · it threw): \`guardrail flaky failed\`
      - toolOutput: ✓ allowed by \`mask\`, \`no-secrets\`
      - What the model sees:
        \`\`\`text
        refunded 9000 for o1
        \`\`\`"
  `);
  expect(lines.slice(lines.indexOf('## Run `r2`: blocked')).join('\n')).toMatchInlineSnapshot(`
    "## Run \`r2\`: blocked

    starts with \`billing\` · 1970-01-01 00:00:00 UTC · 40 ms · 0 requests, 0 tokens in, 0 out · limits \`turns\` 8, \`handoffs\` 8, \`repairs\` 1, \`repeats\` 3

    - +0.010 s ! **Input** of which nothing passed: **not accepted** (\`billing\`)
      - input: ✗ **refused** by \`no-secrets\` (run level · check · revision 0 · 0 ms): \`a secret word\`
      - input: ■ **stopped the run** by \`no-poems\` (run level · check · revision 0 · 0 ms): \`not our business\`
      - input: ✓ allowed by \`mask\`
      - What was refused is in no log: neither its text nor its size.
    - +0.040 s ! **Run ended**: **blocked** (\`billing\`)
      - Stopped by \`no-poems\` on input: \`not our business\`
      - The person was told instead: \`Sorry.\`

    ## Who stood where

    - \`triage\`, from event 1 on
      - run: \`mask\` (input, toolInput, toolOutput, handoff, output), \`no-secrets\` (input, toolInput, toolOutput, handoff, output), \`no-poems\` (input), \`suspicious\` (output), \`flaky\` (toolOutput)
      - agent: none
    - \`clerk\`, from event 17 on
      - run: \`mask\` (input, toolInput, toolOutput, handoff, output), \`no-secrets\` (input, toolInput, toolOutput, handoff, output), \`no-poems\` (input), \`suspicious\` (output), \`flaky\` (toolOutput)
      - agent: none
    - \`billing\`, from event 53 on
      - run: \`mask\` (input, toolInput, toolOutput, handoff, output), \`no-secrets\` (input, toolInput, toolOutput, handoff, output), \`no-poems\` (input), \`suspicious\` (output), \`flaky\` (toolOutput)
      - agent: \`large\` (toolInput)

    ## Guardrails

    - \`mask\` version \`2\`, run level, on input, output, toolInput, toolOutput, handoff: allowed 14, rewrote 2; 0 ms, longest 0 ms
    - \`no-secrets\`, run level, on input, output, toolInput, toolOutput, handoff: allowed 14, refused 3; 0 ms, longest 0 ms
    - \`no-poems\`, run level, on input: allowed 3, stopped the run 1; 0 ms, longest 0 ms
    - \`suspicious\`, run level, on output: allowed 3, objected in shadow 1; 0 ms, longest 0 ms
    - \`flaky\`, run level, on toolOutput: allowed 3, failed 3; 0 ms, longest 0 ms
    - \`large\`, agent level, on toolInput: asked a person 2; 0 ms, longest 0 ms

    ## Usage

    - model \`scripted\`: 7 requests, 70 tokens in, 35 out
    - agent \`triage\`: 3 requests, 30 tokens in, 15 out
    - agent \`clerk\`: 2 requests, 20 tokens in, 10 out
    - agent \`billing\`: 2 requests, 20 tokens in, 10 out
    "
  `);
});
