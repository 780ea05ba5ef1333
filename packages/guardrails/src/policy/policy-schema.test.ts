import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { fitsSchema } from '../../test/json-schema.js';
import { randomPolicy } from '../../test/random-policies.js';
import { policyFrom } from './policy-from.js';
import { policySchema } from './policy-schema.js';
import { conditionNames } from './read-condition.js';
import type { PolicyData } from './types.js';

const fits = (value: unknown): boolean => fitsSchema(policySchema, value);
const policy = (rule: object): unknown => ({ name: 'p', rules: [{ tool: 'pay', then: 'allow', ...rule }], otherwise: 'deny' });

describe('the JSON Schema of policies', () => {
  test.each([
    [{}],
    [{ tool: ['a', 'b_*'], reason: 'why', name: 'first' }],
    [{ when: { field: 'a', atMost: 5, above: { context: 'x' } } }],
    [{ when: { every: 'a[]', url: { hosts: ['a.example'], ports: [80] } } }],
    [{ when: { all: [{ view: 'trusted' }, { not: { effect: ['send', 'write'] } }] } }],
    [{ when: { untrustedReads: true } }],
    [{ when: { untrustedReads: ['fetch_*'] } }],
    [{ limit: { calls: 3, per: 'run' }, spend: [{ field: 'a', atMost: 5, per: 'P1D', over: 'ask' }] }],
    [{ during: { days: ['mon'], from: '09:00', to: '24:00', zone: 'UTC' } }],
  ])('takes %j', (rule) => {
    expect(fits(policy(rule))).toBe(true);
    expect(() => policyFrom(policy(rule) as PolicyData, { context: () => ({}) })).not.toThrow();
  });

  test.each([
    [{ then: 'alow' }],
    [{ tool: 'no tool' }],
    [{ when: {} }],
    [{ when: { atMost: 5 } }],
    [{ when: { field: 'a' } }],
    [{ when: { field: 'a', atmost: 5 } }],
    [{ when: { field: 'a', atMost: '5' } }],
    [{ when: { all: [{ effect: 'sends' }] } }],
    [{ limit: { calls: 3, per: 'P1M' } }],
    [{ limit: { calls: -1, per: 'run' } }],
    [{ during: { from: '9:00', zone: 'UTC' } }],
    [{ more: 1 }],
  ])('refuses %j, as `policyFrom` does', (rule) => {
    expect(fits(policy(rule))).toBe(false);
    expect(() => policyFrom(policy(rule) as PolicyData, { context: () => ({}) })).toThrow();
  });

  it('knows every condition that there is', () => {
    const { properties } = (policySchema.$defs as { condition: { properties: object } }).condition;
    expect(Object.keys(properties).sort()).toEqual([...conditionNames].sort());
  });

  it('takes every policy that can be made', () => {
    fc.assert(
      fc.property(randomPolicy.policy, (data) => {
        expect(fits(JSON.parse(JSON.stringify(data)))).toBe(true);
      }),
      { numRuns: 200, seed: 31 },
    );
  });
});

test('nothing but the entry for CEL loads its library', () => {
  const importing = (file: string): boolean => readFileSync(new URL(file, import.meta.url), 'utf8').includes('cel-js');
  expect(importing('./cel.ts')).toBe(true);
  for (const file of ['./policy-from.ts', './read-condition.ts', './decide.ts', './explain.ts', '../index.ts'])
    expect(importing(file)).toBe(false);
});
