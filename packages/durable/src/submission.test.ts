import { allow, defineAgent, defineGuardrail, defineTool, deny, rewrite } from '@guardloop/core';
import { memoryStore } from '@guardloop/store';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { durable, durableAgent } from './index.js';
import { digestSubmission, isSameInput, isSameSubmission, writeSubmission } from './submission.js';

const submissionOf = (input: string | null, data?: string) =>
  writeSubmission({ input, data, limits: { turns: 3 }, onLimit: undefined, traceparent: undefined });

describe('what is left of a submission', () => {
  it('tells the same one from every other, before and after the end', async () => {
    const text = fc.string({ unit: 'binary', maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(text, text, text, async (input, other, data) => {
        const kept = submissionOf(input, data);
        for (const left of [kept, await digestSubmission(kept), await digestSubmission(await digestSubmission(kept))]) {
          expect(await isSameSubmission(left, submissionOf(input, data))).toBe(true);
          expect(await isSameSubmission(left, submissionOf(other, data))).toBe(other === input);
          expect(await isSameSubmission(left, submissionOf(input, `${data}.`))).toBe(false);
          expect(await isSameInput(left, input)).toBe(true);
          expect(await isSameInput(left, other)).toBe(other === input);
        }
      }),
      { numRuns: 100, seed: 7 },
    );
  });

  it('is salted: two of the same text are not alike', async () => {
    expect(await digestSubmission(submissionOf('x'))).not.toEqual(await digestSubmission(submissionOf('x')));
  });

  it('of a record that cannot be read tells nothing', async () => {
    expect(await isSameInput(undefined, 'x')).toBeUndefined();
    expect(await isSameSubmission(undefined, submissionOf('x'))).toBe(false);
  });
});

describe('the record of a run that has ended', () => {
  const secret = 'swordfish';
  const refuses = defineGuardrail({
    name: 'no-codes',
    on: ['input'],
    check: ({ content }) => (content.includes(secret) ? deny('codes are not taken') : allow()),
  });
  const rewrites = defineGuardrail({
    name: 'no-codes',
    on: ['input'],
    rewrite: ({ content }) => rewrite(content.replaceAll(secret, '[code]'), 'codes are taken out'),
    check: () => allow(),
  });
  const pay = defineTool({ name: 'pay', description: 'Pay.', input: z.object({}), approval: true, execute: () => 'paid' });
  const agentOf = (name: string) => defineAgent({ name, instructions: '', model: scriptedModel(() => say('Well.')) });
  const cashier = defineAgent({ name: 'cashier', instructions: '', model: scriptedModel([callTool('pay'), say('Done.')]), tools: [pay] });

  async function open() {
    const store = memoryStore();
    const runs = durable({
      store,
      agents: {
        strict: durableAgent(agentOf('strict'), { options: { guardrails: [refuses] } }),
        mild: durableAgent(agentOf('mild'), { options: { guardrails: [rewrites] } }),
        cashier: durableAgent(cashier, { options: { guardrails: [rewrites] } }),
      },
    });
    onTestFinished(() => runs.close());
    const all = async () => JSON.stringify([await store.runs.list(), await store.sessions.list(), await store.approvals.list()]);
    return { store, runs, all };
  }

  it.each([
    ['refused', 'strict', 'blocked'],
    ['rewritten', 'mild', 'completed'],
  ] as const)('holds nothing of an input that was %s', async (_, agent, status) => {
    const { store, runs, all } = await open();
    await runs.worker();
    await runs.submit(agent, `My code is ${secret}.`, { id: 'r1' });
    expect(await runs.result('r1', { waitMs: 20_000 })).toMatchObject({ status });
    expect(await all()).not.toContain(secret);
    expect(JSON.stringify(await store.load('r1'))).not.toContain(secret);
    expect(await runs.submit(agent, `My code is ${secret}.`, { id: 'r1' })).toMatchObject({ created: false, same: true });
    expect(await runs.submit(agent, 'My code is another.', { id: 'r1' })).toMatchObject({ created: false, same: false });
    expect(await Promise.all([`My code is ${secret}.`, 'My code is another.'].map((input) => runs.hasInput('r1', input)))).toEqual([
      true,
      false,
    ]);
    expect(await runs.hasInput('r2', 'Hello')).toBeUndefined();
  });

  it('holds nothing of what was cancelled before it began', async () => {
    const { runs, all } = await open();
    await runs.submit('mild', `My code is ${secret}.`, { id: 'r1', delayMs: 3_600_000 });
    expect(await all()).toContain(secret);
    await runs.cancel('r1');
    expect(await all()).not.toContain(secret);
    expect(await runs.submit('mild', `My code is ${secret}.`, { id: 'r1', delayMs: 3_600_000 })).toMatchObject({ same: true });
  });

  it('that waits keeps what it needs to go on, until its end', async () => {
    const { runs, all } = await open();
    await runs.worker();
    await runs.submit('cashier', `Pay. My code is ${secret}.`, { id: 'r1' });
    const waiting = await runs.result('r1', { waitMs: 20_000, until: 'wait' });
    expect(waiting.status).toBe('interrupted');
    expect(await all()).toContain(secret);
    const { items } = await runs.approvals.list({ run: 'r1' });
    await runs.approvals.decide(items[0]?.id ?? '', 'approve');
    expect(await runs.result('r1', { waitMs: 20_000 })).toMatchObject({ status: 'completed' });
    expect(await all()).not.toContain(secret);
  });
});
