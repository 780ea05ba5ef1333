import type { Tool } from '@guardloop/core';
import { defineTool, withContext } from '@guardloop/core';
import { describe, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { orPlaceholder } from './or-placeholder.js';
import { vault } from './vault.js';

interface Chat {
  readonly chatId: string;
}
const values = vault<Chat>({ conversation: ({ chatId }) => chatId, hides: [] });
const tool = defineTool({
  name: 'send_mail',
  description: '',
  input: z.object({ to: z.string(), text: z.string() }),
  execute: ({ to }) => to,
});

describe('restore', () => {
  test('gives a tool of the same name and input, for the context of both', () => {
    const restored = values.restore(tool, { fields: ['to'] });
    expectTypeOf(restored.name).toEqualTypeOf<'send_mail'>();
    expectTypeOf(restored).toExtend<Tool<Chat, 'send_mail', { to: string; text: string }>>();
    withContext<Chat>().defineAgent({ name: 'a', instructions: '', model: {} as never, tools: [restored], guardrails: [values.guardrail] });
    // @ts-expect-error the vault needs the context
    withContext<{ other: string }>().defineAgent({ name: 'a', instructions: '', model: {} as never, tools: [restored] });
  });

  test('takes names of arguments alone', () => {
    values.restore(tool, { fields: { to: 'email', text: ['name', 'email'] } });
    // @ts-expect-error no such argument
    values.restore(tool, { fields: ['too'] });
    // @ts-expect-error no such argument
    values.restore(tool, { fields: { too: 'email' } });
  });
});

test('reveal gives the type that it was given', async () => {
  expectTypeOf(await values.reveal('c', { a: ['x'] })).toEqualTypeOf<{ a: string[] }>();
});

test('orPlaceholder is a schema of texts', () => {
  expectTypeOf<z.infer<ReturnType<typeof orPlaceholder<z.ZodEmail>>>>().toEqualTypeOf<string>();
});

test('a failure to hide cannot be allowed', () => {
  // @ts-expect-error what could not be hidden is not let through
  vault<Chat>({ conversation: () => 'c', hides: [], onError: 'allow' });
});
