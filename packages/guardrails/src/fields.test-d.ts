import type { Guardrail } from '@guardloop/core';
import { expectTypeOf } from 'vitest';
import { z } from 'zod';
import type { FieldAt, FieldPathOf } from './field-paths.js';
import { checkFields } from './fields.js';

const schema = z.object({
  id: z.string(),
  to: z.object({ address: z.string(), tags: z.array(z.array(z.number())) }).optional(),
  orders: z.array(z.object({ total: z.number(), at: z.date() })),
});
type Value = z.infer<typeof schema>;

expectTypeOf<FieldPathOf<Value>>().toEqualTypeOf<
  'id' | 'to' | 'to.address' | 'to.tags' | 'to.tags[]' | 'to.tags[][]' | 'orders' | 'orders[]' | 'orders[].total' | 'orders[].at'
>();
expectTypeOf<FieldPathOf<unknown>>().toEqualTypeOf<string>();
expectTypeOf<FieldAt<Value, 'to.address'>>().toEqualTypeOf<string>();
expectTypeOf<FieldAt<Value, 'orders[].total'>>().toEqualTypeOf<number>();
expectTypeOf<FieldAt<Value, 'to.tags[][]'>>().toEqualTypeOf<number>();
expectTypeOf<FieldAt<unknown, 'a.b'>>().toEqualTypeOf<unknown>();

const made = checkFields({
  schema,
  fields: {
    'orders[].total': {
      check: (total, whole) => {
        expectTypeOf(total).toEqualTypeOf<number>();
        expectTypeOf(whole).toEqualTypeOf<Value>();
        return total > 0;
      },
    },
  },
  together: [{ fields: ['id', 'orders[].at'], expects: 'x', check: (whole) => whole.id === 'x' }],
});
expectTypeOf(made).toEqualTypeOf<Guardrail<unknown, 'output'>>();
expectTypeOf(checkFields({ on: ['toolInput', 'toolOutput'], fields: { a: {} } })).toEqualTypeOf<
  Guardrail<unknown, 'toolInput' | 'toolOutput'>
>();

// @ts-expect-error no such field
checkFields({ schema, fields: { 'orders[].totl': { atMost: 5 } } });
// @ts-expect-error no such field
checkFields({ schema, together: [{ fields: ['idd'], expects: 'x', check: () => true }] });
// @ts-expect-error nothing has fields there
checkFields({ on: ['input'], fields: { a: {} } });
// @ts-expect-error values are written down
checkFields({ fields: { a: { atMost: { context: 'x' } } } });
// @ts-expect-error a check answers at once
checkFields({ fields: { a: { check: async () => true } } });
