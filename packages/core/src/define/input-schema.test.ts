import { expect, test } from 'vitest';
import { z } from 'zod';
import { inputSchemaOf } from './input-schema.js';
import { defineTool } from './tool.js';

test('the schema of a tool is the one that a model is shown', () => {
  const tool = defineTool({ name: 'find', description: 'Finds.', input: z.object({ words: z.string() }), execute: () => 'found' });
  expect(inputSchemaOf(tool)).toMatchObject({ type: 'object', properties: { words: { type: 'string' } }, required: ['words'] });
});

test('what is no tool has no schema', () => {
  expect(() => inputSchemaOf({ name: 'find' } as never)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
});
