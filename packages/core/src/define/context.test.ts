import { expect, test } from 'vitest';
import { defineAgent } from './agent.js';
import { withContext } from './context.js';
import { defineGuardrail } from './guardrail.js';
import { definePolicy } from './policy.js';
import { defineTool } from './tool.js';

test('a context type changes nothing at run time', () => {
  expect(withContext<{ readonly userId: string }>()).toEqual({ defineAgent, defineTool, defineGuardrail, definePolicy });
  expect(Object.isFrozen(withContext())).toBe(true);
});
