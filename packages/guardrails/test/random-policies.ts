// Policies over three numbers, and calls that they are about.
import type { PolicyAction } from '@guardloop/core';
import fc from 'fast-check';
import type { Condition, PolicyData } from '../src/policy/types.js';

const fields = ['a', 'b', 'c'] as const;
const numberTest = fc.record({
  field: fc.constantFrom(...fields),
  test: fc.constantFrom('atMost', 'atLeast', 'above', 'below'),
  value: fc.integer({ min: 0, max: 4 }),
});
const leaf: fc.Arbitrary<Condition> = fc.oneof(
  numberTest.map(({ field, test, value }) => ({ field, [test]: value }) as Condition),
  fc.record({ field: fc.constantFrom(...fields), oneOf: fc.uniqueArray(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 3 }) }),
  fc.record({ field: fc.constantFrom(...fields), noneOf: fc.uniqueArray(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 3 }) }),
  fc.record({ field: fc.constantFrom(...fields), equals: fc.record({ field: fc.constantFrom(...fields) }) }),
  fc.constantFrom<Condition>({ effect: 'send' }, { effect: ['none', 'read'] }, { view: 'trusted' }, { view: 'untrusted' }),
);
const condition = fc.letrec<{ node: Condition }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map((all) => ({ all }) as Condition),
    fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map((any) => ({ any }) as Condition),
    tie('node').map((not) => ({ not }) as Condition),
  ),
})).node;
const tools = ['pay', 'pay_all', 'find'] as const;
const policy: fc.Arbitrary<PolicyData> = fc.record({
  name: fc.constant('p'),
  rules: fc.array(
    fc.record(
      {
        tool: fc.constantFrom('*', 'pay*', 'pay', 'find'),
        when: condition,
        then: fc.constantFrom<PolicyAction>('allow', 'ask', 'deny', 'halt'),
      },
      { requiredKeys: ['tool', 'then'] },
    ),
    { maxLength: 6 },
  ),
  otherwise: fc.constantFrom<PolicyAction>('allow', 'ask', 'deny', 'halt'),
}) as fc.Arbitrary<PolicyData>;
const numbers = fc.record({ a: fc.integer({ min: 0, max: 4 }), b: fc.integer({ min: 0, max: 4 }), c: fc.integer({ min: 0, max: 4 }) });
const call = fc.record({
  tool: fc.constantFrom(...tools),
  input: numbers,
  flow: fc.constantFrom('none', 'read', 'write', 'send').map((effect) => ({ effect }) as const),
  view: fc.constantFrom('trusted', 'untrusted'),
});

export const randomPolicy = { policy, call, fields } as const;
