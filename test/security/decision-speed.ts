// What one decision of a policy costs, in a conversation that has read a lot.
import type { Flow, Guardrail, JsonObject } from '@guardloop/core';
import { defineAgent, defineTool, run } from '@guardloop/core';
import { dataFlow, freeze, literalAuthority, ruleOfTwo, trustedAuthority } from '@guardloop/guardrails';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { trusted } from './annotations.js';
import type { Section } from './section.js';

// In shadow they are asked and not obeyed: so the runs with and without one do the same.
const shadow = true;
const policies: readonly Guardrail<unknown>[] = [
  freeze({ shadow }),
  ruleOfTwo({ shadow }),
  literalAuthority({ shadow }),
  trustedAuthority({ shadow, trust: trusted }),
  dataFlow({ shadow, trust: trusted }),
];
const calls = 500;
const rounds = 9;
const acting: Flow<never> = { effect: 'send', authority: ['to'] as never };
const schema = { type: 'object', properties: {} } as const;

const rows = (count: number, from: number): readonly JsonObject[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `m${from + index}`,
    from: `person${from + index}@firm.example`,
    subject: `Report ${from + index} about the garden`,
    body: `Some words about the matter, and a link www.site${from + index}.example/path for those who want it.`,
  }));

/** Milliseconds of a run that reads 20 results of 20 records and then sends 500 mails in 10 turns. */
async function timeOf(guardrails: readonly Guardrail<unknown>[]): Promise<number> {
  const read = defineTool({
    name: 'search_mails',
    description: 'Finds mails.',
    input: schema,
    flow: { effect: 'read' },
    polling: true,
    execute: (input) => rows(20, Number(input.page) * 20),
  });
  const send = defineTool({
    name: 'send_mail',
    description: 'Sends a mail.',
    input: schema,
    flow: acting,
    polling: true,
    execute: () => 'sent',
  });
  const recipients = ['dora@home.example', 'person7@firm.example'];
  const mail = (index: number) => callTool('send_mail', { to: [recipients[index % 2] ?? ''], body: `Number ${index}, see you soon.` });
  const steps = [
    ...Array.from({ length: 20 }, (_, page) => [callTool('search_mails', { page, query: 'garden' })]),
    ...Array.from({ length: 10 }, (_, turn) => Array.from({ length: calls / 10 }, (_each, index) => mail(turn * 50 + index))),
    [say('Done.')],
  ];
  const agent = defineAgent({
    name: 'desk',
    instructions: 'Help.',
    model: scriptedModel(steps, { record: false }),
    tools: [read, send],
    guardrails,
  });
  const start = performance.now();
  const result = await run(agent, "Send the report 'Report 7' to dora@home.example and to its writer.", {
    limits: { turns: steps.length + 2, repeats: 10_000 },
  });
  const taken = performance.now() - start;
  const sent = result.events.filter((event) => event.type === 'tool.end' && event.status === 'ok').length;
  if (result.status !== 'completed' && result.status !== 'interrupted')
    throw new Error(`The run ended ${result.status} after ${sent} calls.`);
  return taken;
}

/** Microseconds a decision: the difference to the same run without a policy, over 500 decisions; the median of nine rounds, taken in turn. */
export async function measureDecisions(): Promise<Section> {
  const found: Record<string, string | number>[] = [];
  for (const policy of policies) {
    const differences: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const without = await timeOf([]);
      differences.push(((await timeOf([policy])) - without) / calls);
    }
    differences.sort((left, right) => left - right);
    found.push({ policy: policy.name, 'us a decision': ((differences[Math.floor(rounds / 2)] ?? 0) * 1_000).toFixed(1) });
  }
  return {
    title: 'One decision of a policy',
    source: 'made here: a run that reads 400 records and then makes 500 calls',
    rows: found,
    notes: ['With what reading the results once costs, and the event of each verdict.'],
  };
}
