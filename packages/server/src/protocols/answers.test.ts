// What front ends answer to approvals, in both protocols: again, in part, and beside other people.
import { asTool, defineAgent, defineTool } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Person, Received, Scene } from '../../test/scene.js';
import { openScene, readEvents } from '../../test/scene.js';
import type { ServerOptions } from '../index.js';

const input = z.object({ cents: z.number() });
const paid: string[] = [];
const paying = (name: string) =>
  defineTool({
    name,
    description: 'Pay.',
    input,
    approval: true,
    execute: ({ cents }) => {
      paid.push(name);
      return `receipt for ${cents}`;
    },
  });
const pay = paying('pay');
const wire = paying('wire');
const clerk = defineAgent({
  name: 'clerk',
  instructions: '',
  model: scriptedModel([[callTool('pay', { cents: 500 }), callTool('wire', { cents: 7 })].flat(), say('Settled.')]),
  tools: [pay, wire],
});
const teller = defineAgent({
  name: 'teller',
  instructions: '',
  model: scriptedModel([callTool('wire', { cents: 7 }), say('Wired.')]),
  tools: [wire],
});
const boss = defineAgent({
  name: 'boss',
  instructions: '',
  model: scriptedModel([callTool('ask_teller', { input: 'Wire.' }), say('It is done.')]),
  tools: [asTool(teller, { name: 'ask_teller', description: 'Wires.' })],
});

/** What a protocol's client sends and is asked, by hand: the clients themselves would not send the same twice. */
interface Protocol {
  readonly name: string;
  readonly says: (agent: string) => readonly [path: string, body: object];
  readonly asked: (events: readonly Received[]) => readonly string[];
  readonly answers: (agent: string, seen: readonly string[]) => readonly [path: string, body: object];
}
const said = { id: 'm1', role: 'user', content: 'Pay.' };
const rest = { threadId: 'chat', tools: [], context: [], state: {}, forwardedProps: {} };
const saidToo = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Pay.' }] };
const protocols: readonly Protocol[] = [
  {
    name: 'AG-UI',
    says: (agent) => [`/v1/ag-ui/${agent}`, { ...rest, runId: 'r1', messages: [said] }],
    asked: (events) => events.at(-1)?.data.outcome.interrupts.map(({ id }: { readonly id: string }) => id),
    answers: (agent, seen) => [
      `/v1/ag-ui/${agent}`,
      {
        ...rest,
        runId: 'r2',
        messages: [said],
        resume: seen.map((interruptId) => ({ interruptId, status: 'resolved', payload: { approved: true } })),
      },
    ],
  },
  {
    name: 'the AI SDK',
    says: (agent) => [`/v1/ai/${agent}`, { id: 'chat', messages: [saidToo] }],
    asked: (events) => events.flatMap(({ data }) => (data.type === 'tool-approval-request' ? [data.approvalId] : [])),
    answers: (agent, seen) => [
      `/v1/ai/${agent}`,
      {
        id: 'chat',
        messages: [
          saidToo,
          {
            id: 'a1',
            role: 'assistant',
            parts: seen.map((id) => ({ type: 'dynamic-tool', state: 'approval-responded', approval: { id, approved: true } })),
          },
        ],
      },
    ],
  },
];

async function withScene(use: (scene: Scene) => Promise<void>, options: Parameters<typeof openScene>[1] = {}): Promise<void> {
  const scene = await openScene({ clerk, boss }, { protocols: ['ag-ui', 'ai-sdk'], ...options });
  try {
    await use(scene);
  } finally {
    await scene.close();
  }
}
const refusesWires: NonNullable<ServerOptions<Person>['authorize']> = (question) =>
  question.action === 'approval.decide' && question.decision === 'approve' && question.approval.approval.tool === 'wire'
    ? false
    : undefined;
const sent = async (scene: Scene, [path, body]: readonly [string, object], person = 'anna'): Promise<Received[]> =>
  readEvents(await scene.as(person, path, { body }));
const typesOf = (events: readonly Received[]): unknown => events.map(({ data }) => data.type ?? data);

describe.each(protocols)('answers to approvals over $name', ({ says, asked, answers }) => {
  it('are the same leg again when they are sent again, while the run goes on and when it has ended', () =>
    withScene(async (scene) => {
      const seen = asked(await sent(scene, says('clerk')));
      expect(seen).toHaveLength(2);
      const before = paid.length;
      const response = await scene.as('anna', answers('clerk', seen)[0], { body: answers('clerk', seen)[1] });
      await response.body?.cancel(); // nothing of it was read
      const [first, second, third] = await Promise.all([1, 2, 3].map(() => sent(scene, answers('clerk', seen))));
      expect(JSON.stringify(first)).toContain('Settled.');
      expect([typesOf(second ?? []), typesOf(third ?? [])]).toEqual([typesOf(first ?? []), typesOf(first ?? [])]);
      expect(typesOf(await sent(scene, answers('clerk', seen)))).toEqual(typesOf(first ?? []));
      expect(['RUN_FINISHED', '[DONE]']).toContain(first?.at(-1)?.data.type ?? first?.at(-1)?.data);
      expect(paid.slice(before)).toEqual(['pay', 'wire']);
    }));

  it('are recorded none of them where one is not theirs to give', () =>
    withScene(
      async (scene) => {
        const seen = asked(await sent(scene, says('clerk')));
        const [path, body] = answers('clerk', seen);
        expect((await scene.as('anna', path, { body })).status).toBe(403);
        const { items } = await scene.store.approvals.list();
        expect(items.map(({ state }) => state)).toEqual(['open', 'open']);
      },
      // Anna may see that she could say no.
      { authorize: refusesWires },
    ));

  it('are followed by what others have decided meanwhile', () =>
    withScene(
      async (scene) => {
        const seen = asked(await sent(scene, says('clerk'), 'anna@shop'));
        expect(seen).toHaveLength(1);
        const { items } = await scene.store.approvals.list({ tool: 'wire' });
        const [{ id = '', approval: { digest = '', callId = '' } = {}, run = '' } = {}] = items as never as [
          { readonly id: string; readonly run: string; readonly approval: { readonly digest: string; readonly callId: string } },
        ];
        const decided = await scene.as('sue@shop:supervisor', `/v1/approvals/${id}/decision`, { body: { decision: 'approve', digest } });
        expect(decided.status).toBe(200);
        await scene.settled(run);
        const events = await sent(scene, answers('clerk', seen), 'anna@shop');
        const ended = events.filter(({ data }) => ['TOOL_CALL_RESULT', 'tool-output-available'].includes(data.type));
        expect(ended.map(({ data }) => data.toolCallId)).toContain(`${run}/${callId}`);
      },
      {
        authorize: (question, { role }) => {
          if (role === 'supervisor') return true;
          return question.action === 'approval.decide' && question.approval.approval.tool === 'wire' ? false : undefined;
        },
      },
    ));

  it('and what was asked in an agent used as a tool are no more than decided for who may not read it', () =>
    withScene(
      async (scene) => {
        await sent(scene, says('boss'), 'anna@shop');
        const { items } = await scene.store.approvals.list();
        const [{ id, run, approval }] = items as never as [
          { readonly id: string; readonly run: string; readonly approval: { readonly digest: string } },
        ];
        const decision = { decision: 'approve', digest: approval.digest };
        expect((await scene.as('sue@shop:supervisor', `/v1/approvals/${id}/decision`, { body: decision })).status).toBe(200);
        await scene.settled(run);
        const told = JSON.stringify(await sent(scene, says('boss'), 'anna@shop'));
        expect(told).toContain('It is done.');
        expect(told).not.toMatch(/wire/i);
      },
      { authorize: ({ action }, { role }) => (action.startsWith('approval.') ? role === 'supervisor' : undefined) },
    ));
});
