import { allow, defineAgent, defineGuardrail, defineTool, handoff, rewrite, run } from '@guardloop/core';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { callTool, say } from '../script.js';
import { scriptedModel } from '../scripted-model.js';
import { auditLog } from './audit-log.js';

/** Cancels the run while a target's input guardrails are asked, at the item with this number. */
async function stoppedAt(item: number, isFirst: boolean, isReturned = false) {
  const controller = new AbortController();
  let asked = 0;
  const stopping = defineGuardrail({
    name: 'stopping',
    on: ['input'],
    rewrite: async ({ content }) => {
      asked += 1;
      if (asked === item) {
        controller.abort();
        await Promise.resolve();
      }
      return content.includes('x') ? rewrite(content.replace('x', 'y'), 'no x') : allow();
    },
  });
  const other = defineGuardrail({
    name: 'other',
    on: ['input'],
    rewrite: ({ content }) => (content.includes('y') ? rewrite(content.replace('y', 'z'), 'no y') : allow()),
    check: () => allow(),
  });
  const target = defineAgent({
    name: 'target',
    description: 'Answers.',
    instructions: '',
    model: scriptedModel([say('done')]),
    guardrails: isFirst ? [stopping, other] : [other, stopping],
  });
  const source = defineAgent({
    name: 'source',
    instructions: '',
    model: scriptedModel([[say('hm x'), callTool(isReturned ? 'pass' : 'transfer_to_target', {})]]),
    tools: [defineTool({ name: 'pass', description: 'Passes on.', input: z.object({}), execute: () => handoff(target) })],
    handoffs: [target],
  });
  return run(source, 'hello x', { signal: controller.signal });
}

describe('a run that is cancelled while the target of a handoff is asked', () => {
  it.each([
    [1, true],
    [1, false],
    [2, true],
    [2, false],
    [3, true],
    [3, false],
  ])('has nothing to find, at item %i (%s), whether the handoff was generated or returned', async (item, isFirst) => {
    for (const isReturned of [false, true]) {
      const result = await stoppedAt(item, isFirst, isReturned);
      expect(result.status).toBe('cancelled');
      expect(auditLog(result.log)).toEqual([]);
    }
  });
});
