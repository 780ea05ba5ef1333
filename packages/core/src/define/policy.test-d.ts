import { definePolicy as definePlainPolicy } from './policy.js';
import type { Equal, Shop } from './shop.test-d.js';
import { definePolicy, defineTool, expectType, is, refund, refundInput } from './shop.test-d.js';
import type { Guardrail, PolicyRule, ResolvedFlow } from './types.js';

const find = defineTool({ name: 'find_order', description: '', input: refundInput.pick({ orderId: true }), execute: () => '' });

export const policy = definePolicy({
  name: 'tool-policy',
  rules: [
    { tool: 'find_*', then: 'allow' },
    {
      tool: refund,
      when: ({ cents }, { context, tool, flow, signal }) => {
        expectType<number>()(cents);
        expectType<Shop>()(context);
        expectType<string>()(tool);
        expectType<ResolvedFlow>()(flow);
        expectType<AbortSignal>()(signal);
        return cents <= 1_000;
      },
      then: 'allow',
    },
    { tool: refund, then: 'ask', reason: 'Refunds above 10 euros want a person.' },
    {
      tool: find,
      when: ({ orderId }) => {
        expectType<string>()(orderId);
        return true;
      },
      then: 'ask',
    },
    {
      tool: 'mcp_*',
      when: (input) => {
        expectType<unknown>()(input);
        return true;
      },
      then: 'ask',
    },
  ],
  otherwise: 'deny',
});
is<Equal<typeof policy, Guardrail<Shop, 'toolInput'>>>();
// a policy without a context may still have rules about tools with one
export const plain = definePlainPolicy({
  name: 'p',
  rules: [{ tool: refund, when: ({ cents }) => cents < 3, then: 'allow' }],
  otherwise: 'deny',
});
is<Equal<typeof plain, Guardrail<unknown, 'toolInput'>>>();

// ---- rules that come from a file
declare const fileRules: readonly PolicyRule<Shop, string>[];
export const filePolicy = definePolicy({ name: 'file', rules: fileRules, otherwise: 'ask' });
export const mixedPolicy = definePolicy({
  name: 'mixed',
  rules: [{ tool: refund, when: ({ cents }) => cents > 1, then: 'ask' }, ...fileRules],
  otherwise: 'ask',
});

// ---- misuses
// @ts-expect-error 24 `when` gets the tool's input
definePolicy({ name: 'p', rules: [{ tool: refund, when: ({ cent }) => cent < 3, then: 'allow' }], otherwise: 'deny' });
// @ts-expect-error 25 a rule by name does not know the input
definePolicy({ name: 'p', rules: [{ tool: 'refund_order', when: ({ cents }) => cents < 3, then: 'allow' }], otherwise: 'deny' });
// @ts-expect-error 26 no such action
definePolicy({ name: 'p', rules: [{ tool: refund, then: 'allowed' }], otherwise: 'deny' });
// @ts-expect-error 26 no such action where no rule fits (S177)
definePolicy({ name: 'p', rules: [], otherwise: 'nevr' });
// @ts-expect-error 27 a rule answers
definePolicy({ name: 'p', rules: [{ tool: refund }], otherwise: 'deny' });
// @ts-expect-error a rule answers at once
definePolicy({ name: 'p', rules: [{ tool: refund, when: async () => true, then: 'allow' }], otherwise: 'deny' });
// @ts-expect-error 55 a limit of the compiler: after a spread, an inline `when` has no type (put it before, or in its own policy)
definePolicy({ name: 'p', rules: [...fileRules, { tool: refund, when: ({ cents }) => cents > 1, then: 'ask' }], otherwise: 'deny' });
// @ts-expect-error what holds where no rule fits is said
definePolicy({ name: 'p', rules: [{ tool: refund, then: 'allow' }] });
