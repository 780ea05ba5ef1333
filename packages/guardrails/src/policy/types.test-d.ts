import type { Guardrail } from '@guardloop/core';
import { expectTypeOf } from 'vitest';
import { explainPolicy } from './explain.js';
import { policyFrom } from './policy-from.js';
import type { Condition, PolicyData } from './types.js';

const when = (condition: Condition): Condition => condition;
when({ field: 'cents', atMost: 1000 });
when({ every: 'to[]', endsWith: ['@shop.example'], view: 'trusted' });
when({ all: [{ effect: ['send', 'write'] }, { not: { any: [{ context: 'role', oneOf: ['admin'] }] } }] });
when({ field: 'owner', equals: { context: 'userId' } });
// @ts-expect-error a test of nothing
when({ atMost: 5 });
// @ts-expect-error two values at once
when({ field: 'a', some: 'b[]', atMost: 5 });
// @ts-expect-error no such test
when({ field: 'a', atmost: 5 });
// @ts-expect-error a number in quotes
when({ field: 'a', atMost: '5' });
// @ts-expect-error no such effect
when({ effect: 'sends' });
// @ts-expect-error null counts as missing
when({ field: 'a', equals: null });

const policy: PolicyData = { name: 'p', rules: [{ tool: 'pay', when: { field: 'cents', atMost: 5 }, then: 'allow' }], otherwise: 'deny' };
expectTypeOf(policyFrom(policy)).toEqualTypeOf<Guardrail<unknown, 'toolInput'>>();
const of = policyFrom(policy, { context: ({ userId }: { readonly userId: string }) => ({ userId }) });
expectTypeOf(of).toEqualTypeOf<Guardrail<{ readonly userId: string }, 'toolInput'>>();
explainPolicy(of, { tool: 'pay', input: {}, context: { userId: 'u1' } });
// @ts-expect-error the policy reads a context
explainPolicy(of, { tool: 'pay', input: {} });
explainPolicy(policyFrom(policy), { tool: 'pay', input: {} });
// @ts-expect-error the policy reads another context
explainPolicy(of, { tool: 'pay', input: {}, context: { user: 'u1' } });
// @ts-expect-error no such answer
policyFrom({ name: 'p', rules: [{ tool: 'pay', then: 'alow' }], otherwise: 'deny' });
// @ts-expect-error what is given at once, not later
policyFrom(policy, { context: async () => 5 });
