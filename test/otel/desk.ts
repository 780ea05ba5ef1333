// A desk that looks up, asks a clerk (an agent as a tool) and refunds after approval, with a guardrail on what it says.
import type { Agent } from '@guardloop/core';
import { allow, asTool, defineAgent, defineGuardrail, defineTool, deny } from '@guardloop/core';
import type { Telemetry } from '@guardloop/otel';
import type { Script } from '@guardloop/testing';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const input = z.object({ order: z.string() });
const lookUp = defineTool({
  name: 'look_up',
  description: 'Looks up.',
  input,
  flow: { effect: 'read' },
  execute: ({ order }) => `${order} comes`,
});
const refund = defineTool({ name: 'refund', description: 'Refunds.', input, approval: true, execute: ({ order }) => `refunded ${order}` });
const manners = defineGuardrail({
  name: 'manners',
  on: ['output'],
  check: ({ content }) => (content.includes('damn') ? deny('be kind') : allow()),
});

export const scripts = {
  child: {
    desk: [callTool('ask_clerk', { input: 'where is o1' }), say('It comes.')],
    clerk: [callTool('look_up', { order: 'o1' }), say('On its way.')],
  },
  approval: { desk: [[callTool('look_up', { order: 'o1' }), callTool('refund', { order: 'o1' })], say('Refunded.')] },
} satisfies Record<string, Script>;

/** Its model and tools are those that telemetry makes of them. */
export function desk(script: Script, telemetry: Telemetry): Agent<unknown> {
  const usage = { requests: 1, inputTokens: 10, outputTokens: 5, cost: 0.25 };
  const model = telemetry.model(scriptedModel(script, { id: 'm1', provider: 'acme.chat', usage }));
  const tools = [telemetry.tool(lookUp), telemetry.tool(refund)];
  const clerk = defineAgent({ name: 'clerk', instructions: 'Help.', model, tools });
  const asking = asTool(clerk, { name: 'ask_clerk', description: 'Asks the clerk.' });
  return defineAgent({ name: 'desk', instructions: 'Serve.', model, guardrails: [manners], tools: [...tools, asking] });
}
