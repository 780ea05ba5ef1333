import type { Guardrail, Model } from '@guardloop/core';
import { defineAgent, withContext } from '@guardloop/core';
import { describe, expectTypeOf, test } from 'vitest';
import { canary } from './canary.js';
import { grounded } from './grounded.js';
import { judge } from './judge/judge.js';
import { topic } from './judge/topic.js';
import { language } from './language.js';
import { leak } from './leak.js';
import { length } from './length.js';
import { moderation } from './moderation.js';

const model = {} as Model;
const question = 'Is it?';

describe('a refusing guardrail', () => {
  test('stands on the surfaces that were named, or on its own', () => {
    expectTypeOf(judge({ name: 'j', on: ['input', 'output'], model, question })).toEqualTypeOf<Guardrail<unknown, 'input' | 'output'>>();
    expectTypeOf(topic({ model, allowed: ['a'] })).toEqualTypeOf<Guardrail<unknown, 'input'>>();
    expectTypeOf(moderation({ apiKey: 'k' })).toEqualTypeOf<Guardrail<unknown, 'input' | 'output'>>();
    expectTypeOf(grounded({ model })).toEqualTypeOf<Guardrail<unknown, 'output'>>();
    expectTypeOf(length({ max: 3, on: ['toolInput'] })).toEqualTypeOf<Guardrail<unknown, 'toolInput'>>();
    defineAgent({
      name: 'a',
      instructions: '',
      model,
      guardrails: [leak({ instructions: 'x' }), language({ allowed: ['en'] }), grounded({ model })],
    });
  });

  test('asks only where somebody can be asked', () => {
    judge({ name: 'j', on: ['toolInput', 'output'], model, question, then: 'ask' });
    grounded({ model, then: 'ask' });
    // @ts-expect-error nobody can be asked about input
    judge({ name: 'j', on: ['input', 'output'], model, question, then: 'ask' });
    // @ts-expect-error it stands on input too
    moderation({ apiKey: 'k', then: 'ask' });
    moderation({ apiKey: 'k', on: ['output'], then: 'ask' });
    // @ts-expect-error no such answer
    length({ max: 3, then: 'redact' });
  });

  test('stands beside the model on input alone', () => {
    judge({ name: 'j', on: ['input'], model, question, beside: 'model' });
    topic({ model, allowed: ['a'], beside: 'model' });
    // @ts-expect-error not on output
    judge({ name: 'j', on: ['input', 'output'], model, question, beside: 'model' });
  });
});

test('topic takes one list', () => {
  // @ts-expect-error neither
  topic({ model });
  // @ts-expect-error both
  topic({ model, allowed: ['a'], blocked: ['b'] });
});

test('grounded stands on output and looks at no tool', () => {
  // @ts-expect-error it stands on output
  grounded({ model, on: ['input'] });
});

test('moderation knows its categories', () => {
  moderation({ apiKey: async () => 'k', categories: ['hate'], thresholds: { hate: 0.5 } });
  // @ts-expect-error no such category
  moderation({ apiKey: 'k', categories: ['hatred'] });
  // @ts-expect-error no such category
  moderation({ apiKey: 'k', thresholds: { hatred: 0.5 } });
});

test('a canary reads the context of its agents', () => {
  interface Tenant {
    readonly tenant: string;
  }
  const { defineAgent: defineTenantAgent } = withContext<Tenant>();
  const mark = canary<Tenant>({ key: '0123456789abcdef', per: ({ tenant }) => tenant });
  expectTypeOf(mark.guardrail).toEqualTypeOf<Guardrail<Tenant, 'output' | 'toolInput' | 'handoff'>>();
  defineTenantAgent({ name: 'a', instructions: mark.marked(({ context }) => context.tenant), model, guardrails: [mark.guardrail] });
  // @ts-expect-error the canary needs a tenant
  withContext<{ other: 1 }>().defineAgent({ name: 'a', instructions: '', model, guardrails: [mark.guardrail] });
});
