import type { Agent, Answer, Guardrail, Limits, RunEvent, Surface, Usage } from '@guardloop/core';
import { allow, asTool, defineAgent, defineGuardrail, defineTool } from '@guardloop/core';
import type { Script, ScriptedModel } from '@guardloop/testing';
import { scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

/** The agents, from the one that the caller runs to the one two levels down. */
export const levels = ['front', 'desk', 'clerk'] as const;
export type Level = (typeof levels)[number];
export const surfaces: readonly Surface[] = ['input', 'toolInput', 'toolOutput', 'handoff', 'output'];

/** What a guardrail was asked: its name, the agent that was active, the surface, the path of agents. */
export interface Asked {
  readonly guardrail: string;
  readonly agent: string;
  readonly surface: Surface;
  readonly path: string;
  readonly content: string;
}

export interface TreeOptions {
  readonly script: Script;
  /** More guardrails of an agent. */
  readonly guardrails?: { readonly [level in Level]?: readonly Guardrail<unknown>[] } | undefined;
  /** Limits of the child runs. */
  readonly limits?: { readonly [level in Level]?: Partial<Limits> | undefined } | undefined;
  readonly usage?: Usage | undefined;
  readonly stream?: boolean | undefined;
  readonly delayMs?: number | undefined;
  /** What `pay` does beside noting its effect. */
  readonly onPay?: ((input: { readonly id: string }, signal: AbortSignal) => unknown) | undefined;
}

export interface Tree {
  readonly agent: Agent<unknown, Answer>;
  readonly model: ScriptedModel;
  /** Keys of the effects that happened, in order. */
  readonly effects: string[];
  readonly asked: Asked[];
  /** A guardrail for the run that notes what it is asked. */
  readonly ofRun: Guardrail<unknown>;
}

/** `front` uses `desk`, and that uses `clerk`; each may `pay` with a person's approval, `send` without, and `look`. */
export function makeTree({ script, guardrails = {}, limits = {}, usage, stream = false, delayMs, onPay }: TreeOptions): Tree {
  const effects: string[] = [];
  const asked: Asked[] = [];
  const model = scriptedModel(script, { ...(usage === undefined ? {} : { usage }), ...(delayMs === undefined ? {} : { delayMs }) });
  const noting = (name: string): Guardrail<unknown> =>
    defineGuardrail({
      name,
      on: ['input', 'toolInput', 'toolOutput', 'handoff', 'output'],
      check: ({ surface, content }, { agent, agentPath }) => {
        asked.push({ guardrail: name, agent, surface, path: agentPath.join('/'), content });
        return allow();
      },
    }) as Guardrail<unknown>;
  const input = z.object({ id: z.string() });
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    input,
    approval: true,
    execute: async (given, { idempotencyKey, signal }) => {
      effects.push(`pay ${given.id} ${idempotencyKey}`);
      await onPay?.(given, signal);
      return `paid ${given.id}`;
    },
  });
  const send = defineTool({
    name: 'send',
    description: 'Sends.',
    input,
    flow: { effect: 'send' },
    execute: ({ id }, { idempotencyKey }) => {
      effects.push(`send ${id} ${idempotencyKey}`);
      return `sent ${id}`;
    },
  });
  const look = defineTool({ name: 'look', description: 'Looks.', input, flow: { effect: 'read' }, execute: ({ id }) => `seen ${id}` });
  const tools = [pay, send, look];
  const own = (level: Level): Guardrail<unknown>[] => [noting(`of-${level}`), ...(guardrails[level] ?? [])];
  const second = defineAgent({ name: 'second', instructions: 'Second.', model, tools: [look], guardrails: [noting('of-second')] });
  const clerk = defineAgent({ name: 'clerk', instructions: 'Clerk.', model, tools, handoffs: [second], guardrails: own('clerk') });
  const askClerk = asTool(clerk, { name: 'ask_clerk', description: 'Asks.', limits: limits.clerk, stream });
  const desk = defineAgent({ name: 'desk', instructions: 'Desk.', model, tools: [...tools, askClerk], guardrails: own('desk') });
  const askDesk = asTool(desk, { name: 'ask_desk', description: 'Asks.', limits: limits.desk, stream });
  const agent = defineAgent({ name: 'front', instructions: 'Front.', model, tools: [...tools, askDesk], guardrails: own('front') });
  return { agent: agent as never, model, effects, asked, ofRun: noting('of-run') };
}

export const ofType = <T extends RunEvent['type']>(events: readonly RunEvent[], type: T) =>
  events.filter((event): event is Extract<RunEvent, { readonly type: T }> => event.type === type);
