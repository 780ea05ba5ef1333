import assert from 'node:assert/strict';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const model = scriptedModel([callTool('refund', { cents: 500 }), say('Refunded.')]);
const audited: string[] = [];

// #region serve
import { allow, defineAgent, defineGuardrail, defineTool, halt } from '@guardloop/core';
import { serveAgent } from '@guardloop/mcp';

const refund = defineTool({
  name: 'refund',
  description: 'Refund an order, in cents.',
  input: z.object({ cents: z.number().int() }),
  flow: { effect: 'send' },
  approval: true,
  execute: ({ cents }) => `refunded ${cents}`,
});
const noCards = defineGuardrail({
  name: 'no-cards',
  on: ['output'],
  check: ({ content }) => (/\d{16}/.test(content) ? halt('a card number') : allow()),
});
const desk = defineAgent({
  name: 'desk',
  description: 'Answers about orders.',
  instructions: '',
  model,
  tools: [refund],
  guardrails: [noCards],
});

const server = serveAgent(desk, {
  approvals: 'client', // the person at the client decides, where the client can ask; default: 'refuse'
  run: { limits: { turns: 6 } },
  onResult: (result, { caller }) => audited.push(`${caller?.id ?? 'somebody'} ${result.status} ${auditLog(result.log).length}`),
});
// #endregion

// #region listen
const { url, close } = await server.listen({
  port: 0, // a free one
  authenticate: (request) => (request.headers.get('authorization') === 'Bearer t1' ? { id: 'anna' } : undefined),
});
// #endregion

// #region stdio
const serveHere = () => server.stdio(); // as the program that a client starts
// #endregion
void serveHere;

// #region remote
import { run } from '@guardloop/core';
import { mcpServer } from '@guardloop/mcp';

const far = await mcpServer({ name: 'shop', url, headers: { authorization: 'Bearer t1' } });
const caller = defineAgent({
  name: 'caller',
  instructions: '',
  model: scriptedModel([callTool('shop__desk', { input: 'Refund o1.' }), say('It needs a person.')]),
  tools: [...far.tools],
});
const result = await run(caller, 'Refund o1.');
// #endregion
assert.equal(result.status, 'completed');
assert.match(JSON.stringify(result.messages), /A person has to decide about refund/);
assert.deepEqual(audited, ['anna interrupted 0']);
await far.close();
await close();
