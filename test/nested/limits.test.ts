import type { Limits, LogEvent, RunResult } from '@guardloop/core';
import { allow, defineGuardrail, resume, run, usageBy } from '@guardloop/core';
import type { Script } from '@guardloop/testing';
import { auditLog, callTool, say } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HandClock } from '../models/hand-clock.js';
import type { Level } from './tree.js';
import { levels, makeTree, ofType } from './tree.js';

/** Each agent makes calls of its own, together with one of the agent below, in each of three turns. */
const busy: Script = ({ agent, turn }) => {
  if (turn > 3) return say(`${agent} is done.`);
  const below = agent === 'front' ? 'ask_desk' : agent === 'desk' ? 'ask_clerk' : undefined;
  const own = [callTool('look', { id: `${agent}${turn}a` }), callTool('send', { id: `${agent}${turn}b` })];
  return [
    say(`${agent} goes on.`),
    ...own,
    ...(below === undefined ? [] : [callTool(below, { input: `${turn}` }), callTool(below, { input: `${turn} again` })]),
  ];
};
const usage = { requests: 1, inputTokens: 70, outputTokens: 30, cost: 1 };

/** Where each level’s run stands in the tree of ids. */
const pathOf = (id: string): number => id.split('/').length - 1;
const within = (events: readonly LogEvent[], id: string): readonly LogEvent[] =>
  events.filter((event) => event.run === id || event.run.startsWith(`${id}/`));
const ended = async (running: PromiseLike<RunResult>): Promise<RunResult> => {
  const result = await running;
  expect(auditLog(result.log)).toEqual([]);
  return result;
};

describe('limits over three levels', () => {
  it('of toolCalls, tokens and cost count what is done below in every run above; turns and handoffs are each run’s own', async () => {
    const tree = makeTree({ script: busy, usage });
    const result = await ended(run(tree.agent, 'go', { guardrails: [tree.ofRun] }));
    expect(result.status).toBe('completed');
    // 1 run of front, 6 of desk, 36 of clerk: 4 model calls each, beyond any run's own 8.
    expect(result.usage).toMatchObject({ requests: 43 * 4, cost: 43 * 4 });
    expect(usageBy(result.log).total).toEqual(result.usage);
    expect(ofType(result.log.events, 'tool.start')).toHaveLength(12 + 6 * 12 + 36 * 6);
  });

  const bounded = fc.record({
    level: fc.constantFrom(...levels),
    name: fc.constantFrom('toolCalls', 'tokens', 'cost', 'turns'),
    size: fc.integer({ min: 1, max: 30 }),
    onLimit: fc.constantFrom('stop', 'finalize'),
  });

  it('are held at whichever level they are set, by all that is done there and below, and what is above goes on', async () => {
    await fc.assert(
      fc.asyncProperty(bounded, async ({ level, name, size, onLimit }) => {
        const limit = name === 'tokens' ? size * 100 : name === 'turns' ? Math.min(size, 3) : size;
        const limits: Partial<Limits> = { [name]: limit };
        const tree = makeTree({ script: busy, usage, ...(level === 'front' ? {} : { limits: { [level]: limits } }) });
        const result = await ended(run(tree.agent, 'go', { onLimit: onLimit as 'stop', ...(level === 'front' ? { limits } : {}) }));
        const depth = levels.indexOf(level);
        const bound = ofType(result.log.events, 'run.start').filter(({ run: id }) => pathOf(id) === depth);
        for (const { run: id } of bound) {
          const inside = within(result.log.events, id);
          const started = ofType(inside, 'tool.start').length - 0;
          const asked = ofType(inside, 'model.end').length;
          const finals = ofType(inside, 'model.start').filter(({ final }) => final !== undefined).length;
          if (name === 'toolCalls') expect(started).toBeLessThanOrEqual(limit);
          // Runs that go on side by side may each have one call under way when the limit is reached.
          const most = 4;
          if (name === 'tokens') expect((asked - finals) * 100).toBeLessThan(limit + most * 100);
          if (name === 'cost') expect(asked - finals).toBeLessThan(limit + most);
          if (name === 'turns')
            expect(
              ofType(inside, 'model.start').filter((event) => event.run === id && event.final === undefined).length,
            ).toBeLessThanOrEqual(limit);
        }
        // Whoever has no limit of its own is not ended by one below it.
        if (level !== 'front') expect(result.status).toBe('completed');
        const calls = ofType(result.log.events, 'model.end').flatMap((event) => event.calls.map(({ id }) => `${event.run}/${id}`));
        expect(
          ofType(result.log.events, 'tool.end')
            .map((event) => `${event.run}/${event.callId}`)
            .sort(),
        ).toEqual(calls.sort());
      }),
      { numRuns: 40, seed: 4 },
    );
  });

  it('of toolCalls are held with the calls that are under way: children side by side never start one too many', async () => {
    const wide: Script = {
      front: [[1, 2, 3, 4].map((id) => callTool('ask_desk', { input: `${id}` })), say('Done.')],
      desk: [[1, 2, 3].map((id) => callTool('look', { id: `${id}` })), say('Desk.')],
    };
    for (let limit = 1; limit <= 17; limit += 1) {
      const tree = makeTree({ script: wide });
      const result = await ended(run(tree.agent, 'go', { limits: { toolCalls: limit } }));
      expect(ofType(result.log.events, 'tool.start')).toHaveLength(Math.min(limit, 16));
      expect(result.status).toBe(limit < 16 ? 'exhausted' : 'completed');
      const unstarted = ofType(result.log.events, 'tool.end').filter(({ status }) => status === 'aborted');
      expect(unstarted.every((event) => event.limit === 'toolCalls')).toBe(true);
    }
  });

  it.each([
    ['front', { status: 'exhausted', limit: 'ms' }],
    ['desk', { status: 'completed' }],
    ['clerk', { status: 'completed' }],
  ] as const)('of ms at %s stop what is below it at once, and no more than that', async (level: Level, outcome) => {
    const slow: Script = {
      front: [callTool('ask_desk', { input: 'x' }), say('Front.')],
      desk: [callTool('ask_clerk', { input: 'x' }), say('Desk.')],
      clerk: [callTool('pay', { id: 'p' }), say('Clerk.')],
    };
    const clock = new HandClock();
    let aborted = false;
    const onPay = (_input: unknown, signal: AbortSignal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          aborted = true;
          resolve(undefined);
        });
        void clock.pass(30);
      });
    const bound = { ms: 30 };
    const tree = makeTree({ script: slow, onPay, ...(level === 'front' ? {} : { limits: { [level]: bound } }) });
    const paused = await ended(run(tree.agent, 'go', { clock, ...(level === 'front' ? { limits: bound } : {}) }));
    if (paused.status !== 'interrupted') throw new Error(paused.status);
    // Waiting for people does not count.
    await clock.pass(60_000);
    const result = await ended(resume(tree.agent, paused.log, { clock, decisions: { [paused.approvals[0]?.id ?? '']: 'approve' } }));
    // The tool heeded its signal, so nobody waited for the time that it would have been given.
    expect(clock.now()).toBe(60_030);
    expect(clock.pending).toBe(0);
    expect(aborted).toBe(true);
    expect(result).toMatchObject(outcome);
    expect(ofType(result.log.events, 'run.end').map(({ agent, status }) => `${agent} ${status}`)).toEqual(
      {
        front: ['clerk cancelled', 'desk cancelled', 'front exhausted'],
        desk: ['clerk cancelled', 'desk exhausted', 'front completed'],
        clerk: ['clerk exhausted', 'desk completed', 'front completed'],
      }[level],
    );
  });

  it('of toolCalls are held by approved calls of children side by side, while their guardrails are asked once more', async () => {
    const paying: Script = {
      front: [callTool('ask_desk', { input: 'x' }), say('Front.')],
      desk: [[callTool('ask_clerk', { input: 'x' }), callTool('ask_clerk', { input: 'y' })], say('Desk.')],
      clerk: [callTool('pay', { id: 'p' }), say('Clerk.')],
    };
    const slow = defineGuardrail({ name: 'slow', on: ['toolInput'], check: async () => Promise.resolve().then(() => allow()) });
    const tree = makeTree({ script: paying, limits: { desk: { toolCalls: 3 } }, guardrails: { clerk: [slow] } });
    const first = await ended(run(tree.agent, 'go'));
    if (first.status !== 'interrupted') throw new Error(first.status);
    const decisions = Object.fromEntries(first.approvals.map(({ id }) => [id, 'approve' as const]));
    const result = await ended(resume(tree.agent, first.log, { decisions }));
    expect(result).toMatchObject({ status: 'completed', output: 'Front.' });
    expect(tree.effects).toHaveLength(1);
    expect(ofType(result.log.events, 'run.end').map(({ agent, status }) => `${agent} ${status}`)).toContain('desk exhausted');
  });

  it('of handoffs are each run’s own', async () => {
    const passing: Script = {
      front: [callTool('ask_desk', { input: 'x' }), say('Front.')],
      desk: [[callTool('ask_clerk', { input: 'x' }), callTool('ask_clerk', { input: 'y' })], say('Desk.')],
      clerk: [callTool('transfer_to_second', {}), say('Clerk stays.')],
      second: [say('Second.')],
    };
    const none = makeTree({ script: passing, limits: { clerk: { handoffs: 0 } } });
    const refused = await ended(run(none.agent, 'go'));
    expect(ofType(refused.log.events, 'run.end').map(({ agent, status }) => `${agent} ${status}`)).toEqual([
      'clerk exhausted',
      'clerk exhausted',
      'desk completed',
      'front completed',
    ]);
    const above = makeTree({ script: passing });
    const passed = await ended(run(above.agent, 'go', { limits: { handoffs: 0 } }));
    expect(passed.status).toBe('completed');
    expect(ofType(passed.log.events, 'handoff')).toHaveLength(2);
  });

  it('of an agent that reached its limit the one above is told that, in core’s words, and no text of it', async () => {
    const script: Script = {
      front: [callTool('ask_desk', { input: 'x' }), say('Front.')],
      desk: [callTool('look', { id: 'a' }), say('As far as I got.')],
    };
    const tree = makeTree({ script, limits: { desk: { turns: 1 } } });
    const result = await ended(run(tree.agent, 'go', { guardrails: [tree.ofRun] }));
    expect(result).toMatchObject({ status: 'completed', output: 'Front.' });
    const told = ofType(result.log.events, 'tool.end').find(({ tool }) => tool === 'ask_desk');
    expect(told).toMatchObject({ status: 'error', label: { integrity: 'trusted' } });
    expect(JSON.parse(String(told?.content)).summary).toBe('ask_desk reached its limit turns.');
  });
});

describe('a call that is made again after a cut', () => {
  const script: Script = { front: [callTool('send', { id: 'a' }), callTool('look', { id: 'b' }), say('Front.')] };
  const cutAt = (events: readonly LogEvent[], tool: string) => ({
    version: 1 as const,
    events: events.slice(0, ofType(events, 'tool.start').find((event) => event.tool === tool)?.seq),
  });

  it.each([
    ['send', 'approve'],
    ['send', { result: 'sent' }],
    ['look', undefined],
  ] as const)('counts once: %s, decided %j', async (tool, decision) => {
    const limits = { toolCalls: 2 };
    const whole = await ended(run(makeTree({ script }).agent, 'go', { limits }));
    expect(whole).toMatchObject({ status: 'completed', output: 'Front.' });
    const again = makeTree({ script });
    let result = await ended(resume(again.agent, cutAt(whole.log.events, tool)));
    if (result.status === 'interrupted' && decision !== undefined)
      result = await ended(resume(again.agent, result.log, { decisions: { [result.approvals[0]?.id ?? '']: decision } }));
    expect(result).toMatchObject({ status: 'completed', output: 'Front.' });
  });

  it('is not made again where another limit was reached meanwhile, and is not said never to have begun', async () => {
    const whole = await ended(run(makeTree({ script, usage }).agent, 'go'));
    const again = makeTree({ script, usage });
    const asked = await ended(resume(again.agent, cutAt(whole.log.events, 'send')));
    if (asked.status !== 'interrupted') throw new Error(asked.status);
    const result = await ended(
      resume(again.agent, asked.log, { limits: { tokens: 1 }, decisions: { [asked.approvals[0]?.id ?? '']: 'approve' } }),
    );
    expect(result).toMatchObject({ status: 'exhausted', limit: 'tokens' });
    expect(again.effects).toEqual([]);
    expect(ofType(result.log.events, 'tool.end')).toMatchObject([{ status: 'unknown', limit: 'tokens' }]);
  });
});
