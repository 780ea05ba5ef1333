import { defineAgent, defineTool, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { cel } from './cel.js';
import type { CallToExplain } from './explain.js';
import { explainPolicy } from './explain.js';
import { policyFrom } from './policy-from.js';

const policyOf = (expression: string) =>
  policyFrom<unknown>(
    { name: 'p', rules: [{ tool: 'pay', when: { cel: expression }, then: 'allow' }], otherwise: 'ask' },
    { cel, context: (context) => context as object },
  );
const answer = (expression: string, call: Partial<CallToExplain> = {}): string =>
  explainPolicy(policyOf(expression), { tool: 'pay', input: {}, context: {}, ...call }).action;

describe('a condition in CEL', () => {
  test.each<[expression: string, call: Partial<CallToExplain>, action: string]>([
    ["input.cents <= 1000 && flow.effect != 'send'", { input: { cents: 1000 }, flow: { effect: 'write' } }, 'allow'],
    ["input.cents <= 1000 && flow.effect != 'send'", { input: { cents: 1000 }, flow: { effect: 'send' } }, 'ask'],
    ["input.cents <= 1000 && flow.effect != 'send'", { input: { cents: 1001 }, flow: { effect: 'write' } }, 'ask'],
    ['input.cents + 1.0 == 6.0', { input: { cents: 5 } }, 'allow'],
    ["labels.view == 'untrusted' && labels.subject == 'untrusted'", { view: 'untrusted' }, 'allow'],
    ["untrustedReads.exists(read, read.tool.startsWith('fetch'))", { untrustedReads: [{ tool: 'fetch_page', callId: '1.0' }] }, 'allow'],
    ["untrustedReads.exists(read, read.tool.startsWith('fetch'))", {}, 'ask'],
    ["tool == 'pay' && agent == 'desk'", { agent: 'desk' }, 'allow'],
    ['input.owner == context.userId', { input: { owner: 'u1' }, context: { userId: 'u1' } }, 'allow'],
    ["'*' in flow.authority", {}, 'allow'],
    ["'to' in flow.authority", { flow: { authority: ['to'] } }, 'allow'],
    ['has(input.note) && size(input.note) > 3', { input: {} }, 'ask'],
    ['input.to.all(x, x.endsWith("@shop.example"))', { input: { to: ['a@shop.example', 'b@shop.example'] } }, 'allow'],
    ['input.to.all(x, x.endsWith("@shop.example"))', { input: { to: ['a@shop.example', 'b@evil.example'] } }, 'ask'],
    ["input.to.matches('^[a-z]+@shop[.]example$')", { input: { to: 'a@shop.example' } }, 'allow'],
    ["input.to.matches('^[a-z]+@shop[.]example$') && \"x.matches('y')\" != 'z'", { input: { to: 'a@shop.example' } }, 'allow'],
    ["input.to.matches('^[a-z]+@shop[.]example$')", { input: { to: 'a@shop.example.evil' } }, 'ask'],
  ])('%s, of %j, answers %s', (expression, call, action) => {
    expect(answer(expression, call)).toBe(action);
  });

  test.each<[expression: string, input: unknown]>([
    ['input.cents <= 1000', {}],
    ['input.cents <= 1000', { cents: 'many' }],
    ['input.cents <= 1000', { cents: new Date(0) }],
    ['input.constructor == 1', {}],
    ['input.__proto__ == 1', {}],
    ['input.to == "a"', { to: new (class Box {})() }],
    ['input.ok', { ok: 1 }],
    ['input.to.matches("a")', { to: 'a'.repeat(10_001) }],
  ])('%s, which cannot be evaluated for %j, refuses', (expression, input) => {
    const { action, reason } = explainPolicy(policyOf(expression), { tool: 'pay', input, context: {} });
    expect([action, reason]).toEqual([
      'deny',
      'Rule 1 of policy p: its condition could not be evaluated for this call (a field is missing, or of another type).',
    ]);
  });

  test.each([
    ['input.x =', 'rules[0].when.cel: this is no expression of CEL: '],
    ['inputs.x == 1', 'rules[0].when.cel: this expression of CEL cannot be evaluated: Unknown variable: inputs'],
    ['input.to.startsWit("a")', 'cannot be evaluated'],
    ['tool', 'rules[0].when.cel: this expression of CEL gives string. A condition gives true or false.'],
    ['tool == 5', 'cannot be evaluated'],
    ['input.to.matches("(?=a)")', '`matches` was given what is no expression of RE2'],
    ['input.to.matches(input.from)', '`matches` needs an expression that is written down'],
    [`${'('.repeat(500)}true${')'.repeat(500)}`, 'this is no expression of CEL'],
    [Array.from({ length: 3_000 }, () => 'true').join(' && '), 'is no text of 1 to 10000 characters'],
  ])('%s is refused when the policy is made', (expression, message) => {
    expect(() => policyOf(expression)).toThrow(message);
  });

  it('that cannot be evaluated takes nothing back of what a stricter rule before it wanted', () => {
    const policy = policyFrom(
      {
        name: 'p',
        rules: [
          { tool: 'pay', when: { field: 'to', endsWith: '.evil' }, then: 'halt' },
          { tool: 'pay', when: { cel: 'input.cents > 5' }, then: 'allow' },
        ],
        otherwise: 'allow',
      },
      { cel },
    );
    expect(explainPolicy(policy, { tool: 'pay', input: {} }).action).toBe('halt');
    expect(explainPolicy(policy, { tool: 'pay', input: { to: 'a.example' } }).action).toBe('deny');
  });

  it('is linear in expressions that would take for ever', () => {
    const began = process.cpuUsage();
    expect(answer("input.to.matches('^(a+)+$')", { input: { to: `${'a'.repeat(9_000)}!` } })).toBe('ask');
    expect(process.cpuUsage(began).user).toBeLessThan(2_000_000);
  });

  it('stands in a run', async () => {
    const pay = defineTool({ name: 'pay', description: 'Pays.', input: z.object({ cents: z.number() }), execute: () => 'Paid.' });
    const script = [[callTool('pay', { cents: 5 }), callTool('pay', { cents: 50 })], say('Done.')];
    const policy = policyFrom(
      { name: 'p', rules: [{ tool: 'pay', when: { cel: 'input.cents < 10' }, then: 'allow' }], otherwise: 'deny' },
      { cel },
    );
    const agent = defineAgent({ name: 'desk', instructions: '', model: scriptedModel(script), tools: [pay], guardrails: [policy] });
    const { events, log } = await run(agent, 'Go.');
    expect(events.flatMap((event) => (event.type === 'tool.end' ? [event.status] : [])).sort()).toEqual(['denied', 'ok']);
    expect(auditLog(log)).toEqual([]);
  });
});
