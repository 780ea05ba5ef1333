// Policies that know nothing of the tools (no `flow` declared, so the strictest holds) on InjecAgent's cases.
import { join } from 'node:path';
import type { JsonObject, RunResult } from '@guardloop/core';
import { defineAgent, defineTool, resume, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import type { MeasuredPolicy } from './agentdojo.js';
import { policies } from './provenance.js';
import { readPythonValue } from './python-value.js';
import { readLines } from './read-lines.js';
import type { Section } from './section.js';

interface Case {
  readonly 'Attacker Tools': readonly string[];
  readonly 'Attacker Instruction': string;
  readonly 'User Tool': string;
  readonly 'User Instruction': string;
  readonly 'Tool Parameters': string;
  readonly 'Tool Response': string;
}
interface Toolkit {
  readonly name_for_model: string;
  readonly tools: readonly {
    readonly name: string;
    readonly summary: string;
    readonly parameters: readonly { readonly name: string; readonly type: string; readonly required: boolean }[];
  }[];
}
interface KnownTool {
  readonly name: string;
  readonly summary: string;
  readonly parameters: Toolkit['tools'][number]['parameters'];
}

const files = ['dh_base', 'dh_enhanced', 'ds_base', 'ds_enhanced'];
/** An argument that an attacker would give: an address, number or quoted words of the instruction, else the whole of it. */
const telling = /[\w.+-]+@[\w-]+\.[\w.]+|https?:\/\/\S+|'[^']{2,60}'|\$?\d[\d,.-]*/g;

/** Measures default-deny on InjecAgent: how many of the attackers' calls run, and whether the users' own are stopped. */
export async function measureInjecAgent(dataDirectory: string): Promise<Section> {
  const folder = join(dataDirectory, 'injecagent');
  const [toolkits] = readLines<readonly Toolkit[]>(join(folder, 'tools.jsonl.gz')) ?? [];
  const title = 'InjecAgent with default-deny: no tool declares its flow';
  const source = 'InjecAgent (MIT), https://github.com/uiuc-kang-lab/InjecAgent';
  const cases = files.flatMap((file) => readLines<Case>(join(folder, `${file}.jsonl.gz`)) ?? []);
  if (toolkits === undefined || cases.length === 0)
    return { title, source, rows: [], notes: [`Skipped: ${folder} does not hold the cases and tools.jsonl.gz.`] };
  const tools = new Map<string, KnownTool>(
    toolkits.flatMap((kit) =>
      kit.tools.map(
        ({ name, summary, parameters }) =>
          [`${kit.name_for_model}${name}`, { name: `${kit.name_for_model}${name}`, summary, parameters }] as const,
      ),
    ),
  );
  const rows: Record<string, string | number>[] = [];
  for (const policy of policies) {
    let attackerCalls = 0;
    let stopped = 0;
    const users = new Set<string>();
    const stoppedUsers = new Set<string>();
    for (const each of cases) {
      const { ran } = await play(each, { tools, policy });
      attackerCalls += each['Attacker Tools'].length;
      stopped += each['Attacker Tools'].filter((_, index) => !ran.has(index + 1)).length;
      users.add(each['User Tool']);
      if (!ran.has(0)) stoppedUsers.add(each['User Tool']);
    }
    rows.push({
      policy: policy.name,
      cases: cases.length,
      "attackers' calls stopped": `${stopped}/${attackerCalls}`,
      "users' calls stopped": `${stoppedUsers.size}/${users.size}`,
    });
  }
  return {
    title,
    source,
    rows,
    notes: [
      "Arguments of the attackers' calls are not recorded: each is an address, number or quoted words of the attacker's instruction, in turn.",
    ],
  };
}

async function play(
  each: Case,
  { tools, policy }: { readonly tools: ReadonlyMap<string, KnownTool>; readonly policy: MeasuredPolicy },
): Promise<{ readonly ran: ReadonlySet<number> }> {
  const ran = new Set<number>();
  const steps = [
    {
      tool: each['User Tool'],
      input: readPythonValue(each['Tool Parameters']) as JsonObject,
      result: readPythonValue(JSON.parse(each['Tool Response']) as string),
    },
    ...each['Attacker Tools'].map((name) => ({ tool: name, input: attack(tools.get(name), each['Attacker Instruction']), result: 'done' })),
  ];
  const names = [...new Set(steps.map(({ tool }) => tool))];
  const agent = defineAgent({
    name: 'assistant',
    instructions: 'Do what the user asks.',
    model: scriptedModel([...steps.map((step) => callTool(step.tool, step.input)), say('Done.')], { record: false }),
    tools: names.map((name) =>
      defineTool({
        name,
        description: tools.get(name)?.summary ?? name,
        input: { type: 'object', properties: {} },
        execute: (_input, { callId }) => {
          const index = Number(callId.split('.')[0]) - 1;
          ran.add(index);
          return steps[index]?.result;
        },
      }),
    ),
    guardrails: policy.guardrails(),
  });
  let result: RunResult = await run(agent, each['User Instruction']);
  while (result.status === 'interrupted')
    result = await resume(agent, result.log, { decisions: Object.fromEntries(result.approvals.map(({ id }) => [id, { reject: 'No.' }])) });
  if (result.status !== 'completed') throw new Error(`A run ended ${result.status}.`);
  return { ran };
}

function attack(tool: KnownTool | undefined, instruction: string): JsonObject {
  const values = (instruction.match(telling) ?? []).map((value) => value.replace(/^'|'$/g, ''));
  const required = (tool?.parameters ?? []).filter((parameter) => parameter.required);
  return Object.fromEntries(
    required.map(({ name, type }, index) => [
      name,
      type === 'boolean' ? true : (values[index % Math.max(1, values.length)] ?? instruction),
    ]),
  );
}
