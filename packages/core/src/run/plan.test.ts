import { expect, it } from 'vitest';
import { defineAgent } from '../define/agent.js';
import type { Model, ModelRequest } from '../model/types.js';
import { run } from './run.js';

it('describes a handoff by name with the description of the agent that bears the name', async () => {
  const requests: ModelRequest[] = [];
  const usage = { requests: 1, inputTokens: 1, outputTokens: 1 };
  const model: Model = {
    id: 'm',
    provider: 'test',
    async *stream(request) {
      requests.push(request);
      if (request.turn === 1) yield { type: 'tool.call', call: { name: 'transfer_to_billing', input: {} } };
      else yield { type: 'text.delta', text: 'Done.' };
      yield { type: 'end', stopReason: request.turn === 1 ? 'tools' : 'stop', usage };
    },
  };
  const billing = defineAgent({ name: 'billing', description: 'Refunds.', instructions: '', model, handoffs: ['triage'] });
  const triage = defineAgent({ name: 'triage', description: 'Routes people.', instructions: '', model, handoffs: [billing] });
  expect((await run(triage, 'hello')).status).toBe('completed');
  expect(requests.map(({ tools }) => tools.map(({ description }) => description))).toEqual([
    ['Hand the conversation over to billing: Refunds.'],
    ['Hand the conversation over to triage: Routes people.'],
  ]);
});
