// What runs while it is struck: two agents with a handoff between them, tools in parallel, an approval, guardrails on every surface.
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Model, ModelRequest, Surface } from '@guardloop/core';
import { allow, canonicalJson, defineAgent, defineGuardrail, defineTool, rewrite } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';
import { applyOnce } from './ledger.js';
import type { Places } from './places.js';

export interface SceneFiles {
  readonly ledger: string;
  /** Every request to the model, one in a line. */
  readonly requests: string;
}
/** A request as it is kept. */
export interface KeptRequest {
  readonly pid: number;
  readonly turn: number;
  /** Canonical JSON of all that the model got. */
  readonly text: string;
}
export type Scene = ReturnType<typeof makeScene>;

export const sceneInput = 'Order o1 came broken. My code is swordfish.';

/** What an effect gives: another value for each tool and input. */
export const effectOf = (tool: string, input: string): string =>
  `${tool}-${[...input].reduce((sum, c) => (sum * 31 + c.charCodeAt(0)) % 9973, 7)}`;

/** What a tool gives: long enough that a run takes some pages of a database. */
export const resultOf = (value: string) => ({ value, receipt: `${value} `.repeat(200) });

const turns = {
  triage: [
    [
      say(['I look at it, ', 'and pay it back.']),
      callTool('look', { id: 'o1' }),
      callTool('charge', { id: 'o1' }),
      callTool('mail', { id: 'o1' }),
    ],
    [say('This is for billing.'), callTool('transfer_to_billing', {})],
  ],
  billing: [
    [callTool('refund', { id: 'o1' }), callTool('note', { id: 'o1' })],
    [callTool('ship', { id: 'o2' }), callTool('look', { id: 'o2' })],
  ],
} as const;

/** The last answer names what every tool gave, so that a swap of results is seen in it. */
function conclude({ messages }: ModelRequest) {
  const results = messages.flatMap((message) =>
    message.role === 'tool' ? [`${message.tool}: ${String(message.content).slice(0, 60)}`] : [],
  );
  return say(['All is done. ', ...results.map((result) => `${result}; `)]);
}

function followedModel(files: SceneFiles, places: Places): Model {
  const script = scriptedModel({ triage: turns.triage, billing: [...turns.billing, conclude] });
  return {
    id: script.id,
    provider: script.provider,
    async *stream(request, options) {
      const phase = places.begin(`model ${request.agent}`);
      const kept: KeptRequest = { pid: process.pid, turn: request.turn, text: canonicalJson(JSON.parse(JSON.stringify(request))) };
      appendFileSync(files.requests, `${JSON.stringify(kept)}\n`);
      phase('before');
      let isFirst = true;
      for await (const event of script.stream(request, options)) {
        yield event;
        if (isFirst) phase('inside');
        isFirst = false;
      }
      phase('after');
    },
  };
}

interface ToolWish {
  readonly effect: 'read' | 'write' | 'send';
  readonly repeatable?: boolean;
  readonly approval?: boolean;
}

/** The scene in this process. `chargeMs`: how long the tool `charge` takes. */
export function makeScene(files: SceneFiles, places: Places, chargeMs = 15) {
  const tool = (name: string, { effect, repeatable, approval }: ToolWish) =>
    defineTool({
      name,
      description: `Does ${name}.`,
      input: z.object({ id: z.string() }),
      flow: { effect, authority: ['id'] },
      ...(repeatable === undefined ? {} : { repeatable }),
      ...(approval === undefined ? {} : { approval }),
      async execute({ id }, { idempotencyKey }) {
        const phase = places.begin(`tool ${name}`);
        phase('before');
        // Long enough that the calls of an answer are under way at once.
        await sleep(name === 'charge' ? chargeMs : 15);
        phase('inside');
        const applied = applyOnce(files.ledger, { key: idempotencyKey, tool: name, input: id, value: effectOf(name, id) });
        phase('effect');
        await sleep(5);
        phase('after');
        return resultOf(applied.value);
      },
    });
  const guardrail = defineGuardrail({
    name: 'watch',
    on: ['input', 'toolInput', 'toolOutput', 'handoff', 'output'] satisfies Surface[],
    async check({ surface }) {
      const phase = places.begin(`guard ${surface}`);
      phase('before');
      await Promise.resolve();
      phase('after');
      return allow();
    },
  });
  const noCodes = defineGuardrail({
    name: 'no-codes',
    on: ['input'],
    rewrite: ({ content }) =>
      content.includes('swordfish') ? rewrite(content.replace('swordfish', '[code]'), 'codes are taken out') : allow(),
    check: () => allow(),
  });
  const model = followedModel(files, places);
  const look = tool('look', { effect: 'read' });
  const billing = defineAgent({
    name: 'billing',
    description: 'Money.',
    instructions: 'Pay back.',
    model,
    tools: [
      look,
      tool('refund', { effect: 'write', approval: true }),
      tool('note', { effect: 'write', repeatable: true }),
      tool('ship', { effect: 'send' }),
    ],
  });
  const triage = defineAgent({
    name: 'triage',
    instructions: 'Route.',
    model,
    tools: [look, tool('charge', { effect: 'write' }), tool('mail', { effect: 'send' })],
    handoffs: [billing],
  });
  return { start: triage, guardrails: [noCodes, guardrail] as const };
}

/** What the ledger must hold at the end: each effect once. */
export const expectedEffects: readonly string[] = [
  ['look', 'o1'],
  ['charge', 'o1'],
  ['mail', 'o1'],
  ['refund', 'o1'],
  ['note', 'o1'],
  ['ship', 'o2'],
  ['look', 'o2'],
].map(([name = '', id = '']) => `${name} ${id} ${effectOf(name, id)}`);
/** Tools that may run again for one call without anybody being asked. */
export const repeatableTools: readonly string[] = ['look', 'note'];
