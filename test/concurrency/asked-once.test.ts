import { createHook } from 'node:async_hooks';
import type { Agent, Guardrail, GuardVerdictEvent, RunResult, Surface } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, handoff, memorySession, rewrite, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ofType, sound } from '../scenarios/sound.js';

const work = defineTool({
  name: 'work',
  description: 'W.',
  input: z.object({ n: z.number().optional() }),
  flow: { effect: 'read', results: 'untrusted' },
  execute: () => 'worked',
});

const verdicts = (result: RunResult): readonly GuardVerdictEvent[] => ofType(result.events, 'guard.verdict');
const twice = (all: readonly string[]): readonly string[] => all.filter((each, index) => all.indexOf(each) !== index);

/** Notes what each guardrail is put on `input`: by whom it stands there, for which agent, and which item in which form. */
class Asked {
  /** `<who>: <item> <text>`; who is `run:NAME@VERSION`, or `agent:AGENT:NAME@VERSION`. */
  readonly checked: string[] = [];
  readonly rewritten: string[] = [];

  guard(owner: string, version: string): Guardrail<unknown, 'input'> {
    const name = owner === 'run' ? 'of-run' : 'of-agent';
    return defineGuardrail({
      name,
      version,
      on: ['input'],
      rewrite: ({ items }) => {
        for (const { id, text } of items) this.rewritten.push(`${owner}@${version}: ${id} ${text}`);
        return allow();
      },
      check: ({ items }) => {
        for (const { id, text } of items) this.checked.push(`${owner}@${version}: ${id} ${text}`);
        return allow();
      },
    });
  }
}

describe('what a guardrail has passed it is not put again', () => {
  it('every item of a long session once, to each guardrail, version and agent, whatever hands over and comes back', async () => {
    const version = fc.constantFrom('1', '2');
    const step = fc.record({
      start: fc.constantFrom('desk', 'billing'),
      hops: fc.array(fc.constantFrom('hand', 'talk and hand', 'work', 'work and hand'), { maxLength: 3 }),
      ofRun: fc.option(version, { nil: undefined }),
      ofDesk: version,
      ofBilling: version,
      isTrusted: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), async (steps) => {
        const asked = new Asked();
        const session = { store: memorySession(), id: 's' };
        const due = new Set<string>();
        for (const [index, { start, hops, ofRun, ofDesk, ofBilling, isTrusted }] of steps.entries()) {
          const model = scriptedModel(({ agent, turn }) => {
            const hop = hops[turn - 1];
            if (hop === undefined) return say(`${agent} is done`);
            const hand = callTool(`transfer_to_${agent === 'desk' ? 'billing' : 'desk'}`);
            if (hop === 'talk and hand') return [say(`${agent} talks`), hand];
            const call = callTool('work', { n: turn });
            if (hop === 'work and hand') return [call, hand];
            return hop === 'work' ? call : hand;
          });
          const versions = { desk: ofDesk, billing: ofBilling };
          const own = (name: 'desk' | 'billing') => ({
            name,
            instructions: '',
            model,
            tools: [work],
            guardrails: [asked.guard(`agent:${name}`, versions[name])],
          });
          const other = defineAgent({ ...own(start === 'desk' ? 'billing' : 'desk'), handoffs: [start as string] });
          const agent = defineAgent({ ...own(start), handoffs: [other] }) as unknown as Agent<unknown>;
          const label = { origin: 'user' as const, integrity: isTrusted ? ('trusted' as const) : ('untrusted' as const) };
          const guardrails = ofRun === undefined ? [] : [asked.guard('run', ofRun)];
          const result = await sound(run(agent, [{ type: 'text', text: `${index}`, label }], { session, guardrails, runId: `r${index}` }));
          expect(result.status).toBe('completed');
          due.add(`r${index}/i1`);
        }
        expect(twice(asked.checked)).toEqual([]);
        expect(twice(asked.rewritten)).toEqual([]);
        // What people said was put to someone each time; nobody was left out.
        for (const item of due) expect(asked.checked.some((each) => each.includes(`: ${item} `))).toBe(true);
      }),
      { numRuns: 40, seed: 88 },
    );
  });

  it('a handoff puts all of it to the target’s own, once, and none of it to the run’s again', async () => {
    const asked = new Asked();
    const model = scriptedModel(({ agent, messages }) =>
      agent === 'desk' && JSON.stringify(messages.at(-1)).includes('to billing') ? callTool('transfer_to_billing') : say(`${agent} speaks`),
    );
    const session = { store: memorySession(), id: 's' };
    const billing = defineAgent({ name: 'billing', instructions: '', model, guardrails: [asked.guard('agent:billing', '1')] });
    const desk = defineAgent({ name: 'desk', instructions: '', model, handoffs: [billing], guardrails: [asked.guard('agent:desk', '1')] });
    const say1 = (text: string, runId: string) => sound(run(desk, text, { session, runId, guardrails: [asked.guard('run', '1')] }));
    await say1('one', 'r1');
    await say1('two', 'r2');
    const before = asked.checked.length;
    await say1('now to billing', 'r3');
    const entered = asked.checked.slice(before).filter((each) => each.startsWith('agent:billing'));
    expect(entered).toEqual([
      'agent:billing@1: r1/i1 one',
      'agent:billing@1: r1/1 desk speaks',
      'agent:billing@1: r2/i1 two',
      'agent:billing@1: r2/1 desk speaks',
      'agent:billing@1: r3/i1 now to billing',
      'agent:billing@1: r3/1.0/brief Handed off from desk.',
    ]);
    expect(asked.checked.slice(before).filter((each) => each.startsWith('run@1'))).toEqual([
      'run@1: r3/i1 now to billing',
      'run@1: r3/1.0/brief Handed off from desk.',
    ]);
    const after = asked.checked.length;
    await say1('four', 'r4');
    expect(asked.checked.slice(after)).toEqual(['run@1: r4/i1 four', 'agent:billing@1: r4/i1 four']);
    expect(twice(asked.checked)).toEqual([]);
  });

  it('an answer that was nothing but the handoff is put to the target when it is to see it, at its next stay', async () => {
    const asked = new Asked();
    const model = scriptedModel(({ agent, turn }) => {
      if (turn === 1) return callTool('transfer_to_billing', { why: 'a quarrel' });
      return turn === 2 && agent === 'billing' ? callTool('transfer_to_desk') : say(`${agent} speaks`);
    });
    const guardrails = [asked.guard('agent:billing', '1')];
    const billing = defineAgent({ name: 'billing', instructions: '', model, handoffs: ['desk'], guardrails });
    const toBilling = handoff(billing, { input: z.object({ why: z.string() }) });
    const desk = defineAgent({ name: 'desk', instructions: '', model, handoffs: [toBilling] });
    const session = { store: memorySession(), id: 's' };
    const ofAnswer = () => asked.checked.filter((each) => each.startsWith('agent:billing@1: r1/1 '));
    await sound(run(desk, 'one', { session, runId: 'r1' }));
    expect(ofAnswer()).toEqual([]);
    await sound(run(desk, 'two', { session, runId: 'r2' }));
    expect(ofAnswer()).toEqual(['agent:billing@1: r1/1 transfer_to_billing {"why":"a quarrel"}']);
    await sound(run(desk, 'three', { session, runId: 'r3' }));
    expect(ofAnswer()).toHaveLength(1);
    expect(twice(asked.checked)).toEqual([]);
  });

  it('what a refused entry had passed counts for nothing: it is put again, with what comes next', async () => {
    const seen: string[] = [];
    let isRefusing = false;
    const guard = (version: string) =>
      defineGuardrail({
        name: 'g',
        version,
        on: ['input'],
        check: ({ items }) => {
          seen.push(items.map(({ id }) => id).join(' '));
          return isRefusing ? { action: 'deny', reason: 'no' } : allow();
        },
      });
    const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel(() => say('ok')) });
    const session = { store: memorySession(), id: 's' };
    const ask = (version: string, runId: string) => sound(run(agent, 'x', { session, runId, guardrails: [guard(version)] }));
    await ask('1', 'r1');
    isRefusing = true;
    await ask('2', 'r2');
    await ask('2', 'r3');
    isRefusing = false;
    await ask('2', 'r4');
    await ask('2', 'r5');
    expect(seen).toEqual(['r1/i1', 'r1/i1 r1/1 r2/i1', 'r1/i1 r1/1 r3/i1', 'r1/i1 r1/1 r4/i1', 'r5/i1']);
  });

  it('a long session costs the same verdicts each time, one for each guardrail, surface and subject', async () => {
    const surfaces: readonly Surface[] = ['input', 'toolInput', 'toolOutput', 'handoff', 'output'];
    const both = ['one', 'two'].map((name) => defineGuardrail({ name, on: surfaces, check: () => allow(), rewrite: () => allow() }));
    const model = scriptedModel(
      ({ messages }) => (messages.at(-1)?.role === 'user' ? [callTool('work', { n: messages.length }), callTool('work')] : say('done')),
      {
        record: false,
      },
    );
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [work], guardrails: both });
    const session = { store: memorySession(), id: 's' };
    const counts: number[] = [];
    for (let index = 0; index < 60; index += 1) {
      const result = await run(agent, 'x', { session, runId: `r${index}` });
      const all = verdicts(result).map(
        (each) => `${each.guardrail} ${each.level} ${each.phase} ${each.surface} ${each.subject} ${each.revision}`,
      );
      expect(twice(all)).toEqual([]);
      counts.push(all.length);
      if (index === 59) await sound(Promise.resolve(result));
    }
    // Two phases of two guardrails: the input, two calls, two results, the answer.
    expect(new Set(counts)).toEqual(new Set([2 * 2 * (1 + 2 + 2 + 1)]));
  });
});

describe('guardrails that answer at once', () => {
  const surfaces: readonly Surface[] = ['input', 'toolInput', 'toolOutput', 'handoff', 'output'];
  const kinds = {
    check: { check: () => allow() },
    rewrite: { rewrite: () => allow() },
    both: { check: () => allow(), rewrite: () => allow() },
    changes: {
      rewrite: ({ surface }: { readonly surface: Surface }) =>
        surface === 'toolInput' || surface === 'handoff' ? allow() : rewrite('changed', 'x'),
    },
    breaker: { check: () => allow(), breaker: { failures: 2 } },
    shadow: { check: () => allow(), shadow: true },
    window: { rewrite: () => allow(), window: 4 },
  } as const;
  const guards = (kind: keyof typeof kinds, count: number): readonly Guardrail<unknown>[] =>
    Array.from({ length: count }, (_, index) => {
      const on = kind === 'window' ? ['output'] : surfaces;
      return defineGuardrail({ name: `g${index}`, on, ...kinds[kind] } as unknown as Parameters<
        typeof defineGuardrail
      >[0]) as Guardrail<unknown>;
    });

  /** Promises that a run makes, with every surface on its way. */
  async function promisesOf(guardrails: readonly Guardrail<unknown>[]): Promise<number> {
    const model = scriptedModel(
      { a: [callTool('work'), callTool('transfer_to_b')], b: [callTool('work'), say('A text that is longer than the window.')] },
      { record: false },
    );
    const b = defineAgent({ name: 'b', instructions: '', model, tools: [work], guardrails });
    const a = defineAgent({ name: 'a', instructions: '', model, tools: [work], handoffs: [b], guardrails });
    let made = 0;
    const hook = createHook({
      init(_id, type) {
        if (type === 'PROMISE') made += 1;
      },
    });
    await run(a, 'x');
    hook.enable();
    const result = await run(a, 'x');
    hook.disable();
    expect(result.status).toBe('completed');
    return made;
  }

  it.each(Object.keys(kinds) as readonly (keyof typeof kinds)[])(
    'cost no promise and no microtask, however many there are (%s)',
    async (kind) => {
      const none = await promisesOf([]);
      expect(none).toBeGreaterThan(50);
      const one = await promisesOf(guards(kind, 1));
      const many = await promisesOf(guards(kind, 20));
      expect(many).toBe(one);
      // A window's text is settled at the end of each answer, whoever looks through it.
      expect(one - none).toBeLessThanOrEqual(kind === 'window' ? 12 : 0);
    },
  );

  it('the count can tell: one that answers later costs some', async () => {
    const later = defineGuardrail({ name: 'later', on: ['input'], check: async () => allow() });
    expect(await promisesOf([later])).toBeGreaterThan(await promisesOf([]));
  });
});
