// One call under a policy, in a real run: what the user said, what was read before, what becomes of the call.
import type { Flow, Guardrail, JsonObject, RunInput } from '@guardloop/core';
import { defineAgent, defineTool, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';

export interface Read {
  readonly tool: string;
  readonly input?: JsonObject;
  readonly result: unknown;
  readonly flow?: Flow;
}
export interface Asked {
  readonly user: RunInput;
  readonly reads?: readonly Read[];
  readonly call: {
    readonly tool: string;
    readonly input: JsonObject;
    readonly flow?: Flow;
    /** Names in its schema. Default: it names none. */
    readonly fields?: readonly string[];
  };
}

/** `ran`, or the reason why a person is asked or the call was refused. */
export async function decide(policy: Guardrail<unknown, 'toolInput'>, { user, reads = [], call }: Asked): Promise<string> {
  let hasRun = false;
  const schema = { type: 'object', properties: {} } as const;
  const names = [...new Set(reads.map(({ tool }) => tool))].filter((name) => name !== call.tool);
  const earlier = reads.filter(({ tool }) => tool === call.tool).length;
  let begun = 0;
  const tools = names.map((name) => {
    const own = reads.filter(({ tool }) => tool === name);
    let count = 0;
    return defineTool({
      name,
      description: name,
      input: schema,
      flow: own[0]?.flow ?? { effect: 'read', results: 'untrusted' },
      polling: true,
      execute: () => own[count++]?.result,
    });
  });
  const acting = defineTool({
    name: call.tool,
    description: call.tool,
    input: { type: 'object', properties: Object.fromEntries((call.fields ?? []).map((name) => [name, {}])) },
    ...(call.flow === undefined ? {} : { flow: call.flow as Flow<never> }),
    execute: () => {
      begun += 1;
      hasRun = begun > earlier;
      return 'done';
    },
  });
  const agent = defineAgent({
    name: 'desk',
    instructions: 'Help.',
    model: scriptedModel([...reads.map(({ tool, input }) => callTool(tool, input ?? {})), callTool(call.tool, call.input), say('Done.')]),
    tools: [...tools, acting],
    guardrails: [policy],
  });
  const result = await run(agent, user, { limits: { turns: 50 } });
  const faults = auditLog(result.log);
  if (faults.length > 0) throw new Error(`The audit found ${JSON.stringify(faults)}`);
  if (hasRun) return 'ran';
  if (result.status === 'interrupted') {
    const [approval] = result.approvals;
    return approval?.surface === 'toolInput' ? approval.reason : 'no approval';
  }
  const verdict = result.events.find((event) => event.type === 'guard.verdict' && (event.action === 'deny' || event.action === 'halt'));
  return verdict?.type === 'guard.verdict' ? `${verdict.action}: ${verdict.reason}` : result.status;
}
