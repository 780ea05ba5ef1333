import { defineAgent, defineTool, resume, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';

/** An agent that sends to ann and to bob, each with an approval. */
function makeDesk() {
  const sent: string[] = [];
  const send = defineTool({
    name: 'send',
    description: 'Sends.',
    input: z.object({ to: z.string() }),
    flow: { effect: 'send' },
    approval: true,
    execute: ({ to }) => {
      sent.push(to);
      return `sent to ${to}`;
    },
  });
  const model = scriptedModel([[callTool('send', { to: 'ann' }), callTool('send', { to: 'bob' })], say('done')]);
  return { sent, desk: defineAgent({ name: 'desk', instructions: 'Help.', model, tools: [send] }) };
}

it.each([
  ['the first', 0],
  ['the second', 1],
])('asks a person again before a send runs twice for one input because %s of two calls was edited', async (_, edited) => {
  const { sent, desk } = makeDesk();
  const asked = await run(desk, 'hello');
  if (asked.status !== 'interrupted') throw new Error(`It ended ${asked.status}.`);
  const to = edited === 0 ? 'bob' : 'ann';
  const decisions = Object.fromEntries(
    asked.approvals.map(({ id }, index) => [id, index === edited ? ({ edit: { to } } as const) : ('approve' as const)]),
  );
  const again = await resume(desk, asked.log, { decisions });
  if (again.status !== 'interrupted') throw new Error(`It ended ${again.status}.`);
  expect(sent).toEqual([to]);
  expect(again.approvals).toMatchObject([
    { tool: 'send', callId: '1.1', input: { to }, reason: 'an equal call of this tool has run before in this run' },
  ]);
  const result = await resume(desk, again.log, { decisions: { [again.approvals[0]?.id ?? '']: 'approve' } });
  expect(result.status).toBe('completed');
  expect(sent).toEqual([to, to]);
});
